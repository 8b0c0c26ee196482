"""What raises for some values of its operands says so: a `try` relies on that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from funcdiff.core.primitive import Operation
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.walk import nested
from funcdiff.core.types import ArrayType
from funcdiff.errors import FuncdiffError
from tests.rules.sample import Sample
from tests.rules.samples import (
    fourier,
    linalg,
    orthogonal,
    reductions,
    scipy_linalg,
    singular,
    sparse,
    structural,
)

FAMILIES = (fourier, linalg, orthogonal, reductions, scipy_linalg, singular, sparse, structural)
NAMED = {
    f"{name}-{k}": sample
    for family in FAMILIES
    for name, samples in family.SAMPLES.items()
    for k, sample in enumerate(samples)
}


def _operations(program: Program) -> Iterator[Operation]:
    for eq in program.equations:
        yield eq.operation
        for inner in nested(eq.params):
            yield from _operations(inner)


def _recorded(sample: Sample) -> Program:
    with Builder("sample") as builder:
        xs = [builder.input(ArrayType(np.shape(x), np.asarray(x).dtype)) for x in sample.args]
        found = sample.f(*xs)
        return builder.program(found if isinstance(found, tuple | list) else [found])


def _filled(type_: ArrayType, number: float) -> Any:
    value = number if type_.dtype.kind in "fc" else 0
    return np.full(type_.shape, value, type_.dtype)[()]


@pytest.mark.thinned(4)
@pytest.mark.parametrize("sample", NAMED.values(), ids=NAMED)
@pytest.mark.filterwarnings("ignore")
def test_what_raises_for_some_values_says_so(sample: Sample) -> None:
    for op in set(_operations(_recorded(sample))):
        if op.may_raise or any(t.dtype.kind in "iu" for t in op.operands):
            continue  # integers may be positions, which have to be of use
        for number in (0.0, 1.0, -1.0, np.nan, np.inf):
            # ours are of derivatives that there are not, or not the same everywhere
            with np.errstate(all="ignore"), suppress(FuncdiffError):
                op.function(*(_filled(t, number) for t in op.operands))
