"""`nn.conv`: the sums of its definition, PyTorch's values, all modes, dtypes and refusals."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff import nn
from tests.nn.cases import CONVOLUTIONS, Convolved
from tests.nn.oracle import assert_frozen
from tests.properties.calling import every_call
from tests.rules.sample import integers, real
from tests.together import together

every_case = pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda case: case.name)
CONV: Any = nn.conv
"""Without the types that forbid what is tested."""


@every_case
def test_values_and_gradients_are_those_of_pytorch(case: Convolved) -> None:
    x, kernel = case.arrays()
    y, pull = fd.vjp(lambda x, k: CONV(x, k, **case.ours), x, kernel)
    assert_frozen(f"conv: {case.name}", y, *pull(case.weights(y)))


@every_case
def test_a_plain_array_gives_what_a_traced_one_gives(case: Convolved) -> None:
    x, kernel = case.arrays()
    plain = CONV(x, kernel, **case.ours)
    assert type(plain) is np.ndarray
    traced = fd.vjp(lambda x: CONV(x, kernel, **case.ours), x)[0]
    np.testing.assert_array_equal(plain, traced)
    np.testing.assert_array_equal(plain, fd.jit(lambda x: CONV(x, kernel, **case.ours))(x))


@every_case
def test_channels_may_be_last(case: Convolved) -> None:
    x, kernel = case.arrays()
    first = CONV(x, kernel, **case.ours)

    def last(x: Any, kernel: Any) -> Any:
        moved = np.moveaxis(x, -case.axes - 1, -1), np.moveaxis(kernel, (0, 1), (-1, -2))
        y = CONV(*moved, **case.ours, layout="channels_last")
        return np.moveaxis(y, -1, -case.axes - 1)

    np.testing.assert_allclose(last(x, kernel), first, rtol=1e-13, atol=1e-13)
    y, pull = fd.vjp(last, x, kernel)
    assert_frozen(f"conv: {case.name}", y, *pull(case.weights(y)))


# ---- the definition -----------------------------------------------------------------------------


def by_definition(x: Any, kernel: Any, stride: Any, pads: Any, dilation: Any) -> Any:
    """Return the sums, entry by entry, of one group."""
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    reach = [d * (t - 1) + 1 for d, t in zip(dilation, kernel.shape[2:], strict=True)]
    room = zip(x.shape[2:], reach, stride, strict=True)
    y = np.zeros((len(x), len(kernel), *((n - r) // s + 1 for n, r, s in room)))
    for place in np.ndindex(y.shape[2:]):
        window = tuple(
            slice(s * p, s * p + r, d)
            for s, p, r, d in zip(stride, place, reach, dilation, strict=True)
        )
        seen = x[(slice(None), slice(None), *window)].reshape(len(x), -1)
        y[(slice(None), slice(None), *place)] = seen @ kernel.reshape(len(kernel), -1).T
    return y


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[Any, ...]:
    small = st.integers(1, 3)
    axes, groups = draw(st.integers(1, 3)), draw(small)

    def each(numbers: st.SearchStrategy[Any]) -> tuple[Any, ...]:
        return tuple(draw(numbers) for _ in range(axes))

    stride, dilation, taps = each(small), each(small), each(small)
    pads = each(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    reach = [d * (t - 1) + 1 for d, t in zip(dilation, taps, strict=True)]
    space = [
        max(1, r - sum(pair)) + draw(st.integers(0, 3)) for r, pair in zip(reach, pads, strict=True)
    ]
    channels = draw(small)
    x = real(draw(small), groups * channels, *space)
    kernel = real(groups * draw(small), channels, *taps, start=90)
    return x, kernel, groups, stride, pads, dilation


@given(convolutions())
def test_the_result_is_that_of_the_definition(drawn: tuple[Any, ...]) -> None:
    x, kernel, groups, stride, pads, dilation = drawn
    found = CONV(x, kernel, stride=stride, padding=pads, dilation=dilation, groups=groups)
    pieces = zip(np.split(x, groups, axis=1), np.split(kernel, groups), strict=True)
    expected = [by_definition(a, k, stride, pads, dilation) for a, k in pieces]
    np.testing.assert_allclose(found, np.concatenate(expected, axis=1), rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@given(convolutions())
def test_the_derivatives_are_the_adjoint_of_the_convolution(drawn: tuple[Any, ...]) -> None:
    x, kernel, groups, stride, pads, dilation = drawn

    def f(x: Any, k: Any) -> Any:
        return CONV(x, k, stride=stride, padding=pads, dilation=dilation, groups=groups)

    ct = real(*f(x, kernel).shape, start=55)

    def pulled(x: Any, k: Any) -> Any:
        y, pull = fd.vjp(f, x, k)
        return y, pull(ct)

    y, cts = every_call(pulled, x, kernel)
    for g, a in zip(cts, (x, kernel), strict=True):
        np.testing.assert_allclose(np.sum(g * a), np.sum(ct * y), rtol=1e-10, atol=1e-10)


@together
@pytest.mark.parametrize("length", range(8))
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("taps", [1, 2, 3, 5])
def test_same_makes_a_place_for_every_stride(length: int, stride: int, taps: int) -> None:
    y = CONV(np.ones((1, 1, length)), np.ones((1, 1, taps)), stride=stride, padding="same")
    assert y.shape == (1, 1, -(-length // stride))


def test_a_gradient_costs_two_convolutions_of_as_many_products() -> None:
    x, kernel = np.ones((2, 3, 20, 20)), np.ones((4, 3, 3, 3))

    def loss(x: Any, kernel: Any) -> Any:
        return np.sum(nn.conv(x, kernel, stride=2) ** 2)

    program = fd.trace(fd.grad(loss, argnums=(0, 1)))(x, kernel)
    assert str(program).count("= convolve{") == 3
    assert max(eq.results[0].type.size for eq in program.equations) == x.size


def test_what_a_stride_leaves_over_at_the_end_costs_no_masks() -> None:
    x, first, second = np.ones((2, 1, 8, 8)), np.ones((3, 1, 3, 3)), np.ones((4, 3, 3, 3))

    def loss(first: Any, second: Any) -> Any:
        hidden = np.tanh(nn.conv(x, first))  # 6 rows, of which the second layer reads 5
        return np.sum(np.tanh(nn.conv(hidden, second, stride=2)) ** 2)

    program = fd.trace(fd.grad(loss, argnums=(0, 1)))(first, second)
    names = [eq.primitive.name for eq in program.equations]
    assert names.count("convolve") == 5
    assert not {"select", "masked_convolve", "add_slice"} & set(names)


# ---- dtypes and empty arrays ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "F", "D", "G"])
def test_the_dtype_stays(dtype: str) -> None:
    x, kernel = real(2, 3, 6).astype(dtype), real(4, 3, 2, start=9).astype(dtype)
    y, pull = fd.vjp(nn.conv, x, kernel)
    assert y.dtype == nn.conv(x, kernel).dtype == dtype
    assert [g.dtype for g in pull(y)] == [dtype, dtype]
    wide = nn.conv(x.astype("G"), kernel.astype("G"))
    error = np.max(np.abs(y - wide)) / np.max(np.abs(wide))
    assert error < 4 * np.finfo(dtype).eps


def test_dtypes_are_promoted_as_numpy_does() -> None:
    x, kernel = integers(1, 2, 5), integers(3, 2, 2)
    assert nn.conv(x, kernel).dtype == x.dtype
    np.testing.assert_array_equal(nn.conv(x, kernel), nn.conv(x.astype(float), kernel))
    assert nn.conv(x.astype(np.uint8), kernel.astype("f4")).dtype == np.float32
    gradient = fd.grad(lambda k: np.sum(nn.conv(x, k) ** 2))(kernel.astype(float))
    np.testing.assert_array_equal(
        gradient, fd.grad(lambda k: np.sum(nn.conv(x * 1.0, k) ** 2))(kernel * 1.0)
    )
    assert fd.grad(lambda x: np.sum(nn.conv(x, kernel)))(np.ones((1, 2, 5), "f4")).dtype == "f4"


def test_integers_have_no_derivative() -> None:
    with pytest.raises(fd.errors.InputError, match="int64"):
        fd.grad(lambda k: np.sum(nn.conv(np.ones((1, 2, 5)), k)))(integers(3, 2, 2))


@pytest.mark.parametrize(
    ("x", "kernel", "padding", "shape"),
    [
        ((0, 2, 5), (3, 2, 2), "valid", (0, 3, 4)),
        ((2, 0, 5), (3, 0, 2), "valid", (2, 3, 4)),
        ((2, 2, 5), (0, 2, 2), "valid", (2, 0, 4)),
        ((2, 2, 0), (3, 2, 2), "same", (2, 3, 0)),
        ((2, 2, 0, 4), (3, 2, 2, 2), "same", (2, 3, 0, 4)),
        ((2, 2, 0), (3, 2, 2), 1, (2, 3, 1)),
    ],
)
def test_what_is_empty_gives_zeros(x: Any, kernel: Any, padding: Any, shape: Any) -> None:
    y, pull = fd.vjp(lambda x, k: CONV(x, k, padding=padding), np.ones(x), np.ones(kernel))
    assert y.shape == CONV(np.ones(x), np.ones(kernel), padding=padding).shape == shape
    assert not y.any()
    assert [g.shape for g in pull(y)] == [x, kernel]


def test_padding_is_no_factor_of_an_infinite_weight() -> None:
    x, kernel = np.ones((1, 1, 3)), np.array([[[np.inf, 1.0]]])
    np.testing.assert_array_equal(nn.conv(x, kernel, padding=1), [[[1, np.inf, np.inf, np.inf]]])
    x, kernel = np.ones((1, 2, 3, 3)), np.ones((4, 2, 2, 2))
    kernel[:, :, 0, 0] = np.inf
    y = nn.conv(x, kernel, padding=1)
    assert not np.isnan(y).any()
    assert np.isinf(y).sum() == 4 * 9


# ---- what does not fit ---------------------------------------------------------------------------

X, KERNEL = np.ones((2, 4, 5)), np.ones((6, 4, 2))


@pytest.mark.parametrize(
    ("x", "kernel", "options", "message"),
    [
        (np.ones(5), KERNEL, {}, "x of shape (5,) does not go with a kernel of shape (6, 4, 2)"),
        (np.ones((1, 2, 3, 4)), KERNEL, {}, "does not go with a kernel"),
        (X, np.ones((4, 2)), {}, "one to three of taps"),
        (np.ones((1,) * 6), np.ones((1,) * 6), {}, "one to three of taps"),
        (X, np.ones((6, 3, 2)), {}, "x has 4 channels, but the kernel takes 3 in each of groups=1"),
        (X, KERNEL, {"groups": 2}, "the kernel takes 4 in each of groups=2"),
        (X, np.ones((3, 2, 2)), {"groups": 2}, "groups must be a positive integer that divides"),
        (X, KERNEL, {"groups": 0}, "groups must be"),
        (X, KERNEL, {"groups": 1.0}, "groups must be"),
        (X, np.ones((6, 4, 7)), {}, "reaches over (7,) places does not fit into x of (5,)"),
        (X, KERNEL, {"dilation": 5, "padding": "valid"}, "reaches over (6,) places"),
        (X, np.ones((6, 4, 0)), {}, "the kernel has (0,) taps"),
        (X, KERNEL, {"stride": 0}, "stride must be a positive integer"),
        (X, KERNEL, {"stride": 1.5}, "stride must be a positive integer"),
        (X, KERNEL, {"stride": (1, 2)}, "stride must be a positive integer"),
        (X, KERNEL, {"dilation": "2"}, "dilation must be a positive integer"),
        (X, KERNEL, {"padding": "full"}, "padding must be 'valid', 'same'"),
        (X, KERNEL, {"padding": -1}, "padding must be"),
        (X, KERNEL, {"padding": [(1, 2), (3, 4)]}, "padding must be"),
        (X, KERNEL, {"padding": [(1, 2, 3)]}, "padding must be"),
        (X, KERNEL, {"padding": 0.5}, "padding must be"),
        (X, KERNEL, {"layout": "NCHW"}, "layout must be 'channels_first' or 'channels_last'"),
    ],
)
def test_what_does_not_fit_is_named_with_the_users_line(
    x: Any, kernel: Any, options: Any, message: str
) -> None:
    for call in (CONV, lambda x, k, **o: fd.vjp(lambda x: CONV(x, k, **o), x)):
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            call(x, kernel, **options)
        assert "nn.conv" in str(caught.value)
        assert "test_convolution.py" in str(caught.value)


def test_what_holds_no_numbers_is_refused() -> None:
    for x, kernel in product((X, ["a"]), (KERNEL, "b")):
        if x is not X or kernel is not KERNEL:
            with pytest.raises(TypeError, match=r"nn.conv: (x|kernel) has dtype"):
                CONV(x, kernel)
