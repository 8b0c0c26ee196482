"""``autograd.wrap_util``: an operator on functions of one argument, for functions of many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from funcdiff.errors import InputError, user_location

__all__ = ["get_doc", "get_name", "unary_to_nary", "wrap_nary_f", "wraps"]


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

            wraps(fun)(unary_f)
            x = chosen[0] if isinstance(argnum, int) else chosen
            return unary_operator(unary_f, x, *rest, **options)

        return wrap_nary_f(fun, unary_operator, argnum)(nary_f)

    return nary_operator


def wraps(
    fun: Callable[..., Any], namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any
) -> Callable[[Any], Any]:
    """Return a decorator that gives name and documentation, of those of another function."""

    def decorate(f: Any) -> Any:
        words = {"fun": get_name(fun), "doc": get_doc(fun), **kwargs}
        with suppress(AttributeError, TypeError):  # of what has no name
            f.__name__, f.__doc__ = namestr.format(**words), docstr.format(**words)
        return f

    return decorate


def wrap_nary_f(fun: Callable[..., Any], op: Callable[..., Any], argnum: Any) -> Callable[..., Any]:
    """Return a decorator that names a derivative after the operator and the function."""
    return wraps(
        fun,
        "{op}_of_{fun}_wrt_argnum_{argnum}",
        "The {op} of {fun} with respect to argument number {argnum}.",
        op=get_name(op),
        argnum=argnum,
    )


def _argument(fun: Callable[..., Any], args: Sequence[Any], k: int) -> Any:
    try:
        return args[k]
    except IndexError:
        raise InputError(
            f"argument {k} of {get_name(fun)} is to be differentiated, but it was called with "
            f"{len(args)} by position, at {user_location()}. Give it so, or another argnum."
        ) from None


def get_name(fun: Any) -> str:
    """Return the name of a function."""
    return str(getattr(fun, "__name__", "[unknown name]"))


def get_doc(fun: Any) -> str:
    """Return the documentation of a function."""
    return getattr(fun, "__doc__", "") or ""
