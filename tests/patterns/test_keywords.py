"""Every keyword of every covered function of NumPy stands in the text of some call pattern."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from funcdiff.numpy.border.dispatch import functions
from tests.patterns.tables import FAMILIES
from tests.together import together


def _calls() -> Iterator[tuple[str, ast.Call]]:
    """Yield name and call of every function called in the text of a pattern."""
    for patterns in FAMILIES.values():
        for p in patterns:
            try:
                tree = ast.parse(p.name)
            except SyntaxError:  # a description in words
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    yield ast.unparse(node.func).removeprefix("np."), node


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:  # written in C, without keywords that patterns could give
        return []


CALLS: Final = list(_calls())


def given(function: Callable[..., Any]) -> set[str]:
    """Return the parameters of a function that some pattern gives, by keyword or by position."""
    package = function.__module__.removeprefix("numpy").removeprefix(".")
    qualified = f"{package}.{function.__name__}".removeprefix(".")
    positional = [q.name for q in _parameters(function) if q.kind < q.KEYWORD_ONLY]
    found: set[str] = set()
    for name, node in CALLS:
        if name == qualified:
            found.update(positional[: len(node.args)])
            found.update(k.arg for k in node.keywords if k.arg is not None)
    return found


EVERYWHERE: Final = {
    "out": "patterns return their results: tests/numpy/test_mutation.py, test_reductions.py",
    "like": "chooses the library, not the value",
    "subok": "traced arrays have no subclasses",
    "device": "NumPy has one",
}
"""Keywords without a pattern, and why."""
FIELDS: Final = "fields of structured arrays, which are refused"
SINGLE: Final = {
    **{(name, "order"): FIELDS for name in ("sort", "argsort", "partition", "argpartition")},
    ("unique", "sorted"): "NumPy 2.3",
}
CREATING: Final = {
    "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "zeros", "empty",
    "ones", "full", "arange", "eye", "identity", "fromiter", "tri", "require", "fromfunction",
    "einsum_path",
}  # fmt: skip
"""Functions that make arrays of plain values, of funcdiff.numpy: tests/numpy/test_creation.py."""


def _keywords() -> list[tuple[Callable[..., Any], str]]:
    found = []
    for function in functions():
        if not function.__module__.startswith("numpy") or function.__name__ in CREATING:
            continue
        found += [
            (function, q.name)
            for q in _parameters(function)
            if q.default is not q.empty
            and q.name not in EVERYWHERE
            and (function.__name__, q.name) not in SINGLE
        ]
    return found


@together
@pytest.mark.parametrize(
    ("function", "keyword"), [pytest.param(f, k, id=f"{f.__name__}-{k}") for f, k in _keywords()]
)
def test_a_pattern_gives_every_keyword(function: Callable[..., Any], keyword: str) -> None:
    assert keyword in given(function), f"no pattern gives {keyword}= to {function.__name__}"
