"""The page of the documentation that shows what of packages can be differentiated."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any, Final

from docs.packages.cases import fields
from docs.packages.checks import TOLERANCE, WRONG

PAGE: Final = Path(__file__).parents[1] / "packages-coverage.md"

DERIVATIVES: Final = ("value", "reverse", "forward", "second")
"""The checks that make a function right; `jit` and `vmap` are counted by themselves."""

Row = Mapping[str, Any]


def failed(row: Row, way: str, checks: Sequence[str] = DERIVATIVES) -> str:
    """Return the first reason for which one of some checks fails, or an empty text."""
    if way not in row:
        return str(row["died"])
    return next((row[way][check] for check in checks if row[way][check]), "")


def count(rows: Sequence[Row], way: str, *checks: str) -> int:
    """Return how many functions pass some checks."""
    return sum(not failed(row, way, checks or DERIVATIVES) for row in rows)


def summary(rows: Sequence[Row]) -> str:
    """Return the figures of both ways in lines of plain text."""
    lines = [f"{len(rows)} functions"]
    for way in ("as it is", "adapted"):
        figures = {check: count(rows, way, check) for check in (*DERIVATIVES, "jit", "vmap")}
        shares = ", ".join(f"{check} {n}" for check, n in figures.items())
        lines.append(f"{way}: {count(rows, way)} right ({shares})")
        wrong = [row["title"] for row in rows if failed(row, way).startswith(WRONG)]
        lines.append(f"{way}, wrong and not told: {', '.join(wrong) or 'none'}")
        told = [row["title"] for row in rows if not failed(row, way) and row[way].get("told")]
        lines.append(f"{way}, right and warned of: {', '.join(told) or 'none'}")
    return "\n".join(lines)


HEAD: Final = """\
# What of packages can be differentiated

<!-- Written by docs/packages: python -m docs.packages --write -->

This page lists functions of packages that others wrote, and says which of them funcdiff
differentiates, [as they are and adapted](packages.md). The packages are installed as usual, and
the functions are called as their users call them. They were chosen before any was differentiated.

"yes" means that two things hold. Outside of derivatives, the result is the original's to the bit.
The Jacobians in both modes and the derivative of the gradient are those of extrapolated central
differences, to {tolerance:g} of the largest element.

The columns `jit` and `vmap` compare the compiled gradient at two points, and a batch of both, with
calls one by one. Where a function is not right, the first error says why, with the line of the
package. "LostDerivativeWarning: 3 in place of 2" is a wrong number of which a
[warning](errors/LostDerivativeWarning.md) tells; of "wrong: 3 in place of 2" nothing tells. The
[guide](packages.md#what-works) explains these. The cases are in `docs/packages/cases`.

```sh
python -m pip install -e ".[packages]"
python -m docs.packages --write
```

"""


def page(rows: Sequence[Row]) -> str:
    """Return the text of the page."""
    by_title = {row["title"]: row for row in rows}
    parts = [HEAD.format(tolerance=TOLERANCE), *figures(rows), "\n", *barriers(rows)]
    for cases in fields().values():
        module = sys.modules[cases[0].call.__module__]
        parts.append(f"\n## {str(module.__doc__).strip().rstrip('.')}\n\n")
        parts.append("| function | as it is | adapted | `jit` | `vmap` |\n|---|---|---|---|---|\n")
        parts += [line(by_title[c.title]) for c in cases if c.title in by_title]
    return "".join(parts) + "\n" + place(rows) + "\n" + versions(rows)


def figures(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table that counts."""
    yield "| package | functions | as they are | adapted | and `jit` | and `vmap` |\n"
    yield "|---|--:|--:|--:|--:|--:|\n"
    groups: dict[str, list[Row]] = {"**all**": list(rows)}
    for row in rows:
        groups.setdefault(row["title"].partition(".")[0], []).append(row)
    for name, group in groups.items():
        checks = [(), (*DERIVATIVES, "jit"), (*DERIVATIVES, "vmap")]
        adapted = [
            sum(not failed(row, "adapted", c or DERIVATIVES) for row in group) for c in checks
        ]
        cells = [len(group), count(group, "as it is"), *adapted]
        yield f"| {name} | {' | '.join(map(str, cells))} |\n"


def barriers(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table of the reasons for which functions fail, the frequent ones first."""
    for way, title in (("as it is", "As they are"), ("adapted", "Adapted")):
        reasons = Counter(kind(reason) for row in rows if (reason := failed(row, way)))
        if reasons:
            yield f"\n{title}, these stand in the way:\n\n| reason | functions |\n|---|--:|\n"
            yield from (f"| {cell(reason)} | {n} |\n" for reason, n in reasons.most_common())


def kind(reason: str) -> str:
    """Return a reason without what is of one function only: names, places and numbers."""
    text = re.split(r",? at '?/|, at ", reason)[0]
    return re.sub(r"%?\d+(\.\d+)?(e[+-]?\d+)?", "#", text)[:110]


def line(row: Row) -> str:
    """Return the row of a function."""
    cells = [failed(row, "as it is"), failed(row, "adapted")]
    if not cells[1]:
        cells += [failed(row, "adapted", [check]) for check in ("jit", "vmap")]
    shown = [cell(reason) if reason else "yes" for reason in cells]
    return f"| `{row['title']}` | {' | '.join(shown + [''] * (4 - len(shown)))} |\n"


def cell(reason: str) -> str:
    """Return a reason as the cell of a table: short, and no markup of its own."""
    text = re.split(r",? at '?/", reason)[0].replace("|", "\\|")
    text = text if len(text) <= 120 else text[:117] + "..."
    return f"`{text.replace('`', chr(39))}`"


def versions(rows: Sequence[Row]) -> str:
    """Return the line of the versions of what was called."""
    distributions = packages_distributions()
    names = {row["title"].partition(".")[0] for row in rows}
    found = sorted({d for name in names for d in distributions.get(name, [])[:1]}, key=str.lower)
    text = ", ".join(f"{name} {version(name)}" for name in ["numpy", *found])
    return f"Versions: {text}.\n"


def place(rows: Sequence[Row]) -> str:
    """Return the line that says on what the cases were run: in one go, or each where it was."""
    found = sorted({row.get("on", "an earlier state") for row in rows})
    return f"Run on {'; '.join(found)}.\n"
