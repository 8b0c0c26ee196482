"""Rows of Jacobians and functions of one example come as Dask arrays, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import funcdiff as fd
from tests.dask.losses import PARAMS, X, Y, losses, scores


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


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
