"""Explains errors of code that knows no traced arrays: adds the line in the code, and the cure.

json, statistics, numba, NumPy's iterators and Python's calls raise errors of their own where they
meet a traced array, or a keyword of another library.  They stay what they are; a note is added.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from funcdiff.errors import FuncdiffError, installed_package, location_of
from funcdiff.numpy.messages.mistakes import MADE_INSIDE

_KEYWORDS: Final = {
    "axes": "axis",
    "correction": "ddof",
    "dim": "axis",
    "dims": "axis",
    "dim0": "axis1",
    "dim1": "axis2",
    "keepdim": "keepdims",
    "unbiased": "ddof",
}
"""What other libraries call a keyword, and what NumPy does."""

_OUTSIDE: Final = (
    "Return what you want to keep as a result (with has_aux=True beside the value) and use it "
    "outside; where no derivative is wanted, write np.asarray(fd.stop_gradient(x))"
)

_CURES: Final = {
    r"Object of type \w+ is not JSON serializable|descriptor '__repr__' requires": (
        f"json writes plain numbers, not traced arrays. {_OUTSIDE}.tolist()"
    ),
    r"can't convert type '\w+' to numerator/denominator": (
        "statistics computes with plain numbers: use np.mean(x), np.median(x), np.std(x, ddof=1) "
        "or np.var(x, ddof=1)"
    ),
    (
        r"conversion from \w+ to Decimal|argument should be a string or a Rational|"
        r"Rational instance"
    ): (
        "decimals and fractions are made of plain numbers, and a derivative would be lost: go on "
        "with x itself"
    ),
    r"WRITEBACKIFCOPY|Iterator operand": (
        "np.nditer walks over the memory of an array, and a traced one stands for a value without "
        "one: use array operations, `for v in x.flat`, or `for index in np.ndindex(x.shape)`"
    ),
    r"Error setting single item of array": (
        f"an ordinary array cannot hold a traced value: make one that can, {MADE_INSIDE}; or "
        "build a list and np.stack it"
    ),
    r"nopython|[nN]umba": (
        "numba compiles for plain arrays: call the function without @njit (f.py_func) to trace "
        "its NumPy code, or declare it with fd.primitive, whose rule may call compiled code"
    ),
    r"bad argument type for built-in operation": (
        "compiled code, such as a function of numba's, takes plain numbers: call what it was "
        "compiled from (f.py_func of numba's), or declare it with fd.primitive, whose rule may "
        "call compiled code"
    ),
    r"must be numpy\.ndarray, not \w+": (
        "compiled code takes plain arrays alone: make the object by the function of that name "
        "in funcdiff.scipy (scipy.sparse.linalg.splu, say), or declare the call with fd.primitive"
    ),
    r"required argument is not (a float|an integer)": (
        f"struct and the like write plain numbers, not traced arrays. {_OUTSIDE}.item()"
    ),
    r"[tT]ruth value of an array": (
        "`if` and `and` take one boolean: use np.where(mask, a, b) for arrays, & for `and`, or "
        "np.any(mask), np.all(mask)"
    ),
    r"a bytes-like object is required": (
        f"a traced array has no memory that could be read. {_OUTSIDE}"
    ),
}
"""By the text of the error."""

_PACKAGES: Final = {"numba": "; f.py_func is the NumPy code that numba compiles"}
"""What is to be said of a package beside."""


def note_cure(error: Exception, refused: tuple[type[Exception], str] | None = None) -> None:
    """Note where the user called code that raised for meeting a traced array, and the cure.

    `error` is as it left the traced function; those of funcdiff say these things themselves.
    `refused` is the kind and message of an error of ours that was raised in the trace before: code
    in C (a solver of SciPy's) may have put one of its own in its place.
    """
    if isinstance(error, FuncdiffError):
        _note_package(error)
        return
    cure = _cure_of(error)
    if cure:
        error.add_note(f"funcdiff: at {location_of(error)}, while traced: {cure}.")
    elif refused is not None and not _follows(error, refused[1]):
        error.add_note(f"funcdiff: {refused[1]}")


def _follows(error: BaseException | None, message: str) -> bool:
    """Whether Python shows an error of this message with another one, as its cause."""
    while error is not None:
        if str(error).startswith(message):
            return True
        error = error.__cause__ or error.__context__
    return False


def _note_package(error: FuncdiffError) -> None:
    """Note where the user called the installed package in which one of our errors was raised."""
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    package = next(filter(None, map(installed_package, reversed(frames))), "")
    place = location_of(error)
    if package and place not in str(error) and place != "an unknown place":
        error.add_note(
            f"funcdiff: {package} was called at {place}, and met a traced array there. Give it "
            "plain arrays, or declare the function with fd.primitive"
            f"{_PACKAGES.get(package, '')}."
        )


def _cure_of(error: Exception) -> str:
    text = str(error)
    keyword = re.match(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", text)
    if keyword:
        return _cure_of_keyword(*keyword.groups())
    return next((cure for pattern, cure in _CURES.items() if re.search(pattern, text)), "")


def _cure_of_keyword(function: str, keyword: str) -> str:
    known: Any = getattr(np, function, None) or getattr(np.ndarray, function, None)
    if known is None or keyword not in _KEYWORDS:
        return ""
    return f"np.{function} is NumPy's, which says {_KEYWORDS[keyword]} for {keyword}"
