"""Reductions with random axes and keywords."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcdiff.testing import strategies
from tests.properties.laws import REAL, arrays, few, require_laws

SUMMING: Final = (np.sum, np.mean, np.prod, np.var, np.std)
ORDERED: Final = (np.max, np.min, np.ptp, np.median)
OMITTING: Final = (np.nansum, np.nanprod, np.nanmax, np.nanmin)
RUNNING: Final = (np.cumsum, np.cumprod, np.nancumsum)


@st.composite
def axes(draw: st.DrawFn, ndim: int, *, several: bool = True) -> Any:
    """Draw None, an axis that may be negative, or several."""
    if draw(st.booleans()) or ndim == 0:
        return None
    order = draw(st.permutations(range(ndim)))
    chosen = [k - ndim * draw(st.booleans()) for k in order[: draw(st.integers(1, ndim))]]
    return tuple(chosen) if several and draw(st.booleans()) else chosen[0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@few
@given(st.data())
def test_sums_and_means_honour_every_keyword(data: st.DataObject) -> None:
    f = data.draw(st.sampled_from(SUMMING))
    x = arrays(data.draw, data.draw(strategies.shapes(min_side=1, max_side=3)))
    given: dict[str, Any] = {"axis": data.draw(axes(x.ndim)), "keepdims": data.draw(st.booleans())}
    if f in (np.sum, np.prod) and data.draw(st.booleans()):
        given["initial"] = data.draw(st.sampled_from((2, 0.5, np.float64(1.5))))
    if f in (np.var, np.std):
        given["ddof"] = data.draw(st.sampled_from((0, 0.5)))
    if data.draw(st.booleans()) and (given["axis"] is None or f in (np.sum, np.prod)):
        given["where"] = mask = data.draw(strategies.arrays(x.shape[-1:], np.bool_))
        mask.flat[:1] = True  # a mean of nothing is no number
    if data.draw(st.booleans()):
        given["dtype"] = np.dtype("c16" if x.dtype.kind == "c" else "f8")
    require_laws(lambda x: f(x, **given), x)


@few
@given(st.data())
def test_extrema_honour_every_keyword(data: st.DataObject) -> None:
    f = data.draw(st.sampled_from(ORDERED))
    x = arrays(data.draw, data.draw(strategies.shapes(min_side=1, max_side=3)), REAL)
    given: dict[str, Any] = {"axis": data.draw(axes(x.ndim)), "keepdims": data.draw(st.booleans())}
    if f in (np.max, np.min) and data.draw(st.booleans()):
        given["initial"] = 0.25
        given["where"] = data.draw(strategies.arrays(x.shape, np.bool_))
    require_laws(lambda x: f(x, **given), x)


@few
@given(st.data())
def test_reductions_of_nothing_are_numpys(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes(min_ndim=1, max_side=2).filter(lambda s: 0 in s))
    x = arrays(data.draw, shape)
    f = data.draw(st.sampled_from((np.sum, np.prod)))
    axis = data.draw(axes(x.ndim))
    require_laws(lambda x: f(x, axis=axis), x)


@few
@given(st.data())
def test_what_is_not_a_number_is_left_out(data: st.DataObject) -> None:
    f = data.draw(st.sampled_from(OMITTING))
    x = arrays(data.draw, data.draw(strategies.shapes(min_side=1, max_side=3)), REAL)
    nan = data.draw(strategies.arrays(x.shape, np.bool_))
    if f in (np.nanmax, np.nanmin):
        nan &= np.arange(x.size).reshape(x.shape) % max(x.size, 1) > x.size
    axis, keepdims = data.draw(axes(x.ndim)), data.draw(st.booleans())
    require_laws(lambda x: f(np.where(nan, np.nan, x), axis=axis, keepdims=keepdims), x)


@few
@given(st.data())
def test_running_sums_and_products_are_numpys(data: st.DataObject) -> None:
    f = data.draw(st.sampled_from(RUNNING))
    x = arrays(data.draw, data.draw(strategies.shapes(max_side=3)))
    axis = data.draw(axes(x.ndim, several=False))
    require_laws(lambda x: f(x, axis=axis), x)


@few
@given(st.data())
def test_quantiles_are_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(strategies.shapes(min_side=1, max_side=4)), ("f4", "f8"))
    q: Any = data.draw(st.sampled_from((0.3, 0, 1.0, (0.2, 0.9), np.float32(0.7))))
    method: Any = data.draw(
        st.sampled_from(("linear", "lower", "hazen", "midpoint", "inverted_cdf"))
    )
    axis, keepdims = data.draw(axes(x.ndim)), data.draw(st.booleans())
    require_laws(lambda x: np.quantile(x, q, axis=axis, method=method, keepdims=keepdims), x)
