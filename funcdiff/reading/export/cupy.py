"""Writes programs for CuPy: NumPy's text under another name, without functions that CuPy lacks."""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any, Final

from funcdiff.reading.export.products import Filter, products
from funcdiff.reading.export.shared import (
    SHARED,
    WINDOWS,
    Rules,
    missing,
    names_in,
    rewriter,
    sum_of_some,
)
from funcdiff.reading.text.control import STATEMENTS
from funcdiff.reading.text.expressions import UnwritableError, call
from funcdiff.reading.text.templates import TEMPLATES
from funcdiff.reading.text.writer import IN_PLACE, Body, Dialect

_LACKING: Final = names_in(
    "bitwise_count clongdouble float_power linalg.eig linalg.eigvals longdouble spacing"
)
"""What CuPy has not."""


def _spell(path: str) -> str:
    root, _, word = path.partition(".")
    plain = word.count(".") == 0 or word.startswith(("linalg.", "fft.")) or word == "add.at"
    if root != "np" or not plain or word in _LACKING:
        raise missing(path, "CuPy")
    return f"cupy.{word}"


def _without(function: str, *dropped: str) -> Any:
    """Call a function without keywords that say what CuPy does in any case."""
    return lambda args, words: call(
        function, *args, **{word: x for word, x in words.items() if word not in dropped}
    )


def _sum(args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.expr:
    return sum_of_some("cupy", args[0], words)


def _convolve(_b: Body, _f: Filter, _dtype: Any) -> ast.expr:
    raise UnwritableError("CuPy convolves sequences alone")


_RULES: Final = Rules(
    _spell,
    calls={
        "np.add.reduce": _sum,
        "np.argsort": _without("cupy.argsort", "kind", "stable"),
        "np.sort": _without("cupy.sort", "kind", "stable"),
        "np.sum": _sum,
    },
)

_STATEMENTS: Final = products(_convolve, "product if np.isfinite(product).all() else careful()")

DIALECT: Final = Dialect(
    "CuPy",
    "Written by funcdiff: it runs with CuPy alone.",
    ChainMap(_STATEMENTS, WINDOWS, STATEMENTS),
    ChainMap({}, SHARED, TEMPLATES),
    IN_PLACE,
    {"cupy.": "import cupy"},
    rewriter(_RULES),
    takes_functions=False,
)
