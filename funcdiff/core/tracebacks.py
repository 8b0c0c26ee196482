"""Shortens tracebacks: an error leaves a public function without the frames in between.

What is left are the user's lines, and those of NumPy, SciPy and Python that they called.  The last
frame of ours is left, too, where an error has no explanation of ours: it may be our mistake.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from inspect import Signature, signature
from numbers import Number
from types import FunctionType, TracebackType, UnionType
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from funcdiff.core.scope import current
from funcdiff.errors import (
    FuncdiffError,
    InputError,
    InternalError,
    is_ours,
    is_users_file,
    user_location,
    went_through_users_code,
)

F = TypeVar("F", bound=Callable[..., Any])

VARIABLE: Final = "FUNCDIFF_TRACEBACK"
"""In the environment: ``full`` leaves tracebacks whole."""

_NAMES_A_LINE: Final = re.compile(r"\bline \d").search

_GENERATED: Final = "<funcdiff "
"""How the file names of generated code begin."""


def public(function: F) -> F:
    """Let errors leave a function, or the public methods of a class, by short tracebacks."""
    if isinstance(function, type):
        for name, member in [*vars(function).items()]:
            if isinstance(member, FunctionType) and not name.startswith("_"):
                setattr(function, name, public(member))
        return function

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            refusal = _refusal(error, function, args, kwargs)
            if refusal is not None:
                raise refusal from None
            _note_parameters(error, function, args, kwargs)
            shorten(error)
            raise

    return cast("F", wrapper)


def parameters(found: Signature) -> str:
    """Return the parameters of a signature as a definition has them, without annotations."""
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def _refusal(
    error: BaseException, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> InputError | None:
    """Return the error for a call that failed at an argument of another kind than declared."""
    if not isinstance(error, TypeError | AttributeError | LookupError) or _is_a_misfit(error):
        return None
    if _is_explained(error) or went_through_users_code(error):
        return None
    others: list[tuple[str, list[type], Any]] = []
    with suppress(NameError, TypeError):  # of what only type checkers import
        hints = get_type_hints(function)
        given = signature(function).bind_partial(*args, **kwargs).arguments
        found = [(name, hints[name], x) for name, x in given.items() if name in hints]
        others = [(name, _kinds(hint), x) for name, hint, x in found if _is_other(x, _kinds(hint))]
    for name, kinds, value in others:
        wanted = " or ".join(kind.__name__.removesuffix("Type") for kind in kinds)
        told = re.search(rf"^ *{name}\n +(\w)(.*)", function.__doc__ or "", re.MULTILINE)
        cure = f" Wanted: {told[1].lower()}{told[2].rstrip('.')}." if told else ""
        return InputError(
            f"{function.__qualname__}: {name} is no {wanted}, but a {type(value).__name__}, at "
            f"{user_location()}.{cure}"
        )
    return None


def _kinds(hint: Any) -> list[Any]:
    """Return the classes that an annotation names."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else [hint]
    return [get_origin(kind) or kind for kind in kinds]


def _is_other(value: Any, kinds: list[Any]) -> bool:
    """Whether a value is certainly of no kind of these; numbers are one, type variables any."""
    classes = [Number if kind in (int, float, complex) else kind for kind in kinds]
    known = Any not in classes and all(isinstance(kind, type) for kind in classes)
    return known and not any(isinstance(value, kind) for kind in classes)


def _is_a_misfit(error: BaseException) -> bool:
    """Whether the function that was called does not take as many arguments, or their names."""
    return isinstance(error, TypeError) and getattr(error.__traceback__, "tb_next", error) is None


def _is_explained(error: BaseException) -> bool:
    notes = _texts(error)[1:]
    return isinstance(error, FuncdiffError) or any(n.startswith("funcdiff:") for n in notes)


def _texts(error: BaseException) -> list[str]:
    """Return the message of an error and its notes."""
    return [str(error), *getattr(error, "__notes__", ())]


def _note_parameters(
    error: BaseException, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> None:
    """Note the parameters of `function` if a call did not fit them, so that no frame is its.

    If an argument does not take what `function` calls it with, note how that is, as the docstring
    of `function` tells.
    """
    if _is_a_misfit(error):
        taken = parameters(signature(function, follow_wrapped=False)).replace("(self, ", "(", 1)
        maker, _, inner = function.__qualname__.partition(".<locals>.")
        name = f"fd.{maker}(f)" if inner else function.__name__
        error.add_note(f"funcdiff: at {user_location()}: {name} takes {taken}.")
    refused = re.match(r"(.+)\(\) (?:missing|takes) ", str(error))
    if not isinstance(error, TypeError) or refused is None:
        return
    given = {**dict(zip(signature(function).parameters, args, strict=False)), **kwargs}
    for name, value in given.items():
        told = re.search(rf"``{name}\(([^)]*)\)", function.__doc__ or "")
        if told and refused[1] == getattr(value, "__qualname__", None):
            names = [part for part in told[1].split(", ") if not part.startswith("*")]
            with suppress(TypeError):  # another one of that name takes them
                signature(value).bind(*names)
                continue
            error.add_note(
                f"funcdiff: fd.{function.__name__} calls {name}({told[1]}), at {user_location()}: "
                f"{name} takes these arguments."
            )


def shorten(error: BaseException) -> None:
    """Drop frames of ours from the traceback of an error, and of those before which it stands.

    Errors that code of ours has caught before are forgotten.  Inside a trace nothing is dropped: by
    where an error was raised, it is found out whose it is.
    """
    if current() is not None:
        return
    if isinstance(error, FuncdiffError) and not _NAMES_A_LINE("\n".join(_texts(error))):
        error.add_note(f"funcdiff: in a call at {user_location()}")
    if os.environ.get(VARIABLE) == "full":
        return
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        found = pending.pop()
        if found is None or id(found) in seen or isinstance(found, InternalError):
            continue
        seen.add(id(found))
        before = found.__context__.__traceback__ if found.__context__ is not None else None
        if before is not None and _is_ours(before):  # with which it begins, where it was caught
            found.__context__ = None
        found.__traceback__ = _shorten_traceback(found)
        pending += [found.__cause__, found.__context__]
        if isinstance(found, BaseExceptionGroup):
            pending += found.exceptions


def _is_ours(trace: TracebackType) -> bool:
    file = trace.tb_frame.f_code.co_filename
    return is_ours(file) or file.startswith(_GENERATED)


def _shorten_traceback(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error without frames of ours, and of what was called between."""
    traces: list[TracebackType] = []
    trace = error.__traceback__
    while trace is not None:
        traces.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    is_last, between = not _is_explained(error), False
    for t in reversed(traces):
        ours = _is_ours(t)
        is_users = is_users_file(t.tb_frame.f_code.co_filename, True)
        between = ours or (between and not is_users)
        if not between or (ours and is_last):
            kept = TracebackType(kept, t.tb_frame, t.tb_lasti, t.tb_lineno)
        is_last = False
    return kept
