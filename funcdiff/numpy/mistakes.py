"""What the user wrote where a traced array was to become a plain one, and what to write instead."""

from __future__ import annotations

import dis
import linecache
import re
import sys
from itertools import islice
from pathlib import Path
from textwrap import shorten
from types import FrameType
from typing import Final, NamedTuple

import numpy as np

from funcdiff.errors import user_frame

_STORED: Final = (
    "An ordinary array cannot hold it. Make one that can, funcdiff.numpy.zeros(shape), "
    "np.zeros_like(x), np.zeros(shape, like=x) or np.array(y, like=x), or build a list and "
    "np.stack it."
)
_CURES: Final = (
    (
        r"int$|math\.(isclose|isfinite|isinf|isnan)$",
        "Use NumPy's function: np.floor(x), np.isnan(x). For a count or an index, write round(x) "
        "or math.floor(x), or say that it is a constant: int(fd.stop_gradient(x)).",
    ),
    (
        r"(math|cmath)\.",
        "Use NumPy's function: np.sin(x), not math.sin(x).",
    ),
    (
        r"(.*\.)?(as|asany|ascontiguous|asfortran)?array$",
        "Use funcdiff.numpy.array([x, y]) or np.stack([x, y]): NumPy looks for traced arrays among "
        "arguments, not in lists. A single one is an array already.",
    ),
    (
        r"(.*\.)?(full|arange|fromiter)$",
        "Use the function of that name in funcdiff.numpy.",
    ),
    (
        r".*\.(__setitem__|copyto|fill|fill_diagonal|place|put|put_along_axis|putmask)$",
        _STORED,
    ),
    (
        r"(.*\.)?(random|rng)\.",
        "Draw numbers that do not depend on x, and compute with them: "
        "mean + scale * rng.normal(size=n).",
    ),
    (
        r"(.*\.)?as_strided$",
        "Strides are about memory, and a traced array stands for a value without one: use "
        "np.lib.stride_tricks.sliding_window_view, np.broadcast_to, or slices.",
    ),
    (
        r"(.*\.)?vectorize",
        "Call the function with the whole array, or use fd.vmap(f)(x).",
    ),
    (
        r"(.*\.)?(float|complex|float64|float32|item|tolist)$",
        "Go on with x itself: it is an array, and has NumPy's functions and methods.",
    ),
)
"""By what is called, as the user wrote it."""

_FORMATTED: Final = "Write an f-string, which shows the value: f'{x:.2f}'."
_UNSEEN: Final = (
    "NumPy looks for traced arrays among arguments, not in lists: use the function of that name in "
    "funcdiff.numpy, or give it np.stack([x, y]). Where NumPy cannot dispatch, because a function "
    "makes plain arrays of its arguments, write it with NumPy's functions (np.sin(x), not "
    "math.sin(x)), or declare it with fd.primitive."
)
_ANY: Final = (
    "Keep computing with x and NumPy functions (np.sin(x), not math.sin(x); "
    "funcdiff.numpy.array([x, y]), not np.array([x, y])); make an array that x is stored into with "
    "np.zeros_like(x) or np.zeros(shape, like=x), or build a list and np.stack it."
)
"""Where the source text is not known."""
_SCIPYS: Final = (
    "SciPy's code that is no ufunc cannot take a traced array: use fd.scipy.special, give its "
    "solvers to fd.custom_root, or declare the function with fd.primitive."
)
_POLYNOMIALS: Final = (
    "NumPy cannot dispatch inside np.polynomial: use np.polyval(c, x), the highest power first, or "
    "np.polynomial.polynomial.polyval(x, p.convert().coef) for a Polynomial p."
)


class Mistake(NamedTuple):
    """The source text of what was being evaluated, empty if it is not known, and the cure."""

    code: str
    cure: str


def mistake() -> Mistake:
    """Return what the user wrote that is about to make a plain array of a traced one."""
    frame = user_frame()
    if frame is None:
        return Mistake("", _ANY)
    code = _evaluated(frame)
    shown = shorten(code, 80, placeholder=" ...")
    if user_frame(or_scipys=True) is not frame:
        return Mistake(shown, _SCIPYS)
    if _called_through("polynomial", frame):
        return Mistake(shown, _POLYNOMIALS)
    if dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("STORE_S"):
        return Mistake(f"{shown} = ..." if shown else "", _STORED)
    if code.startswith(("'", '"')) and "%" in code:
        return Mistake(shown, _FORMATTED)
    called = re.match(r"([\w.]+)\(", code)
    if called is None:
        return Mistake(shown, _ANY)
    cures = (cure for pattern, cure in _CURES if re.match(pattern, called[1]))
    return Mistake(shown, next(cures, _UNSEEN))


def _called_through(folder: str, frame: FrameType) -> bool:
    """Return whether code in a folder of that name was called there, and has come to us."""
    inner: FrameType | None = sys._getframe(1)
    while inner is not None and inner is not frame:
        if Path(inner.f_code.co_filename).parent.name == folder:
            return True
        inner = inner.f_back
    return False


def _evaluated(frame: FrameType) -> str:
    """Return the source text of the expression, or the target of an assignment, in one line."""
    code = frame.f_code
    positions = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    first, last, start, end = positions
    if first is None or last is None or start is None or end is None:
        return ""
    found = linecache.getlines(code.co_filename, frame.f_globals)[first - 1 : last]
    if len(found) != last - first + 1:
        return ""
    lines = [line.encode() for line in found]  # positions count bytes
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return " ".join(b"".join(lines).decode(errors="replace").split())


# ---- attributes ------------------------------------------------------------------------------

_ATTRIBUTES: Final = {
    **dict.fromkeys(
        ("backward", "grad", "requires_grad", "requires_grad_", "retain_grad"),
        "Nothing is stored in arrays: fd.grad(f)(x) returns the gradient, and "
        "y, f_vjp = fd.vjp(f, x) what y.backward(gradient=v) computes, f_vjp(v).",
    ),
    **dict.fromkeys(("detach", "detach_"), "Use fd.stop_gradient(x)."),
    **dict.fromkeys(("numpy", "cpu", "cuda", "to"), "It is an array of NumPy's already."),
    "at": "Write x[i] = v, or np.add.at(x, i, v).",
    "clone": "Use x.copy().",
}
"""What to write instead of attributes that arrays of other libraries have."""


def attribute_cure(name: str) -> str:
    """Return a sentence with what to write instead of an unknown attribute, or nothing."""
    function = vars(np).get(name)
    if name in _ATTRIBUTES:
        return f". {_ATTRIBUTES[name]}"
    return f". Use np.{name}(x)." if callable(function) and not isinstance(function, type) else ""
