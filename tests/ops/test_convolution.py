"""The convolution by matrix products: every part that operands and result may take, every block."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcdiff.core.primitive import Primitive
from funcdiff.core.types import ArrayType
from funcdiff.ops.products import convolution
from funcdiff.ops.products.convolution import Convolution, convolve_p
from tests.rules.sample import complex_, real

PRIMITIVE: Primitive[Convolution] = convolve_p
MEMBERS = ((0, 1, 2), (0, 2), (1, 2), (0, 1))
"""Which of left, right and out may have a label."""


def by_definition(p: Convolution, x: Any, y: Any) -> Any:
    """Return the sum over all pairs of entries, one by one."""
    sizes = dict(zip(p.left, x.shape, strict=False)) | dict(zip(p.right, y.shape, strict=False))
    z = np.zeros((*(sizes[k] for k in p.out), *p.lengths), x.dtype)
    for entries in np.ndindex(*sizes.values()):
        at = dict(zip(sizes, entries, strict=True))
        a, b, c = (tuple(at[k] for k in side) for side in (p.left, p.right, p.out))
        for q in np.ndindex(x.shape[len(a) :]):
            for t in np.ndindex(y.shape[len(b) :]):
                place = meeting(p, q, t)
                if place is not None:
                    z[(*c, *place)] += x[(*a, *q)] * y[(*b, *t)]
    return z


def meeting(p: Convolution, q: tuple[int, ...], t: tuple[int, ...]) -> tuple[int, ...] | None:
    place = []
    for (a, b, c), offset, length, i, j in zip(p.steps, p.offsets, p.lengths, q, t, strict=True):
        quotient, rest = divmod(a * i + b * j - offset, c)
        if rest or not 0 <= quotient < length:
            return None
        place.append(quotient)
    return tuple(place)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[Convolution, Any, Any]:
    sides: tuple[list[int], ...] = ([], [], [])
    for label, members in enumerate(draw(st.lists(st.sampled_from(MEMBERS), max_size=4))):
        for k in members:
            sides[k].insert(draw(st.integers(0, len(sides[k]))), label)
    sizes = draw(st.tuples(*[st.integers(1, 3)] * 4))
    axes = draw(st.integers(1, 2))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(axes))

    signed = st.integers(-3, 3).filter(bool)
    steps = tuple((draw(signed), draw(signed), draw(st.integers(1, 3))) for _ in range(axes))
    left, right, out = map(tuple, sides)
    p = Convolution(left, right, out, steps, each(-4, 5), each(1, 5))
    x = real(*(sizes[k] for k in left), *each(1, 5))
    y = real(*(sizes[k] for k in right), *each(1, 4), start=70)
    return p, x, y


@given(convolutions())
def test_the_value_is_that_of_the_definition(drawn: tuple[Convolution, Any, Any]) -> None:
    p, x, y = drawn
    expected = by_definition(p, x, y)
    (type_,) = PRIMITIVE.abstract(p, ArrayType(x.shape, x.dtype), ArrayType(y.shape, y.dtype))
    found = PRIMITIVE.impl(p)(x, y)
    assert found.shape == type_.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.fixture
def parted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that lets left, right and out take given parts, in blocks of a size."""

    def part(order: tuple[int, int, int], block: int) -> None:
        monkeypatch.setattr(convolution, "_cheapest", lambda g: convolution._parts(g, *order))
        monkeypatch.setattr(convolution, "_BLOCK", block)

    return part


NETWORK = Convolution((0, 1), (2, 1), (2, 0), ((1, -2, 1), (1, -1, 2)), (-1, 0), (6, 2))
DILATED = Convolution((0, 3, 1), (3, 2, 1), (0, 3, 2), ((2, -3, 1),), (-4,), (9,))
TURNED = Convolution((0, 1), (1, 0), (1,), ((-2, -1, 3), (1, 3, 2)), (-9, 2), (4, 5))
OPERANDS = {
    NETWORK: (real(2, 3, 6, 5), real(4, 3, 2, 3, start=9)),
    DILATED: (complex_(2, 3, 2, 4), complex_(3, 2, 2, 3, start=9)),
    TURNED: (real(2, 3, 4, 5), real(3, 2, 3, 2, start=9)),
}
everywhere = pytest.mark.parametrize("order", list(permutations(range(3))))
operands = pytest.mark.parametrize("p", OPERANDS, ids=("network", "dilated", "turned"))


@pytest.mark.thinned(3)
@everywhere
@operands
@pytest.mark.parametrize("block", [1, 40, 300, 1 << 17])
def test_every_part_and_block_gives_the_same(
    parted: Any, p: Convolution, order: tuple[int, int, int], block: int
) -> None:
    x, y = OPERANDS[p]
    parted(order, block)
    found = PRIMITIVE.impl(p)(x, y)
    np.testing.assert_allclose(found, by_definition(p, x, y), rtol=1e-12, atol=1e-12)


@everywhere
@operands
@pytest.mark.filterwarnings("ignore:invalid value")
def test_an_infinite_entry_reaches_only_what_it_meets(
    parted: Any, p: Convolution, order: tuple[int, int, int]
) -> None:
    x, y = (np.abs(z) + 0.5 for z in OPERANDS[p])
    parted(order, 300)
    for k in range(2):
        pair = [x.copy(), y.copy()]
        pair[k][..., 0] = np.inf
        found = PRIMITIVE.impl(p)(*pair)
        np.testing.assert_allclose(found, by_definition(p, *pair), rtol=1e-12)


@pytest.mark.parametrize("changes", [
    {"left": (0, 0)},
    {"out": (2, 5)},
    {"left": (0, 5)},
    {"steps": ((1, 0, 1), (1, 1, 1))},
    {"steps": ((1, 1, -1), (1, 1, 1))},
    {"offsets": (0,)},
    {"lengths": (1, -1)},
    {"steps": (), "offsets": (), "lengths": ()},
])  # fmt: skip
def test_parameters_that_mean_nothing_are_refused(changes: dict[str, Any]) -> None:
    fields = ("left", "right", "out", "steps", "offsets", "lengths")
    p = Convolution(**{name: changes.get(name, getattr(NETWORK, name)) for name in fields})
    x, y = (ArrayType(z.shape, z.dtype) for z in OPERANDS[NETWORK])
    with pytest.raises(TypeError, match="cannot convolve"):
        PRIMITIVE.abstract(p, x, y)


def test_types_that_do_not_go_together_are_refused() -> None:
    x, y = (ArrayType(z.shape, z.dtype) for z in OPERANDS[NETWORK])
    for pair in ((x, y.with_dtype(np.dtype("f4"))), (x, y.with_shape((4, 2, 2, 3)))):
        with pytest.raises(TypeError, match="cannot convolve"):
            PRIMITIVE.abstract(NETWORK, *pair)
