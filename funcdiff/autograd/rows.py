"""Derivatives by VJPs alone, where a primitive has only a VJP rule: Jacobians by their rows.

Others are taken in one batched pass or forward, which asks a VJP rule to be linear and to take what
has no values.  Rules written for autograd need not: it calls them once for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from funcdiff.autograd.spaces import vspace
from funcdiff.core.scope import setting
from funcdiff.errors import OutputError, user_location


class NeedsRows(BaseException):  # no error, and not for users' `except Exception`
    """A derivative at once is wanted of code that calls a primitive which has only a VJP rule."""


_wants_matrix: Final[ContextVar[bool]] = ContextVar("funcdiff_autograd_matrix", default=False)

wants_matrix: Final[Callable[[], bool]] = _wants_matrix.get
"""Whether the trace is for a derivative at once, in which such a primitive raises `NeedsRows`."""


class Either:
    """A derivative taken at once or, from the first call on that has needed it, by VJPs alone.

    What is within such a derivative, and goes by VJPs, makes that go by them, too.
    """

    def __init__(self, whole: Callable[..., Any], by_vjps: Callable[..., Any]) -> None:
        self._whole, self._by_vjps = whole, by_vjps
        self._needs_vjps = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the derivative."""
        if not self._needs_vjps:
            try:
                with setting(_wants_matrix, True):
                    return self._whole(*args, **kwargs)
            except NeedsRows:
                self._needs_vjps = True
        if wants_matrix():
            raise NeedsRows
        return self._by_vjps(*args, **kwargs)


def stack_rows(make_vjp: Callable[..., Any], argnum: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a Jacobian by its rows, which are VJPs of unit vectors."""
    vjp, y = make_vjp(*args, **kwargs)
    space = vspace(y)
    if space.iscomplex:
        raise OutputError(
            f"jacobian of a complex function by a complex argument was asked for, at "
            f"{user_location()}. Use fd.jacobian(f, holomorphic=True), or differentiate by the "
            "real and the imaginary part."
        )
    rows = [vjp(unit) for unit in space.standard_basis()]

    def stacked(rows: Sequence[Any], x: Any) -> Any:
        return np.reshape(np.stack(rows) if rows else np.zeros(0), space.shape + np.shape(x))

    if isinstance(argnum, int):
        return stacked(rows, args[argnum])
    return tuple(stacked([row[k] for row in rows], args[n]) for k, n in enumerate(argnum))
