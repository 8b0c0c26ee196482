"""The page for contributors shows code that is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import funcdiff as fd
from tests.together import together

ROOT = Path(__file__).parents[2]
SOURCES = Path(fd.__file__).parents[1]  # of the package, which may be installed elsewhere
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ADDED = [
    part
    for block in re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL)
    for part in re.split(r"^(?=\+\+\+ b/)", block, flags=re.MULTILINE)
    if part
]


@pytest.mark.parametrize("part", ADDED, ids=lambda part: part.splitlines()[0][6:])
def test_what_the_page_adds_is_in_the_file_in_that_order(part: str) -> None:
    name, *lines = part.splitlines()
    file = name.removeprefix("+++ b/")
    root = SOURCES if file.startswith("funcdiff/") else ROOT
    there = iter((root / file).read_text(encoding="utf-8").splitlines())
    for line in lines:
        assert line[1:] in there, f"{name}: {line}"


def test_the_page_names_every_wing() -> None:
    for init in (SOURCES / "funcdiff").glob("*/*/__init__.py"):
        assert f"`{init.parent.name}`" in PAGE, f"{init} is not in CONTRIBUTING.md"


CLOCKS = {"perf_counter", "monotonic", "process_time", "thread_time", "time", "sleep", "timeit"}


@together
@pytest.mark.parametrize(
    "file", sorted(ROOT.glob("tests/**/test_*.py")), ids=lambda file: file.stem
)
def test_no_test_reads_a_clock(file: Path) -> None:
    """A busy machine fails none: what could take for ever does, where it is not ended."""
    text = file.read_text(encoding="utf-8")
    if not re.search(rf"\b(?:{'|'.join(CLOCKS)})\(", text):
        return
    calls = [x.func for x in ast.walk(ast.parse(text)) if isinstance(x, ast.Call)]
    named = {f.attr for f in calls if isinstance(f, ast.Attribute)}
    assert not CLOCKS & (named | {f.id for f in calls if isinstance(f, ast.Name)})


def test_searches_for_counterexamples_know_no_time() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check
