"""Operators with operands of other libraries: ufunc overrides, and SciPy's sparse arrays.

Reference: N. J. Smith, R. Gommers et al., NEP 13, "A mechanism for overriding ufuncs", 2017.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache
from numbers import Number
from types import FrameType
from typing import Any, Final

import numpy as np

from funcdiff.core.late import late_import
from funcdiff.core.tracer import Tracer
from funcdiff.errors import FuncdiffError, user_location

# ---- Sparse arrays of SciPy in operators with traced arrays: ``A @ x``, ``x @ A`` ----------------
#
# They know no protocol for others. But what they can make no array of, their operators leave to the
# other operand: so a traced array shows them its own class, and no values, where they ask.


_HOME: Final = "scipy.sparse._"
"""What the modules of its classes are called."""
_PREDICATES: Final = frozenset(("__instancecheck__", "isdense", "isscalar", "isscalarlike"))
_ASKING: Final = _PREDICATES | {"_matmul_dispatch"}
"""Functions by which sparse arrays ask for a class."""
_INNER: Final = frozenset(
    ("_matmul_dispatch", "_rmatmul_dispatch", "multiply", "_multiply_2d_with_broadcasting",
     "_divide")
)  # fmt: skip
"""Functions through which operators of SciPy's sparse arrays go."""

met: Final[list[Callable[[np.ufunc, tuple[Any, ...]], Any]]] = []
"""``met(ufunc, operands)`` of `funcdiff.scipy.sparse`, once it is imported."""


def is_sparse(kind: type[Any]) -> bool:
    """Whether a class is one of SciPy's sparse arrays."""
    return any(base.__module__ == _HOME + "base" for base in kind.__mro__)


def _is_sparses(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_HOME)


def asks_for_class() -> bool:
    """Whether it is an operator of a sparse array that asks a traced array for its class.

    The method ``dot`` goes on to an operator if it is shown an array.
    """
    frame: FrameType | None = sys._getframe(2)
    if frame is None or frame.f_code.co_name not in _ASKING:
        return False
    while frame is not None and frame.f_code.co_name in _PREDICATES:
        frame = frame.f_back
    return (
        frame is not None
        and _is_sparses(frame)
        and frame.f_code.co_name != "dot"
        and frame.f_code.co_varnames[:1] == ("self",)
    )


def is_wrapped() -> bool:
    """Whether it is code of xarray's that asks a traced number for its class.

    It holds arrays of any kind, but makes plain ones of NumPy's scalars and of numbers.
    """
    return str(sys._getframe(2).f_globals.get("__name__", "")).startswith("xarray.")


def asks_for_values() -> bool:
    """Whether it is an operator of a sparse array that asks a traced array for its values."""
    frame: FrameType | None = sys._getframe(3)
    inner = False
    while frame is not None and frame.f_code.co_name in _INNER and _is_sparses(frame):
        frame, inner = frame.f_back, True
    return inner and frame is not None and frame.f_code.co_name.startswith("__")


NO_VALUES: Final = np.array(None, dtype=object)
"""What they take for something else than an array."""


def meet(ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
    """Return what an operator between a traced and a sparse array is."""
    if not met:
        late_import("funcdiff.scipy.sparse")
    return met[0](ufunc, operands)


holders: Final[dict[type, Callable[[Any], Any]]] = {}
"""Classes with labels that may hold a traced array, and what takes it from them."""


def without_labels(x: Any) -> Any:
    """Return the arrays in place of what holds them with labels, in lists and tuples too."""
    if type(x) is list or type(x) is tuple:
        return type(x)(map(without_labels, x))
    array_of = holders.get(type(x))
    return x if array_of is None else array_of(x)


def arguments_without_labels(
    args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments with the arrays in place of what holds them with labels."""
    return tuple(map(without_labels, args)), {k: without_labels(x) for k, x in kwargs.items()}


tables: Final[list[Callable[..., Any]]] = []
"""``tables(ufunc, method, inputs, kwargs)`` of `funcdiff.labelled`, once pandas is met."""


derived: Final[list[Callable[[type], Callable[..., Any] | None]]] = []
"""``derived(kind)`` of `funcdiff.adapting`, once that is imported: what is ``__array_ufunc__`` of a
subclass of ndarray in adapted code where one meets a traced array; None of any other class."""


def _override(kind: type) -> Callable[..., Any] | None:
    return derived[0](kind) if derived else None


COLUMN: Final = ("_typ", "_values")
"""What pandas asks of what a column is to be made of."""


def column(x: Tracer, name: str) -> Any:
    """Return an attribute by which pandas takes a traced array with one axis for a column."""
    frame = sys._getframe(2)
    asked = frame.f_code.co_name == "extract_array" and len(x.type.shape) == 1
    if not asked or not str(frame.f_globals.get("__name__", "")).startswith("pandas."):
        raise AttributeError(name)
    return "series" if name == "_typ" else late_import("funcdiff.labelled.traced_columns").Column(x)


def meet_tables(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Return what a ufunc gives for traced arrays and tables of pandas."""
    if not tables:
        late_import("funcdiff.labelled.dataframes")
    return tables[0](ufunc, method, inputs, kwargs)


class Stance(Enum):
    """What an operand does about ufuncs."""

    NONE = 0
    """Its values are taken."""
    REFUSES = 1
    """It takes part in none, and has operators of its own: ``__array_ufunc__ = None``."""
    OVERRIDES = 2
    """It is asked first."""
    SPARSE = 3
    """It is a sparse array of SciPy's: its values are taken, but not by operators."""
    TABLE = 4
    """It is a table of pandas', whose labels the result has."""
    FOREIGN = 5
    """Its values are taken where it has no operator that is asked before NumPy's."""


def _stance(kind: Any) -> Stance:
    """Return what operands of a class do.

    Subclasses of ndarray that compute in a way of their own are refused elsewhere.
    """
    if _override(kind) is not None:
        return Stance.OVERRIDES
    if issubclass(kind, np.ndarray | np.generic | Tracer):
        return Stance.NONE
    if is_sparse(kind):
        return Stance.SPARSE
    protocol = getattr(kind, "__array_ufunc__", _stance)
    if protocol is None:
        return Stance.REFUSES
    if any(str(base.__module__).startswith("pandas.") for base in kind.__mro__):
        return Stance.TABLE if hasattr(kind, "__array__") else Stance.NONE
    if protocol is not _stance:
        return Stance.OVERRIDES
    return Stance.NONE if issubclass(kind, _KNOWN) else Stance.FOREIGN


_KNOWN: Final = (Number, str, bytes, list, tuple, range, type(None))
"""Classes of which NumPy, or a traced array, knows what to make."""


_REFLECTED: Final[dict[np.ufunc, str]] = {
    np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__",
    np.divide: "__rtruediv__", np.floor_divide: "__rfloordiv__", np.remainder: "__rmod__",
    np.divmod: "__rdivmod__", np.matmul: "__rmatmul__", np.power: "__rpow__",
    np.bitwise_and: "__rand__", np.bitwise_or: "__ror__", np.bitwise_xor: "__rxor__",
    np.left_shift: "__rlshift__", np.right_shift: "__rrshift__",
}  # fmt: skip
"""The operator of the right operand for each of the left one's."""
_SWAPPED: Final[dict[np.ufunc, str]] = {
    np.less: "__gt__", np.less_equal: "__ge__", np.greater: "__lt__", np.greater_equal: "__le__",
    np.equal: "__eq__", np.not_equal: "__ne__",
}  # fmt: skip
"""The comparison of the right operand for each of the left one's."""


def ask_operator(ufunc: np.ufunc, x: Tracer, other: Any, *, is_array: bool) -> Any:
    """Return what the right operand's own operator gives, where NumPy asks it before its own.

    Otherwise, and if it does not know traced arrays, that is NotImplemented.
    """
    kind: Any = type(other)
    if stance_of(kind) is not Stance.FOREIGN:
        return NotImplemented
    rank: Any = getattr(other, "__array_priority__", None)
    is_ranked = isinstance(rank, int | float)
    name = _REFLECTED.get(ufunc) or (_SWAPPED[ufunc] if is_ranked and not x.weak else "")
    if x.weak:  # Python's numbers leave it to all
        is_first = True
    elif is_ranked:
        is_first = rank > (0.0 if is_array else _RANK_OF_SCALARS)
    else:  # NumPy makes an object of it, not an array
        is_sequence = hasattr(kind, "__len__") and hasattr(kind, "__getitem__")
        is_first = not (is_array or is_sequence or any(hasattr(kind, p) for p in _PROTOCOLS))
    if not is_first or not any(name in vars(base) for base in kind.__mro__):
        return NotImplemented
    with _asking(kind, name, ufunc):
        try:
            return getattr(kind, name)(other, x)
        except TypeError:
            if hasattr(kind, "__array__"):  # of another library that knows no traced arrays
                return NotImplemented
            raise


@contextmanager
def _asking(kind: type, method: str, ufunc: np.ufunc) -> Iterator[None]:
    """Note on errors of other libraries that they were asked, and where."""
    try:
        yield
    except FuncdiffError:
        raise
    except Exception as error:
        error.add_note(
            f"funcdiff: raised by {kind.__name__}.{method}, which was asked for "
            f"np.{ufunc.__name__} with a traced array at {user_location()}"
        )
        raise


_PROTOCOLS: Final = ("__array__", "__array_interface__", "__array_struct__")
_RANK_OF_SCALARS: Final = -1_000_000.0
"""What NumPy compares ``__array_priority__`` with in operators of its scalars."""


stance_of: Final[Callable[[Any], Stance]] = lru_cache(maxsize=1024)(_stance)
"""As `_stance`, by the class, which is asked once."""


_ASKED: Final = (Stance.OVERRIDES, Stance.TABLE)


def overrides(operands: Sequence[Any]) -> bool:
    """Whether one of the operands is to be asked first."""
    for x in operands:  # noqa: SIM110 -- a generator costs twice the time
        if stance_of(type(x)) in _ASKED:
            return True
    return False


def ask_operands(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Return what operands that override ufuncs make of one, asked from left to right.

    Raises `TypeError` if none of them knows what to do.
    """
    if any(stance_of(type(x)) is Stance.TABLE for x in inputs):
        return meet_tables(ufunc, method, inputs, kwargs)
    out = kwargs.get("out", ())
    for x in (*inputs, *(out if isinstance(out, tuple) else (out,))):
        kind: Any = type(x)
        if stance_of(kind) is not Stance.OVERRIDES:
            continue
        override = _override(kind) or kind.__array_ufunc__
        with _asking(kind, "__array_ufunc__", ufunc):
            result = override(x, ufunc, method, *inputs, **kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(sorted({type(x).__name__ for x in inputs if not isinstance(x, Tracer)}))
    raise TypeError(
        f"np.{ufunc.__name__} met a traced array and a {names}, whose __array_ufunc__ does not "
        f"know traced arrays, at {user_location()}. Give it np.ndarray to handle, for which traced "
        "arrays stand, or use the numbers in it."
    )
