"""Wrong calls of the transforms: keywords that they do not have, and a decorator without function.

Python's own error has neither the place nor the cure.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final, TypeVar, cast

from funcdiff.core.late import close_matches
from funcdiff.core.tracebacks import shorten
from funcdiff.errors import InputError, user_location

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

    A keyword that it does not have goes to `InputError` with the one that is meant, and options
    without a function, ``@fd.jit(static_argnums=1)``, with what a decorator with options is.
    """

    @wraps(transform)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return transform(*args, **kwargs)
        except BaseException as error:
            trace = error.__traceback__
            if isinstance(error, TypeError) and trace is not None and trace.tb_next is None:
                raise InputError(_explanation(transform, args, kwargs, error)) from None
            shorten(error)  # it is not the call that fails, but something in it
            raise

    return cast("F", wrapper)


def _explanation(
    transform: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any],
    error: TypeError,
) -> str:  # fmt: skip
    name, place = f"fd.{transform.__name__}", user_location()
    known = [p.name for p in inspect.signature(transform).parameters.values()]
    unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    if unknown:
        near = close_matches(_OTHERS.get(unknown[1], unknown[1]), known[1:], 1)
        cure = f"Did you mean {near[0]}=?" if near else f"It has {', '.join(known)}."
        return f"{name} has no keyword {unknown[1]}=, at {place}. {cure}"
    if not args and known[0] not in kwargs:
        options = ", ".join(f"{key}={value!r}" for key, value in kwargs.items())
        applied = f"{name}(f, {options})" if options else f"{name}(f)"
        decorator = f"@functools.partial({name}, {options})" if options else f"@{name}"
        return (
            f"{name} takes a function first, but was given {options or 'nothing'}, at {place}. "
            f"Write {applied}, or {decorator} above the function."
        )
    return f"{name}: {str(error).partition('() ')[2] or error}, at {place}."
