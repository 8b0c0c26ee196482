"""What functions of random arrays compute: values, adjoint modes and batches, by `require_laws`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcdiff.testing import strategies
from tests.properties.laws import COMPLEX, DTYPES, REAL, arrays, few, require_laws

NORMS = (None, "ortho", "forward", "backward")


@st.composite
def contractions(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    """Draw the subscripts of an einsum, repeated and broadcast ones too, and shapes they fit."""
    sizes = {label: draw(st.integers(1, 3)) for label in "ijkl"}
    terms = draw(st.lists(st.text("ijkl", max_size=3), min_size=1, max_size=3))
    labels = sorted(set("".join(terms)))
    kept = draw(st.permutations(labels))[: draw(st.integers(0, len(labels)))]
    spread = draw(st.booleans())
    shapes = []
    for k, term in enumerate(terms):
        front = draw(st.sampled_from(((), (2,), (1, 2)))) if spread else ()
        shapes.append((*front, *(sizes[label] for label in term)))
        terms[k] = "..." + term if spread else term
    result = ("..." if spread else "") + "".join(kept)
    subscripts = ",".join(terms)
    return (f"{subscripts}->{result}" if spread or draw(st.booleans()) else subscripts), shapes


@few
@given(st.data())
def test_einsum_is_numpys(data: st.DataObject) -> None:
    subscripts, shapes = data.draw(contractions())
    kinds = ("f4", "f8", *COMPLEX)
    first, *others = shapes
    xs = [
        arrays(data.draw, first, kinds),
        *(arrays(data.draw, shape, (*kinds, "i8", "?")) for shape in others),
    ]
    # where it optimizes, NumPy lets sums of integers overflow that it would else take as floats
    optimize = data.draw(st.booleans()) and all(x.dtype.kind in "fc" for x in xs)
    require_laws(lambda *xs: np.einsum(subscripts, *xs, optimize=optimize), *xs, exact=False)


@pytest.mark.slow
@few
@given(st.data())
def test_products_of_stacks_are_numpys(data: st.DataObject) -> None:
    left, right = data.draw(strategies.broadcastable_shapes(2, max_ndim=2, max_side=3))
    rows, inner, columns = (data.draw(st.integers(0, 3)) for _ in range(3))
    x = arrays(data.draw, (*left, rows, inner), ("f4", "f8", *COMPLEX))
    y = arrays(data.draw, (*right, inner, columns), DTYPES)
    require_laws(lambda x, y: x @ y, x, y, exact=False)
    require_laws(lambda x, y: x @ y[0], x, np.ones((2, inner)), exact=False)


@pytest.mark.slow
@few
@given(st.data())
def test_products_over_axes_are_numpys(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes(min_ndim=1, min_side=1, max_side=3))
    order = data.draw(st.permutations(range(len(shape))))
    count = data.draw(st.integers(0, len(shape)))
    x = arrays(data.draw, shape, ("f4", "f8", *COMPLEX))
    y = arrays(data.draw, tuple(shape[k] for k in order), ("f4", "f8"))
    axes: Any = (order[:count], list(range(count)))
    require_laws(lambda x, y: np.tensordot(x, y, axes=axes), x, y, exact=False)
    require_laws(lambda x, y: (np.inner(x, x), np.outer(x, y)), x, y, exact=False)


@few
@given(st.data())
def test_fourier_transforms_are_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(strategies.shapes(min_ndim=1, min_side=1)))
    names = ("fft", "ifft") if x.dtype.kind == "c" else ("fft", "ifft", "rfft", "ihfft")
    transform = getattr(np.fft, data.draw(st.sampled_from(names)))
    n = data.draw(st.one_of(st.none(), st.integers(1, 6)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    norm: Any = data.draw(st.sampled_from(NORMS))
    require_laws(lambda x: transform(x, n, axis, norm), x, exact=False)


@few
@given(st.data())
def test_inverse_real_transforms_are_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(strategies.shapes(min_ndim=1, min_side=2)), (*REAL, *COMPLEX))
    transform = data.draw(st.sampled_from((np.fft.irfft, np.fft.hfft)))
    n = data.draw(st.one_of(st.none(), st.integers(1, 6)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    norm: Any = data.draw(st.sampled_from(NORMS))
    require_laws(lambda x: transform(x, n, axis, norm), x, exact=False)


@few
@given(st.data())
def test_transforms_over_several_axes_are_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(strategies.shapes(min_ndim=1, max_ndim=3, min_side=1)))
    order = data.draw(st.permutations(range(-x.ndim, 0)))
    axes = order[: data.draw(st.integers(1, x.ndim))]
    sizes = data.draw(st.one_of(st.none(), st.lists(st.integers(1, 4), min_size=len(axes),
                                                    max_size=len(axes))))  # fmt: skip
    norm: Any = data.draw(st.sampled_from(NORMS))
    transform = np.fft.fftn if x.dtype.kind == "c" else np.fft.rfftn
    require_laws(lambda x: transform(x, sizes, axes, norm), x, exact=False)
    require_laws(lambda x: (np.fft.fftshift(x, axes), np.fft.ifftshift(x, axes)), x)


# ---- reductions with random axes and keywords ----------------------------------------------------


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


@pytest.mark.slow
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


# ---- sorting, joining, splitting, padding and moving ---------------------------------------------


SHAPES = strategies.shapes(min_ndim=1, max_side=4)


def drawn_axis(data: st.DataObject, ndim: int) -> int:
    return data.draw(st.integers(-ndim, ndim - 1))


@few
@given(st.data())
def test_sorting_is_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(SHAPES))
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    kind: Any = data.draw(st.sampled_from((None, "stable", "quicksort", "heapsort")))
    require_laws(lambda x: np.sort(x, axis=axis, kind=kind), x)
    require_laws(lambda x: (np.argsort(x, axis=axis, kind=kind), np.sum(x)), x)


@few
@given(st.data())
def test_a_partition_has_its_pivot_where_the_sorted_array_has_it(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(strategies.shapes(min_ndim=1, min_side=1)), REAL)
    axis = drawn_axis(data, x.ndim)
    kth = data.draw(st.integers(-x.shape[axis], x.shape[axis] - 1))
    require_laws(lambda x: np.take(np.partition(x, kth, axis=axis), [kth], axis=axis), x)


@few
@given(st.data())
def test_joining_is_numpys(data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    axis = drawn_axis(data, len(shape))
    lengths = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    pieces = []
    for n in lengths:
        piece = list(shape)
        piece[axis] = n
        pieces.append(arrays(data.draw, tuple(piece), (*REAL, *COMPLEX, "i8", "?")))
    pieces.append(arrays(data.draw, shape))
    require_laws(lambda *xs: np.concatenate(xs, axis=axis), *pieces)
    require_laws(lambda x: np.stack([x, 2 * x, -x], axis=axis), pieces[-1])


@few
@given(st.data())
def test_splitting_is_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(SHAPES))
    axis = drawn_axis(data, x.ndim)
    bounds = st.lists(st.integers(-5, 5), max_size=3)
    where: Any = data.draw(st.one_of(st.integers(1, 3), bounds))
    require_laws(lambda x: np.array_split(x, where, axis=axis), x)


@few
@given(st.data())
def test_padding_is_numpys(data: st.DataObject) -> None:
    mode: Any = data.draw(
        st.sampled_from(
            ("constant", "edge", "linear_ramp", "maximum", "mean", "minimum", "reflect",
             "symmetric", "wrap")
        )
    )  # fmt: skip
    x = arrays(data.draw, data.draw(strategies.shapes(1, 2, min_side=1, max_side=3)), ("f4", "f8"))
    widths = data.draw(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=x.ndim, max_size=x.ndim)
    )
    require_laws(lambda x: np.pad(x, widths, mode=mode), x)


@few
@given(st.data())
def test_moving_is_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(strategies.shapes(min_ndim=1, min_side=1, max_side=3)))
    axis, shift = drawn_axis(data, x.ndim), data.draw(st.integers(-5, 5))
    order = data.draw(st.permutations(range(x.ndim)))
    count = data.draw(st.integers(0, 3))
    require_laws(
        lambda x: (
            np.roll(x, shift, axis),
            np.flip(x, axis),
            np.transpose(x, order),
            np.repeat(x, count, axis),
            np.tile(x, count),
            np.rot90(x[..., None], shift),
            np.diff(x, axis=axis),
        ),
        x,
    )


@few
@given(st.data())
def test_reshaping_is_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(SHAPES))
    order: Any = data.draw(st.sampled_from("CF"))
    shape = data.draw(st.permutations([*x.shape, 1]))
    require_laws(lambda x: (x.reshape(shape, order=order), x.ravel(order), x.T), x)
