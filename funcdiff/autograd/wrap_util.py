"""``autograd.wrap_util``: an operator on functions of one argument, for functions of many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from funcdiff.errors import InputError, user_location


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Callable[..., Any]]:
    """Return ``operator(fun, argnum=0, ...)`` of ``unary_operator(fun, x, ...)``.

    Parameters
    ----------
    unary_operator
        Of a function of one argument and a point.

    Returns
    -------
    callable
        Of a function of many arguments, and of the position of one of them or of several, which
        `unary_operator` gets as a tuple; further arguments are handed over.  It returns a function
        of the arguments of `fun`.
    """

    @functools.wraps(unary_operator)
    def nary_operator(
        fun: Callable[..., Any], argnum: int | Sequence[int] = 0, *rest: Any, **options: Any
    ) -> Any:
        positions = (argnum,) if isinstance(argnum, int) else tuple(argnum)

        def nary_f(*args: Any, **kwargs: Any) -> Any:
            chosen = tuple(_argument(fun, args, k) for k in positions)

            def unary_f(x: Any) -> Any:
                changed = list(args)
                for k, value in zip(positions, (x,) if isinstance(argnum, int) else x, strict=True):
                    changed[k] = value
                return fun(*changed, **kwargs)

            _take_name(unary_f, _name(fun))
            x = chosen[0] if isinstance(argnum, int) else chosen
            return unary_operator(unary_f, x, *rest, **options)

        return _take_name(nary_f, f"{_name(unary_operator)}_of_{_name(fun)}_wrt_argnum_{argnum}")

    return nary_operator


def _argument(fun: Callable[..., Any], args: Sequence[Any], k: int) -> Any:
    try:
        return args[k]
    except IndexError:
        raise InputError(
            f"argument {k} of {_name(fun)} is to be differentiated, but it was called with "
            f"{len(args)} by position, at {user_location()}. Give it so, or another argnum."
        ) from None


def _name(fun: Callable[..., Any]) -> str:
    return str(getattr(fun, "__name__", "[unknown name]"))


def _take_name(fun: Callable[..., Any], name: str) -> Callable[..., Any]:
    fun.__name__ = fun.__qualname__ = name
    return fun
