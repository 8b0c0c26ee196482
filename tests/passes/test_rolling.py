"""Python loops are recorded iteration by iteration, and become loops again."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.core.program import Program
from funcdiff.ops.control.loops import scan_p
from funcdiff.ops.control.sweeps import Scan
from funcdiff.ops.structure.slicing import Slice, add_slice
from funcdiff.passes.loops.distribution import distribute
from funcdiff.passes.loops.rerolling import FEWEST, roll, runs
from funcdiff.passes.simplify import simplify

LENGTH = 24


def loops(program: Program) -> list[Scan]:
    """Return the loops of a program."""
    return [eq.params_as(Scan) for eq in program.equations if eq.primitive is scan_p]


def require_same(program: Program, xs: list[Any], tolerance: float = 1e-10) -> Program:
    """Check that rolled and distributed programs give what the program gives."""
    rolled = roll(program)
    expected = fd.evaluate(program, xs)
    for other in (rolled, distribute(rolled)):
        for x, y in zip(fd.evaluate(other, xs), expected, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    return rolled


def test_numbers_are_literals_of_the_body() -> None:
    def f(x: Any) -> Any:
        for _ in range(LENGTH):
            x = 1.0 / (1.0 + np.exp(-x))
        return x

    (loop,) = loops(roll(fd.trace(f)(np.ones(3))))
    assert loop.constants == 0
    assert "div 1.0:f64[3]" in str(loop.body)


def recursion(x: Any, _A: Any) -> Any:
    """Return the end of a recursion."""
    s = x[0]
    for k in range(1, len(x)):
        s = np.sin(s) * 0.5 + x[k]
    return s


def neighbours(x: Any, _A: Any) -> Any:
    """Return a sum over pairs."""
    s = 0.0
    for k in range(len(x) - 1):
        s = s + 100.0 * (x[k + 1] - x[k] ** 2) ** 2 + (1.0 - x[k]) ** 2
    return s


def backwards(x: Any, A: Any) -> Any:
    """Return a recurrence that reads boxes from the end, and every second element."""
    h = A[0]
    for k in range(len(x) // 2 - 1, 1, -1):
        h = np.tanh(A @ h + x[2 * k] * x[k : k + 4])
    return np.sum(h * h)


def delayed(x: Any, A: Any) -> Any:
    """Return a recurrence that goes two steps back."""
    before, now = A[0], A[1]
    for k in range(len(x)):
        before, now = now, np.cos(before) * x[k] + 0.5 * now
    return np.sum(before * now)


def two_stages(x: Any, A: Any) -> Any:
    """Return steps of two stages each, which differ in a number."""
    y = A[0]
    for k in range(len(x)):
        y = y + 0.1 * np.sin(A @ (y + 0.05 * x[k] * np.sin(A @ y)))
    return np.sum(y * y)


def numbered(x: Any, A: Any) -> Any:
    """Return a sum with another number in each iteration."""
    s = A[0]
    for k in range(len(x)):
        s = 0.5 * s * np.tanh(-0.01 * k * s) + x[k]
    return np.sum(s)


def columns(x: Any, A: Any) -> Any:
    """Return what is read from columns and rows of an array, and kept in a list."""
    B = np.outer(x, x)
    found = [np.sum(B[:, k] * np.sin(B[k])) for k in range(len(x))]
    total = found[0] * A[0, 0]
    for y in found[1:]:
        total = total * 0.9 + y
    return total


def written(x: Any, A: Any) -> Any:
    """Return an array that is written to, element by element."""
    y = np.zeros_like(x, shape=len(x) + 3) + A[0, 0]
    for k in range(len(x)):
        y[k + 1] += np.sin(x[k])
        y[k : k + 2] += x[k] * A[0, :2]
    return np.sum(y**3)


def looked_at(x: Any, A: Any) -> Any:
    """Return an array that is written to, and read meanwhile."""
    y = np.zeros_like(x, shape=len(x) + 1) + A[0, 0]
    for k in range(len(x)):
        y[k + 1] += np.sin(y[k]) * x[k]
    return np.sum(y)


def branches(x: Any, A: Any) -> Any:
    """Return a loop that does something else in some iterations."""
    s = A[0]
    for k in range(len(x)):
        s = np.tanh(s) + x[k]
        if k % 5 == 0:
            s = s * A[1]
    return np.sum(s)


def choices(x: Any, A: Any) -> Any:
    """Return a loop with decisions of elements."""
    s = A[0]
    for k in range(len(x)):
        s = np.where(s > x[k], np.maximum(s, 0.1) * 0.5, s + x[k])
    return np.sum(s)


def jumps(x: Any, _A: Any) -> Any:
    """Return a recursion that reads here and there."""
    s = x[0]
    for k in range(1, len(x)):
        s = np.sin(s) * 0.5 + x[k * k % 23]
    return s


def both_ends(x: Any, A: Any) -> Any:
    """Return a recursion that reads from both ends at once."""
    s = A[0]
    for k in range(20):
        s = np.sin(s) * x[k] + x[-1 - k] * x[20 - k : 24 - k]
    return np.sum(s)


def elsewhere(x: Any, A: Any) -> Any:
    """Return a loop of words that are alike, of which some are of other operands."""
    s, kept = A[0], A[1]
    for k in range(2 * len(x)):
        s = np.sin(kept if k in (20, 29, 31) else s) * x[3]
    return np.sum(s)


def tables(x: Any, A: Any) -> Any:
    """Return a loop that looks elements, columns and parts of rows up."""
    s, n = A[0], len(x)
    table = np.multiply.outer(np.sin(x[:4]), x)
    for k in range(n):
        other = 11 * k % n
        s = np.tanh(s * table[:, 7 * k % n] + table[1:3, other : other + 1]) * x[other]
        s = s[-1]
    return np.sum(s)


REFUSED = (jumps, elsewhere, delayed, written, looked_at, branches)
"""Of these, at least one program is not rolled up."""

FUNCTIONS: tuple[Callable[..., Any], ...] = (
    recursion, neighbours, backwards, delayed, two_stages, numbered, columns, written, looked_at,
    branches, choices, jumps, both_ends, elsewhere, tables,
)  # fmt: skip


def arguments(dtype: type = np.float64, length: int = LENGTH) -> list[Any]:
    """Return a vector and a matrix."""
    rng = np.random.default_rng(1)
    return [0.5 * rng.normal(size=n).astype(dtype) for n in (length, (4, 4))]


@pytest.mark.thinned(8)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_a_rolled_program_gives_the_same(f: Callable[..., Any], dtype: type) -> None:
    xs = arguments(dtype)
    tolerance = 2e-3 if dtype is np.float32 else 1e-9
    for g in (f, fd.grad(f, argnums=(0, 1))):
        require_same(fd.trace(g)(*xs), xs, tolerance)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("f", [f for f in FUNCTIONS if f not in REFUSED])
def test_loops_and_their_derivatives_are_found(f: Callable[..., Any]) -> None:
    xs = arguments(length=40)
    for g in (f, fd.grad(f)):
        program = fd.trace(g)(*xs)
        assert len(distribute(roll(program)).equations) < len(program.equations) / 3


@pytest.mark.parametrize("reverse", [False, True])
def test_a_loop_over_arrays_that_are_given_is_a_loop_over_their_rows(reverse: bool) -> None:
    def f(x: Any, *rows: Any) -> Any:
        s = x
        for k, row in enumerate(rows[::-1] if reverse else rows):
            s = np.tanh(s * row) + rows[-1 - k]
        return np.sum(s)

    xs = [np.random.default_rng(k).normal(size=3) for k in range(LENGTH + 1)]
    for g in (f, fd.grad(f), fd.grad(f, argnums=(0, 1, LENGTH))):
        program = fd.trace(g)(*xs)
        found = loops(require_same(program, xs))
        assert found
        # that arrays are put together is no loop
        assert len(loops(roll(roll(program)))) == len(found)


def recurrence(x: Any, _A: Any) -> Any:
    """Return a series that is filled in, of which each number is made of the last ones."""
    y = fnp.zeros(len(x) + 2)
    y[0], y[1] = x[0], 0.5
    for k in range(len(x)):
        y[k + 2] = np.sin(y[k + 1]) * 0.5 + y[k] * x[k]
    return np.sum(y**2)


def states(x: Any, A: Any) -> Any:
    """Return a table that is filled in, number by number."""
    y = fnp.full((len(x) + 1, 2), -0.0)
    y[0] = A[0, :2]
    for k in range(len(x)):
        y[k + 1, 0] = y[k, 0] + 0.1 * y[k, 1]
        y[k + 1, 1] = y[k, 1] - 0.1 * np.sin(y[k, 0]) * x[k]
    return np.sum(y * A[1, :2])


def vectors(x: Any, A: Any) -> Any:
    """Return a table that is filled in, backwards and column by column."""
    y = fnp.zeros((4, len(x)))
    y[:, -1] = A[0]
    for k in range(len(x) - 2, -1, -1):
        y[:, k] = np.tanh(A @ y[:, k + 1]) + x[k]
    return np.sum(y)


def permuted(x: Any, A: Any) -> Any:
    """Return arrays that are filled in in some order, each number once."""
    y, z, s = fnp.ones(len(x)), fnp.full((len(x), 4), 2.0), A[0]
    for k in range(len(x)):
        s = np.sin(s) * x[k]
        y[7 * k % len(x)] = s[1]
        z[11 * k % len(x)] = s
    return np.sum(y * x) + np.sum(z @ A)


def rewritten(x: Any, A: Any) -> Any:
    """Return an array of which each number is written twice."""
    y, s = fnp.zeros(len(x) + 1), A[0, 0]
    for k in range(len(x)):
        s = np.sin(s) + x[k]
        y[k] = s
        y[k + 1] = 0.5 * s
    return np.sum(y * y)


def overlapping(x: Any, A: Any) -> Any:
    """Return an array of which parts are written that overlap."""
    y, s = fnp.zeros(len(x) + 3), A[0]
    for k in range(len(x)):
        s = np.sin(s) + x[k]
        y[k : k + 4] = s
    return np.sum(y * y)


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("f", "is_loop"),
    [
        (recurrence, True),
        (states, True),
        (vectors, True),
        (permuted, True),
        (rewritten, False),
        (overlapping, False),
    ],
)
def test_arrays_that_a_loop_fills_are_its_rows(f: Callable[..., Any], is_loop: bool) -> None:
    xs = arguments(length=40)
    for g in (f, fd.grad(f, argnums=(0, 1))):
        require_same(fd.trace(g)(*xs), xs)
    program = require_same(simplify(fd.trace(f)(*xs)), xs)
    writes = sum(eq.primitive.name == "replace_slice" for eq in program.equations)
    assert bool(loops(program)) == is_loop
    assert (writes < 20) == is_loop


@pytest.mark.parametrize("f", [rewritten, overlapping])
def test_elements_that_a_loop_writes_twice_are_written_in_its_order(f: Callable[..., Any]) -> None:
    xs = arguments()
    assert not loops(require_same(simplify(fd.trace(f)(*xs)), xs))


def turned_around(x: Any) -> Any:
    """Return the elements in the other order."""
    y = fnp.zeros(len(x))
    for k in range(len(x)):
        y[len(x) - 1 - k] = x[k]
    return y


def mixed(x: Any) -> Any:
    """Return the elements in some order, on top of others."""
    y = fnp.ones(len(x) + 1)
    for k in range(len(x)):
        y[k + 1] += x[7 * k % len(x)]
    return y


@pytest.mark.parametrize("f", [turned_around, mixed])
def test_elements_that_are_only_moved_are_moved_at_once(f: Callable[..., Any]) -> None:
    xs = arguments(length=40)[:1]
    for g in (f, fd.grad(lambda x: np.sum(f(x) ** 2))):
        program = require_same(simplify(fd.trace(g)(*xs)), xs)
        assert len(program.equations) < 30


def test_arrays_that_are_only_put_together_are_no_loop() -> None:
    xs = [np.full(2, float(k)) for k in range(LENGTH)]
    program = fd.trace(lambda *xs: np.stack([np.reshape(x, (2, 1)) for x in xs]))(*xs)
    assert not loops(require_same(program, xs))


def test_a_loop_reads_from_both_ends_at_once() -> None:
    xs = arguments(length=40)
    for g in (both_ends, fd.grad(both_ends)):
        assert loops(require_same(fd.trace(g)(*xs), xs))


def test_a_sum_over_neighbours_needs_no_loop() -> None:
    program = distribute(roll(fd.trace(fd.grad(neighbours))(*arguments())))
    assert not loops(program)


def test_sums_of_products_over_the_turns_of_a_loop_are_products() -> None:
    def f(A: Any, y: Any) -> Any:
        def step(y: Any, _row: Any) -> tuple[Any, None]:
            return y + 0.1 * np.sin(A @ np.cos(A @ y)), None

        return np.sum(fd.scan(step, y, length=LENGTH)[0] ** 2)

    _, A = xs = arguments()
    program = fd.trace(fd.grad(f))(A, xs[0][:4])
    require_same(program, [A, xs[0][:4]])
    squares = [v.type.shape for eq in distribute(program).equations for v in eq.results]
    assert (LENGTH, 4, 4) not in squares


@pytest.mark.thinned(12)
@pytest.mark.parametrize("seed", range(40))
def test_random_loops_give_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    xs = [*arguments(), *rng.normal(size=(LENGTH, 4))]
    f = random_loop(rng)
    program = fd.trace(fd.grad(f, argnums=(0, 1)) if seed % 2 else f)(*xs)
    require_same(program, xs, 1e-8)


def random_loop(rng: np.random.Generator) -> Callable[..., Any]:
    """Return a function with a loop of random operations on two states and what it reads."""
    rows: Sequence[Any] = ()
    matrix: Any = None
    reads: list[Callable[[Any, int], Any]] = [
        lambda x, k: x[k],
        lambda x, k: x[k + 1],
        lambda x, k: x[-1 - k],
        lambda x, k: x[k : k + 4],
        lambda x, k: x[20 - k : 24 - k],
        lambda x, k: 0.1 * k + 0.0 * x[0],
        lambda x, k: x[3 + 0 * k],
        lambda x, k: x[7 * k % len(x)],
        lambda x, k: np.outer(x, x)[7 * k % len(x), 11 * k % len(x)],
        lambda _, k: matrix[k * k % 4, 3 * k % 4],
        lambda _, k: matrix[1:3, k * k * k % 4 : k * k * k % 4 + 1],
        lambda _, k: matrix[:, k * k % 4],
        lambda _, k: rows[k],
        lambda _, k: rows[(7 * k) % len(rows)],
    ]
    operations: list[Callable[[Any, Any], Any]] = [
        lambda a, b: a + b,
        lambda a, b: np.sin(a) * b,
        lambda a, b: a * 0.5 - b,
        lambda a, b: np.tanh(a - b),
        lambda a, b: a / (2.0 + b * b),
    ]
    steps = [
        (rng.integers(3), rng.integers(len(operations)), rng.integers(3), rng.integers(len(reads)))
        for _ in range(rng.integers(1, 5))
    ]
    count = int(rng.integers(FEWEST, 20))

    def f(x: Any, A: Any, *given: Any) -> Any:
        nonlocal rows, matrix
        rows = given or [A[k % 4] for k in range(LENGTH)]
        matrix, states, total = A, [A[0], A[1], A[2]], 0.0
        for k in range(count):
            for target, operation, source, read in steps:
                mixed = states[source] * np.sum(np.atleast_2d(reads[read](x, k)), 0)
                states[target] = np.tanh(operations[operation](states[target], mixed))
            total = total + np.sum(states[0] * x[k])
        return total + np.sum(states[1] * states[2])

    return f


def test_what_differs_in_words_is_no_run() -> None:
    def f(x: Any) -> Any:
        for k in range(30):
            x = np.sin(x) if k % 3 == 0 else np.cos(x) if k % 7 else np.exp(x)
        return x

    assert not list(runs(fd.trace(f)(1.0)))


def test_what_is_added_to_and_read_meanwhile_is_no_sum() -> None:
    last = "%0"
    lines: list[str] = []
    states: list[str] = []
    for k in range(20):
        box = f"starts=({k},), stops=({k + 1},), steps=(1,)"
        a, b, c = (f"%{2 + 3 * k + j}" for j in range(3))
        lines.append(f"{a}: f64[20] = add_slice{{{box}}} {last}, %1")
        lines.append(f"{b}: f64[] = reduce_sum{{axes=(0,)}} {a}")
        lines.append(f"{c}: f64[] = sin {b}")
        last, states = a, [*states, c]
    text = "\n".join(lines)
    program = fd.parse(
        f"program(%0: f64[20], %1: f64[1]) {{\n{text}\nreturn {last}, {', '.join(states)}\n}}"
    )
    require_same(program, [np.arange(20.0), np.array([0.3])])


def test_effects_are_not_rolled() -> None:
    def sine(x: Any) -> Any:
        return np.sin(x)

    noted = fd.primitive(sine, result=lambda x: x)

    def f(x: Any) -> Any:
        for _ in range(30):
            x = noted(x) * 0.5 + x
        return x

    program = fd.trace(f)(1.0)
    assert roll(program) == program


@pytest.mark.slow
def test_a_compiled_loop_is_called_again_and_again() -> None:
    xs = arguments()
    for f in (recursion, written):
        gradient, compiled = fd.grad(f), fd.jit(fd.grad(f))
        for scale in range(1, 9):
            given = [x * (0.2 * scale) for x in xs]
            np.testing.assert_allclose(compiled(*given), gradient(*given), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("at", [3, 12, 22])
def test_iterations_that_exchange_their_results_once_are_no_loop(at: int) -> None:
    def f(x: Any) -> Any:
        a, b = x, 0.5 * x
        for t in range(LENGTH):
            u, v = np.sin(a) * 0.9, np.cos(b) * 0.9
            a, b = (u, v) if t != at else (v, u)
        return a + 2.0 * b

    x = np.linspace(0.1, 2.0, 40)
    require_same(fd.trace(f)(x), [x])


@pytest.mark.parametrize("reads", [False, True])
def test_a_sum_that_is_read_in_the_loop_is_no_sum_behind_it(reads: bool) -> None:
    def f(x: Any) -> Any:
        total, read = 0.0 * x, x[0]
        for t in range(LENGTH):
            box = Slice((t,), (t + 1,), (1,))
            before, total = total, add_slice(total, np.sin(x[t : t + 1]), box)
            read = read + np.sum((before if reads else x) * x)
        return total * read

    x = np.linspace(0.1, 2.0, LENGTH)
    rolled = require_same(fd.trace(f)(x), [x])
    assert bool(loops(rolled)) is not reads


@pytest.mark.parametrize("last", [[24], [23, 26], [22, 25, 28]])
def test_slices_that_do_not_move_on_evenly_are_no_path(last: list[int]) -> None:
    def f(x: Any) -> Any:
        y = x[:3]
        for t in (*range(22), *last):
            y = np.tanh(y + x[t : t + 3])
        return y

    x = np.linspace(-1.0, 2.0, 32)
    require_same(fd.trace(f)(x), [x])
