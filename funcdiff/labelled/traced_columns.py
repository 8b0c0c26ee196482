"""An extension array of pandas around a traced array, so that tables can have traced columns.

Reference: pandas, Extending pandas, "Extension types".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final, NoReturn

import numpy as np
from pandas.api.extensions import ExtensionArray, ExtensionDtype
from pandas.api.indexers import check_array_indexer
from pandas.api.types import is_integer

from funcdiff.core.tracer import Tracer
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.labelled.blocks import place
from funcdiff.numpy.border.deferring import arguments_without_labels, holders
from funcdiff.numpy.namespace import numpy as fnp


def refuse(what: str, cure: str = "NumPy's functions") -> NoReturn:
    """Refuse what pandas computes in compiled code."""
    raise UnsupportedNumPyError(
        f"{what} of a traced column of pandas, at {place()}, is compiled code that takes no traced "
        f"array. Write it with {cure} of x.to_numpy(), which is the traced array."
    )


class ColumnDtype(ExtensionDtype):  # type: ignore[misc]
    """The dtype of a traced column: that of the array in it."""

    _metadata = ("traced",)
    na_value = np.nan
    name = "traced"

    def __init__(self, traced: Any) -> None:
        self.traced = np.dtype(traced)
        self.name = f"traced[{self.traced}]"

    @classmethod
    def construct_from_string(cls, string: str) -> NoReturn:
        """Refuse: the name says that a column is traced, which a dtype cannot make it."""
        raise TypeError(f"Cannot construct a {cls.__name__} from {string!r}")

    @property
    def type(self) -> Any:
        """The class of the elements."""
        return self.traced.type

    @property
    def kind(self) -> str:
        """The letter of the kind of number."""
        return str(self.traced.kind)

    @property
    def _is_numeric(self) -> bool:
        return True

    @property
    def _is_boolean(self) -> bool:
        return bool(self.traced.kind == "b")

    @classmethod
    def construct_array_type(cls) -> Any:
        """Return the class of the arrays."""
        return Column

    def _get_common_dtype(self, dtypes: list[Any]) -> Any:
        plain = [d.traced if isinstance(d, ColumnDtype) else d for d in dtypes]
        numbers = all(isinstance(d, np.dtype) and d.kind in "biufc" for d in plain)
        return ColumnDtype(np.result_type(*plain)) if numbers else None


class Column(np.lib.mixins.NDArrayOperatorsMixin, ExtensionArray):  # type: ignore[misc]
    """A column of traced numbers, or of plain ones beside them.

    Operators and ufuncs give columns; what pandas asks an extension array for gives them too.
    """

    def __init__(self, array: Any) -> None:
        self.traced = array

    # ---- what makes an extension array -----------------------------------------------------

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> Column:
        if isinstance(scalars, Column):
            array = scalars.traced
        elif isinstance(scalars, np.ndarray) and scalars.dtype.kind in "biufc":
            array = scalars
        else:
            array = fnp.array(list(scalars))
        if isinstance(dtype, ColumnDtype):
            array = array.astype(dtype.traced)
        return cls(array.copy() if copy else array)

    _from_sequence_not_strict = _from_sequence

    @property
    def dtype(self) -> ColumnDtype:
        """The dtype that pandas sees."""
        return ColumnDtype(self.traced.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return int(self.traced.nbytes)

    def __len__(self) -> int:
        return len(self.traced)

    def __getitem__(self, item: Any) -> Any:
        if is_integer(item):
            return self.traced[item]
        if isinstance(item, tuple):
            (item,) = (part for part in item if part is not ...)
        return Column(self.traced[check_array_indexer(self, _plain(item))])

    def __setitem__(self, key: Any, value: Any) -> None:
        value = _plain(value)
        if isinstance(value, Tracer) and not isinstance(self.traced, Tracer):
            self.traced = fnp.asarray(self.traced, like=value).copy()
        self.traced[check_array_indexer(self, _plain(key))] = value

    def isna(self) -> Any:
        """Return which elements are missing: a column, so that no value is asked for."""
        if self.traced.dtype.kind in "fc":
            return Column(np.isnan(self.traced))
        return np.zeros(len(self), dtype=bool)

    @property
    def _hasna(self) -> bool:
        """Whether elements may be missing, for which no value is asked either."""
        return self.traced.dtype.kind in "fc"

    def _where(self, mask: Any, value: Any) -> Column:
        return Column(np.where(_plain(mask), self.traced, _plain(value)))

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> Column:
        """Return the elements at places; with `allow_fill`, -1 is none."""
        places = np.asarray(indices, dtype=np.intp)
        if not allow_fill:
            return Column(self.traced[places])
        gone = places == -1
        if not gone.any():
            return Column(self.traced[places])
        fill: Any = np.nan if fill_value is None else fill_value
        if not len(self):
            return Column(np.full(places.shape, fill))
        return Column(np.where(gone, fill, self.traced[np.where(gone, 0, places)]))

    def copy(self) -> Column:
        """Return a copy."""
        return Column(self.traced.copy())

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[Any]) -> Column:
        return cls(np.concatenate([x.traced for x in to_concat]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if dtype is not None and np.dtype(dtype).kind == "O":  # whose elements stay traced
            found = np.empty(len(self), dtype=object)
            for k in range(len(self)):
                found[k] = self.traced[k]
            return found
        return np.asarray(self.traced, dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(hasattr(type(x), "__pandas_priority__") and not isinstance(x, ExtensionArray)
               and not isinstance(x, Tracer) for x in inputs):  # fmt: skip
            return NotImplemented  # an index or a table, which comes back with its column
        arrays = [_plain(x) for x in inputs]
        if any(isinstance(x, np.ndarray) and x.ndim and len(x) != len(self) for x in arrays):
            raise ValueError(
                f"a column of {len(self)} elements met one of another length, at {place()}"
            )
        return columns_of(getattr(ufunc, method)(*arrays, **kwargs))

    def __array_function__(self, func: Any, _types: Any, args: Any, kwargs: Any) -> Any:
        given, named = arguments_without_labels(args, kwargs)
        return func(*given, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "traced":
            raise AttributeError(name)
        return getattr(self.traced, name)  # of what ``series.values`` is

    # ---- what pandas would compute on plain numbers ------------------------------------------

    def to_numpy(self, dtype: Any = None, copy: bool = False, na_value: Any = None) -> Any:
        """Return the traced array."""
        asking = str(sys._getframe(1).f_globals.get("__name__", ""))
        if asking.startswith("pandas.core.window"):
            refuse("a rolling window", "np.lib.stride_tricks.sliding_window_view(x, n)")
        array = self.traced if dtype is None else self.traced.astype(dtype)
        return array.copy() if copy else array

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Return numbers of another dtype as a column."""
        target = dtype.traced if isinstance(dtype, ColumnDtype) else dtype
        if isinstance(target, ExtensionDtype) or np.dtype(target).kind not in "biufc":
            return super().astype(dtype, copy)
        return Column(self.traced.astype(target))

    def fillna(
        self, value: Any = None, method: Any = None, limit: Any = None, copy: bool = True
    ) -> Any:
        """Return the column with a value where there is none."""
        if method is not None or limit is not None:
            refuse("fillna with method= or limit=")
        return Column(np.where(np.isnan(self.traced), _plain(value), self.traced))

    def argsort(
        self, *, ascending: bool = True, kind: Any = "quicksort", na_position: str = "last",
        **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Return the order of the elements: a matter of values, not of derivatives."""
        order = np.asarray(np.argsort(self.traced, kind="stable"))
        return order if ascending else order[::-1]

    def _reduce(
        self, name: str, *, skipna: bool = True, keepdims: bool = False, **kwargs: Any
    ) -> Any:
        function = _REDUCTIONS.get(name)
        given = {k: v for k, v in kwargs.items() if k not in ("axis", "numeric_only", "min_count")}
        if function is None or kwargs.get("min_count", 0) > 0:
            refuse(f"{name} with min_count=" if function else name)
        x = self.traced
        result = function[skipna and x.dtype.kind in "fc"](x, **given)
        return Column(np.reshape(result, (1,))) if keepdims else result

    def _accumulate(self, name: str, *, skipna: bool = True, **kwargs: Any) -> Column:
        function = _ACCUMULATIONS.get(name)
        if function is None:
            refuse(name)
        x, (plain, neutral) = self.traced, function
        if x.dtype.kind not in "fc" or not skipna:
            return Column(plain(x))
        gone = np.isnan(x)
        return Column(np.where(gone, x, plain(np.where(gone, neutral, x))))

    def _groupby_op(
        self, *, how: str, has_dropped_na: bool, min_count: int, ngroups: int, ids: Any,
        **kwargs: Any,
    ) -> Column:  # fmt: skip
        skips = kwargs.pop("skipna", True)
        if how not in _REDUCTIONS or not skips or min_count > 0:
            refuse(f"groupby().{how}")
        order = np.argsort(ids, kind="stable")
        bounds = np.searchsorted(ids[order], np.arange(ngroups + 1))
        parts = [Column(self.traced[order[a:b]]) for a, b in pairwise(bounds)]
        return Column(np.stack([part._reduce(how, **kwargs) for part in parts]))


def _sem(std: Callable[..., Any]) -> Callable[..., Any]:
    def function(x: Any, ddof: int) -> Any:
        return std(x, ddof=ddof) / np.sqrt(np.sum(~np.isnan(x)))

    return function


_REDUCTIONS: Final[dict[str, tuple[Callable[..., Any], Callable[..., Any]]]] = {
    "sum": (np.sum, np.nansum), "mean": (np.mean, np.nanmean), "prod": (np.prod, np.nanprod),
    "std": (np.std, np.nanstd), "var": (np.var, np.nanvar), "min": (np.min, np.nanmin),
    "max": (np.max, np.nanmax), "median": (np.median, np.nanmedian),
    "sem": (_sem(np.std), _sem(np.nanstd)), "any": (np.any, np.any), "all": (np.all, np.all),
}  # fmt: skip
"""Functions that take missing values as such, and that leave them out."""

_ACCUMULATIONS: Final[dict[str, tuple[Callable[..., Any], float]]] = {
    "cumsum": (np.cumsum, 0.0), "cumprod": (np.cumprod, 1.0),
    "cummax": (np.maximum.accumulate, -np.inf), "cummin": (np.minimum.accumulate, np.inf),
}  # fmt: skip


def _plain(x: Any) -> Any:
    """Return what is in a column, or an array of another one."""
    if isinstance(x, Column):
        return x.traced
    return np.asarray(x) if isinstance(x, ExtensionArray | list) else x


holders[Column] = attrgetter("traced")


def columns_of(result: Any) -> Any:
    """Return arrays with one axis as columns."""
    if isinstance(result, tuple):
        return tuple(map(columns_of, result))
    return Column(result) if np.ndim(result) == 1 else result
