"""pandas' tables: as data that meet traced arrays, as arguments and as results.

A Series or a DataFrame that meets a traced array in an operation is computed with by NumPy's rules,
and the result has its labels again.  Two tables are never aligned: their labels must be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final

import numpy as np
import pandas as pd

from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError
from funcdiff.labelled.blocks import Shape, over_blocks, place, register
from funcdiff.labelled.traced_columns import Column, ColumnDtype, refuse
from funcdiff.numpy.border import deferring
from funcdiff.numpy.border.deferring import arguments_without_labels, without_labels

_TABLES: Final = (pd.Series, pd.DataFrame)
_NUMBERS: Final = "biufc"


# ---- Traced tables: pandas' own, whose operators and NumPy functions are ours ------------------

_METHODS: Final = frozenset(
    ("sum", "mean", "std", "var", "prod", "min", "max", "amin", "amax", "cumsum", "cumprod")
)
"""Functions of NumPy for which it calls the method of a table."""


def _array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Do what NumPy does with a table: call its method, or take its array."""
    if func.__name__ in _METHODS and isinstance(args[0], _TABLES):
        return func._implementation(*args, **kwargs)
    given, named = arguments_without_labels(args, kwargs)
    return func(*given, **named)


class _Choosing:
    """Methods for which pandas asks a mask for its values."""

    def where(self, cond: Any, other: Any = np.nan, **kwargs: Any) -> Any:
        """Return elements of another one where a condition does not hold."""
        if any(kwargs.values()) or callable(cond) or callable(other):
            return super().where(cond, other, **kwargs)  # type: ignore[misc]
        return _apply(np.where, self, cond, self, other)

    def mask(self, cond: Any, other: Any = np.nan, **kwargs: Any) -> Any:
        """Return elements of another one where a condition holds."""
        if any(kwargs.values()) or callable(cond) or callable(other):
            return super().mask(cond, other, **kwargs)  # type: ignore[misc]
        return _apply(np.where, self, cond, other, self)

    def clip(self, lower: Any = None, upper: Any = None, **kwargs: Any) -> Any:
        """Return elements within bounds."""
        if any(kwargs.values()):
            return super().clip(lower, upper, **kwargs)  # type: ignore[misc]
        return _apply(np.clip, self, self, lower, upper)


class TracedSeries(_Choosing, pd.Series):  # type: ignore[misc]
    """A Series with a traced column."""

    __array_function__ = _array_function

    @property
    def _constructor(self) -> Any:
        return TracedSeries

    @property
    def _constructor_expanddim(self) -> Any:
        return TracedFrame

    @property
    def values(self) -> Any:
        """The traced array."""
        return array_of(self)


class TracedFrame(_Choosing, pd.DataFrame):  # type: ignore[misc]
    """A DataFrame with traced columns."""

    __array_function__ = _array_function

    @property
    def _constructor(self) -> Any:
        return TracedFrame

    @property
    def _constructor_sliced(self) -> Any:
        return TracedSeries

    def to_numpy(self, dtype: Any = None, copy: bool = False, na_value: Any = None) -> Any:
        """Return the traced array."""
        return array_of(self)

    @property
    def values(self) -> Any:
        """The traced array."""
        return array_of(self)


def is_traced(x: Any) -> bool:
    """Whether something is a traced array, or a table with a traced column."""
    if isinstance(x, pd.DataFrame):
        return any(isinstance(dtype, ColumnDtype) for dtype in x.dtypes)
    return isinstance(x, Tracer) or isinstance(getattr(x, "dtype", None), ColumnDtype)


def array_of(x: Any) -> Any:
    """Return the array, traced or not, of a table, an index or a column of numbers."""
    if isinstance(x, pd.DataFrame):
        columns = [array_of(column) for _, column in x.items()]
        traced = any(isinstance(c, Tracer) for c in columns)
        return np.stack(columns, axis=1) if traced else x.to_numpy()
    if isinstance(x, Column):
        return x.traced
    if isinstance(x, pd.Series) and isinstance(x.array, Column):
        return x.array.traced
    if getattr(x.dtype, "kind", "") in "f" and not isinstance(x.dtype, np.dtype):  # pandas' own
        return x.to_numpy(dtype=np.dtype(x.dtype.type), na_value=np.nan)
    return np.asarray(x)


for _class in (*_TABLES, TracedSeries, TracedFrame):
    deferring.holders[_class] = array_of


def series(x: Any, index: Any, name: Any = None) -> Any:
    """Return an array with one axis as a Series."""
    if isinstance(x, Tracer):
        return TracedSeries(Column(x), index=index, name=name, copy=False)
    return pd.Series(x, index=index, name=name)


def frame(x: Any, index: Any, columns: Any) -> Any:
    """Return an array with two axes, or a list of columns, as a DataFrame."""
    parts = x if isinstance(x, list) else [x[:, k] for k in range(x.shape[1])]
    if any(isinstance(part, Tracer) for part in parts):
        made = TracedFrame(
            {k: Column(part) if isinstance(part, Tracer) else part for k, part in enumerate(parts)},
            index=index,
        )
    else:
        made = pd.DataFrame(dict(enumerate(parts)) if isinstance(x, list) else x, index=index)
    made.columns = columns
    return made


# ---- Operations ---------------------------------------------------------------------------------


def meet(ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: Any) -> Any:
    """Return what a ufunc gives for tables and traced arrays, with the labels of the tables."""
    arrays = [array_of(x) if _is_pandas(x) else x for x in inputs]
    if kwargs.get("out") is not None and any(map(_is_pandas, kwargs["out"])):
        refuse(f"np.{ufunc.__name__} with out= ")
    tables = [x for x in inputs if isinstance(x, _TABLES)]
    if ufunc is np.matmul:
        return _product(*inputs)
    for other in tables[1:]:
        _check_labels(tables[0], other, ufunc)
    result = getattr(ufunc, method)(*arrays, **kwargs)
    if method != "__call__" or not tables:
        return result
    widest = max(tables, key=np.ndim)
    if isinstance(result, tuple):
        return tuple(_label(y, widest) for y in result)
    return _label(result, widest)


def _apply(function: Any, like: Any, *args: Any) -> Any:
    """Return what a function of NumPy gives for tables with the labels of one, with these."""
    for x in args:
        if isinstance(x, _TABLES):
            _check_labels(like, x, function)
    return _label(function(*map(without_labels, args)), like)


def _is_pandas(x: Any) -> bool:
    return deferring.stance_of(type(x)) is deferring.Stance.TABLE


def _label(x: Any, like: Any) -> Any:
    if np.shape(x) != like.shape:
        return x
    if isinstance(like, pd.DataFrame):
        return frame(x, like.index, like.columns)
    return series(x, like.index, like.name)


def _check_labels(a: Any, b: Any, function: Any) -> None:
    """Refuse tables whose rows or columns are not the same, in the same order."""
    if a.ndim < b.ndim:
        a, b = b, a
    pairs = [(a.columns, b.index)] if b.ndim < a.ndim else list(zip(a.axes, b.axes, strict=True))
    for left, right in pairs:
        _check_index(left, right, f"np.{function.__name__}")


def _check_index(left: Any, right: Any, what: str) -> None:
    if left.equals(right):
        return
    lengths = f"of lengths {len(left)} and {len(right)}"
    at = next((k for k, (i, j) in enumerate(zip(left, right, strict=False)) if i != j), None)
    where = lengths if at is None else f"{left[at]!r} and {right[at]!r} at place {at}"
    raise InputError(
        f"{what} met two tables of pandas whose labels differ, {where}, at {place()}. "
        "Where something is traced they are not aligned: align them before, outside of the "
        "function (a, b = a.align(b, join='inner'), or b.reindex(a.index)), or compute with "
        "x.to_numpy(), where elements meet by their places."
    )


def _product(a: Any, b: Any) -> Any:
    """Return a product of matrices with the labels of the axes that stay."""
    if isinstance(a, _TABLES) and isinstance(b, _TABLES):
        _check_index(a.axes[-1], b.axes[0], "a product")
    x, y = (array_of(t) if _is_pandas(t) else t for t in (a, b))
    result: Any = np.matmul(x, y)
    rows = a.index if isinstance(a, pd.DataFrame) else None
    columns = b.columns if isinstance(b, pd.DataFrame) else None
    if np.ndim(result) == 2:
        return frame(result, rows, range(result.shape[1]) if columns is None else columns)
    labels = rows if columns is None else columns
    return result if labels is None or np.ndim(result) != 1 else series(result, labels)


deferring.tables.append(meet)


def _operator(plain: Any, ufunc: np.ufunc, *, reflected: bool = False) -> Any:
    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, list | tuple | str | dict) or other is None:
            return plain(self, other)
        return meet(ufunc, "__call__", (other, self) if reflected else (self, other), {})

    return operator


_OPERATORS: Final = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "pow": np.power,
    "floordiv": np.floor_divide, "mod": np.remainder, "matmul": np.matmul, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
_COMPARISONS: Final = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal,
}  # fmt: skip

for _class in (TracedSeries, TracedFrame):
    for _name, _ufunc in _OPERATORS.items():
        for _word in (f"__{_name}__", f"__r{_name}__"):
            _plain: Any = getattr(_class, _word)
            setattr(_class, _word, _operator(_plain, _ufunc, reflected=_word[2] == "r"))
    for _name, _ufunc in _COMPARISONS.items():
        _plain = getattr(_class, f"__{_name}__")
        setattr(_class, f"__{_name}__", _operator(_plain, _ufunc))


def _teach(cls: Any) -> None:
    """Let pandas' product, which asks no operand for its priority, leave traced operands to us.

    It takes ``np.asarray(other)``, which is a plain array always; ``@`` calls it.
    """
    plain: Callable[..., Any] = cls.dot

    @wraps(plain)
    def dot(self: Any, other: Any) -> Any:
        if current_builder() is None or not (is_traced(self) or is_traced(other)):
            return plain(self, other)
        return _product(self, other)

    cls.dot = dot


for _class in _TABLES:
    _teach(_class)


# ---- Containers ---------------------------------------------------------------------------------


def _ends(index: Any) -> str:
    """Return the first and the last label."""
    return f"{index[0]!r} to {index[-1]!r}" if len(index) else "no labels"


class _OfSeries:
    """A Series without its numbers."""

    paths = ("",)

    def __init__(self, x: Any) -> None:
        self.index, self.name = x.index, x.name
        self.shapes: tuple[Shape, ...] = (x.shape,)

    def __hash__(self) -> int:
        return hash((self.name, self.shapes))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _OfSeries)
            and (self.name, self.shapes) == (other.name, other.shapes)
            and self.index.identical(other.index)
        )

    def fits(self, other: _OfSeries) -> bool:
        """Whether the index is the same; the name may differ."""
        return self.shapes == other.shapes and bool(self.index.equals(other.index))

    def text(self) -> str:
        """Return the ends of the index."""
        return _ends(self.index)

    def label(self, arrays: list[Any], extra: int) -> Any:
        """Return a Series; a DataFrame with its index as columns; further axes have no labels."""
        (x,) = arrays
        if extra > 1:
            return x
        if extra:
            return frame(x, None, self.index)
        return series(x, self.index, self.name)

    def rows(self, blocks: list[Any]) -> Any:
        """Return blocks with the index on their rows."""
        return over_blocks(blocks[0], self._row)

    def _row(self, block: Any) -> Any:
        if isinstance(block, pd.DataFrame):
            block = block.copy(deep=False)
            block.index = self.index
            return block
        if not isinstance(block, np.ndarray | Tracer) or block.ndim > 2:
            return block
        if block.ndim == 2:
            return frame(block, self.index, range(block.shape[1]))
        return series(block, self.index, self.name)

    def without_axes(self, axes: list[int | None]) -> None:
        """Return nothing: one element has no labels."""


class _OfFrame:
    """A DataFrame without its numbers: the leaves are its columns of numbers."""

    def __init__(self, x: Any, places: tuple[int, ...], others: dict[int, Any]) -> None:
        self.index, self.columns, self.places, self.others = x.index, x.columns, places, others
        self.shapes: tuple[Shape, ...] = ((len(x),),) * len(places)
        self.paths = tuple(f"[{x.columns[k]!r}]" for k in places)

    def __hash__(self) -> int:
        return hash((self.places, self.shapes))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _OfFrame)
            and (self.places, self.shapes) == (other.places, other.shapes)
            and self.index.identical(other.index)
            and self.columns.identical(other.columns)
            and all(x.equals(other.others[k]) for k, x in self.others.items())
        )

    def fits(self, other: _OfFrame) -> bool:
        """Whether index and columns are the same."""
        pairs = ((self.index, other.index), (self.columns, other.columns))
        return self.places == other.places and all(a.equals(b) for a, b in pairs)

    def text(self) -> str:
        """Return the ends of the index, and of the columns."""
        return f"{_ends(self.index)} x {_ends(self.columns)}"

    def label(self, arrays: list[Any], extra: int) -> Any:
        """Return a DataFrame; with further axes, what is made of each column, by its name."""
        names = [self.columns[k] for k in self.places]
        if extra > 1:
            return dict(zip(names, arrays, strict=True))
        if extra:
            pairs = zip(names, arrays, strict=True)
            return {name: frame(x, None, self.index) for name, x in pairs}
        columns = self.others | dict(zip(self.places, arrays, strict=True))
        return frame([columns[k] for k in range(len(columns))], self.index, self.columns)

    def rows(self, blocks: list[Any]) -> Any:
        """Return blocks with the index on their rows, by the name of the column."""
        of_one = object.__new__(_OfSeries)
        of_one.index, of_one.shapes = self.index, self.shapes
        found = {}
        for k, block in zip(self.places, blocks, strict=True):
            of_one.name = self.columns[k]
            found[of_one.name] = of_one.rows([block])
        return found

    def without_axes(self, axes: list[int | None]) -> None:
        """Refuse: a row has numbers of several columns."""
        raise InputError(
            f"rows of a DataFrame were to be mapped over, at {place()}. Give them as an array, "
            "df.to_numpy(), or the columns, {name: df[name].to_numpy() for name in df}."
        )


def _open_series(x: Any) -> tuple[list[Any], _OfSeries]:
    leaf = array_of(x) if isinstance(x.array, Column) or x.dtype.kind in _NUMBERS else x.array
    return [leaf], _OfSeries(x)


def _open_frame(x: Any) -> tuple[list[Any], _OfFrame]:
    columns = [column for _, column in x.items()]
    places = tuple(k for k, c in enumerate(columns) if c.dtype.kind in _NUMBERS)
    others = {k: c.array.copy() for k, c in enumerate(columns) if k not in places}
    return [array_of(columns[k]) for k in places], _OfFrame(x, places, others)


register(_open_series, pd.Series, TracedSeries)
register(_open_frame, pd.DataFrame, TracedFrame)
