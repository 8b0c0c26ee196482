"""What is imported when: a ratchet on the number of modules, and programs that come first."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import funcdiff as fd
from funcdiff.core.late import computed

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


class Slow:
    """Computes an attribute that two instances must be asked for at once."""

    met = threading.Barrier(2, timeout=60)

    @computed
    def value(self) -> int:
        """Return where this thread came in."""
        return self.met.wait()


def test_threads_that_compute_an_attribute_do_not_wait_for_each_other() -> None:
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda slow: slow.value, [Slow(), Slow()])
    assert sorted(found) == [0, 1]


def test_no_attribute_of_the_package_takes_the_lock_of_cached_property() -> None:
    sources = (ROOT / "funcdiff").rglob("*.py")
    assert not [str(path) for path in sources if "@cached_property" in path.read_text()]
