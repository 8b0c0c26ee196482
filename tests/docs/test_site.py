"""Every public name has a page that says what is needed to use it, and every error has one."""

import inspect
import re
from pathlib import Path

import pytest

import funcdiff as fd
from docs import inventories, pages, pictures, site_check
from tests.together import together

ERRORS = Path(__file__).parents[2] / "docs" / "errors"
CLASSES = {
    name: found
    for name, found in vars(fd.errors).items()
    if isinstance(found, type) and name.endswith(("Error", "Warning"))
}
ROOTS = {"FuncdiffError", "TracerError", "ProgramError"}
NEVER_RAISE = {"cache_info", "clear_caches", "get_num_threads"}
CALLABLE = sorted(name for name in pages.public_names() if inspect.isfunction(pages.find(name)))


def test_every_public_name_is_in_one_group_of_the_reference() -> None:
    pages.check_groups()
    assert len(CALLABLE) > 70


def test_a_public_name_in_no_group_ends_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "GROUPS", pages.GROUPS[1:])
    with pytest.raises(ValueError, match=r"in no group of GROUPS: .*grad"):
        pages.check_groups()


@together
@pytest.mark.parametrize("name", CALLABLE)
def test_a_docstring_has_the_sections_that_its_page_shows(name: str) -> None:
    function = pages.find(name)
    text = inspect.getdoc(function) or ""
    sections = set(re.findall(r"^([A-Z]\w+)\n-{3,}$", text, re.MULTILINE))
    assert "Examples" in sections
    assert ("Raises" in sections) != (name in NEVER_RAISE)
    signature = inspect.signature(function)
    if signature.parameters:
        assert "Parameters" in sections
        told = text.partition("Parameters\n---")[2].partition("\n\nReturns")[0]
        for parameter in signature.parameters:
            assert re.search(rf"^[*\w, ]*\b{parameter}\b", told, re.MULTILINE), parameter
    if signature.return_annotation not in (None, "None"):
        assert "Returns" in sections


def test_the_site_shows_messages_whole() -> None:
    lines = [">>> import funcdiff as fd", ">>> fd.grad(lambda x: float(x))(1.0)"]
    lines += ["Traceback (most recent call last):", "funcdiff.errors.LostDerivativeError: ..."]
    page = "```pycon\n" + "\n".join(lines) + "\n```\n"
    shown = pictures.with_whole_messages(page)
    assert shown.startswith(page.partition("...")[0])
    assert "float(x) met a traced array of type f64[], at 'model.py', line 1" in shown
    assert shown.endswith("use fd.stop_gradient(x).\n```\n")


def test_photographs_and_heat_maps_keep_their_colours_where_drawings_are_darkened() -> None:
    drawing, picture = "<svg><path/></svg>", "<svg><image/></svg>"
    assert pictures.with_lasting_images(drawing) == drawing
    kept = pictures.with_lasting_images(picture)
    assert pictures.with_lasting_images(kept) == kept
    style = (Path(pictures.__file__).parent / "_static" / "custom.css").read_text(encoding="utf-8")
    for amount in re.findall(r"filter: invert\((.*)\) hue-rotate\(180deg\)", style):
        slopes = re.findall(r'slope="(.*)" intercept="(.*)"', kept)
        for slope, intercept in slopes:
            assert float(slope) * (1 - 2 * float(amount)) == pytest.approx(1, abs=1e-4)
            assert float(slope) * float(amount) + float(intercept) == pytest.approx(0, abs=1e-4)
        assert len(slopes) == 3


def test_every_error_has_a_page() -> None:
    assert {page.stem for page in ERRORS.glob("*.md")} == set(CLASSES)


@together
@pytest.mark.parametrize("name", sorted(CLASSES))
def test_the_page_of_an_error_makes_the_mistake_and_shows_the_cure(name: str) -> None:
    text = (ERRORS / f"{name}.md").read_text(encoding="utf-8")
    mistake, _, cure = text.partition("## The mistake")[2].partition("## The cure")
    assert cure.strip()
    if name in ROOTS:
        assert f"except fd.errors.{name}" in mistake
    else:  # the example is run by `test_pages`, which compares the class
        raised = re.findall(r"^funcdiff\.errors\.(\w+): ", mistake, re.MULTILINE)
        assert set(raised) == {name}


def test_the_inventories_hold_what_docstrings_link_to() -> None:
    numpy, scipy = inventories.entries("numpy"), inventories.entries("scipy")
    page = "reference/generated/numpy.linalg.norm.html#numpy.linalg.norm"
    assert f"numpy.linalg.norm py:function 1 {page} -" in numpy
    assert any(line.startswith("numpy.ndarray py:class") for line in numpy)
    assert any(line.startswith("scipy.sparse.csr_array py:class") for line in scipy)


def test_dead_links_and_pictures_without_a_text_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><h3>deep</h3><img src="b.html"><a href="b.html#there">b</a>'
        '<a href="b.html#nowhere">b</a><a href="none.html">c</a><a href="https://example.org">d</a>'
    )
    (tmp_path / "b.html").write_text(
        '<h2 id="there">B</h2><img src="a.html" alt=""><h3>c</h3>'
        '<table><tr><th class="head"></th><th><p>kind</p></th></tr></table>'
    )
    assert list(site_check.faults_of_text(tmp_path)) == [
        "a.html: no place b.html#nowhere",
        "a.html: no page none.html",
        "a.html: no text for b.html",
        "a.html: a heading of level 3 below none",
        "b.html: a column has no head",
    ]
    assert site_check.main(str(tmp_path)) == 1
