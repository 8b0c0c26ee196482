"""What newcomers look for is in headings, which the search of the pages lists first."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.together import together

ROOT = Path(__file__).parents[2]
DEVELOPERS = {"test", "docs", "bench", "packages"}


@together
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("install", "install.md"),
        ("extras", "install.md"),
        ("minibatch", "getting-started.md"),
        ("NaN", "explain.md"),
        ("NaN", "getting-started.md"),
        ("Hessian vector product", "jacobians.md"),
        ("Hessian vector product", "from-scipy.md"),
        ("Jacobian vector product", "products.md"),
        ("vector Jacobian product", "products.md"),
        ("optimizers", "from-scipy.md"),
        ("ODE", "scipy.md"),
        ("curve_fit", "scipy.md"),
        ("pickle", "sharp-bits.md"),
        ("save", "sharp-bits.md"),
        ("checkpoint", "memory.md"),
    ],
)
def test_a_word_is_found_in_a_heading(words: str, page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert any(words.lower() in heading.lower() for heading in headings)  # as the search compares


def test_the_installation_page_lists_every_extra_for_users() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE))
    assert listed == set(project["optional-dependencies"]) - DEVELOPERS


def test_every_picture_has_a_text_for_those_who_do_not_see_it() -> None:
    for page in (ROOT / "docs").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        pictures = re.findall(r"```\{(?:image|figure)\}.*?\n```", text, re.DOTALL)
        assert all(re.search(r"^:alt: .{10}", picture, re.MULTILINE) for picture in pictures), page
