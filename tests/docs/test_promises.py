"""What is promised to be public is there, is listed, and has a version in one place."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

import funcdiff as fd

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


PAGE = read("docs/promises.md")
PYPROJECT = tomllib.loads(read("pyproject.toml"))
MODULES = re.findall(r"`(\w+)`", PAGE.partition("its modules ")[2].partition(": every name")[0])


@pytest.mark.parametrize("name", ["", *MODULES])
def test_every_listed_name_is_there(name: str) -> None:
    module = importlib.import_module(f"funcdiff.{name}".rstrip("."))
    listed = getattr(module, "__all__", [])
    assert len(set(listed)) == len(listed)
    for x in listed:
        try:
            getattr(module, x)
        except fd.errors.MissingDependencyError:  # it is there, and needs another package
            assert name == "interop"


def test_the_page_names_the_oldest_versions_of_the_package() -> None:
    project = PYPROJECT["project"]
    oldest = dict(re.findall(r"^\| (Python|NumPy|SciPy)[^|]* \| ([\d.]+) \|", PAGE, re.M))
    assert project["requires-python"] == f">={oldest['Python']}"
    assert project["dependencies"] == [f"numpy>={oldest['NumPy']}"]
    assert project["optional-dependencies"]["scipy"] == [f"scipy>={oldest['SciPy']}"]
    pythons = [c.rpartition(" ")[2] for c in project["classifiers"] if ":: 3." in c]
    assert pythons[0] == oldest["Python"]


def test_the_version_is_said_in_one_place_and_repeated_where_tools_read_it() -> None:
    assert "version" in PYPROJECT["project"]["dynamic"]
    released = re.search(r"^## \[(\d.*)\] - (.*)$", read("CHANGELOG.md"), re.M)
    assert released is not None
    version, date = released.groups()
    assert version == fd.__version__
    assert f"version: {version}\ndate-released: {date}\n" in read("CITATION.cff")
    assert f'version: "{version}"\n' in read(".conda/recipe.yaml")


def test_the_conda_recipe_asks_for_what_the_package_asks_for() -> None:
    recipe, project = read(".conda/recipe.yaml"), PYPROJECT["project"]
    run = re.findall(r"^    - (.*)$", recipe.partition("  run:\n")[2].partition("\n\n")[0], re.M)
    python, *others = run
    assert python == "python >=${{ python_min }}"
    assert f'python_min: "{project["requires-python"][2:]}"\n' in recipe
    assert [text.replace(" ", "") for text in others] == project["dependencies"]
    assert f"summary: {project['description']}\n" in recipe
