"""SciPy's classes and constructors of sparse arrays, with traced entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.scipy.covered import cover, covers, holds_traced
from funcdiff.scipy.sparse import traced_arrays
from funcdiff.scipy.sparse.operators import both
from funcdiff.scipy.sparse.row_products import dense
from funcdiff.scipy.sparse.traced_arrays import (
    SCIPY,
    SparseArray,
    follow,
    is_sparse,
    number_entries,
    refuse_changing,
    sparse_array,
    with_pattern,
)

_MODULE: Final = "scipy.sparse"


class Format(type):
    """The class of a class of SciPy's: it makes SciPy's objects, or ours of traced entries."""

    plain: Any
    cure: Final = (
        "Its operators take traced arrays: A @ x, and A * x for A.multiply(x). With traced entries "
        "make it by the function of that name in funcdiff.scipy.sparse."
    )

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a sparse array."""
        if current_builder() is None or not (holds_traced(args) or holds_traced(kwargs)):
            return cls.plain(*args, **kwargs)
        return _construct(cls.plain, *args, **kwargs)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x.pattern if isinstance(x, SparseArray) else x, cls.plain)

    def __subclasscheck__(cls, kind: type) -> bool:
        return cls is kind or issubclass(getattr(kind, "plain", kind), cls.plain)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.plain, name)


def _construct(
    plain: Any, arg: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **_: Any
) -> Any:
    """Return a sparse array of traced entries, of a format of SciPy's."""
    kind = plain.__name__.partition("_")[0]
    refuse_changing(plain.__name__)
    if is_sparse(arg):
        ours = with_pattern(arg)
        found = follow(ours.data, plain(ours.pattern, shape=shape))
    elif isinstance(arg, tuple) and len(arg) in (2, 3):
        found = _of_entries(plain, kind, arg, shape)
    else:
        raise UnsupportedNumPyError(
            f"{plain.__name__} of a traced dense array, at {user_location()}: which of its "
            "elements are zero, its values say, and a pattern is constant. Give the entries and "
            "their places: coo_array((x[i, j], (i, j)), shape=x.shape)."
        )
    return found if dtype is None else found.astype(dtype)


def _of_entries(plain: Any, kind: str, arg: tuple[Any, ...], shape: Any) -> Any:
    data, *places = arg
    data = dense(data)
    of_coordinates = len(arg) == 2 and kind != "dia"
    if of_coordinates and kind != "coo":
        coo = SCIPY.coo_array if issubclass(plain, SCIPY.sparray) else SCIPY.coo_matrix
        return _of_entries(coo, "coo", arg, shape).asformat(kind)
    data = np.atleast_2d(data) if kind == "dia" else data
    numbers = np.arange(1, data.size + 1).reshape(data.shape)
    found = plain((numbers, *places), shape=shape, copy=True)
    if found.data.shape == data.shape:
        return sparse_array(number_entries(found), data)
    return follow(data, found)


# ---- constructors that only put entries somewhere ------------------------------------------------


def _number(tree: Any, first: int, entries: list[Any]) -> Any:
    """Return nested lists of arrays with numbers for entries, which are appended to a list."""
    if tree is None:
        return None
    if is_sparse(tree):
        ours = with_pattern(tree)
        entries.append(np.ravel(ours.data))
        return number_entries(ours.pattern, first)
    if isinstance(tree, list | tuple):
        found = []
        for part in tree:
            found.append(_number(part, first, entries))
            first += sum(x.size for x in _entries(part))
        return found
    x = dense(tree)
    if not isinstance(tree, Tracer) and x.dtype == object:  # an array of blocks
        return np.array(_number(list(x), first, entries), dtype=object)
    entries.append(np.ravel(x))
    return np.arange(first, first + x.size).reshape(x.shape)[()]


def _entries(tree: Any) -> Iterator[Any]:
    entries: list[Any] = []
    _number(tree, 1, entries)
    yield from entries


def _placing(name: str, *, dtyped: bool) -> Callable[..., Any]:
    function = getattr(SCIPY, name)

    def ours(values: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        entries: list[Any] = []
        numbers = _number(values, 1, entries)
        if dtyped:
            kwargs["dtype"] = np.int64
        found = follow(np.concatenate(entries), function(numbers, *args, **kwargs))
        return found if dtype is None else found.astype(dtype)

    return ours


_PLACING: Final = {
    "diags": True, "diags_array": True, "spdiags": False, "hstack": False, "vstack": False,
    "bmat": False, "block_array": False, "block_diag": False, "tril": False, "triu": False,
    "expand_dims": False, "matrix_transpose": False, "permute_dims": False, "swapaxes": False,
}  # fmt: skip
"""Name -> whether SciPy has to be told to keep whole numbers."""


def _find(a: Any) -> tuple[Any, Any, Any]:
    ours = with_pattern(a)
    rows, columns, numbers = SCIPY.find(ours.pattern)
    return rows, columns, traced_arrays.take(ours.data, numbers)


def _kron(a: Any, b: Any, format: str | None = None) -> Any:
    return both(_sparse(a), _sparse(b), lambda x, y: SCIPY.kron(x, y, format))


def _sparse(x: Any) -> Any:
    """Return a dense operand of a constructor with an entry at every place."""
    if is_sparse(x):
        return x
    found = SCIPY.coo_array(np.ones(np.shape(x)))
    return SparseArray(number_entries(found), np.ravel(x))


def _kronsum(a: Any, b: Any, format: str | None = None) -> Any:
    a, b = _sparse(a), _sparse(b)
    unit = SCIPY.eye_array if traced_arrays.is_array(a) or traced_arrays.is_array(b) else SCIPY.eye
    left = _kron(unit(b.shape[0], dtype=b.dtype), a)
    return (left + _kron(b, unit(a.shape[0], dtype=a.dtype))).asformat(format or "csr")


def _is(kind: str) -> Callable[[Any], bool]:
    return lambda x: (
        isinstance(x, SparseArray) and not traced_arrays.is_array(x) and x.format == kind
    )


for _name in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil"):
    for _suffix in ("array", "matrix"):
        _plain = getattr(SCIPY, f"{_name}_{_suffix}")
        cover(_MODULE, _plain.__name__, Format(_plain.__name__, (), {"plain": _plain}))
    covers(_MODULE, f"isspmatrix_{_name}")(_is(_name))
for _name in ("sparray", "spmatrix"):
    cover(_MODULE, _name, Format(_name, (), {"plain": getattr(SCIPY, _name)}))
for _name, _dtyped in _PLACING.items():
    if hasattr(SCIPY, _name):
        covers(_MODULE, _name)(_placing(_name, dtyped=_dtyped))
covers(_MODULE, "find")(_find)
covers(_MODULE, "kron")(_kron)
covers(_MODULE, "kronsum")(_kronsum)
covers(_MODULE, "issparse")(is_sparse)
covers(_MODULE, "isspmatrix")(lambda x: is_sparse(x) and not traced_arrays.is_array(x))
