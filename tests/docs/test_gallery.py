"""Every page of the gallery runs, without a warning, and its assertions hold."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GALLERY = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
WITH_PACKAGES = sorted((ROOT / "examples" / "gallery" / "packages").glob("adapt_*.py"))
RUN = [sys.executable, "-W", "error"]


@pytest.mark.slow
@pytest.mark.parametrize("page", GALLERY, ids=lambda page: page.stem)
def test_a_page_of_the_gallery_solves_its_problem(page: Path) -> None:
    added = {"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*RUN, page], env={**os.environ, **added}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "assert " in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", WITH_PACKAGES, ids=lambda page: page.stem)
def test_a_page_that_needs_a_package_shows_a_picture_that_is_kept(page: Path) -> None:
    picture = f"_static/packages/{page.stem}.svg"
    text = page.read_text(encoding="utf-8")
    assert f"# .. image:: /{picture}\n#    :alt: " in text
    assert f'# sphinx_gallery_thumbnail_path = "{picture}"' in text
    assert (ROOT / "docs" / picture).is_file(), "run python -m docs.packages --examples"
