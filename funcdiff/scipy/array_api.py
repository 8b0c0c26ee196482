"""SciPy's extensions of the array API standard, for traced arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import numpy as np

import funcdiff.numpy
from funcdiff.api.inspection import stop_gradient
from funcdiff.core.recording.builder import builders
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError
from funcdiff.numpy.border.values import concrete_value, is_traced
from funcdiff.scipy.covered import cover

_ALL: Final = np.True_


def is_lazy_array(x: Any) -> bool:
    """Return whether an array is traced without values, or with many, as under `vmap`.

    SciPy's code then leaves out what looks at values: warnings, errors and shortcuts.
    """
    if not isinstance(x, Tracer):
        return False
    try:
        concrete_value(x)
    except ConcreteValueError:
        deciding = (b.decisions for b in builders() if b.decisions is not None)
        return not any(decisions.is_sure for decisions in islice(deciding, 1))
    return False


@dataclass(frozen=True)
class at:  # noqa: N801 (its name in SciPy's library)
    """``at(x)[i].set(y)``: a copy of `x` with other entries, also of a scalar."""

    x: Any
    index: Any = _ALL

    def __getitem__(self, index: Any) -> at:
        """Return the same with an index."""
        return at(self.x, index)

    def _copy_with(self, change: Callable[[Any, Any], Any], value: Any) -> Any:
        x = funcdiff.numpy.asarray(self.x)
        if getattr(self.index, "dtype", None) == np.bool_ and np.ndim(value) == 0:
            mask = np.reshape(self.index, np.shape(self.index) + (1,) * (x.ndim - self.index.ndim))
            return np.where(mask, change(x, value), x).astype(x.dtype)
        y = x.copy()
        y[self.index] = change(y[self.index], value)
        return y

    def set(self, value: Any, **_options: Any) -> Any:
        """Return ``x[i] = value``."""
        return self._copy_with(lambda _old, new: new, value)

    def add(self, value: Any, **_options: Any) -> Any:
        """Return ``x[i] += value``."""
        return self._copy_with(operator.add, value)

    def subtract(self, value: Any, **_options: Any) -> Any:
        """Return ``x[i] -= value``."""
        return self._copy_with(operator.sub, value)

    def multiply(self, value: Any, **_options: Any) -> Any:
        """Return ``x[i] *= value``."""
        return self._copy_with(operator.mul, value)

    def divide(self, value: Any, **_options: Any) -> Any:
        """Return ``x[i] /= value``."""
        return self._copy_with(operator.truediv, value)


def without_slopes_unless(condition: Any, args: Sequence[Any]) -> list[Any]:
    """Return arrays through whose elements a derivative goes where a condition holds.

    A function that is chosen there may have none elsewhere.
    """
    return [np.where(condition, x, stop_gradient(x)) if is_traced(x) else x for x in args]


def apply_where(
    cond: Any,
    args: Any,
    f1: Callable[..., Any],
    f2: Callable[..., Any] | None = None,
    /,
    *,
    fill_value: Any = None,
    **_options: Any,
) -> Any:
    """Return ``f1(*args)`` where a condition holds and `fill_value` or ``f2(*args)`` elsewhere."""
    args = args if isinstance(args, list | tuple) else (args,)
    with np.errstate(all="ignore"):
        other = fill_value if f2 is None else f2(*without_slopes_unless(np.logical_not(cond), args))
        return np.where(cond, f1(*without_slopes_unless(cond, args)), other)


for _name, _ours in (("at", at), ("apply_where", apply_where)):
    cover("scipy._external.array_api_extra", _name, _ours)
