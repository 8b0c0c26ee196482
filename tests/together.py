"""Tables of cheap cases, each of them one test: what surrounds a test costs more than a case."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any
from zlib import crc32

import pytest
from _pytest.mark import ParameterSet

Case = tuple[str, dict[str, Any]]


class Thinning:
    """Whether tables marked ``thinned`` below ``@together`` run few of their cases."""

    on = False


thinning = Thinning()


def together(test: Callable[..., None]) -> Callable[..., None]:
    """Run all cases of ``@pytest.mark.parametrize`` below as one test, which names those that fail.

    Fixtures are those of the one test, so that cases must leave them as they were.  Of a table
    marked ``thinned(n)`` below, about one case of n runs by default, and all with the slow tests.
    """
    marks: list[pytest.Mark] = test.pytestmark  # type: ignore[attr-defined]
    tables = [list(_cases(mark)) for mark in marks if mark.name == "parametrize"]
    parts = [mark.args[0] for mark in marks if mark.name == "thinned"]

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        failures, count = [], 0
        for case in product(*tables):
            values = {name: value for _, part in case for name, value in part.items()}
            label = "-".join(told for told, _ in case)
            if thinning.on and any(crc32(label.encode()) % n for n in parts):
                continue
            count += 1
            try:
                test(**fixtures, **values)
            except (Exception, pytest.fail.Exception) as failure:
                failure.add_note(f"in the case {label}")
                failures.append(failure)
        assert count, "none of the cases is left: thin the table less"
        if failures:
            raise BaseExceptionGroup(f"{len(failures)} cases of the table", failures)

    given = {name for table in tables for name in table[0][1]}
    signature = inspect.signature(test)
    kept = [p for name, p in signature.parameters.items() if name not in given]
    keywords = [p.replace(kind=p.KEYWORD_ONLY) for p in kept]
    run.__signature__ = signature.replace(parameters=keywords)  # type: ignore[attr-defined]
    kept_marks = [mark for mark in marks if mark.name not in ("parametrize", "thinned")]
    run.pytestmark = kept_marks  # type: ignore[attr-defined]
    run.does_less_by_default = bool(parts)  # type: ignore[attr-defined]
    del run.__wrapped__
    return run


def _cases(mark: pytest.Mark) -> Iterator[Case]:
    """Yield name and values of the cases of a table."""
    names, rows = mark.args
    names = list(map(str.strip, names.split(","))) if isinstance(names, str) else names
    rows, ids = list(rows), mark.kwargs.get("ids")
    labels = [None] * len(rows) if callable(ids) or ids is None else ids
    tell = ids if callable(ids) else _nothing
    for place, (row, label) in enumerate(zip(rows, labels, strict=True)):
        if isinstance(row, ParameterSet):
            assert not row.marks, "a case of its own marks is a test of its own"
            values: Sequence[Any] = row.values
            label = row.id or label
        else:
            values = (row,) if len(names) == 1 else row
        if label is None:
            told = [tell(value) for value in values]
            label = "-".join(
                _told(name, place, value) if given is None else str(given)
                for name, value, given in zip(names, values, told, strict=True)
            )
        yield str(label), dict(zip(names, values, strict=True))


def _nothing(_value: Any) -> None:
    """Leave it to us to name a value."""


def _told(name: str, place: int, value: Any) -> str:
    """Name a value, the same in every process, as what is thinned follows from the names."""
    told = str(getattr(value, "__name__", None) or repr(value))
    return f"{name}{place}" if told == "<lambda>" or " at 0x" in told else told
