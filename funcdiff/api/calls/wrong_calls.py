"""Calls of the transforms: options without a function make a decorator, wrong ones are explained.

Python's own error has neither the place nor the cure.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Final, NoReturn, TypeVar, cast

import numpy as np

from funcdiff.api.calls.selection import Selection
from funcdiff.core.late import close_matches
from funcdiff.core.tracebacks import shorten
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.pytree.structure import LEAF, Structure

F = TypeVar("F", bound=Callable[..., Any])

_OTHERS: Final = {
    "static_argnum": "static_argnums",
    "in_dims": "in_axes",
    "out_dims": "out_axes",
    "dim": "in_axes",
    "axis": "in_axes",
    "allow_int": "",
}
"""What other libraries call a keyword."""


def explains_calls(transform: F) -> F:
    """Let a transform say what is wrong with a call that does not fit its parameters.

    A keyword that it does not have goes to `InputError` with the one that is meant, and so does a
    flag that is neither True nor False.  Options without a function, ``@fd.jit(static_argnums=1)``,
    make a decorator.
    """
    signature = inspect.signature(transform)
    first = next(iter(signature.parameters))
    flags = {name for name, p in signature.parameters.items() if p.annotation in (bool, "bool")}

    @wraps(transform)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for name, value in kwargs.items():
            if name in flags and type(value) is not bool and not isinstance(value, np.bool):
                raise InputError(_not_a_flag(transform, name, value, signature))
        try:
            return transform(*args, **kwargs)
        except BaseException as error:
            if isinstance(error, TypeError) and not _fits(signature, args, kwargs):
                if not args and _fits(signature, (), {first: None, **kwargs}):
                    return partial(wrapper, **kwargs)
                raise InputError(_explanation(transform, error)) from None
            shorten(error)  # it is not the call that fails, but something in it
            raise

    return cast("F", wrapper)


def _fits(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call fits a signature."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _not_a_flag(
    transform: Callable[..., Any], name: str, value: Any, signature: inspect.Signature
) -> str:
    cure = f"Write {name}=True or {name}=False."
    if name == "sparse" and "format" in signature.parameters and isinstance(value, str):
        cure = f"Write sparse=True, format={value!r}."
    return (
        f"fd.{transform.__name__}: {name}={value!r} is neither True nor False, at "
        f"{user_location()}. {cure}"
    )


def _explanation(transform: Callable[..., Any], error: TypeError) -> str:
    name, place = f"fd.{transform.__name__}", user_location()
    known = [p.name for p in inspect.signature(transform).parameters.values()]
    unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    if unknown:
        near = close_matches(_OTHERS.get(unknown[1], unknown[1]), known[1:], 1)
        cure = f"Did you mean {near[0]}=?" if near else f"It has {', '.join(known)}."
        return f"{name} has no keyword {unknown[1]}=, at {place}. {cure}"
    given = "" if len(known) > 1 else f" Arguments are given to what it returns: {name}(f)(x)."
    return f"{name}: {str(error).partition('() ')[2] or error}, at {place}.{given}"


def refuse_nothing(structure: Structure, leaves: Sequence[Any], selection: Selection) -> None:
    """Refuse a result that is no number, array or container, as of a forgotten return."""
    got = type(leaves[0]).__name__ if structure is LEAF else str(structure)
    if structure is LEAF or got == "None":
        raise OutputError(
            f"{selection.transform} needs a function that returns numbers or arrays; "
            f"{selection.name} returned {got}, at {user_location()}. Return the result: a function "
            "without a return statement returns None. Other things go beside it, with has_aux=True."
        )


# ---- functions that were not called --------------------------------------------------------------

_BINARY: Final = (
    "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift".split()  # noqa: SIM905
)
_OPERATORS: Final = (
    *(f"__{prefix}{name}__" for name in _BINARY for prefix in ("", "r")),
    *(f"__{name}__" for name in ("neg", "pos", "abs", "float", "complex", "int", "round")),
    *(f"__{name}__" for name in ("lt", "le", "gt", "ge", "getitem", "array_ufunc")),
)
"""What numbers and arrays take part in; ``[k]`` is what unpacking asks for, too."""


class Uncalled:
    """A function that says, where a number or an array is needed, that it was not called."""


def _said(function: Any, used: str) -> str:
    return (
        f"{function!r} is a function, but {used}, at {user_location()}. Call it: "
        f"{function!r}(x) is its result."
    )


def _lack(self: Uncalled, name: str) -> NoReturn:
    """Say what an attribute of arrays is missing for; of others, what Python says."""
    if name.startswith("_") or not hasattr(np.ndarray, name):
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
        )
    raise AttributeError(_said(self, f"was asked for .{name}"), name=name, obj=self)


def _refuse(self: Uncalled, *_args: Any, **_kwargs: Any) -> NoReturn:
    """Refuse to take part."""
    raise InputError(_said(self, "was used as a number or an array"))


# not seen by type checkers, which refuse operators and attributes that are not there
for _name, _answer in {**dict.fromkeys(_OPERATORS, _refuse), "__getattr__": _lack}.items():
    setattr(Uncalled, _name, _answer)
