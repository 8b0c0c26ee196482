"""Kernels compute what the interpreter does, block by block too, and nothing they keep gets out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import funcdiff as fd
from funcdiff.backend.blocks.schedule import Limits, Region, schedule
from funcdiff.backend.kernels import Kernel
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import Executable
from funcdiff.ops.structure.slicing import Slice
from funcdiff.testing.subject import disagreement, rounding
from tests.backend.test_source import LAYOUTS, OPERATIONS, network, random_program

TINY = Limits(block=4, row=64, array=2, saved=-(1 << 30))
"""Every program runs in blocks of a few numbers."""


def assert_computes(
    program: Program,
    arrays: list[Any],
    expected: list[Any] | None = None,
    limits: Limits | None = TINY,
    *,
    native: bool = False,
) -> None:
    """Assert that two calls of a kernel agree with the interpreter, the first one afterwards."""
    assert_runs(Kernel(program, limits, native=native), program, arrays, expected)


def assert_runs(
    run: Callable[..., list[Any]],
    program: Program,
    arrays: list[Any],
    expected: list[Any] | None = None,
) -> None:
    """Assert that two calls of a program agree with the interpreter, the first one afterwards."""
    before = [np.copy(x) for x in arrays]
    with np.errstate(all="ignore"):
        if expected is None:
            expected = Executable(program).interpret(*arrays)
        first = run(*arrays)
        run(*[x * x.dtype.type(0.97) if x.dtype.kind in "fc" else x for x in before])
        second = run(*arrays)
    for results in (first, second):
        for y, z in zip(results, expected, strict=True):
            assert np.shape(y) == np.shape(z)
            assert np.asarray(y).dtype == np.asarray(z).dtype
            assert not disagreement(y, z, rounding([*arrays, *expected]), 1.0)
    for x, y in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, y)


LABELS = ["".join(word) for n in (1, 2, 3) for word in permutations("abc", n)]
SUMS = [
    f"{left},{right}->{out}"
    for left in LABELS
    for right in LABELS
    for out in ["", *LABELS]
    if set(out) <= {*left, *right}
]


@pytest.mark.thinned(13)
@pytest.mark.parametrize("first", range(5))
def test_contractions_are_computed_in_blocks_whatever_is_summed(first: int) -> None:
    random = np.random.default_rng(0)
    sizes = {"a": 7, "b": 2, "c": 3}
    for labels in SUMS[first::97]:
        left, right = labels.partition("->")[0].split(",")
        xs = [random.normal(size=[sizes[k] for k in word]) for word in (left, right)]
        program = fd.trace(lambda x, y: np.einsum(labels, np.sin(x), np.cos(y)))(*xs)  # noqa: B023
        assert_computes(program, xs)


@pytest.mark.slow
@given(OPERATIONS)
def test_random_programs_are_computed_in_blocks(steps: Any) -> None:
    f = random_program(steps)
    random = np.random.default_rng(len(steps))
    for shape in ((7,), (5, 3), (5, 1), (1, 5), (5, 5)):
        args = [random.normal(size=shape) for _ in range(2)]
        assert_computes(fd.trace(f)(*args), args)
        total = fd.trace(fd.grad(lambda x, y: sum(np.sum(z) for z in f(x, y))))(*args)
        assert_computes(total, args)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_may_lie_in_memory_as_they_like(layout: Any) -> None:
    random = np.random.default_rng(3)
    x, w, b = (layout(random.normal(size=shape)) for shape in ((40, 30), (30, 20), (20,)))
    program = fd.trace(lambda x, w, b: fd.grad(lambda w: np.sum(network(x, w, b)))(w))
    assert_computes(program(x, w, b), [x, w, b])
    assert_computes(program(x, w, b), [x, w, b], limits=None)


def mixture(x: Any, means: Any, logits: Any) -> Any:
    distances = np.sum((x[:, None, :] - means) ** 2, axis=-1)
    scores = logits - 0.5 * distances
    top = np.max(scores, axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(scores - top), axis=1)) + top[:, 0])


def logistic(w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return np.mean(np.logaddexp(0.0, z) - y * z)


def test_a_gradient_of_elementwise_work_and_sums_is_one_region() -> None:
    random = np.random.default_rng(0)
    x, means, logits = random.normal(size=(50, 2)), random.normal(size=(3, 2)), np.zeros(3)
    args = [means, x, logits]
    program = fd.trace(fd.grad(lambda m, x, s: mixture(x, m, s)))(*args)
    assert [type(step) for step in schedule(program, TINY)].count(Region) == 1
    assert_computes(program, args)
    w, y = random.normal(size=2), (x[:, 0] > 0) * 1.0
    program = fd.trace(fd.grad(logistic))(w, x, y)
    steps = schedule(program, TINY)
    assert [type(step) for step in steps].count(Region) == 1
    assert len(steps) < 6  # what is not in the region is about single numbers
    assert_computes(program, [w, x, y])


def test_what_needs_a_sum_over_all_rows_runs_in_a_later_region() -> None:
    def normalised(x: Any) -> Any:
        y = np.sin(x) * x
        return np.tanh(y / np.sum(y)) * y

    x = np.linspace(0.1, 1.0, 23)
    program = fd.trace(normalised)(x)
    assert [type(step) for step in schedule(program, TINY)].count(Region) == 2
    assert_computes(program, [x])


@pytest.mark.parametrize("f", [
    lambda x: np.sin(x) + np.sum(np.cos(x), axis=0)[:, None],
    lambda x: np.sum(np.cos(x), axis=0) * np.sum(np.sin(x), axis=1),
    lambda x: np.max(np.cos(x), axis=0)[:, None] - np.sin(x),
])  # fmt: skip
def test_sums_over_all_rows_that_are_as_many_run_in_an_earlier_region(f: Any) -> None:
    x = np.random.default_rng(0).normal(size=(5, 5))
    assert_computes(fd.trace(f)(x), [x])


def test_sums_of_sums_that_are_computed_once_more_are_found_in_linear_time() -> None:
    def doubled(points: Any, centres: Any) -> Any:
        z = points - centres[:, None]
        for k in range(60):  # each of which has the one before twice
            z = z + z if k % 3 else z * (z + z)
        heights = np.sum(z * z, axis=(1, 2))
        weights = heights / np.sum(heights)
        return z * weights[:, None, None], np.sum(z * weights[:, None, None], axis=0)

    points, centres = np.full((64, 2), 0.5), np.full((64, 2), 0.25)
    program = fd.trace(doubled)(points, centres)
    first, *others = [step for step in schedule(program, TINY) if isinstance(step, Region)]
    assert others
    assert not [v for v in first.stored if v.type.ndim == 3]


@pytest.mark.parametrize(("count", "kept"), [(64, 0), (8, 1)])
def test_differences_of_few_points_and_centres_are_computed_once_more(
    count: int, kept: int
) -> None:
    def shared(points: Any, centres: Any) -> Any:
        z = points - centres[:, None]
        heights = np.sum(z * z, axis=(1, 2))
        weights = heights / np.sum(heights)
        return z * weights[:, None, None], np.sum(z * weights[:, None, None], axis=0)

    random = np.random.default_rng(0)
    points, centres = random.normal(size=(count, 2)), random.normal(size=(count, 2))
    program = fd.trace(shared)(points, centres)
    first, *others = [step for step in schedule(program, TINY) if isinstance(step, Region)]
    assert others
    assert sum(v.type.ndim == 3 for v in first.stored) == kept
    assert_computes(program, [points, centres])
    also = fd.trace(lambda x, m: (*shared(x, m), x - m[:, None]))(points, centres)
    regions = [step for step in schedule(also, TINY) if isinstance(step, Region)]
    stored = [v for region in regions for v in region.stored]
    assert len(stored) == len(set(stored))
    assert_computes(also, [points, centres])


def test_small_programs_run_in_their_own_order() -> None:
    program = fd.trace(fd.grad(lambda x: np.sum(np.sin(x) * x)))(np.ones(10))
    assert schedule(program) == list(program.equations)


def test_writes_to_an_element_stay_behind_the_reads_before_them() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        total = np.sum(y * np.cos(y))
        for k in range(3):
            y[k] = y[k + 1] * total
        return np.sum(y * x), y

    x = np.linspace(0.1, 1.0, 23)
    program = fd.trace(f)(x)
    assert_computes(program, [x])
    assert_computes(fd.trace(fd.grad(lambda x: f(x)[0]))(x), [x])


def test_calls_at_the_same_time_have_memory_of_their_own() -> None:
    f = fd.jit(fd.grad(lambda x: np.sum(np.tanh(np.sin(x) * x) ** 2)), engine="numpy")
    xs = [np.full(1000, 0.1 * k) for k in range(8)]
    expected = [f(x) for x in xs]
    failures: list[int] = []

    def work(k: int) -> None:
        for _ in range(200):
            if not np.array_equal(f(xs[k]), expected[k]):
                failures.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_call_within_a_call_has_memory_of_its_own() -> None:
    def again(x: Any) -> Any:
        return kernel(x - 1.0)[0] if x[0] > 0 else x

    opaque: Any = fd.primitive(again, result=lambda x: x)

    def f(x: Any, within: Any) -> Any:
        y = np.sin(x) * 2.0
        return within(x) * y + np.cos(y)

    x = np.linspace(2.5, 3.5, 9)
    kernel = Kernel(fd.trace(lambda x: f(x, opaque))(x), None)
    expected = x - 3.0
    for shift in (3.0, 2.0, 1.0, 0.0):
        expected = f(x - shift, lambda _, found=expected: found)
    for _ in range(2):
        np.testing.assert_allclose(kernel(x)[0], expected, rtol=1e-14)


def test_user_code_may_keep_the_arrays_it_is_given() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return x * 2.0

    opaque: Any = fd.primitive(keep, result=lambda x: np.empty_like(x))
    f = fd.jit(lambda x: opaque(np.sin(x) * 2.0) + np.cos(x))
    first, second = np.ones(5), np.zeros(5)
    f(first)
    f(second)
    np.testing.assert_array_equal(kept[-2], np.sin(first) * 2.0)
    np.testing.assert_array_equal(kept[-1], np.sin(second) * 2.0)


def swapped(state: Any, x: Any) -> Any:
    a, b, c = state
    return (b, a * x + b, c), (a, c, b)


def kept(state: Any, x: Any) -> Any:
    h, c = state
    h = np.tanh(h * x + c)
    return (h, c * 0.9 + h[::-1]), (h, h * 2.0)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("body", "count"), [(swapped, 3), (kept, 2)])
def test_carries_may_change_places(body: Any, count: int, reverse: bool) -> None:
    def f(xs: Any, *starts: Any) -> Any:
        return fd.scan(body, starts, xs, reverse=reverse)

    def total(xs: Any, *starts: Any) -> Any:
        return sum(np.sum(np.sin(y)) for y in fd.pytree.flatten(f(xs, *starts))[0])

    args = [np.linspace(0.5, 1.5, 12).reshape(4, 3)]
    args += [np.array([0.1, -0.3, 0.7]) * k for k in range(count)]
    derivatives = [fd.trace(fd.grad(total)), fd.trace(fd.grad(total, argnums=1))]
    for program in (fd.trace(f), *derivatives):
        assert_computes(program(*args), args)


def test_what_depends_on_no_argument_is_computed_once() -> None:
    random = np.random.default_rng(0)
    A = random.normal(size=(4, 4))
    program = fd.trace(fd.grad(lambda x: np.sum(np.linspace(x[:2], x[2:], 4) ** 2)))(A[0])
    kernel = Kernel(program, None)
    assert any(eq.primitive.name == "iota" for eq in program.equations)
    assert "iota" not in kernel.source.text
    assert_computes(program, [A[0]])
    f = fd.jit(lambda x: (np.eye(4, like=x), np.eye(4, like=x) * x, np.eye(4, like=x).T[:2]))
    for y in f(A):
        y += 1.0
    for y, z in zip(f(A), (np.eye(4), np.eye(4) * A, np.eye(4)[:2]), strict=True):
        np.testing.assert_array_equal(y, z)


# ---- single numbers ------------------------------------------------------------------------------


def spiral(t: Any) -> Any:
    return np.exp(-0.3 * t) * np.sin(t**3) / np.sqrt(1.0 + t) + np.maximum(t, 0.5) * np.where(
        t > 2.0, t, np.arctan2(t, 3.0)
    )


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("t", [0.3, 1.7, 4.0])
def test_programs_of_single_numbers_are_python_code(t: float, order: int) -> None:
    g: Any = spiral
    for _ in range(order):
        g = fd.grad(g)
    jitted: Any = fd.jit(g)
    assert "math.sin" in jitted.lower(t).source
    assert isinstance(jitted(t), np.float64)
    np.testing.assert_allclose(jitted(t), g(t), rtol=1e-12)


@pytest.mark.parametrize(("f", "x"), [
    (lambda x: 1.0 / x, 0.0),
    (lambda x: 1.0 / x, -0.0),
    (np.log, -1.0),
    (np.log, 0.0),
    (np.exp, 1e4),
    (np.sin, np.inf),
    (lambda x: x**0.5, -2.0),
    (lambda x: x**-1.5, 0.0),
    (lambda x: np.minimum(x, 3.0), np.nan),
    (lambda x: np.maximum(3.0, x), np.nan),
    (lambda x: np.where(x > np.inf, x, -np.inf), 2.0),
    (np.sign, -3.0),
    (np.floor, -2.5),
    (lambda x: x * np.nan, 1.0),
    (lambda x: np.sqrt(x) - -x, 0.0),
])  # fmt: skip
def test_numbers_at_the_edges_are_those_of_numpy(f: Any, x: float) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fd.jit(f)(x), f(np.float64(x)))
        assert np.signbit(fd.jit(f)(x)) == np.signbit(f(np.float64(x)))
        np.testing.assert_array_equal(fd.jit(fd.grad(f))(x), fd.grad(f)(x))


def test_flags_come_out_as_flags() -> None:
    f = fd.jit(lambda x: (x > 1.0, np.logical_and(x > 1.0, x < 2.0), np.isnan(x) * 1.0))
    assert f(1.5) == (True, True, 0.0)
    assert [type(y) for y in f(1.5)] == [np.bool_, np.bool_, np.float64]


def test_systems_with_a_triangular_matrix_are_solved_by_substitution() -> None:
    random = np.random.default_rng(5)
    A, b = random.normal(size=(130, 130)), random.normal(size=130)
    A = A @ A.T + 130.0 * np.eye(130)

    def whitened(A: Any, b: Any) -> Any:
        L = np.linalg.cholesky(A)
        return np.sum(np.linalg.solve(L.T, np.linalg.solve(L, b)) ** 2)

    program = fd.trace(fd.value_and_grad(whitened, argnums=(0, 1)))(A, b)
    assert "= solve" not in Kernel(program, None).source.text
    assert_computes(program, [A, b])


@pytest.mark.parametrize("f", [
    lambda x: (np.sin(x) * 2.0).reshape(8, 5).T,
    lambda x: np.sin(x)[1:],
    lambda x: (np.sin(x)[:20], np.sin(x)[20:]),
    lambda x: (np.exp(x).reshape(8, 5), np.exp(x)),
    lambda x: np.concatenate([x[:20], x[20:]]),
    lambda x: np.stack([x[k] for k in range(40)]),
    lambda x: np.arange(40.0).reshape(8, 5) if x.size else x,
    lambda x: np.broadcast_to(np.sin(x), (3, 40)),
    lambda x: fd.scan(lambda s, row: (s + row, row), 0.0, x)[1],
    lambda x: fd.scan(lambda s, row: (s + row, s), x[0], x)[1],
])  # fmt: skip
def test_results_are_nobody_elses(f: Callable[[Any], Any]) -> None:
    compiled = fd.jit(f)
    x = np.arange(40.0)
    for _ in range(4):
        before = x.copy()
        expected = [np.array(y) for y in fd.pytree.flatten(f(x))[0]]
        found = fd.pytree.flatten(compiled(x))[0]
        for k, y in enumerate(found):
            np.testing.assert_allclose(y, expected[k])
            y += 1.0
            others = [z for j, z in enumerate(found) if j > k]
            assert not any(np.shares_memory(y, z) for z in (x, *others))
        assert np.array_equal(x, before)
        x = x * 0.9


@pytest.mark.parametrize("reverse", [False, True])
def test_all_values_of_a_carry_are_a_result(reverse: bool) -> None:
    def f(start: Any, x: Any) -> Any:
        def body(s: Any, row: Any) -> Any:
            a, b = s
            return (np.tanh(a) + row, a * b), (a, b, a + 1.0)

        return fd.scan(body, (start, start + 1.0), x, reverse=reverse)

    rng = np.random.default_rng(0)
    compiled = fd.jit(f)
    for _ in range(4):
        xs = rng.normal(size=300), rng.normal(size=(7, 300))
        found, expected = (fd.pytree.flatten(g(*xs))[0] for g in (compiled, f))
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y)


def test_carries_that_are_needed_for_each_other_are_not_overwritten() -> None:
    def f(x: Any) -> Any:
        def step(c: Any, r: Any) -> Any:
            a, b = c
            return (np.sin(a) + r * b, np.cos(a) * b[::-1]), None

        (a, b), _ = fd.scan(step, (x, x * 0.5), np.linspace(0.5, 1.5, 7))
        return a - b

    x = np.linspace(-1.0, 2.0, 600)
    compiled = fd.jit(f)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-12)


def test_what_is_added_to_zeros_is_put_there() -> None:
    program = fd.parse("""program(%0: f64[4], %1: f64[4]) {
      %2: f64[12] = add_slice{starts=(0,), stops=(12,), steps=(3,)} 0.0:f64[12], %0
      %3: f64[12] = add_slice{starts=(1,), stops=(12,), steps=(3,)} %2, %1
      %4: f64[12] = add_slice{starts=(5,), stops=(9,), steps=(1,)} %3, %0
      return %4
    }""")
    x, u = np.arange(1.0, 5.0), np.arange(5.0, 9.0)
    found = Kernel(program, None)
    assert "[::3] = x" in found.source.text
    assert "[1::3] = x" in found.source.text
    assert "[5:9] += x" in found.source.text  # over some of the others
    for _ in range(2):
        assert np.array_equal(found(x, u)[0], fd.evaluate(program, [x, u])[0])


@pytest.mark.parametrize(("a", "b", "apart"), [
    ((0, 9, 3), (1, 9, 3), True),
    ((0, 9, 3), (3, 9, 3), False),
    ((0, 4, 1), (4, 9, 1), True),
    ((0, 5, 1), (4, 9, 1), False),
    ((0, 9, 2), (1, 9, 3), False),
])  # fmt: skip
def test_boxes_are_apart_if_no_element_is_in_both(a: Any, b: Any, apart: bool) -> None:
    first, second = (Slice((0, x[0]), (2, x[1]), (1, x[2])) for x in (a, b))
    assert first.is_apart_from(second) == second.is_apart_from(first) == apart
    assert apart <= set(range(*a)).isdisjoint(range(*b))


@pytest.mark.parametrize("count", [3, 2500])
def test_selections_and_special_functions_write_to_memory_that_is_kept(count: int) -> None:
    text = """program(%0: bool[N], %1: f64[N], %2: f64[N], %3: f64[], %4: bool[]) {
      %5: f64[N] = broadcast{shape=(N,), axes=()} %3
      %6: f64[N] = select %0, %1, %5
      %7: f64[N] = select %0, 0.0:f64[N], %6
      %8: f64[N] = select %0, -inf:f64[N], nan:f64[N]
      %9: bool[N] = broadcast{shape=(N,), axes=()} %4
      %10: f64[N] = select %9, %7, %2
      %11: f64[N] = xlogy %10, %2
      %12: f64[N] = gammaln 1.5:f64[N]
      %13: f64[N] = select %0, %11, %12
      %14: f64[] = reduce_sum{axes=(0,)} %13
      %15: c128[N] = convert{dtype=c128} %13
      %16: c128[N] = select %0, %15, complex(0.0, 1.0):c128[N]
      %17: f64[N] = select %0, %13, %10
      %18: f64[N] = reverse{axes=(0,)} %17
      %19: f64[N] = select %0, %18, %17
      return %14, %16, %8, %19
    }""".replace("N", str(count))
    program, generator = fd.parse(text), np.random.default_rng(3)
    arrays = [
        generator.random(count) < 0.5, generator.normal(size=count), generator.random(count),
        np.float64(-0.0), np.bool_(True),
    ]  # fmt: skip
    assert_computes(program, [np.asarray(x) for x in arrays], limits=None)
    assert ("into_" in Kernel(program, None).source.text) == (count > 2000)


@pytest.mark.parametrize("engine", ["numpy", "llvm"])
@pytest.mark.parametrize("f", [np.maximum, np.minimum])
def test_an_extremum_of_zeros_has_the_sign_that_numpy_gives_it(f: Any, engine: Any) -> None:
    for a, b in ((0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0)):
        for shape in ((), (1,), (5,)):
            x, y = np.full(shape, a)[()], np.full(shape, b)[()]
            compiled = fd.jit(lambda x, y: f(x, y) * 1.0, engine=engine)
            for _ in range(3):
                np.testing.assert_array_equal(np.signbit(compiled(x, y)), np.signbit(f(x, y)))


def test_small_broadcasts_are_written_out_and_results_are_nobody_elses() -> None:
    def spread(x: Any) -> Any:
        total = np.sum(x)
        row = np.broadcast_to(x * total, (3, len(x)))
        ends = np.broadcast_to(total, (4,))
        return np.concatenate([x, ends]), row, np.concatenate([row, row * 2])

    jitted, x = fd.jit(spread, engine="numpy"), np.arange(1.0, 6.0)
    first = jitted(x)
    kept = [np.array(y) for y in first]
    for one, other in zip(jitted(2 * x), spread(2 * x), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(first, kept, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.flags.writeable
    assert "broadcast_to" not in jitted.lower(x).source
    assert "broadcast_to" in jitted.lower(np.ones(5000)).source
