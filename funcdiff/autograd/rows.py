"""Whole Jacobians by their rows, where a primitive has only a VJP rule.

Other Jacobians are taken in one batched pass or forward, which asks a VJP rule to be linear and to
take what has no values.  Rules written for autograd need not: it calls them once for each row.
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
    """A whole Jacobian is wanted of code that calls a primitive which has only a VJP rule."""


_wants_matrix: Final[ContextVar[bool]] = ContextVar("funcdiff_autograd_matrix", default=False)

wants_matrix: Final[Callable[[], bool]] = _wants_matrix.get
"""Whether the trace is for a whole Jacobian, in which such a primitive raises `NeedsRows`."""


class Matrix:
    """A Jacobian in one pass, or by its rows from the first call on that has needed it.

    `whole` returns the Jacobian at once; `make_vjp` the VJP and the value, at the arguments
    `argnum`.
    """

    def __init__(
        self, whole: Callable[..., Any], make_vjp: Callable[..., Any], argnum: Any
    ) -> None:
        self._whole, self._make_vjp, self._argnum = whole, make_vjp, argnum
        self._by_rows = False

    def __call__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the Jacobian; by a complex argument it comes by rows."""
        argnum = self._argnum
        if not (self._by_rows or (isinstance(argnum, int) and np.iscomplexobj(args[argnum]))):
            try:
                with setting(_wants_matrix, True):
                    return self._whole(*args, **kwargs)
            except NeedsRows:
                self._by_rows = True
        with setting(_wants_matrix, False):
            return self._stack(args, *self._make_vjp(*args, **kwargs))

    def _stack(self, args: Sequence[Any], vjp: Callable[[Any], Any], y: Any) -> Any:
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

        if isinstance(self._argnum, int):
            return stacked(rows, args[self._argnum])
        return tuple(stacked([row[k] for row in rows], args[n]) for k, n in enumerate(self._argnum))
