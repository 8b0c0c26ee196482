"""Work shared by threads has the same results as in one, and its errors are raised."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.backend.blocks import running
from funcdiff.backend.blocks.schedule import Limits
from funcdiff.backend.kernels import Kernel
from funcdiff.core.running.evaluate import evaluate
from funcdiff.errors import InputError


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = fd.get_num_threads()
    yield
    fd.set_num_threads(before)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    def f(x: Any, w: Any) -> Any:
        for _ in range(4):
            x = np.tanh(x * w) + 0.1 * x
        return np.sum(x**2)

    random = np.random.default_rng(2)
    x, w = random.normal(size=(100_003, 3)), random.normal(size=3)
    program = fd.trace(fd.value_and_grad(f, argnums=(0, 1)))(x, w)
    kernel = Kernel(program, Limits(saved=0))
    assert "blocks" in kernel.source.text
    found = []
    for count in (1, 2, 3):
        fd.set_num_threads(count)
        found.append(kernel(x, w))
    for results in found[1:]:
        for y, z in zip(results, found[0], strict=True):
            np.testing.assert_array_equal(y, z)
    for y, z in zip(found[0], evaluate(program, [x, w]), strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-11)


def test_every_job_is_done_once() -> None:
    done: list[int] = []
    running.share(done.append, 1000, 3)
    assert sorted(done) == list(range(1000))


def test_an_error_in_any_thread_is_raised() -> None:
    def work(k: int) -> None:
        if k == 17:
            raise ZeroDivisionError("in job 17")

    with pytest.raises(ZeroDivisionError, match="job 17"):
        running.share(work, 1000, 3)


@pytest.mark.parametrize("count", [0, -1, 2.0, True, "two"])
def test_a_number_of_threads_is_positive(count: Any) -> None:
    with pytest.raises(InputError, match="set_num_threads takes a positive integer or None"):
        fd.set_num_threads(count)


def test_none_takes_the_cores_there_are() -> None:
    fd.set_num_threads(1)
    fd.set_num_threads(None)
    assert fd.get_num_threads() >= 1


FORKED = """
import os, sys
import numpy as np
from funcdiff.backend.blocks import running as threads
threads.set_num_threads(2)
done = []
threads.share(done.append, 100, 2)
child = os.fork()
if child == 0:
    threads.share(done.append, 100, 2)
    os._exit(0 if len(done) == 200 else 1)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.slow
def test_a_forked_process_has_threads_of_its_own() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=600)
