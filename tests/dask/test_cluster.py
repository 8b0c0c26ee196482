"""On a cluster of processes: the same numbers, the same bits, whatever happens to a worker."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster, wait

import funcdiff as fd
from funcdiff.dask import totals
from funcdiff.dask.data import Data
from funcdiff.dask.totals import Blocks
from tests.dask.losses import PARAMS, VECTOR, X, Y, losses, mean, not_definite, scores, squares

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Any]:
    with (
        dask.config.set({"temporary-directory": str(folder)}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
        address = cluster.scheduler_address
    # what workers kept there is gone but for Dask's own locks, and the port is free
    assert {p.name for p in folder.rglob("*") if p.is_file()} <= {"global.lock", "purge.lock"}
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))


@pytest.fixture
def data() -> tuple[Any, Any]:
    return da.from_array(X, chunks=(20, 4)), da.from_array(Y, chunks=20)


def assert_same(found: Any, expected: Any) -> None:
    pairs = zip(fd.pytree.flatten(found)[0], fd.pytree.flatten(expected)[0], strict=True)
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def bits(found: Any) -> tuple[bytes, ...]:
    return tuple(np.asarray(leaf).tobytes() for leaf in fd.pytree.flatten(found)[0])


def test_derivatives_are_those_of_one_machine(client: Any, data: Any) -> None:
    found = fd.dask.value_and_grad(mean, reduce="mean")(PARAMS, *data)
    assert_same(found, fd.value_and_grad(mean)(PARAMS, X, Y))
    product = fd.dask.hvp(mean, reduce="mean")(PARAMS, VECTOR, *data)
    assert_same(product, fd.hvp(mean, (PARAMS, X, Y), (VECTOR,), argnums=0))
    rows = fd.dask.jacobian(lambda p, X, y: np.tanh(scores(p, X)))(PARAMS, *data)
    expected = fd.jacobian(lambda p: np.tanh(scores(p, X)))(PARAMS)
    assert_same({name: x.compute() for name, x in rows.items()}, expected)


def test_it_says_how_many_blocks_are_done(
    client: Any, data: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    found = fd.dask.value_and_grad(mean, reduce="mean", progress=True)(PARAMS, *data)
    assert_same(found, fd.value_and_grad(mean)(PARAMS, X, Y))
    blocks = len(data[0].chunks[0])
    assert f"{blocks}/{blocks}" in capsys.readouterr().err


def test_a_rerun_gives_the_same_bits(client: Any, data: Any) -> None:
    f = fd.dask.value_and_grad(mean, reduce="mean")
    found = {bits(f(PARAMS, *data)) for _ in range(5)}
    with dask.config.set(scheduler="synchronous"):
        found.add(bits(f(PARAMS, *data)))
    persisted = client.persist(data)
    found |= {bits(f(PARAMS, *persisted)) for _ in range(3)}
    assert len(found) == 1


def test_programs_go_to_each_worker_once(client: Any, data: Any) -> None:
    f = fd.dask.hvp(mean, reduce="mean")
    for k in range(5):
        f(PARAMS, {"weights": np.full(4, float(k)), "bias": 1.0}, *data)
    codes = {key: where for key, where in client.who_has().items() if "funcdiff-code" in str(key)}
    of_this = [where for key, where in codes.items() if key in totals._codes[client]]
    assert len(of_this) == len(totals._codes[client]) <= totals._CODES_KEPT
    before = len(codes)
    f(PARAMS, VECTOR, *data)  # from another line
    assert len(totals._codes[client]) == before + 1
    client.restart()
    assert_same(f(PARAMS, VECTOR, *data), fd.hvp(mean, (PARAMS, X, Y), (VECTOR,), argnums=0))


def test_a_batch_has_blocks_of_one_worker(client: Any) -> None:
    workers = list(client.scheduler_info()["workers"])
    pieces = [
        client.submit(np.array, X[k : k + 1], workers=workers[k % 3 > 0], pure=False)
        for k in range(102)
    ]
    wait(pieces)
    data = da.concatenate([da.from_delayed(x, (1, 4), float) for x in pieces])
    blocks = Blocks.of(Data.of("f", (data,), {}))
    places = totals._places(client, blocks.held)  # before there are copies elsewhere
    assert set(places.values()) == set(workers)
    holders = client.who_has(pieces)
    assert all(places[x.key] in holders[x.key] for x in pieces)
    found = {bits(fd.dask.grad(squares)(PARAMS, data)) for _ in range(6)}
    assert len(found) == 1
    assert_same(fd.dask.grad(squares)(PARAMS, data), fd.grad(squares)(PARAMS, X[:102]))


def test_workers_may_have_several_threads(folder: Path) -> None:
    with (
        dask.config.set({"temporary-directory": str(folder)}),
        LocalCluster(
            n_workers=1, threads_per_worker=3, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as cluster,
        Client(cluster),
    ):
        x = da.from_array(X, chunks=(3, 4)), da.from_array(Y, chunks=3)
        f = fd.dask.value_and_grad(mean, reduce="mean")
        found = [f(PARAMS, *x) for _ in range(5)]
        assert_same(found[0], fd.value_and_grad(mean)(PARAMS, X, Y))
        assert len(set(map(bits, found))) == 1
        rows = fd.dask.vmap(fd.grad(losses))(PARAMS, *x)
        assert rows["weights"].compute().shape == (103, 4)


def test_large_parameters_go_beside_the_graph(client: Any) -> None:
    w = np.linspace(0.0, 1.0, 1_400_000)  # more than Dask wants to see in a graph
    slope = fd.dask.grad(lambda w, y: np.sum(w) ** 2 * np.sum(y))(w, da.ones(6, chunks=2))
    np.testing.assert_allclose(slope, 12 * np.sum(w), rtol=1e-12)


def test_an_error_on_a_worker_names_the_users_line(client: Any, data: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError) as caught:
        fd.dask.grad(not_definite)(PARAMS, *data)
    line = not_definite.__code__.co_firstlineno + 2
    assert f"losses.py', line {line}, in not_definite" in "".join(caught.value.__notes__)


def test_a_worker_that_is_killed_in_the_middle_is_survived(
    client: Any, data: Any, tmp_path: Path
) -> None:
    f = fd.dask.value_and_grad(mean, reduce="mean")
    expected = bits(f(PARAMS, *data))
    marker, here = tmp_path / "killed", os.getpid()

    def fatal(block: Any) -> Any:
        if os.getpid() == here:
            return block
        try:
            marker.touch(exist_ok=False)  # by the first block that is computed, whichever that is
        except FileExistsError:
            return block
        marker.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
        return block

    found = f(PARAMS, data[0].map_blocks(fatal, dtype=float, meta=np.empty((0, 4))), data[1])
    assert int(marker.read_text()) not in client.run(os.getpid).values()
    assert bits(found) == expected
