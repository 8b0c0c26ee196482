"""Write coverage.md, the page of what is covered, from funcdiff's own tables.

``python -m docs.coverage`` writes the page anew.  Use the newest NumPy: what only newer versions
have is not listed otherwise.
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from docs import scipy_coverage
from docs.declarations import declared, partial_derivatives, refused_keywords
from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border import dispatch
from funcdiff.numpy.messages import foreign, refusals
from funcdiff.numpy.traced.array import Array
from funcdiff.ops.families import Elementwise, by_ufunc
from funcdiff.scipy import special

PAGE: Final = Path(__file__).with_name("coverage.md")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


LOCALLY_CONSTANT: Final = _names(
    """
    all allclose any argmax argmin argpartition argsort argwhere array_equal array_equiv
    can_cast common_type count_nonzero diag_indices_from digitize einsum_path flatnonzero
    iscomplex iscomplexobj isclose isneginf isposinf isreal isrealobj
    lexsort linalg.matrix_rank nanargmax nanargmin ndim nonzero ravel_multi_index result_type
    searchsorted shape size tril_indices_from triu_indices_from unravel_index
    """
)
"""Functions whose results are booleans, integers or types: the derivative is zero."""

EXTREMA: Final = {
    "maximum": "1 to the larger operand",
    "minimum": "1 to the smaller operand",
    "fmax": "1 to the larger operand, or to the one that is not NaN",
    "fmin": "1 to the smaller operand, or to the one that is not NaN",
}

INTRODUCTION: Final = """\
# Coverage

<!-- Written by docs/coverage.py: python -m docs.coverage -->

This page lists the functions of NumPy and SciPy that funcdiff differentiates, and those that it
refuses. A program writes it from the tables that the library itself uses.

- **Modes.** A function that is listed has forward and reverse mode, to any order, and works under
  `vmap`: the reverse rule of every operation is the transpose of its forward rule. Where the
  column says *zero*, the result is boolean, integer or a type, and its derivative is zero.
- **Keywords.** All of NumPy's are taken, and mean what they mean there, but for those in the column
  *refused*, which raise `UnsupportedNumPyError`. `like=` is NumPy's own affair.
- **`out=`** takes a traced array. An ordinary array cannot hold a traced result and is refused.
- **`device=`** is `"cpu"` or left out.
- **Names.** All are reached as `np.f(x)`, and also after `import funcdiff.numpy as np`, which has
  all of NumPy's names. Some are there only in newer versions of NumPy.
"""

REACHED_BY_FNP: Final = """\
## What NumPy cannot dispatch

NumPy asks the arguments of a function for a traced array, but not the elements of a list. These
are in `funcdiff.numpy`, and take traced numbers: `array`, `asarray`, `asanyarray`,
`ascontiguousarray`, `full`, `arange`, `fromiter`, `r_`, `c_`. The other functions there, but not
ufuncs, also take lists of traced numbers where they take an array. While a function is being
traced, `zeros`, `ones`, `empty`, `full`, their relatives `_like`, `eye` and `identity` make buffers
that take traced numbers.
"""

# ---- Markdown ----------------------------------------------------------------------------------


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    titles = list(header)
    lines = [titles, ["---"] * len(titles), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def code(names: Iterable[str]) -> str:
    """Return names in code font, with commas between."""
    return ", ".join(f"`{name}`" for name in names)


def first_sentence(document: str | None) -> str:
    """Return the first line of a docstring, double backticks made single ones."""
    line = (document or "").strip().splitlines()[:1]
    return (line[0] if line else "").replace("``", "`").replace("|", "\\|").rstrip(".:")


# ---- ufuncs ------------------------------------------------------------------------------------


def aliases() -> dict[np.ufunc, list[str]]:
    """Return the names of NumPy's ufuncs, ``absolute`` with ``abs``, the ufunc's own first."""
    names: dict[np.ufunc, list[str]] = defaultdict(list)
    for name, value in sorted(vars(np).items()):
        if isinstance(value, np.ufunc) and not name.startswith("_"):
            names[value].append(name)
    return {u: sorted(found, key=lambda n: n != u.__name__) for u, found in names.items()}


def readable(formula: str) -> str:
    """Return a formula without the names and signs that only the source needs."""
    for name, meaning in _AS_READ.items():
        formula = formula.replace(name, meaning)
    return formula.replace("|", "\\|")


_AS_READ: Final = {
    "1 / DEGREE": "180 / π",
    "DEGREE": "π / 180",
    "LN2": "ln 2",
    "LN10": "ln 10",
    "- -": "+ ",
}


def derivative(ufunc: np.ufunc, declared: dict[str, tuple[list[str], list[str]]]) -> str:
    """Return what a ufunc's partial derivatives are."""
    if ufunc.__name__ in EXTREMA:
        return f"{EXTREMA[ufunc.__name__]}; equal operands share it"
    primitive = by_ufunc[ufunc].primitive.name if ufunc in by_ufunc else None
    if primitive in declared:
        operands, formulas = declared[primitive]
        if set(formulas) == {"0"}:
            return "zero"
        single = len(formulas) == 1
        return "; ".join(
            f"{'' if single or formula.startswith('∂') else f'∂{name}: '}{readable(formula)}"
            for name, formula in zip(operands or ["x", "y"], formulas, strict=False)
        )
    if ufunc in dispatch.ufuncs:
        return first_sentence(dispatch.ufuncs[ufunc].__doc__)
    return LINEAR.get(ufunc.__name__, "zero")


LINEAR: Final = {"add": "∂x: `1`; ∂y: `1`", "multiply": "∂x: `y`; ∂y: `x`", "negative": "`-1`"}


def ufunc_rows() -> Iterator[list[str]]:
    """Return the row of each ufunc that is covered."""
    declared = partial_derivatives()
    for ufunc, names in sorted(aliases().items(), key=lambda item: item[1]):
        if ufunc in by_ufunc or ufunc in dispatch.ufuncs:
            yield [code(names), derivative(ufunc, declared)]


# ---- functions ---------------------------------------------------------------------------------


def short_name(function: Callable[..., Any]) -> str:
    """Return ``linalg.norm`` for that function."""
    return dispatch.numpy_name(function).removeprefix("np.")


def is_numpys(handler: Callable[..., Any]) -> bool:
    """Return whether a handler calls NumPy's function with whatever it is given."""
    return getattr(handler, "__wrapped__", None) in dispatch.functions()


def keywords(handler: Callable[..., Any]) -> str:
    """Return the parameters of a handler that may be left out."""
    if is_numpys(handler):
        return "as NumPy's"
    parameters = inspect.signature(handler).parameters.values()
    left_out = {"device", *(k[:-1] for k in refused_keywords(handler) if k.endswith("="))}
    optional = [p.name for p in parameters if p.default is not p.empty]
    return code(name for name in optional if name not in left_out)


def refused(handler: Callable[..., Any]) -> str:
    """Return the keywords that a handler refuses, of those that it has."""
    if is_numpys(handler):
        return ""
    known = inspect.signature(handler).parameters
    found = [k for k in refused_keywords(handler) if k.partition("=")[0] in {*known, "others"}]
    return ", ".join("others" if k == "others" else f"`{k}`" for k in found if k != "device=")


def function_row(name: str, handler: Callable[..., Any]) -> list[str]:
    """Return the row of one function."""
    return [
        f"`{name}`",
        "zero" if name in LOCALLY_CONSTANT else "yes",
        keywords(handler),
        refused(handler),
        first_sentence(handler.__doc__),
    ]


def families() -> dict[str, list[list[str]]]:
    """Return the rows of all functions, by the first line of their module's docstring."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    for function, handler in dispatch.functions().items():
        module = sys.modules[declared(handler).__globals__["__name__"]]
        found[first_sentence(module.__doc__)].append(function_row(short_name(function), handler))
    return {
        title: sorted(rows, key=lambda row: row[0].strip("`"))
        for title, rows in sorted(found.items())
    }


def attribute_names() -> list[str]:
    """Return the methods and attributes of arrays that traced ones have."""
    inherited = {*Tracer.__slots__, "views", "weak"}
    return [name for name in dir(Array) if not name.startswith("_") and name not in inherited]


def special_functions() -> str:
    """Return what is said of ``scipy.special``."""
    ufuncs = sorted(
        name
        for name, ours in foreign.handlers.items()
        if not name.startswith("_")
        and not (isinstance(ours, Elementwise) and ours.ufunc.__name__ != "compute")
    )
    return (
        "## scipy.special\n\nWith SciPy installed, its ufuncs take traced arrays themselves: "
        f"{code(ufuncs)}.\n\nIts Python functions are in `funcdiff.scipy.special`: "
        f"{code(sorted(special.__all__))}.\n"
    )


def scipy_sections() -> Iterator[str]:
    """Yield the tables of the namespaces of SciPy."""
    yield scipy_coverage.INTRODUCTION
    for module in scipy_coverage.modules():
        rows = list(scipy_coverage.covered_rows(module))
        refused = list(scipy_coverage.refused_rows(module))
        if rows or refused:
            yield f"### {module}\n"
        if rows:
            yield table(["name", "kind", "notes"], rows)
        if refused:
            yield table(["refused", "why, and what to write instead"], refused)


# ---- the page ----------------------------------------------------------------------------------


def refusal_rows(table_of: Iterable[refusals.Refusal]) -> Iterator[list[str]]:
    """Return the row of each reason for which names are refused."""
    for refusal in table_of:
        names = [n.replace("_core.strings", "strings") for n in refusal.names]
        shown = dict.fromkeys(n for n in names if "._" not in n)
        yield [code(shown), refusal.reason, refusal.cure]


def document() -> str:
    """Return the page."""
    parts = [INTRODUCTION, REACHED_BY_FNP]
    parts.append(
        "## Ufuncs\n\nA formula is in the operands and the result: `y` if there is one operand, "
        "`z` if there are two.\n"
    )
    parts.append(table(["ufunc", "partial derivatives, or what it computes"], ufunc_rows()))
    for title, rows in families().items():
        parts.append(f"## {title}\n")
        parts.append(table(["function", "derivative", "keywords", "refused", "what it does"], rows))
    parts.append(special_functions())
    parts += scipy_sections()
    parts.append("## Methods and attributes of arrays\n\nOperators, in-place ones too, and:\n")
    parts.append(f"{code(attribute_names())}.\n")
    parts.append("## Refused\n")
    parts.append(table(["names", "reason", "instead"], refusal_rows(refusals.functions)))
    parts.append("Methods and attributes of arrays:\n")
    parts.append(table(["names", "reason", "instead"], refusal_rows(refusals.attributes)))
    parts.append("## Names that need no rule\n")
    parts.append(
        "They take no array that could be traced, ask only for types, or call functions that are "
        f"covered: the dtypes, constants and {code(sorted(refusals.untouched))}.\n"
    )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(document(), encoding="utf-8")
