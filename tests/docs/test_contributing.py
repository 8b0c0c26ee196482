"""The page for contributors shows code that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import funcdiff as fd

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
