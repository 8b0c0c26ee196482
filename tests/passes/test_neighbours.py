"""One operation on neighbouring slices of an array is one on all of them; so is their addition."""

from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.types import ArrayType
from funcdiff.ops.structure.slicing import add_slice, along, slice_along
from funcdiff.passes.horizontal_fusion import merge_neighbours


def names(program: Program) -> list[str]:
    """Return the names of the primitives, but for slices."""
    return [eq.primitive.name for eq in program.equations if eq.primitive.name != "slice"]


def merged(f: Any, *xs: Any) -> Program:
    """Return the merged program of a function, which gives the same."""
    program = fd.trace(f)(*xs)
    after = merge_neighbours(program)
    for x, y in zip(fd.evaluate(program, xs), fd.evaluate(after, xs), strict=True):
        assert np.array_equal(x, y)
    return after


def gates(z: Any) -> Any:
    """Return what a gated unit makes of four neighbouring slices."""
    n = z.shape[-1] // 4
    i, f, o = (1.0 / (1.0 + np.exp(-z[..., k * n : (k + 1) * n])) for k in range(3))
    return i * np.tanh(z[..., 3 * n :]) + f, o


@pytest.mark.parametrize("shape", [(8,), (3, 8), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, complex])
def test_gates_are_computed_together(shape: tuple[int, ...], dtype: type) -> None:
    z: Any = np.random.default_rng(0).normal(size=shape).astype(dtype)
    assert names(merged(gates, z)) == ["neg", "exp", "add", "div", "tanh", "mul", "add"]


def test_operands_move_together() -> None:
    def f(x: Any, y: Any) -> Any:
        return x[:2] * y[1:3], x[2:4] * y[3:5], x[4:5] * y[4:5]

    assert names(merged(f, np.arange(5.0), np.arange(6.0))) == ["mul", "mul"]


def test_the_order_of_neighbours_is_that_of_places() -> None:
    def f(x: Any) -> Any:
        last = np.sin(x[3:])
        return np.cos(np.sin(x[:3])) * 2.0, np.cos(last) * 2.0

    assert names(merged(f, np.arange(6.0))) == ["sin", "cos", "mul"]


def test_what_is_not_alike_is_left_alone() -> None:
    def numbers(x: Any) -> Any:
        return x[:2] * 2.0, x[2:] * 3.0

    def gaps(x: Any) -> Any:
        return np.sin(x[:2]), np.sin(x[3:])

    def strides(x: Any) -> Any:
        return np.sin(x[:3:2]), np.sin(x[3:])

    def overlaps(x: Any) -> Any:
        return np.sin(x[:3]), np.sin(x[2:])

    def axes(x: Any) -> Any:
        B = np.outer(x, x)
        return np.sin(B[:2]), np.sin(B[:, 2:])

    for f in (numbers, gaps, strides, overlaps, axes):
        x = np.arange(5.0)
        assert names(merged(f, x)) == names(fd.trace(f)(x))


def test_a_slice_that_needs_its_neighbour_comes_after_it() -> None:
    def f(x: Any) -> Any:
        a = np.sin(x[:3])
        return a, np.sin(x[3:] + a)

    assert names(merged(f, np.arange(6.0))) == ["sin", "add", "sin"]


def test_bodies_are_merged_too() -> None:
    def f(x: Any) -> Any:
        def body(s: Any, _: Any) -> Any:
            return np.concatenate([np.sin(s[2:]), np.sin(s[:2])]) + s * 0.1, None

        return fd.scan(body, x, length=3)[0]

    program = merged(f, np.arange(4.0))
    assert str(program).count("sin") == 1


def test_a_row_apart_is_a_neighbour_of_the_others() -> None:
    def f(x: Any, y: Any) -> Any:
        first, last = np.sin(x[0] * y[0]), np.sin(x[4] * y[4])
        others = np.sin(x[1:4] * y[1:4])
        return np.concatenate([others, last[None]]), first

    x = np.random.default_rng(0).normal(size=(2, 5, 3))
    for pair in (x, x[..., 0]):  # rows, and single numbers
        found = names(merged(f, *pair))
        assert [n for n in found if n != "reshape"] == ["mul", "sin"]


def test_few_numbers_are_not_made_an_array() -> None:
    x = np.arange(9.0)
    assert names(merged(lambda x: (np.sin(x[0]), np.sin(x[1])), x)).count("sin") == 2
    assert names(merged(lambda x: [np.sin(x[k]) for k in range(9)], x)).count("sin") == 1


def test_what_belongs_to_what_is_merged_later_waits_for_it() -> None:
    def f(x: Any) -> Any:
        a, b = np.sin(x[:1]), np.sin(x[1:])
        c = b * 3.0
        return a * 3.0 + 1.0, c[:2] + 1.0, c[2:] + 1.0

    assert names(merged(f, np.arange(5.0))) == ["sin", "mul", "add"]


@pytest.mark.parametrize("n", [2, 3, 20, 40])
def test_the_ends_of_a_loop_are_computed_with_the_rest(n: int) -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(len(x) - 1):
            total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
        return total

    x = np.random.default_rng(n).normal(size=n)
    gradient = fd.jit(fd.grad(f))
    for _ in range(3):
        np.testing.assert_allclose(gradient(x), fd.grad(f)(x), rtol=1e-13, atol=1e-12)
    text = gradient.lower(x).source
    assert n < 40 or (text.count("square(") == 1 and len(text) < 1500)


# ---- pieces that are added ---------------------------------------------------------------------


def chain(shape: tuple[int, ...], axis: int, pieces: Any, *, from_zero: bool) -> Program:
    """Return the program that adds pieces of two arrays: which, from where, to where, how long."""
    type_ = ArrayType(shape, np.dtype(float))
    with Builder("chain") as builder:
        base, *wholes = (builder.input(type_) for _ in range(3))
        total = constant(0.0, type_) if from_zero else base
        for which, start, place, length in pieces:
            taken = slice_along(wholes[which], axis, start, start + length)
            total = add_slice(total, taken, along(shape, axis, place, place + length))
        return builder.program([total])


def count(program: Program) -> int:
    """Return how many times something is added to a slice."""
    return sum(eq.primitive.name == "add_slice" for eq in program.equations)


def assert_same(before: Program, after: Program) -> None:
    xs = [np.random.default_rng(k).normal(size=t.shape) for k, t in enumerate(before.input_types)]
    for x, y in zip(fd.evaluate(before, xs), fd.evaluate(after, xs), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(("pieces", "left"), [
    ([(0, 0, 0, 3), (0, 3, 3, 1)], 1),
    ([(0, 3, 4, 1), (1, 0, 2, 2), (0, 1, 2, 2)], 2),  # in any order
    ([(0, 0, 1, 2), (1, 1, 1, 2)], 1),  # a place in common
    ([(0, 0, 0, 3), (0, 3, 3, 2)], 0),  # all of the array
    ([(0, 0, 0, 2), (0, 3, 3, 1)], 2),  # a gap
    ([(0, 0, 0, 2), (0, 2, 3, 1)], 2),  # neighbours elsewhere
    ([(0, 0, 0, 2), (1, 2, 2, 1)], 2),  # of other arrays
    ([(0, 0, 0, 2), (0, 1, 1, 2)], 2),  # overlapping
])  # fmt: skip
def test_what_adjoins_is_added_at_once(pieces: Any, left: int) -> None:
    program = chain((5,), 0, pieces, from_zero=True)
    after = merge_neighbours(program)
    assert count(after) == left
    assert_same(program, after)


def test_all_of_an_array_is_added_to_what_was_there() -> None:
    program = chain((5,), 0, [(0, 0, 0, 3), (0, 3, 3, 2)], from_zero=False)
    after = merge_neighbours(program)
    assert [eq.primitive.name for eq in after.equations] == ["add"]
    assert_same(program, after)


def test_what_is_used_between_is_kept() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        y[:2] += x[:2]
        halfway = y.copy()
        y[2:] += x[2:]
        return halfway, y

    x = np.arange(1.0, 5.0)
    halfway, y = fd.jit(f)(x)
    assert np.array_equal(halfway, [1.0, 2.0, 0.0, 0.0])
    assert np.array_equal(y, x)


def test_the_gradient_of_a_loop_adds_two_pieces() -> None:
    """What the last turn adds is the neighbour of what all others add."""

    def rosenbrock(x: Any) -> Any:
        total = 0.0
        for i in range(len(x) - 1):
            total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
        return total

    x = np.random.default_rng(0).normal(size=100)
    a = x[:-1]
    expected = np.append(-400.0 * a * (x[1:] - a**2) - 2.0 * (1.0 - a), 0.0)
    expected[1:] += 200.0 * (x[1:] - a**2)
    gradient = fd.jit(fd.grad(rosenbrock))
    for _ in range(9):
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-13)
    source = gradient.lower(x).source
    assert source.count("+=") == 1
    assert len(source.splitlines()) < 20


# ---- any programs ------------------------------------------------------------------------------


def step(random: Random, made: list[Any]) -> list[Any]:
    """Return what a random step makes of arrays: it cuts, turns, computes, joins or adds."""
    x = random.choice(made[-6:])
    if not x.ndim:
        return [np.sin(x), x[None]]
    axis = random.randrange(x.ndim)
    at, around = (slice(None),) * axis, x.shape[:axis] + x.shape[axis + 1 :]
    first, second = sorted(random.randint(0, x.shape[axis]) for _ in range(2))
    ends = [0, first, second, x.shape[axis]]
    boxes = [(*at, slice(*pair)) for pair in pairwise(ends)]
    like = random.choice([y for y in made if y.shape == x.shape])
    longer, moved = np.concatenate([x, like], axis), random.randint(0, x.shape[axis])
    moves = [random.choice([moved, moved, 0]) + box[axis].start for box in boxes]
    others = [
        longer[(*at, slice(start, start + box[axis].stop - box[axis].start))]
        for start, box in zip(moves, boxes, strict=True)
    ]
    match random.choice(["apply", "apply", "pair", "take", "turn", "join", "add", "nest"]):
        case "apply":
            return [np.sin(x[box]) * 2.0 for box in boxes]
        case "pair":
            return [x[box] * other for box, other in zip(boxes, others, strict=True)]
        case "take":
            return [np.sin(x[(*at, k)]) for k in range(x.shape[axis])]
        case "turn":
            return [x.T, x[(*at, slice(None, None, random.choice([-1, 2])))]]
        case "join":
            fits = [y for y in made if y.shape[:axis] + y.shape[axis + 1 :] == around and y.ndim]
            fits = [y for y in fits if y.ndim == x.ndim] + [x[box] for box in boxes]
            return [np.concatenate(random.choices(fits, k=random.randint(1, 3)), axis)]
        case "add":
            total = random.choice([np.zeros_like(x), like * 1.0])
            for k in random.sample(range(3), random.randint(2, 3)):
                total[boxes[k]] += others[k]
            return [total]
    return [x[None]]


def wander(seed: int, *xs: Any) -> list[Any]:
    """Return what some random steps make of arrays, each of at most 40 elements."""
    random, made = Random(seed), list(xs)
    for _ in range(random.randint(2, 8)):
        made += [y for y in step(random, made) if y.size <= 40]
    return made[len(xs) :]


@given(st.integers(0, 2**32), st.sampled_from([(4,), (3, 3), (2, 4), (3, 1), (0, 2)]))
def test_merged_programs_and_gradients_compute_the_same(seed: int, shape: tuple[int, ...]) -> None:
    def total(*xs: Any) -> Any:
        return sum(np.sum(np.sin(y)) for y in wander(seed, *xs))

    xs = np.random.default_rng(seed).normal(size=(2, *shape))
    for f in (partial(wander, seed), fd.grad(total, argnums=(0, 1))):
        program = fd.trace(f)(*xs)
        assert_same(program, merge_neighbours(program))
