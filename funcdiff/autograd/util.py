"""``autograd.util``: tuples with other values, and a check of gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from funcdiff.autograd.names import attributes
from funcdiff.autograd.test_util import check_grads

__all__ = ["func", "quick_grad_check", "subval", "subvals"]


def subvals(x: Sequence[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Return a tuple with the values of pairs ``(position, value)`` in their places."""
    changed = list(x)
    for i, v in ivs:
        changed[i] = v
    return tuple(changed)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """Return a tuple with another value in a place."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """Return a function as it is."""
    return f


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    **_tolerances: Any,
) -> None:
    """Check a first derivative; deprecated: use `funcdiff.autograd.test_util.check_grads`."""
    warnings.warn("quick_grad_check is deprecated: use check_grads", stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)


__getattr__, __dir__ = attributes(
    __name__, absent={"toposort": "fd.trace(f)(x) returns the program of a call, in order."}
)
