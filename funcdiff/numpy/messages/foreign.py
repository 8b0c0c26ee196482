"""Explains calls that traced arrays meet in other libraries: protocols, SciPy, subclasses."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from types import FrameType, ModuleType
from typing import Any, Final

import numpy as np

from funcdiff.core.late import late, late_import
from funcdiff.errors import is_installed, is_users_file
from funcdiff.ops.families import Elementwise

# ---- Explains calls of SciPy with traced arrays, and names the function in `funcdiff.scipy` ------


cure: Final = late("funcdiff.scipy.covered", "cure")
"""``cure(module, name, code)``: what to write instead of a call of SciPy's, and why."""

_ANY: Final = (
    "Use the function of that name in funcdiff.scipy, which has SciPy's names for traced arrays; "
    "where there is none, declare it with fd.primitive."
)


def is_scipys(frame: FrameType | None) -> bool:
    """Return whether a frame runs SciPy's code as it is, not on traced arrays."""
    return frame is not None and str(frame.f_globals.get("__name__", "")).startswith("scipy.")


def cure_of_call(code: str, frame: FrameType) -> str:
    """Return what to write instead of an expression that calls SciPy, evaluated in a frame."""
    place = next(_public_places(code, frame), None) or _entry(frame)
    return cure(*place, code) if place else _ANY


def cure_of_compiled(code: str, frame: FrameType) -> str:
    """Return what to write instead of a call of SciPy's compiled code, or nothing.

    Such code has no frame; it is known by what the expression calls.
    """
    with suppress(SyntaxError, ValueError):
        called = ast.parse(code, mode="eval").body
        if isinstance(called, ast.Call):
            place = next(_public_places(ast.unparse(called.func), frame), None)
            return cure(*place, code) if place else ""
    return ""


def package_called(code: str, frame: FrameType) -> str:
    """Return the name of the installed package, none of NumPy's, that an expression calls."""
    with suppress(SyntaxError, ValueError):
        called = ast.parse(code, mode="eval").body
        if isinstance(called, ast.Call):
            value = _value(called.func, frame)
            owner = _value(getattr(called.func, "value", called.func), frame)
            modules = (getattr(value, "__module__", ""), type(value).__module__, owner)
            for module in modules:
                name = str(getattr(module, "__name__", module)).partition(".")[0]
                file = getattr(sys.modules.get(name), "__file__", None) or ""
                if is_users_file(file) and is_installed(file):
                    return name
    return ""


def _public_places(code: str, frame: FrameType) -> Iterator[tuple[str, str]]:
    """Yield module and name of what an expression mentions of SciPy's, what is called first."""
    with suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(code, mode="eval")):
            if isinstance(node, ast.Name | ast.Attribute):
                place = public_place(_value(node, frame))
                if place is not None:
                    yield place


def _value(node: ast.expr, frame: FrameType) -> Any:
    """Return what a dotted name stands for in a frame, as far as modules and classes go."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if not isinstance(node, ast.Attribute):
        return None
    owner = _value(node.value, frame)
    return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else owner


def public_place(value: Any) -> tuple[str, str] | None:
    """Return module and name by which users know a function, class or object of SciPy's."""
    kind = value if isinstance(value, type) or hasattr(value, "__name__") else type(value)
    path = str(getattr(kind, "__module__", "")).split(".")
    if path[0] != "scipy" or isinstance(value, ModuleType):
        return None
    for end in range(len(path), 1, -1):
        module = ".".join(path[:end])
        names = vars(sys.modules.get(module) or sys)
        if any(part.startswith("_") for part in path[:end]):
            continue
        name = next((k for k, v in names.items() if v is value or v is kind), None)
        if name is not None:
            return module, name
    return None


def _entry(frame: FrameType) -> tuple[str, str] | None:
    """Return the function of SciPy's by which its code was entered from a frame."""
    inner: FrameType | None = sys._getframe(1)
    place = None
    while inner is not None and inner is not frame:
        if is_scipys(inner):
            found = inner.f_globals.get(inner.f_code.co_name)
            place = public_place(found) or place
        inner = inner.f_back
    return place


handlers: Final[dict[str, Elementwise | Callable[..., Any]]] = {}
"""What ufuncs of ``scipy.special`` become, by name: entered by `funcdiff.scipy`."""

_protocols: Final = {
    "pandas": "funcdiff.labelled.dataframes",
    "scipy.fft": "funcdiff.scipy.fft.compiled",
    "scipy.special": "funcdiff.scipy.special",
    "xarray": "funcdiff.labelled.dataarrays",
}
"""Modules with a protocol or ufuncs -> the module of ours that answers to it, not imported yet."""

_HOMES: Final = ("scipy.special", "scipy.special._ufuncs")
"""Where ufuncs live: the second has those that Python functions of the first call."""


def operation_of(ufunc: np.ufunc) -> Elementwise | Callable[..., Any] | None:
    """Return what a ufunc of ``scipy.special`` becomes: an operation or a handler, if we know it.

    SciPy is looked for only among the modules that are imported already.
    """
    if not _is_scipys(ufunc):
        return None
    answer_protocols()
    return handlers.get(ufunc.__name__)


def ufunc_name(ufunc: np.ufunc) -> str:
    """Return ``np.sin`` or ``scipy.special.gamma`` for that ufunc, or how others call theirs."""
    if _is_scipys(ufunc):
        return f"scipy.special.{ufunc.__name__}"
    known = hasattr(np, ufunc.__name__) or hasattr(np.strings, ufunc.__name__)
    return f"np.{ufunc.__name__}" if known else f"the ufunc {ufunc.__name__} of another library"


def cure_of_ufunc(ufunc: np.ufunc) -> str:
    """Return why we do not know a ufunc of ``scipy.special`` and what to write; else nothing."""
    return cure("scipy.special", ufunc.__name__, "") if _is_scipys(ufunc) else ""


def _is_scipys(ufunc: np.ufunc) -> bool:
    return any(getattr(sys.modules.get(m), ufunc.__name__, None) is ufunc for m in _HOMES)


def answer_protocols() -> None:
    """Answer to the protocols of those modules that are imported: before a function is traced."""
    for theirs, ours in list(_protocols.items()):
        if theirs in sys.modules:
            _protocols.pop(theirs, None)
            late_import(ours)


# --------------------------------------------------------------------------------------------------
# Subclasses of ndarray that compute in a way of their own, which a traced array would lose.
#
# ``*`` of `numpy.matrix` is the product of matrices, and a masked array leaves elements out.
# `numpy.memmap` and `numpy.recarray` only keep their memory elsewhere, and compute as ndarrays.


_COMPUTING: Final = frozenset(dir(np.ndarray)) - {
    "__array_finalize__", "__array_priority__", "__class__", "__class_getitem__", "__copy__",
    "__deepcopy__", "__delattr__", "__dir__", "__doc__", "__format__", "__getstate__", "__hash__",
    "__init__", "__init_subclass__", "__new__", "__reduce__", "__reduce_ex__", "__repr__",
    "__setattr__", "__setstate__", "__sizeof__", "__str__", "__subclasshook__", "dump", "dumps",
    "tobytes", "tofile",
}  # fmt: skip
"""What a subclass overrides whose values do not say all: not how it is made, shown and stored."""
_ELSEWHERE: Final = (np.memmap, np.recarray)


def lost_by_tracing(value: Any) -> str:
    """Return what would be lost of an array if it were traced, and the cure; else an empty text.

    >>> lost_by_tracing(np.ones(2))
    ''
    >>> lost_by_tracing(np.ma.masked_array([1.0, 2.0], [True, False]))
    'its mask would be lost. Use x.filled(value) and np.where(mask, a, b)'
    """
    kind: Any = type(value)
    if kind is np.ndarray or not isinstance(value, np.ndarray):
        return ""
    own = _computes_by(kind)
    if not own:
        return ""
    if isinstance(value, np.ma.MaskedArray):
        return "its mask would be lost. Use x.filled(value) and np.where(mask, a, b)"
    if isinstance(value, np.matrix):
        return "its * is @, which would be lost. Use np.asarray(x), and write @ for products"
    return f"what its own {own} does would be lost. Use np.asarray(x) if only its values matter"


def describe_class(value: Any) -> str:
    """Return how messages call an array of a subclass."""
    return "a masked array" if isinstance(value, np.ma.MaskedArray) else f"a {type(value).__name__}"


@lru_cache(maxsize=256)
def _computes_by(kind: type[Any]) -> str:
    """Return what a subclass overrides of how ndarrays compute, or an empty text."""
    bases = kind.__mro__[: kind.__mro__.index(np.ndarray)]
    own = (name for base in bases if base not in _ELSEWHERE for name in vars(base))
    return next((name for name in own if name in _COMPUTING), "")
