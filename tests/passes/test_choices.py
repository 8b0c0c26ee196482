"""Where forward mode looks for a choice of vectors: programs of operations that may raise."""

from collections.abc import Iterator

import pytest

from funcdiff.core.primitive import Operation
from funcdiff.core.program import Program
from funcdiff.core.running.walk import nested
from funcdiff.ops.linalg.degeneracy import Choice
from funcdiff.transforms.linearize import linearize
from tests.reading.exporting import program_of
from tests.rules.test_rules import NAMED


def _operations(program: Program) -> Iterator[Operation]:
    for eq in program.equations:
        yield eq.operation
        for body in nested(eq.params):
            yield from _operations(body)


@pytest.mark.slow
def test_what_offers_a_choice_may_raise() -> None:
    missed = []
    for name in NAMED:
        program = program_of(name)
        active = tuple([t.differentiable for t in program.input_types])
        operations = list(_operations(program))
        is_looked_at = any(op.primitive.facts.raises for op in operations)
        if is_looked_at or any(isinstance(op.params, Choice) for op in operations):
            continue
        linear = linearize(program, active).linear
        if any(isinstance(op.params, Choice) for op in _operations(linear)):
            missed.append(name)
    assert not missed
