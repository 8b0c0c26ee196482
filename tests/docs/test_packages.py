"""The cases of packages can be run without the packages, and their page is made of them."""

from typing import Any

import numpy as np
import pytest

from docs.packages import differences, docstrings
from docs.packages.case import case
from docs.packages.cases import cases
from docs.packages.checks import WrongError, agree, outcomes
from docs.packages.page import PAGE, page, summary


@case("funcdiff.numpy", [0.3, 0.8])
def hypot(module: Any, x: Any) -> Any:
    return module.hypot(x, 2.0)


@case("funcdiff.numpy", [0.3, 0.8])
def abolished(module: Any, x: Any) -> Any:
    return module.nothing(x)


def test_every_case_of_a_package_has_a_name_of_its_own() -> None:
    titles = [c.title for c in cases()]
    assert len(titles) > 300
    assert len(set(titles)) == len(titles)


def test_the_page_shows_every_case() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [c.title for c in cases() if f"| `{c.title}` |" not in text] == [], (
        "run python -m docs.packages --write"
    )


def test_differences_are_extrapolated_and_know_their_error() -> None:
    x = np.array([0.5, 2.0])
    found, error = differences.jacobian(lambda x: np.stack([np.sin(x[0]) * x[1], x[1] ** 3]), x)
    wanted = np.array([[np.cos(0.5) * 2.0, np.sin(0.5)], [0.0, 12.0]])
    assert np.all(np.abs(found - wanted) <= 1e-10)
    assert np.all(np.abs(found - wanted) <= 8 * error + 1e-12)


def test_a_case_that_is_right_passes_every_check() -> None:
    found = outcomes(hypot, lambda name: np, hypot.function(lambda name: np))
    assert not any(found.values())


def test_a_case_that_fails_says_why() -> None:
    found = outcomes(abolished, lambda name: np, abolished.function(lambda name: np))
    assert found["reverse"].startswith("AttributeError: ")


def test_a_wrong_derivative_is_no_right_one() -> None:
    with pytest.raises(WrongError, match="in place of"):
        agree(np.array([1.0, 2.1]), np.array([1.0, 2.0]), np.zeros(2), 1.0)
    with pytest.raises(WrongError, match="undecided"):
        agree(np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.full(2, 0.1), 1.0)


@pytest.mark.slow
def test_what_is_right_and_what_stands_in_the_way_is_counted() -> None:
    right: dict[str, Any] = dict.fromkeys(
        ("value", "reverse", "forward", "second", "jit", "vmap"), ""
    )
    lost = right | {"reverse": "LostDerivativeError: x = np.asarray(x)"}
    rows: list[dict[str, Any]] = [
        {"title": "pvlib.irradiance.aoi", "as it is": lost, "adapted": right},
        {"title": "pvlib.iam.physical", "died": "the process ended with -11: "},
    ]
    assert "adapted: 1 right" in summary(rows)
    text = page(rows)
    assert "| **all** | 2 | 0 | 1 | 1 | 1 |" in text
    assert (
        "| `pvlib.irradiance.aoi` | `LostDerivativeError: x = np.asarray(x)` | yes | yes | yes |"
        in text
    )
    assert "the process ended with -#" in text


def test_examples_of_docstrings_do_the_same_in_an_adapted_copy() -> None:
    total, different = docstrings.compared("numpy.polynomial.polyutils")
    assert total > 30
    assert different == []
