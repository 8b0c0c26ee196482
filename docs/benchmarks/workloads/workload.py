"""A workload: one function as each library's user writes it, and its derivative by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A function of arrays and its derivative in the first argument, in several libraries.

    Attributes
    ----------
    name
        What it is, with its size.
    arguments
        From a seeded generator to the arguments: NumPy arrays, and containers of them.
    function
        ``function(np, x, *rest)`` in plain NumPy, where ``np`` is the namespace.
    by_hand
        ``by_hand(x, *rest)``, the derivative in plain NumPy as a competent person writes it: in
        the structure of ``x``.
    derivative
        ``"gradient"``, ``"jacobian"``, ``"hessian"``; ``"hvp"``, which takes the direction as its
        last argument; ``"jvps"``, a list for directions, which are all further arguments; or
        ``"jacobians"``, of each row of the arguments: `function` takes rows, or some of them
        along further axes in front; ``"value"`` if `function` differentiates by itself, with
        funcdiff: then the others have functions of their own.
    in_autograd
        ``in_autograd(autograd, x, *rest)``, where `function` with ``autograd.numpy`` is not it.
    in_jax
        ``in_jax(jax, x, *rest)``, where `function` with ``jax.numpy`` is not it.
    in_torch
        ``in_torch(torch, x, *rest)``, where `function` with ``torch`` is not it.
    left_out
        Why a contestant does not take part, by its name.
    is_loop
        Whether it is many small steps in a row, rather than a few operations on arrays.
    """

    name: str
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    function: Function
    by_hand: Function
    derivative: str = "gradient"
    in_autograd: Function | None = None
    in_jax: Function | None = None
    in_torch: Function | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    is_loop: bool = False

    def drawn(self) -> tuple[Any, ...]:
        """Return the arguments, the same ones every time."""
        return self.arguments(np.random.default_rng(0))
