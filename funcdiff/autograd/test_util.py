"""``autograd.test_util``: derivatives held against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final

from funcdiff.autograd.spaces import vspace
from funcdiff.autograd.wrap_util import unary_to_nary
from funcdiff.errors import InputError, user_location
from funcdiff.testing import gradients

_TOLERANCE: Final = 1e-6
_MODES: Final = {"fwd": "forward", "rev": "reverse"}


@unary_to_nary
def check_grads(
    f: Callable[[Any], Any], x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2
) -> None:
    """Assert that derivatives equal differences: ``check_grads(f, argnum, modes, order)(*args)``.

    Parameters
    ----------
    f
        Function of arrays and containers.
    modes
        "fwd", "rev" or both.
    order
        Up to which derivative.

    Raises
    ------
    AssertionError
        If they differ.
    InputError
        If a mode is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> check_grads(np.sin, modes=["rev"], order=1)(0.5)
    """
    unknown = [mode for mode in modes if mode not in _MODES]
    if unknown:
        raise InputError(
            f'check_grads knows no mode {unknown[0]!r}, at {user_location()}. Write "fwd" or "rev".'
        )
    gradients.check_grads(f, (x,), order, [_MODES[mode] for mode in modes])


def scalar_close(a: Any, b: Any) -> bool:
    """Return whether two numbers differ by less than 1e-6, or by this fraction of their sum."""
    return bool(abs(a - b) < _TOLERANCE or abs(a - b) < _TOLERANCE * abs(a + b))


def check_equivalent(x: Any, y: Any) -> None:
    """Assert that two containers are of the same space, and `scalar_close` in a random direction.

    Raises
    ------
    AssertionError
        If they are not.
    """
    space = vspace(x)
    assert space == vspace(y), f"the spaces differ: {space} and {vspace(y)}"
    direction = space.randn()
    products = space.inner_prod(x, direction), space.inner_prod(y, direction)
    assert scalar_close(*products), f"the values differ: {x} and {y}"


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """Return a function of lists that checks all combinations of arguments and keywords."""

    def check(*choices: Sequence[Any], **options: Sequence[Any]) -> None:
        for point in product(*choices):
            for values in product(*options.values()):
                keywords = dict(zip(options, values, strict=True))
                check_grads(fun, *args, **kwargs)(*point, **keywords)

    return check
