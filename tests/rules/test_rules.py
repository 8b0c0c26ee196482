"""Every rule of every primitive, at samples that leave no symmetry for a bug to hide in."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from funcdiff.backend.code import lower
from funcdiff.backend.native import formulas
from funcdiff.backend.numbers import scalars
from funcdiff.core.primitive import is_registered, primitives
from funcdiff.reading import costs
from funcdiff.reading.explanation import inspections
from funcdiff.reading.views import TARGETS
from funcdiff.testing import check_rules
from tests.rules.sample import PRIMITIVE, Sample
from tests.rules.samples import distributions

FOLDER = Path(__file__).with_name("samples")
FAMILIES = [
    import_module(f"tests.rules.samples.{file.stem}") for file in sorted(FOLDER.glob("*.py"))
]


def samples() -> dict[str, list[Sample]]:
    """Return the samples of all families by primitive."""
    found: dict[str, list[Sample]] = {}
    for family in FAMILIES:
        for name, entries in family.SAMPLES.items():
            found.setdefault(name, []).extend(entries)
    return found


NAMED = {
    f"{name}-{k}": entry for name, entries in samples().items() for k, entry in enumerate(entries)
}
SMOOTH = {name: entry for name, entry in NAMED.items() if entry.order == 2}


def cases(thinned: int, asked_again: Collection[Sample] = ()) -> list[ParameterSet]:
    """Return the first sample of each primitive, and by default one of so many of the others.

    These come with the slow tests, unless another slow test asks the same of them, and more.  So
    do inverses by parameters, whose slopes are long: one of four is asked by default.
    """

    def mark(entry: Sample) -> pytest.MarkDecorator:
        again = any(entry is one for one in asked_again)
        return (pytest.mark.sampled if again else pytest.mark.thinned)(thinned)

    few = {name: [pytest.mark.thinned(4)] for name in distributions.INVERSES}
    return [
        pytest.param(entry, id=f"{name}-{k}", marks=[mark(entry)] if k else few.get(name, []))
        for name, entries in samples().items()
        for k, entry in enumerate(entries)
    ]


def test_every_primitive_has_a_sample() -> None:
    assert not is_registered("a primitive that there is not")  # for which all are imported
    assert sorted(primitives.keys() - {n for n, s in samples().items() if s}) == []


def test_tables_name_primitives_that_there_are() -> None:
    dialects = [import_module(f"funcdiff.reading.export.{target}").DIALECT for target in TARGETS]
    tables = [table for d in dialects for table in (d.statements, d.templates, d.in_place)]
    tables += [costs.FORMULAS, costs.WEIGHTS, inspections.KINDS, lower.EXPANSIONS, scalars.SPECIAL]
    tables += [formulas.OF_FLOATS, formulas.OF_DOUBLES, formulas.OF_LIBRARY]
    names = {name for table in tables for name in table if isinstance(name, str)}
    assert [name for name in sorted(names) if not is_registered(name)] == []


@pytest.mark.parametrize("entry", cases(thinned=48, asked_again=SMOOTH.values()))
def test_the_rules_of_a_primitive_keep_their_promises(entry: Sample) -> None:
    check_rules(entry.f, *entry.args, order=min(entry.order, 1))


def some_of_every_kind(samples: dict[str, Sample], n: int) -> list[ParameterSet]:
    """Return samples of which one of n runs, and one at least of every primitive.

    Of inverses by parameters, whose derivatives are the longest and made by one rule, one of four.
    """

    def marked(name: str) -> pytest.MarkDecorator:
        if name.rsplit("-", 1)[0] in distributions.INVERSES:
            return pytest.mark.sampled(4)
        return pytest.mark.sampled(n, kind=PRIMITIVE)

    return [pytest.param(entry, id=name, marks=[marked(name)]) for name, entry in samples.items()]


@pytest.mark.slow
@pytest.mark.parametrize("entry", some_of_every_kind(SMOOTH, 12))
def test_the_rules_hold_for_second_derivatives_and_some_third_ones(
    entry: Sample, one_in: Callable[[int], bool]
) -> None:
    check_rules(entry.f, *entry.args, order=3 if one_in(31) else 2)
