"""What needs no loop is taken out of a scan, and the rest gives the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.program import Equation, Program
from funcdiff.ops.control.loops import scan_p
from funcdiff.ops.control.sweeps import Scan
from funcdiff.passes.loops.distribution import distribute


def scans(program: Program) -> list[Equation]:
    """Return the scans of a program."""
    return [eq for eq in program.equations if eq.primitive is scan_p]


def bodies(program: Program) -> list[list[str]]:
    """Return the names of the primitives in the bodies of the scans."""
    return [
        [inner.primitive.name for inner in eq.params_as(Scan).body.equations]
        for eq in scans(program)
    ]


def recurrent(x: Any, W: Any, U: Any, *, reverse: bool = False) -> Any:
    """Return a recurrence with something before, in, and after the loop, and two sums."""

    def body(state: Any, row: Any) -> Any:
        h, total, sums = state
        z = np.tanh(U @ row + W @ h)
        outside = np.sin(row) * np.sum(np.cos(z))
        return (z, total + np.outer(z, row), sums + np.sum(outside)), (outside, h)

    return fd.scan(body, (W[0], U, x[0, 0]), x, reverse=reverse)


def padded(x: Any, W: Any, U: Any) -> Any:
    """Return sums of what is added to boxes, of rows that are nowhere else used."""

    def body(total: Any, row: Any) -> Any:
        total = total * 1
        total[1:3] += row[:2]
        return total, np.exp(row) @ W[: len(row)]

    return fd.scan(body, W[0], x)


def unused(x: Any, W: Any, _U: Any) -> Any:
    """Return one of several carries, which need each other or do not."""

    def body(state: Any, row: Any) -> Any:
        a, b, c = state
        return (a * row, b + a, c * 2.0 + b), (a, c, 1.0)

    (_, b, _), (_, _, ones) = fd.scan(body, (x[0], x[1], x[2]), x)
    return b, ones, W


def vectorised(x: Any, _W: Any, _U: Any) -> Any:
    """Return what needs no loop at all."""
    return fd.scan(lambda s, row: (s + np.sum(np.sin(row) * row), row * 2), x[0, 0], x)


def nested(x: Any, W: Any, _U: Any) -> Any:
    """Return a loop in a loop."""

    def outer(s: Any, row: Any) -> Any:
        inner, ys = fd.scan(lambda a, r: (np.tanh(a) + r, a * r), s, np.stack([row, row, row, row]))
        return inner, np.sum(ys) * W

    return fd.scan(outer, x[0], x)


PROGRAMS: tuple[Callable[..., Any], ...] = (
    recurrent,
    lambda *args: recurrent(*args, reverse=True),
    padded,
    unused,
    vectorised,
    nested,
)


def arguments(dtype: type, length: int) -> list[Any]:
    """Return rows and two matrices."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(length, 3)), rng.normal(size=(4, 4)), rng.normal(size=(4, 3))]
    if dtype is complex:
        return [0.5 * a + 0.3j * rng.normal(size=a.shape) for a in arrays]
    return [a.astype(dtype) for a in arrays]


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, complex])
@pytest.mark.parametrize("length", [3, 7])
def test_a_distributed_loop_gives_the_same(f: Callable[..., Any], dtype: type, length: int) -> None:
    xs = arguments(dtype, length)
    program = fd.trace(f)(*xs)
    for expected, found in zip(
        fd.evaluate(program, xs), fd.evaluate(distribute(program), xs), strict=True
    ):
        tolerance = 3e-5 if dtype is np.float32 else 1e-12
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        assert found.dtype == expected.dtype


def test_only_the_recurrence_is_left_in_the_loop() -> None:
    xs = arguments(np.float64, 7)
    (names,) = bodies(distribute(fd.trace(recurrent)(*xs)))
    assert names == ["contract", "add", "tanh"]


def test_sums_of_products_of_rows_are_one_product() -> None:
    xs = arguments(np.float64, 7)
    program = distribute(fd.trace(recurrent)(*xs))
    assert "f64[7,4,3]" not in str(program)


def test_a_loop_of_nothing_but_sums_is_none() -> None:
    assert not scans(distribute(fd.trace(vectorised)(*arguments(np.float64, 7))))


def test_what_nobody_uses_is_not_computed() -> None:
    (eq,) = scans(distribute(fd.trace(unused)(*arguments(np.float64, 7))))
    p = eq.params_as(Scan)
    assert (p.carries, len(p.body.outputs)) == (1, 2)


def test_what_is_the_same_in_every_iteration_is_computed_once() -> None:
    def f(x: Any) -> Any:
        return fd.scan(lambda s, row: (np.sin(s) * np.exp(x[0]) + row, None), x[0], x)[0]

    program = distribute(fd.trace(f)(np.arange(5.0)))
    assert bodies(program) == [["sin", "mul", "add"]]


def test_large_rows_stay_in_the_loop() -> None:
    def f(x: Any) -> Any:
        return fd.scan(lambda s, row: (s * row, np.sin(s)), x[0], x)[1]

    assert bodies(distribute(fd.trace(f)(np.ones((4, 100)))))[0] == ["mul"]
    assert bodies(distribute(fd.trace(f)(np.ones((4, 10_000)))))[0] == ["mul", "sin"]


def test_effects_happen_once_an_iteration() -> None:
    seen: list[float] = []

    def note(x: Any) -> Any:
        seen.append(float(x))
        return x

    noted = fd.primitive(note, result=lambda x: x)

    def f(x: Any) -> Any:
        return fd.scan(lambda s, row: (s + row, noted(row)), x[0], x)

    xs = np.arange(5.0)
    fd.jit(f)(xs)
    assert seen == [0.0, 1.0, 2.0, 3.0, 4.0]
