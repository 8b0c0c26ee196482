"""Dispatches NumPy functions that meet traced arrays to their implementations here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from funcdiff.numpy.border.dispatch import by_types, implementation, qualified_name, unsupported
from funcdiff.numpy.border.recipes import Call
from funcdiff.numpy.border.without_axes import without_axes
from funcdiff.numpy.messages.wrong_calls import explain


def call(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call our version of a NumPy function; raise `UnsupportedNumPyError` if there is none."""
    ours = implementation(function)
    if ours is None:
        raise unsupported(qualified_name(function))
    operands = by_types.get(function)
    if operands is None:
        return _call(ours, function, args, kwargs)
    this = Call(function, args, kwargs, operands=operands)
    recipe = this.known()
    if recipe is not None:
        return this.record(recipe)
    result = _call(ours, function, args, kwargs)
    this.remember(result)
    return result


def _call(
    ours: Callable[..., Any], function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Return what a function of ours does in the place of one of NumPy's."""
    try:
        result = ours(*args, **kwargs)
        if _returns_out(ours, function, result, args, kwargs):
            return result
        return without_axes(function, result)
    except Exception as error:
        if isinstance(error, TypeError) and _refuses_keyword(error, ours):
            keyword = str(error).rsplit("'", 2)[-2]
            known = ", ".join(inspect.signature(ours).parameters)
            raise unsupported(
                f"{qualified_name(function)}({keyword}=)",
                f"Leave {keyword} out; the parameters for traced arrays are {known}.",
            ) from error
        explain(error, qualified_name(function), args, kwargs)
        raise


def _returns_out(
    ours: Any, function: Any, result: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether a result is the array given as ``out=``, which NumPy, too, returns as it is.

    `numpy.dot` makes a scalar of it, and so do the methods of scalars.
    """
    if "out" in kwargs:
        found = kwargs["out"]
    elif len(args) > 1 and any(result is x for x in args[1:]):
        found = inspect.signature(ours).bind(*args, **kwargs).arguments.get("out")
    else:
        return False
    if result is not found or function is np.dot:
        return False
    given = args[0] if args else None
    by_method = isinstance(given, np.generic) and hasattr(np.generic, function.__name__)
    return not by_method


def _refuses_keyword(error: TypeError, ours: Callable[..., Any]) -> bool:
    return "unexpected keyword argument" in str(error) and ours.__name__ in str(error)
