"""Named functions as values, which transforms return, and explanations of wrong calls.

They are called like functions, and bind to instances as such; but they pickle, print and compare by
the transform, the user's function and the options, of which they can be made again anywhere.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial, update_wrapper, wraps
from types import FunctionType
from typing import Any, Final, NoReturn, TypeVar, cast

import numpy as np

from funcdiff.core.late import close_matches
from funcdiff.core.tracebacks import parameters, shorten
from funcdiff.errors import InputError, notebook_cell, user_location

# ---- names, as they are printed: ``grad(loss, argnums=1)`` ---------------------------------------


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
        inner = repr(f) if hasattr(f, "_parts") else display_name(f)
        function.__qualname__ = f"{transform}({inner}{told})"
        title = _TITLES.get(transform)
        if title is not None:
            function.__doc__ = f"{title} of {inner}{told}.\n\n{f.__doc__ or ''}"
        return function

    return decorate


def name_of(f: Any) -> str:
    """Return the name of a function, or of the class of what is called like one."""
    # not where it is: programs hold the name, and are the same wherever that is
    name = getattr(f, "__name__", None)
    return str.__str__(name) if isinstance(name, str) else type(f).__name__


class FunctionName:
    """How messages call a function: its name and where it was defined, found when it is shown."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __str__(self) -> str:
        f = self.function
        name = name_of(f)
        code = getattr(inspect.unwrap(f), "__code__", None)
        if code is None:
            return name
        return (
            f"{name} ({notebook_cell(code.co_filename) or code.co_filename}:{code.co_firstlineno})"
        )


def display_name(f: Callable[..., Any]) -> str:
    """Return the name of a function without the functions around it; of others, the type's."""
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__
    return name.rpartition("<locals>.")[2] if "<" in name else name


# ---- calls of the transforms: options without a function make a decorator ------------------------


_OTHERS: Final = {
    "static_argnum": "static_argnums",
    "in_dims": "in_axes",
    "out_dims": "out_axes",
    "dim": "in_axes",
    "axis": "in_axes",
    "order": "n",
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
    if "format" in signature.parameters and str(value) in ("csr", "csc", "coo"):
        cure = f"Write sparse=True, format={value!r}."
    return (
        f"fd.{transform.__name__}: {name}={value!r} is neither True nor False, at "
        f"{user_location()}. {cure}"
    )


def _explanation(transform: Callable[..., Any], error: TypeError) -> str:
    name, place = f"fd.{transform.__name__}", user_location()
    signature = inspect.signature(transform)
    known = list(signature.parameters)
    unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    cure = f"It takes {parameters(signature)}."
    if len(known) == 1:
        given = f"x, {unknown[1]}=..." if unknown else "x"
        cure = f"Arguments are given to what it returns: {name}(f)({given})."
    if unknown:
        near = close_matches(_OTHERS.get(unknown[1], unknown[1]), known[1:], 1)
        cure = f"Did you mean {near[0]}=?" if near else cure
        return f"{name} has no keyword {unknown[1]}=, at {place}. {cure}"
    return f"{name}: {str(error).partition('() ')[2] or error}, at {place}. {cure}"


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
    called = getattr(function, "_called", repr(function))
    return (
        f"{function!r} is a function, but {used}, at {user_location()}. Call it: "
        f"{called}(x) is its result."
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


# ---- values --------------------------------------------------------------------------------------


class ByParts(Uncalled):
    """A callable that pickles as a call that makes it, or by its name if it has one of its own.

    A function that a transform decorates in a module is known there by its name, under which the
    user's own function is not to be found any more.
    """

    __wrapped__: Callable[..., Any]
    __qualname__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute it."""
        raise NotImplementedError

    def _take_after(self, function: Callable[..., Any]) -> None:
        """Have the names of a function, its documentation, and what the user has attached to it."""
        given = getattr(function, "__dict__", {})
        attached = {k: v for k, v in given.items() if not k.startswith("_")}
        vars(self).update(attached)
        functools.update_wrapper(self, function, updated=())

    def _parts(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return the function that makes this one, and what it takes."""
        raise NotImplementedError

    def __reduce__(self) -> str | tuple[Any, ...]:
        name = getattr(self.__wrapped__, "__qualname__", "")
        found: Any = sys.modules.get(self.__module__ or "")
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return str(name)
        make, args, kwargs = self._parts()
        return functools.partial(make, **kwargs) if kwargs else make, args, self._state()

    def _state(self) -> Any:
        """Return what ``__setstate__`` sets: it may refer to this function, once that is made."""
        return None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ByParts) or type(other) is not type(self):
            return False
        try:
            return bool((self._parts(), self._state()) == (other._parts(), other._state()))
        except ValueError:  # options with arrays
            return False

    def __hash__(self) -> int:
        make, args, _ = self._parts()
        return hash((make, args[0]))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, so that methods can be transformed."""
        return self if instance is None else functools.partial(self, instance)


class Transformed(ByParts):
    """The function that a transform returns, computed by `function`.

    It is a value made of the transform and of its arguments, the user's function first.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        transform: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> None:
        self._take_after(function)
        self.__wrapped__ = vars(function).get("__wrapped__", function)  # the user's
        self._call = function
        self._made = transform, args, dict(kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute it."""
        try:
            return self._call(*args, **kwargs)
        except BaseException as error:
            shorten(error)
            raise

    def _parts(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        return self._made

    def __repr__(self) -> str:
        return str(self.__qualname__)


_SHOWN: Final = (bool, int, str, tuple, list, dict)
"""Types of options that the names of functions show."""


def transform(function: F) -> F:
    """Let a transform return functions that are values, and say what is wrong with its calls.

    They are named after the function that it is given first, unless they have names of their own.
    """
    defaults = {p.name: p.default for p in inspect.signature(function).parameters.values()}
    first, *options = defaults

    @functools.wraps(function)
    def apply(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        if type(found) is not FunctionType:
            return found
        f, *others = args = args or (kwargs.pop(first),)
        if "__wrapped__" not in vars(found):
            given = {**dict(zip(options, others, strict=False)), **kwargs}
            shown = {k: x for k, x in given.items() if x is not defaults[k] and type(x) in _SHOWN}
            name_after(f, function.__name__, **shown)(found)
        return Transformed(found, public, args, kwargs)

    public: F = explains_calls(cast(F, apply))
    return public
