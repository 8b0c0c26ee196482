"""The dispatch table of NumPy functions for traced arrays, with messages for missing ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import numpy as np

from funcdiff.core.late import close_matches, import_all
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.messages.mistakes import cure_in_scipy
from funcdiff.numpy.messages.refusals import refusal_of

F = TypeVar("F", bound=Callable[..., Any])

_functions: Final[dict[Callable[..., Any], Callable[..., Any]]] = {}
"""NumPy function -> ours, of the same signature, which sees at least one traced array."""

ufuncs: Final[dict[np.ufunc, Callable[..., Any]]] = {}
"""NumPy ufuncs that are not one elementwise operation -> ours."""

default: Final[Any] = np._NoValue
"""NumPy's own mark for a keyword that was not given."""


by_types: Final[dict[Callable[..., Any], float]] = {}
"""How many arguments of a NumPy function, or of a ufunc in `ufuncs`, only count by their types."""


def implements(*names: Callable[..., Any] | str, operands: float = 0) -> Callable[[F], F]:
    """Enter the decorated function as what these NumPy functions do to traced arrays.

    A function that only newer NumPy has is given by its name, and passed over where it is missing.
    If its first arguments, so many as `operands`, are arrays or lists of arrays of which only the
    types decide what is recorded, and the others are none, it is recorded again without a call.
    """

    def enter(function: F) -> F:
        for name in names:
            found = getattr(np, name, None) if isinstance(name, str) else name
            if found is not None:
                table: dict[Any, Any] = ufuncs if isinstance(found, np.ufunc) else _functions
                table[found] = function
                if operands:
                    by_types[found] = operands
        return function

    return enter


def functions() -> Mapping[Callable[..., Any], Callable[..., Any]]:
    """Return ours by NumPy's functions, importing those that are rarely needed, too."""
    import_all("funcdiff.numpy")
    return _functions


def implementation(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return our version of a NumPy function, None if there is none."""
    return _functions.get(function) or functions().get(function)


def numpy_name(function: Callable[..., Any]) -> str:
    """Return ``np.linalg.norm`` for that function."""
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module.replace('numpy', 'np', 1)}.{function.__name__}"


def refusal_error(name: str, cure: str = "") -> UnsupportedNumPyError:
    """Return the error for a function or keyword that is not covered.

    It gives the reason and the cure of the table of refusals, or else similar covered names.
    """
    refusal, cure = refusal_of(name), cure_in_scipy() or cure
    if refusal is not None:
        advice = f" {refusal.reason} {cure or refusal.cure}"
    elif cure:
        advice = f" {cure}"
    else:
        advice = (
            f"{_near_misses(name)} Write it with covered functions, or apply it to values that "
            "need no derivative, outside the function or on fd.stop_gradient(x)."
        )
    return UnsupportedNumPyError(
        f"{name} of a traced array is not supported, at {user_location()}.{advice}"
    )


def _near_misses(name: str) -> str:
    asked = name.split("(")[0].rsplit(".", 1)[-1]
    known = {f.__name__: numpy_name(f) for f in functions()}
    known |= {u.__name__: f"np.{u.__name__}" for u in ufuncs}
    known.pop(asked, None)
    near = [known[k] for k in close_matches(asked, sorted(known), n=3, cutoff=0.75)]
    return f" Covered and similar: {', '.join(near)}." if near else ""


def copy_mode(copy: Any) -> bool | None:
    """Return whether a copy is asked for; None: if one is needed."""
    if isinstance(copy, np._CopyMode):
        return None if copy is np._CopyMode.IF_NEEDED else copy is np._CopyMode.ALWAYS
    wanted: bool | None = copy
    return wanted


def refuse(name: str, **given: Any) -> None:
    """Raise if any of these keywords of a NumPy function was given a value of its own."""
    for keyword, value in given.items():
        if value is not None and value is not default:
            raise refusal_error(f"{name}({keyword}=)", f"Leave {keyword} out.")
