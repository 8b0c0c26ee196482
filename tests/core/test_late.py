"""What is imported when: a ratchet on the number of modules, and programs that come first."""

import os
import subprocess
import sys
from pathlib import Path

import funcdiff as fd

COUNTED = """
import sys
import numpy as np

def check(most):
    found = [name for name in sys.modules if name.partition(".")[0] == "funcdiff"]
    assert len(found) <= most, f"{len(found)} modules are imported: at most {most} were"

import funcdiff as fd
check(15)
fd.grad
check(202)
fd.grad(lambda x: np.sum(x * x))(np.ones(3))
check(234)
"""

DERIVED = """
from funcdiff.core.text.parse import parse
from funcdiff.transforms.jvp import jvp
program = parse("program(%0: f64[3]) {\\n  %1: f64[3] = sin %0\\n  return %1\\n}")
assert "cos" in str(jvp(program, (True,), (True,)))
"""

ROOT = Path(__file__).parents[2]


def run(script: str) -> None:
    """Run a script in a process of its own."""
    plain = dict(os.environ, FUNCDIFF_CHECK="0")
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, env=plain)


def test_few_modules_are_imported_for_a_first_gradient_and_hardly_any_before() -> None:
    run(COUNTED)


def test_a_program_that_is_derived_first_finds_numpys_front_end() -> None:
    run(DERIVED)


def test_every_public_name_can_be_had() -> None:
    assert [name for name in fd.__all__ if not hasattr(fd, name)] == []
