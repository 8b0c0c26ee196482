"""A process that is forked while other threads trace starts whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def failures(children: int, seconds: float) -> int:
    """Fork in a process of its own, and return how many children failed or hung."""
    command = [sys.executable, "-m", "tests.core.forked", str(children), str(seconds)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, timeout=600 + children * seconds, check=False
    )
    return ended.returncode


@pytest.mark.slow
def test_children_of_a_process_whose_threads_trace_end_well() -> None:
    assert failures(2, 300) == 0


@pytest.mark.slow
def test_many_children_do() -> None:
    assert failures(12, 300) == 0
