"""Functions of ``scipy.linalg``, found when they are called, and run on stacks.

SciPy is an optional dependency: nothing here imports it before one of its functions is met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.core.primitive import Params, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import constant_op

Shapes: TypeAlias = tuple[tuple[tuple[int, ...], str], ...]
"""Shape and dtype of each result for one example."""


def scipy_linalg(name: str) -> Callable[..., Any]:
    """Return that function of ``scipy.linalg``."""
    return scipy_function(name, "scipy.linalg")


def over_stack(function: Callable[..., Any], *depths: int) -> Callable[..., Any]:
    """Return a function of stacks from one of arrays with so many axes, by default matrices.

    It returns an array or a tuple of them.
    """

    def run(*xs: Any) -> Any:
        stack = xs[0].shape[: xs[0].ndim - (depths[0] if depths else 2)]
        if not stack:
            return function(*xs)
        found = [function(*(x[k] for x in xs)) for k in np.ndindex(stack)]
        count = len(found)
        if not found:  # unit matrices say which shapes the results have
            found = [function(*(_unit(x, x.shape[len(stack) :]) for x in xs))]

        def whole(parts: Any) -> Any:
            return np.stack(parts)[:count].reshape(*stack, *np.shape(parts[0]))

        if not isinstance(found[0], tuple):
            return whole(found)
        return tuple(whole(parts) for parts in zip(*found, strict=True))

    return run


def _unit(x: Any, shape: tuple[int, ...]) -> Any:
    return np.eye(*shape, dtype=x.dtype) if len(shape) == 2 else np.ones(shape, x.dtype)


def routine(name: str, *depths: int, **options: Any) -> Callable[..., Any]:
    """Return a function of SciPy's with its keywords, for stacks of matrices."""

    def call(*xs: Any) -> Any:
        return scipy_linalg(name)(*xs, **options)

    return over_stack(call, *depths)


# ---- what has no derivative ----------------------------------------------------------------------


class Constant(Params):
    """A function of SciPy's and its keywords, axes of its operands, types of its results."""

    name: str
    options: tuple[tuple[str, Any], ...]
    depths: tuple[int, ...]
    results: Shapes


def _abstract(p: Constant, *xs: ArrayType) -> Types:
    stack = xs[0].shape[: xs[0].ndim - p.depths[0]]
    if any(x.shape[: x.ndim - k] != stack for x, k in zip(xs, p.depths, strict=True)):
        raise TypeError(f"stacks of one shape are needed, got {xs}")
    return tuple(ArrayType((*stack, *shape), np.dtype(dtype)) for shape, dtype in p.results)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def _impl(p: Constant) -> Callable[..., Any]:
    def one(*xs: Any) -> Any:
        found = _flat(scipy_linalg(p.name)(*xs, **dict(p.options)))
        parts = [np.asarray(part, dtype) for part, (_, dtype) in zip(found, p.results, strict=True)]
        return parts[0] if len(parts) == 1 else tuple(parts)

    return over_stack(one, *p.depths)


scipy_constant_p: Final = constant_op("scipy_constant", Constant, abstract=_abstract, impl=_impl)


def scipy_constant(
    name: str, results: Shapes, *xs: Tracer, depths: tuple[int, ...] = (2,), **options: Any
) -> tuple[Tracer, ...]:
    """Return what a function of SciPy's gives, as constants: permutations, signs, ranks."""
    return bind(scipy_constant_p, Constant(name, tuple(options.items()), depths, results), *xs)
