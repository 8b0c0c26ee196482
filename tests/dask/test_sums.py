"""Derivatives of sums and means over chunks are those of all examples at once."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from dask.callbacks import Callback

import funcdiff as fd
from funcdiff.dask.data import Data
from funcdiff.dask.shipping import step_of
from tests.dask.losses import PARAMS, VECTOR, X, Y, losses, mean, not_definite, scores, total

CHUNKS = [(103,), (50, 50, 3), (1,) * 103, (0, 60, 0, 43), (10,) * 10 + (3,)]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def chunked(chunks: tuple[int, ...]) -> tuple[Any, Any]:
    return da.from_array(X, chunks=(chunks, 4)), da.from_array(Y, chunks=(chunks,))


def assert_same(found: Any, expected: Any) -> None:
    pairs = zip(fd.pytree.flatten(found)[0], fd.pytree.flatten(expected)[0], strict=True)
    assert fd.pytree.flatten(found)[1] == fd.pytree.flatten(expected)[1]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
        assert (type(ours), ours.dtype, ours.shape) == (type(theirs), theirs.dtype, theirs.shape)


@pytest.mark.parametrize("chunks", CHUNKS, ids=len)
@pytest.mark.parametrize("loss", [total, mean])
def test_chunks_make_no_difference(chunks: tuple[int, ...], loss: Any) -> None:
    reduce: Any = "mean" if loss is mean else "sum"
    data = chunked(chunks)
    expected = fd.value_and_grad(loss)(PARAMS, X, Y)
    assert_same(fd.dask.value_and_grad(loss, reduce=reduce)(PARAMS, *data), expected)
    assert_same(fd.dask.grad(loss, reduce=reduce)(PARAMS, *data), expected[1])


@pytest.mark.parametrize("loss", [total, mean])
def test_products_with_second_derivatives_are_those_of_all_examples(loss: Any) -> None:
    reduce: Any = "mean" if loss is mean else "sum"
    data = chunked((40, 40, 23))
    expected = fd.hvp(loss, (PARAMS, X, Y), (VECTOR,), argnums=0)
    assert_same(fd.dask.hvp(loss, reduce=reduce)(PARAMS, VECTOR, *data), expected)

    def of_scores(z: Any, X: Any, y: Any) -> Any:
        return (np.mean if loss is mean else np.sum)(np.logaddexp(0.0, -y * z))

    product = fd.dask.gauss_newton_product(
        lambda p, X, y: scores(p, X), loss=of_scores, reduce=reduce
    )
    assert_same(product(PARAMS, VECTOR, *data), expected)  # the scores are linear


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_the_gauss_newton_matrix_of_residuals_needs_no_loss(reduce: Any) -> None:
    def residuals(p: Any, X: Any, y: Any) -> Any:
        return {"a": np.tanh(scores(p, X)) - y, "b": scores(p, X)[:, None] * X}

    expected = fd.gauss_newton_product(residuals, (PARAMS, X, Y), (VECTOR,), argnums=0)
    if reduce == "mean":
        expected = fd.pytree.map(lambda g: g / len(X), expected)
    product = fd.dask.gauss_newton_product(residuals, reduce=reduce)
    assert_same(product(PARAMS, VECTOR, *chunked((60, 43))), expected)


def test_parameters_and_data_have_any_dtype_and_layout() -> None:
    def loss(w: Any, images: Any, labels: Any) -> Any:
        return np.sum((images.reshape(len(images), -1) @ w) * labels.astype(np.float32))

    images = np.asfortranarray(np.arange(60, dtype=">f4").reshape(5, 4, 3) / 7)
    labels = np.array([1, 0, 2, 1, 1], dtype=np.int16)
    w = np.linspace(0, 1, 24, dtype=np.float32)[::2]
    value, slope = fd.dask.value_and_grad(loss)(
        w, da.from_array(images, chunks=(2, 4, 3)), da.from_array(labels, chunks=2)
    )
    expected = fd.value_and_grad(loss)(w, images.astype("f4"), labels)
    assert (value.dtype, slope.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(value, expected[0], rtol=1e-6)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-6)


def test_what_a_loss_closes_over_is_read_at_each_call() -> None:
    scale = np.array([1.0, 1.0, 1.0, 1.0])
    gradient = fd.dask.grad(lambda w, X: np.sum(X @ (scale * w)))
    data = da.from_array(X, chunks=(50, 4))
    np.testing.assert_allclose(gradient(np.zeros(4), data), X.sum(0), rtol=1e-12)
    scale[:] = 2.0
    np.testing.assert_allclose(gradient(np.zeros(4), data), 2 * X.sum(0), rtol=1e-12)


def test_a_rerun_gives_the_same_bits_with_every_scheduler() -> None:
    f = fd.dask.value_and_grad(mean, reduce="mean")
    found = []
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            found += [f(PARAMS, *chunked((9,) * 11 + (4,))) for _ in range(6)]
    assert len({slope["weights"].tobytes() for _, slope in found}) == 1


def test_bits_do_not_depend_on_where_a_block_lies_in_memory() -> None:
    def moved(block: Any, offset: int) -> Any:
        memory = np.empty(block.nbytes + 1, np.uint8)
        there = memory[offset : offset + block.nbytes].view(block.dtype).reshape(block.shape)
        there[...] = block
        return there if offset else np.asfortranarray(block)

    f = fd.dask.grad(total)
    plain = chunked((103,))
    expected = f(PARAMS, *plain)["weights"]
    for offset in (0, 1):
        data = [x.map_blocks(moved, offset, dtype=float) for x in plain]
        assert f(PARAMS, *data)["weights"].tobytes() == expected.tobytes()


class Tasks(Callback):  # type: ignore[misc]
    """Counts the tasks that run."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def _pretask(self, key: Any, dsk: Any, state: Any) -> None:
        self.names.append(str(key[0]))


def test_one_task_loads_a_block_and_computes_it_and_sums_are_a_tree() -> None:
    chunks = ((10,) * 20,)
    loaded = da.map_blocks(lambda: np.ones((10, 2)), chunks=(*chunks, (2,)), dtype=float)
    tasks = Tasks()
    with tasks:
        slope = fd.dask.grad(lambda w, X, y: np.sum(X @ w + y))(
            np.zeros(2), loaded, da.zeros(200, chunks=chunks)
        )
    assert slope.tolist() == [200.0, 200.0]
    assert sum("block" in name for name in tasks.names) == 20
    assert len(tasks.names) <= 20 + 4 + 2  # sums of eight, and what Dask finishes with


def test_what_travels_is_a_program_of_a_kilobyte_or_two_without_the_function() -> None:
    data = Data.of("f", chunked((50, 50, 3)), {})
    step, _ = step_of("f", fd.value_and_grad(total), (PARAMS,), data, {50, 3})
    assert len(step.code.programs) == 2
    for program in step.code.programs.values():
        assert len(pickle.dumps(program.program)) < 1024
        assert len(pickle.dumps(program)) < 2048
    again = pickle.loads(pickle.dumps(step))
    expected = fd.pytree.flatten(fd.value_and_grad(total)(PARAMS, X[:3], Y[:3]))[0]
    for ours, theirs in zip(again([X[:3], Y[:3]]), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_derived_functions_are_values() -> None:
    f = fd.dask.value_and_grad(mean, reduce="mean")
    assert repr(f) == "dask.value_and_grad(mean, reduce='mean')"
    assert pickle.loads(pickle.dumps(f)) == f == copy.copy(f) != fd.dask.value_and_grad(mean)
    sent = cloudpickle.loads(cloudpickle.dumps(fd.dask.grad(lambda w, x: np.sum(w * x))))
    assert sent(1.0, da.ones(5, chunks=2)) == 5.0


# ---- errors ------------------------------------------------------------------------------------


def test_an_error_in_a_block_names_the_users_line() -> None:
    with pytest.raises(np.linalg.LinAlgError) as caught:
        fd.dask.grad(not_definite)(PARAMS, *chunked((60, 43)))
    (note,) = [x for x in caught.value.__notes__ if "recorded at" in x]
    line = not_definite.__code__.co_firstlineno + 2
    assert f"losses.py', line {line}, in not_definite" in note


GOOD = chunked((60, 43))
WRONG_DATA = {
    "no data": ((), "without data"),
    "NumPy": ((X, GOOD[1]), r"argument 0 of the data is a ndarray.*da.from_array"),
    "axis 1": ((GOOD[0].rechunk((60, 2)), GOOD[1]), r"\(2, 2\) chunks.*rechunk\({1: -1}\)"),
    "other chunks": ((GOOD[0], GOOD[1].rechunk(50)), r"differ.*rechunk\({0: X.chunks\[0\]}\)"),
    "other length": ((GOOD[0], GOOD[1][:60]), r"103 and 60 examples"),
    "unknown": ((GOOD[0][GOOD[1] > 0],), "compute_chunk_sizes"),
    "empty": ((da.zeros((0, 4)), da.zeros(0)), "have no examples"),
    "no axes": ((da.ones(()),), "has no axes"),
    "text": ((da.from_array(np.array(["a", "b"])),), "not numbers"),
}


@pytest.mark.parametrize("case", WRONG_DATA)
def test_wrong_data_are_refused_with_the_cure(case: str) -> None:
    data, message = WRONG_DATA[case]
    with pytest.raises(fd.errors.InputError, match=message) as caught:
        fd.dask.value_and_grad(total)(PARAMS, *data)
    assert "test_sums.py" in str(caught.value)
    with pytest.raises(fd.errors.InputError, match=message):
        fd.dask.vmap(total)(PARAMS, *data)


def test_data_go_by_position() -> None:
    for f in (fd.dask.grad(total), fd.dask.hvp(total), fd.dask.jacobian(total)):
        with pytest.raises(fd.errors.InputError, match=r"was given X=, y=, at .*by position"):
            f(PARAMS, X=GOOD[0], y=GOOD[1])


def test_wrong_functions_are_refused() -> None:
    with pytest.raises(fd.errors.OutputError, match=r"real scalar; losses .*f64\["):
        fd.dask.grad(losses)(PARAMS, *GOOD)
    with pytest.raises(fd.errors.InputError, match="neither 'sum' nor 'mean'"):
        fd.dask.grad(total, reduce="max")  # type: ignore[arg-type]
    with pytest.raises(fd.errors.InputError, match=r"dask.grad takes a function"):
        fd.dask.grad(3.0)  # type: ignore[arg-type]
    with pytest.raises(fd.errors.ConcreteValueError) as caught:
        fd.dask.grad(lambda p, X, y: np.sum(X) * p["bias"] if X[0, 0] > 0 else p["bias"])(
            PARAMS, *GOOD
        )
    assert "one program for all blocks" in caught.value.__notes__[0]
    opaque = fd.primitive(lambda x: x + 1.0, result=lambda x: x)
    opaque.defvjp(lambda x: (opaque(x), None), lambda _, ct: (ct,))
    with pytest.raises(fd.errors.InputError, match="does not travel"):
        fd.dask.value_and_grad(lambda w, y: np.sum(opaque(w)) * np.sum(y))(1.0, GOOD[1])


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(fd.errors.InputError, match="Dask array"):
        fd.dask.grad(total)({"weights": da.zeros(4), "bias": 0.0}, *GOOD)
    with pytest.raises(fd.errors.InputError, match="int64"):
        fd.dask.grad(total)({"weights": np.zeros(4), "bias": 1}, *GOOD)
    with pytest.raises(fd.errors.CotangentError):
        fd.dask.hvp(total)(PARAMS, {"weights": np.zeros(3), "bias": 1.0}, *GOOD)
    with pytest.raises(fd.errors.InputError, match="while something is traced"):
        fd.grad(fd.dask.grad(lambda w, x: np.sum(w * x)))(1.0, GOOD[1])


def test_blocks_that_are_not_what_dask_says_are_named() -> None:
    whole = da.ones(80, chunks=40)
    wrong = [
        whole.map_blocks(lambda y: y.astype(np.float32), dtype=float),
        whole.map_blocks(lambda y: y[1:], dtype=float),
    ]
    for data, found in zip(wrong, ("f32[40]", "f64[39]"), strict=True):
        with pytest.raises(fd.errors.InputError) as caught:
            fd.dask.grad(lambda w, y: np.sum(w * y))(1.0, data)
        assert f"a block is {found}" in str(caught.value)
        assert "f64[80] in chunks of 40" in str(caught.value)
        assert "test_sums.py" in str(caught.value)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_a_sum_says_how_many_blocks_are_done(
    scheduler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = chunked((10,) * 10 + (3,))
    with dask.config.set(scheduler=scheduler):
        found = fd.dask.value_and_grad(total, progress=True)(PARAMS, *data)
        assert_same(found, fd.dask.value_and_grad(total)(PARAMS, *data))
        fd.dask.hvp(total, progress=True)(PARAMS, VECTOR, *data)
    text = capsys.readouterr().err
    assert "fd.dask.value_and_grad(total)" in text
    assert "fd.dask.hvp(total)" in text
    assert text.count("11/11") == 2


# ---- without dask --------------------------------------------------------------------------------


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("funcdiff.dask")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(fd, "dask", raising=False)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    asks: list[Callable[[], Any]] = [
        lambda: fd.dask,
        lambda: importlib.import_module("funcdiff.dask"),
    ]
    for ask in asks:
        with pytest.raises(fd.errors.MissingDependencyError, match=r'"funcdiff\[dask\]"') as caught:
            ask()
        assert "test_sums.py" in str(caught.value)


# ---- gradients per example -----------------------------------------------------------------------


DATA = da.from_array(X, chunks=((50, 0, 52, 1), 4)), da.from_array(Y, chunks=((50, 0, 52, 1),))


def test_rows_of_a_jacobian_are_those_of_all_examples() -> None:
    def outputs(p: Any, X: Any, y: Any) -> Any:
        return {"losses": losses(p, X, y), "squares": np.square(scores(p, X))[:, None] * X}

    found = fd.dask.jacobian(outputs)(PARAMS, *DATA)
    expected = fd.jacobian(outputs)(PARAMS, X, Y)
    assert fd.pytree.flatten(found)[1] == fd.pytree.flatten(expected)[1]
    pairs = zip(fd.pytree.flatten(found)[0], fd.pytree.flatten(expected)[0], strict=True)
    for ours, theirs in pairs:
        assert ours.chunks[0] == (50, 0, 52, 1)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours.compute(), theirs, rtol=1e-12)
    together = dask.compute(found)[0]
    np.testing.assert_allclose(together["losses"]["bias"], expected["losses"]["bias"], rtol=1e-12)


def test_gradients_per_example() -> None:
    found = fd.dask.vmap(fd.grad(losses))(PARAMS, *DATA)
    expected = fd.vmap(fd.grad(losses), in_axes=(None, 0, 0))(PARAMS, X, Y)
    for name, theirs in expected.items():
        np.testing.assert_allclose(found[name].compute(), theirs, rtol=1e-12)
    norms = (found["weights"] ** 2).sum(axis=1).mean()  # goes on in Dask
    np.testing.assert_allclose(norms.compute(), np.mean(np.sum(expected["weights"] ** 2, 1)))


def test_lazy_results_keep_the_parameters_of_the_call() -> None:
    w = np.ones(4)
    rows = fd.dask.vmap(lambda w, x: np.dot(w, x))(w, DATA[0])
    w[:] = 0.0
    np.testing.assert_allclose(rows.compute(), X.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("f", [lambda p, X: np.sum(X @ p), lambda p, X: p, lambda p, X: p[:1]])
def test_a_jacobian_needs_a_row_for_each_example(f: Any) -> None:
    with pytest.raises(fd.errors.OutputError, match=r"a row for each of the \d+ examples"):
        fd.dask.jacobian(f)(np.ones(4), DATA[0])
