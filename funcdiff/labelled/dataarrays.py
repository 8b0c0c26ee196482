"""xarray's containers: numbers are leaves; names of axes, coordinates and attributes are static.

xarray computes with any array that has NumPy's protocols, so a traced one stands in it as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from copy import deepcopy
from functools import partial, wraps
from importlib import import_module
from operator import attrgetter
from typing import Any, Final

import numpy as np
import xarray as xr

from funcdiff.core.late import late_import
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError
from funcdiff.labelled.blocks import Shape, over_blocks, place, register
from funcdiff.numpy.border import deferring
from funcdiff.numpy.memory import views

_ONLY: Final = "values"
"""The key of the array of a DataArray or a Variable."""


class _Template:
    """A DataArray, a Dataset or a Variable without its arrays of numbers.

    `rest` is a Dataset of coordinates, of variables that are no leaves, and of attributes.
    """

    def __init__(self, whole: Any, rest: Any, leaves: Mapping[Hashable, Any]) -> None:
        self.cls, self.name = type(whole), getattr(whole, "name", None)
        self.rest = _copy(rest)
        self.keys = tuple(leaves)
        self.order = tuple(whole.data_vars) if self.cls is xr.Dataset else ()
        self.dims = tuple(v.dims for v in leaves.values())
        self.shapes: tuple[Shape, ...] = tuple(v.shape for v in leaves.values())
        self.attrs = {key: deepcopy(v.attrs) for key, v in leaves.items()}
        self.paths = tuple("" if key == _ONLY else f"[{key!r}]" for key in leaves)

    def __hash__(self) -> int:
        return hash((self.cls, self.name, self.keys, self.dims, self.shapes))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Template)
            and (self.cls, self.name, self.keys, self.order, self.dims, self.shapes)
            == (other.cls, other.name, other.keys, other.order, other.dims, other.shapes)
            and self.rest.identical(other.rest)
            and all(_alike(self.attrs[key], other.attrs[key]) for key in self.keys)
        )

    def fits(self, other: _Template) -> bool:
        """Whether axes have the same names, and the same labels where both have some."""
        mine, others = self.rest.indexes, other.rest.indexes
        return (self.keys, self.dims, self.shapes) == (other.keys, other.dims, other.shapes) and (
            all(mine[name].equals(others[name]) for name in {*mine} & {*others})
        )

    def text(self) -> str:
        """Return the names of the axes."""
        sizes = zip(self.dims, self.shapes, strict=True)
        return "; ".join(", ".join(f"{d}: {n}" for d, n in zip(*one, strict=True)) for one in sizes)

    def label(self, arrays: list[Any], extra: int) -> Any:
        """Return the container with these arrays, further axes being named ``dim_0`` and so on."""
        variables = {
            key: xr.Variable((*_fresh(extra, dims), *dims), _with_axes(x), self.attrs[key])
            for key, dims, x in zip(self.keys, self.dims, arrays, strict=True)
        }
        if self.cls is xr.Variable:
            return variables[_ONLY]
        rest = _copy(self.rest)
        if self.cls is xr.DataArray:
            own = variables.pop(_ONLY)
            found = xr.DataArray(own, coords=rest.coords, name=self.name)
            return found.assign_coords(variables) if variables else found
        coords = {key: variables.pop(key) for key in self.keys if key not in self.order}
        found = rest.assign_coords(coords).assign(variables)
        return found if tuple(found.data_vars) == self.order else found[list(self.order)]

    def rows(self, blocks: list[Any]) -> Any:
        """Return blocks of a Jacobian with the names of this container's axes, and of the others.

        A name that both have gets an underscore where it stands for the argument's.
        """
        labelled = {
            key: over_blocks(block, partial(self._join, dims))
            for key, dims, block in zip(self.keys, self.dims, blocks, strict=True)
        }
        if self.cls is not xr.Dataset:
            return labelled[_ONLY]
        whole = all(isinstance(x, xr.DataArray) for x in labelled.values())
        return xr.Dataset(labelled) if whole else labelled

    def _join(self, dims: tuple[Hashable, ...], block: Any) -> Any:
        count = len(dims)
        if isinstance(block, xr.Dataset):
            blocks = {k: x for k, x in block.items() if _is_fresh(x.dims, count)}
            return xr.Dataset({k: self._join(dims, x) for k, x in blocks.items()})
        if isinstance(block, np.ndarray | np.generic | Tracer):
            x: Any = _with_axes(block)
            block = xr.Variable((*dims, *_fresh(x.ndim - count, dims)), x)
        elif not isinstance(block, xr.DataArray | xr.Variable):
            return block  # a table, say
        found = xr.DataArray(block)
        taken = {*dims, *self.rest.variables}
        names = dict(zip(found.dims[:count], dims, strict=True))
        for name in {*found.dims[count:], *found.coords}.intersection(taken):
            names[name] = _free(name, {*taken, *found.dims, *found.coords})
        others = [name for name in self.rest.dims if name not in dims]
        found = found.rename(names).assign_coords(self.rest.drop_dims(others).coords)
        return found.variable if self.cls is xr.Variable and not found.coords else found

    def without_axes(self, axes: list[int | None]) -> _Template:
        """Return what is left without one axis of each array, and without its coordinates."""
        gone = {None if k is None else dims[k] for k, dims in zip(axes, self.dims, strict=True)}
        if len(gone) > 1:
            raise InputError(
                f"axis {axes[0]} of a {self.cls.__name__} was to be mapped over, at {place()}: its "
                f"variables have different names there, {', '.join(map(repr, gone))}. Transpose "
                "it, or give the arrays that are mapped as arguments of their own."
            )
        (name,) = gone
        found = object.__new__(_Template)
        vars(found).update(vars(self))
        found.rest = self.rest.drop_dims(name, errors="ignore")
        found.dims = tuple(tuple(d for d in dims if d != name) for dims in self.dims)
        found.shapes = tuple(
            tuple(n for d, n in zip(dims, shape, strict=True) if d != name)
            for dims, shape in zip(self.dims, self.shapes, strict=True)
        )
        return found


def _copy(rest: Any) -> Any:
    """Return a copy that nobody else can write to; an index cannot be written to."""
    return rest.copy(deep=bool(rest.attrs) or len(rest.variables) > len(rest.indexes))


def _alike(a: Any, b: Any) -> bool:
    """Whether attributes are the same, arrays among them."""
    one: Any = xr.Variable((), 0, a)
    return not (a or b) or bool(one.identical(xr.Variable((), 0, b)))


def _free(name: Hashable, taken: Collection[Hashable]) -> str:
    """Return a name that is not taken, with underscores."""
    found = f"{name}_"
    return _free(found, taken) if found in taken else found


def _fresh(count: int, taken: Collection[Hashable]) -> list[str]:
    """Return as many names for axes, those of xarray if they are not taken."""
    names = [f"dim_{k}" for k in range(count)]
    return [_free(name, taken) if name in taken else name for name in names]


def _is_fresh(dims: tuple[Hashable, ...], count: int) -> bool:
    """Whether so many names of axes are such ones."""
    return dims[:count] == tuple(_fresh(count, dims[count:]))


def _with_axes(x: Any) -> Any:
    """Return an array; xarray has numbers as arrays without axes."""
    return views.as_array(x) if isinstance(x, Tracer) else np.asarray(x)


def _is_leaf(variable: Any) -> bool:
    return isinstance(variable.data, Tracer) or variable.dtype.kind in "biufc"


def _open(whole: Any, rest: Any, leaves: Mapping[Hashable, Any]) -> tuple[list[Any], _Template]:
    return [v.data for v in leaves.values()], _Template(whole, rest, leaves)


def _open_array(x: Any) -> tuple[list[Any], _Template]:
    coords = x.coords.to_dataset()
    traced = {k: v for k, v in coords.variables.items() if isinstance(v.data, Tracer)}
    return _open(x, coords.drop_vars(traced), {_ONLY: x.variable, **traced})


def _open_set(x: Any) -> tuple[list[Any], _Template]:
    leaves = {
        k: v
        for k, v in x.variables.items()
        if isinstance(v.data, Tracer) or (k in x.data_vars and _is_leaf(v))
    }
    return _open(x, x.drop_vars(leaves), leaves)


for _class in (xr.Variable, xr.DataArray):
    deferring.holders[_class] = attrgetter("data")
register(lambda x: _open(x, xr.Dataset(), {_ONLY: x}), xr.Variable)
register(_open_array, xr.DataArray)
register(_open_set, xr.Dataset)


# ---- Interpolation, for which xarray asks SciPy ------------------------------------------------


def _interpolator(cls: Any, x: Any, y: Any, **options: Any) -> Any:
    """Return what xarray's class, or SciPy's, is for traced values: functions of the same name."""
    ours = late_import("funcdiff.scipy.interpolate")
    if cls.__name__ != "ScipyInterpolator":
        return getattr(ours, cls.__name__)(x, y, **options)
    method, order = options.pop("method"), options.pop("order", None)
    kind = {"polynomial": order, "quintic": 5}.get(method, method)
    fill = options.pop("fill_value", None)
    fill = np.nan if fill is None else fill
    given = {"bounds_error": False, "assume_sorted": True, **options}
    return ours.interp1d(x, y, kind=kind, fill_value=fill, **given)


def _teach_interpolation() -> None:
    """Let xarray make interpolators of traced values by `funcdiff.scipy`."""
    missing: Any = import_module("xarray.core.missing")
    plain = getattr(missing, "_interp1d", None)
    if plain is None:  # of another version, which refuses them
        return

    @wraps(plain)
    def interpolate(var: Any, xs: Any, new_xs: Any, func: Any, options: Any) -> Any:
        if not isinstance(var.data, Tracer):
            return plain(var, xs, new_xs, func, options)
        ((x,), (new_x,)) = xs, new_xs
        values: Any = _interpolator(func, x.data, var.data, **options)(np.ravel(new_x.data))
        return np.reshape(values, (*var.shape[:-1], *new_x.shape))

    missing._interp1d = interpolate


_teach_interpolation()
