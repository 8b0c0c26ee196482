"""Names derived functions after the given one, as they are printed: ``grad(loss, argnums=1)``."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Final, TypeVar

_TITLES: Final = {
    "derivative": "Derivative",
    "elementwise_grad": "Elementwise derivative",
    "grad": "Gradient",
    "hessian": "Hessian",
    "jacfwd": "Jacobian",
    "jacobian": "Jacobian",
    "jacrev": "Jacobian",
    "value_and_grad": "Value and gradient",
    "value_and_jacobian": "Value and Jacobian",
    "value_grad_and_hessian": "Value, gradient and Hessian",
}
"""What derived functions are called in their documentation; others have that of the given one."""

F = TypeVar("F", bound=Callable[..., Any])


def name_after(f: Callable[..., Any], transform: str, **options: Any) -> Callable[[F], F]:
    """Return a decorator that gives a function the signature of `f`, and a name that tells it.

    The name has the transform, and its options but for None and False; the documentation begins
    with what the function is of `f`.
    """
    told = ""
    for name, value in options.items():
        if value is not None and value is not False:
            told += f", {name}={value!r}"

    def decorate(function: F) -> F:
        update_wrapper(function, f)
        inner = _inner_name(f)
        function.__qualname__ = f"{transform}({inner}{told})"
        title = _TITLES.get(transform)
        if title is not None:
            function.__doc__ = f"{title} of {inner}{told}.\n\n{f.__doc__ or ''}"
        return function

    return decorate


def _inner_name(f: Callable[..., Any]) -> str:
    """Return what a function is called in the name of one that is made of it."""
    return repr(f) if hasattr(f, "_parts") else display_name(f)


def display_name(f: Callable[..., Any]) -> str:
    """Return the name of a function without the functions around it; of others, the type's."""
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__
    return name.rpartition("<locals>.")[2] if "<" in name else name
