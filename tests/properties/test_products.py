"""Contractions with random subscripts, stacks of matrices, and Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
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


@few
@given(st.data())
def test_products_of_stacks_are_numpys(data: st.DataObject) -> None:
    left, right = data.draw(strategies.broadcastable_shapes(2, max_ndim=2, max_side=3))
    rows, inner, columns = (data.draw(st.integers(0, 3)) for _ in range(3))
    x = arrays(data.draw, (*left, rows, inner), ("f4", "f8", *COMPLEX))
    y = arrays(data.draw, (*right, inner, columns), DTYPES)
    require_laws(lambda x, y: x @ y, x, y, exact=False)
    require_laws(lambda x, y: x @ y[0], x, np.ones((2, inner)), exact=False)


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
