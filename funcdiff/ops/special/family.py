"""``special`` declares one function of ``scipy.special``, known by name, with its derivatives.

SciPy is an optional dependency: nothing here imports it before one of its functions is met.  A
program that mentions one prints, parses, differentiates and hashes as any other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np

from funcdiff.errors import MissingDependencyError, user_location
from funcdiff.ops.families import Elementwise, Partial, Tangent, elementwise, resolver

by_name: Final[dict[str, Elementwise]] = {}
"""The elementwise operation that a function of ``scipy.special`` becomes."""


@cache
def scipy_function(name: str) -> Callable[..., Any]:
    """Return that function of ``scipy.special``.

    Raises
    ------
    MissingDependencyError
        If SciPy is not installed.
    """
    try:
        module = import_module("scipy.special")
    except ImportError as error:
        raise MissingDependencyError(
            f"{name} is a function of scipy.special, and SciPy is not installed, at "
            f'{user_location()}. Install it: python -m pip install "funcdiff[scipy]"'
        ) from error
    found: Callable[..., Any] = getattr(module, name)
    return found


def last_dtype(*operands: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the last operand: that of the result, where it is not a ufunc's."""
    return operands[-1]


def _found(name: str, substitute: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return SciPy's function, or what there is instead if that is not installed."""
    if substitute is not None and not _is_installed():
        return substitute
    return scipy_function(name)


@cache
def _is_installed() -> bool:
    try:
        import_module("scipy.special")
    except ImportError:
        return False
    return True


def special(
    name: str,
    *partials: Partial,
    tangent: Tangent | None = None,
    run: Callable[..., Any] | None = None,
    dtypes: Callable[..., np.dtype[Any]] | None = None,
    primitive: str | None = None,
    substitute: Callable[..., Any] | None = None,
) -> Elementwise:
    """Declare an elementwise operation that ``scipy.special`` computes.

    Parameters
    ----------
    name
        Name of the function there.
    *partials
        One per operand, as in `elementwise`; `tangent` replaces them all.
    run
        What computes it, if not the function of that name: one of its several results, say.
    dtypes
        Result dtype, where the function is not a ufunc.
    primitive
        Name of the primitive, where that of the function is NumPy's, too.
    substitute
        What computes it where SciPy is not installed, in the dtype of its operands.
    """

    def compute(*xs: Any) -> Any:
        return _found(name, substitute)(*xs)

    def resolve(*operands: np.dtype[Any]) -> np.dtype[Any]:
        function = _found(name, substitute)
        return operands[0] if function is substitute else resolver(function)(*operands)

    op = elementwise(
        primitive or name, run or compute, *partials, tangent=tangent, dtypes=dtypes or resolve
    )
    by_name[name] = op
    return op
