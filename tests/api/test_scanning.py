"""`map`, `associative_scan` and checkpointed scans, against plain loops."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError
from funcdiff.testing import check_grads

RANDOM = np.random.default_rng(5)
ROWS = RANDOM.normal(size=(7, 3))

# ---- scan(checkpoint=) -----------------------------------------------------------------------


def _loss(w: Any, rows: Any, *, checkpoint: bool | int, reverse: bool = False) -> Any:
    def step(carry: Any, row: Any) -> Any:
        after = np.tanh(w * carry + row)
        return after, np.sum(after * carry)

    last, ys = fd.scan(step, 0.2 * w, rows, checkpoint=checkpoint, reverse=reverse)
    return np.sum(last * w) + np.sum(ys * np.arange(7.0))


@pytest.mark.thinned(9)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checkpoint", [True, 1, 2, 3, 7, 20])
def test_checkpoints_change_no_value_and_no_derivative(checkpoint: int, reverse: bool) -> None:
    w = np.array([0.3, -0.8, 1.1])

    def plain(w: Any, rows: Any) -> Any:
        return _loss(w, rows, checkpoint=False, reverse=reverse)

    def kept(w: Any, rows: Any) -> Any:
        return _loss(w, rows, checkpoint=checkpoint, reverse=reverse)

    assert kept(w, ROWS) == plain(w, ROWS)
    for transform in (lambda f: fd.grad(f, (0, 1)), fd.jacfwd, fd.hessian):
        expected, got = transform(plain)(w, ROWS), transform(kept)(w, ROWS)
        for a, b in zip(expected, got, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-14)
    batch = np.stack([w, 2 * w])
    np.testing.assert_allclose(
        fd.vmap(fd.grad(kept), in_axes=(0, None))(batch, ROWS),
        [fd.grad(plain)(v, ROWS) for v in batch],
        rtol=1e-12,
    )


@pytest.mark.thinned(2)
@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_short_loops_may_have_checkpoints(length: int) -> None:
    def f(x: Any) -> Any:
        last, ys = fd.scan(lambda c, _: (c * x, c + x), x, length=length, checkpoint=True)
        return last + np.sum(ys)

    check_grads(f, (1.3,), order=2)


def _peak(length: int, checkpoint: bool | int) -> int:
    """Return the most memory that the derivative of a long loop over a wide carry needs."""
    x = np.linspace(0.1, 1.0, 2000)

    def f(x: Any) -> Any:
        loop = fd.scan(
            lambda c, _: (np.sin(c) * 1.01, None), x, None, length, checkpoint=checkpoint
        )
        return np.sum(loop[0])

    gradient = fd.grad(f)
    gradient(x)
    tracemalloc.start()
    gradient(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.slow
def test_checkpoints_need_memory_like_the_square_root_of_the_length() -> None:
    row = 2000 * 8
    assert _peak(400, checkpoint=False) > 400 * row
    assert _peak(400, checkpoint=True) < 4 * 20 * row
    assert _peak(1600, checkpoint=True) < 2.5 * _peak(400, checkpoint=True)


def test_a_checkpoint_is_a_number_of_iterations() -> None:
    for checkpoint in (0, -2, 1.5):
        with pytest.raises(InputError, match=f"checkpoint={checkpoint}.*True"):
            _loss(np.ones(3), ROWS, checkpoint=checkpoint)  # type: ignore[arg-type]


# ---- map -------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [None, 1, 3, 7, 9])
def test_map_is_a_loop_over_the_rows(batch_size: int | None) -> None:
    def f(tree: Any) -> Any:
        return {"sum": np.sum(tree["x"] ** 2), "y": (tree["y"] * tree["x"],)}

    xs = {"x": ROWS, "y": np.arange(7.0)}
    result = fd.map(f, xs, batch_size=batch_size)
    np.testing.assert_allclose(result["sum"], np.sum(ROWS**2, axis=1), rtol=1e-15)
    np.testing.assert_array_equal(result["y"][0], ROWS * np.arange(7.0)[:, None])


@pytest.mark.parametrize("batch_size", [None, 3])
def test_map_is_differentiated_and_batched(batch_size: int | None) -> None:
    def f(x: Any) -> Any:
        return fd.map(lambda row: np.sin(row) * x[0], x, batch_size=batch_size)

    check_grads(f, (ROWS,), order=2)
    both = np.stack([ROWS, 2 * ROWS])
    np.testing.assert_allclose(fd.vmap(f)(both), [f(x) for x in both], rtol=1e-14)


def test_map_runs_one_branch_for_each_row() -> None:
    def f(x: Any) -> Any:
        return np.sum(fd.map(lambda v: fd.cond(v > 0, np.sqrt, lambda v: -v, v), x))

    np.testing.assert_allclose(fd.grad(f)(np.array([4.0, -3.0])), [0.25, -1])


def test_map_over_nothing_keeps_the_type() -> None:
    for batch_size in (None, 2):
        empty = fd.map(lambda x: x.astype(np.float32), np.zeros((0, 3)), batch_size=batch_size)
        assert empty.shape == (0, 3)
        assert empty.dtype == np.float32


def test_map_needs_rows_of_one_length() -> None:
    with pytest.raises(InputError, match=r"xs\[1\] has length 2, not 3"):
        fd.map(lambda x: x[0], (np.ones(3), np.ones(2)))
    with pytest.raises(InputError, match="batch_size=0"):
        fd.map(np.sin, np.ones(3), batch_size=0)


@pytest.mark.parametrize("batch_size", [None, 2])
def test_map_speaks_of_map(batch_size: int | None) -> None:
    with pytest.raises(InputError, match=r"^map walks along the first axis, but xs is 0-d"):
        fd.map(np.sin, 1.0, batch_size=batch_size)
    with pytest.raises(InputError, match=r"^map: xs\[1\] has length 2, not 3"):
        fd.map(lambda x: x[0], (np.ones(3), np.ones(2)), batch_size=batch_size)
    with pytest.raises(InputError, match=r"^map needs an array in xs"):
        fd.map(lambda x: 1.0, None, batch_size=batch_size)


# ---- associative_scan ------------------------------------------------------------------------


def _matrices(left: Any, right: Any) -> Any:
    """Compose maps v -> a v + b that stand along the first axis."""
    return {
        "a": right["a"] @ left["a"],
        "b": (right["a"] @ left["b"][..., None])[..., 0] + right["b"],
    }


@pytest.mark.parametrize("n", range(10))
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_gives_all_partial_results(n: int, reverse: bool) -> None:
    x = RANDOM.normal(size=(n, 2))
    expected = np.cumprod(x[::-1], axis=0)[::-1] if reverse else np.cumprod(x, axis=0)
    result = fd.associative_scan(np.multiply, x, reverse=reverse)
    np.testing.assert_allclose(result, expected, rtol=1e-14)


def test_associative_scan_keeps_the_order_of_a_composition() -> None:
    maps = {"a": RANDOM.normal(size=(6, 2, 2)), "b": RANDOM.normal(size=(6, 2))}
    result = fd.associative_scan(_matrices, maps)
    a, b = np.eye(2), np.zeros(2)
    for k in range(6):
        a, b = maps["a"][k] @ a, maps["a"][k] @ b + maps["b"][k]
        np.testing.assert_allclose(result["a"][k], a, rtol=1e-12)
        np.testing.assert_allclose(result["b"][k], b, rtol=1e-12)


@pytest.mark.parametrize("axis", [1, -1])
def test_associative_scan_walks_along_any_axis(axis: int) -> None:
    np.testing.assert_allclose(
        fd.associative_scan(np.add, ROWS, axis=axis), np.cumsum(ROWS, axis=1), rtol=1e-14
    )


def test_associative_scan_is_differentiated_and_batched() -> None:
    def f(x: Any) -> Any:
        return fd.associative_scan(np.multiply, x, reverse=True)

    check_grads(f, (ROWS[:5],), order=2)
    both = np.stack([ROWS, 2 * ROWS])
    np.testing.assert_allclose(fd.vmap(f)(both), [f(x) for x in both], rtol=1e-14)


def test_associative_scan_calls_its_function_few_times() -> None:
    calls = []

    def add(a: Any, b: Any) -> Any:
        calls.append(len(a))
        return a + b

    fd.associative_scan(add, np.ones(1000))
    assert len(calls) < 2 * np.log2(1000)


def test_associative_scan_tells_what_does_not_fit() -> None:
    scan: Any = fd.associative_scan
    with pytest.raises(InputError, match=r"elems\['b'\] of shape \(\) has no axis 0"):
        scan(lambda a, b: a, {"a": np.ones(3), "b": 1.0})
    with pytest.raises(InputError, match=r"elems\[0\]: 3, elems\[1\]: 4"):
        scan(lambda a, b: a, (np.ones(3), np.ones(4)))
    with pytest.raises(OutputError, match=r"returned \(\*, \*\)"):
        scan(lambda a, b: (a, b), np.ones(3))
    with pytest.raises(OutputError, match=r"shape \(2,\).*shape \(\).*elementwise"):
        scan(lambda a, b: np.sum(a), np.ones(4))


def test_numbers_that_no_row_has_a_part_in_are_stacked_too() -> None:
    last, (ys, ones) = fd.scan(lambda c, x: (c + x, (2.0 * x, 1.0)), 0.0, np.arange(3.0))
    assert last == 3.0
    np.testing.assert_array_equal(ys, [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(ones, np.ones(3))
