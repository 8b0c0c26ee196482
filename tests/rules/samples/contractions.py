"""Samples of the contraction and of sums: every kind of label, on both sides and in the middle."""

from __future__ import annotations

from collections.abc import Callable

from funcdiff.core.tracer import Tracer
from funcdiff.ops.products.contract import Labels, contract
from funcdiff.ops.products.masked import masked_contract, masked_sum
from funcdiff.ops.structure.structural import select
from funcdiff.space import reduce_sum, zeros
from tests.rules.sample import Sample, complex_, flags, integers, real, sample


def _masked(labels: tuple[Labels, Labels, Labels], masked: int) -> Callable[..., Tracer]:
    """Return the contraction of an operand that its mask has made zero."""

    def function(x: Tracer, y: Tracer, mask: Tracer) -> Tracer:
        if masked == 0:
            x = select(mask, x, zeros(x.type))
        else:
            y = select(mask, y, zeros(y.type))
        return masked_contract(x, y, mask, labels, masked)

    return function


SAMPLES: dict[str, list[Sample]] = {
    "contract": [
        sample(lambda x, y: contract(x, y, (0, 1), (1, 2), (0, 2)), real(2, 3), real(3, 4)),
        sample(lambda x, y: contract(x, y, (1, 0), (2, 1), (2, 0)), real(3, 2), real(4, 3)),
        sample(lambda x, y: contract(x, y, (0, 1), (1,), (0,)), complex_(2, 3), complex_(3)),
        sample(lambda x, y: contract(x, y, (0,), (0,), ()), real(3), real(3, start=8)),
        sample(lambda x, y: contract(x, y, (0,), (1,), (1, 0)), real(2), real(3)),
        sample(
            lambda x, y: contract(x, y, (3, 0, 1), (1, 2, 3), (2, 3, 0)), real(2, 3, 4),
            real(4, 5, 2),
        ),
        sample(
            lambda x, y: contract(x, y, (0, 1, 2), (2, 0, 1, 3), (3, 0)), complex_(2, 3, 1),
            complex_(1, 2, 3, 2),
        ),
        sample(lambda x, y: contract(x, y, (0, 1), (1,), (0,)), real(2, 0), real(0), order=1),
        sample(lambda x, y: contract(x, y, (), (), ()), real(), real(start=3)),
        sample(lambda x, y: contract(x, y, (0, 1), (1,), (0,)), integers(2, 3), integers(3)),
    ],
    "reduce_sum": [
        sample(lambda x: reduce_sum(x, (1,)), real(2, 3)),
        sample(lambda x: reduce_sum(x, (0, 2)), real(2, 3, 4)),
        sample(lambda x: reduce_sum(x, (0,)), complex_(2, 3)),
        sample(lambda x: reduce_sum(x, (0,)), real(0, 2), order=1),
        sample(lambda x: reduce_sum(x, (0, 1)), integers(2, 3)),
    ],
    "masked_sum": [
        sample(lambda x, m: masked_sum(x, m, (1,)), real(2, 3), flags(2, 3)),
        sample(lambda x, m: masked_sum(x, m, (0, 2)), complex_(2, 2, 3), flags(2, 2, 3)),
        sample(lambda x, m: masked_sum(x, m, (0,)), real(0, 2), flags(0, 2), order=1),
    ],
    "masked_contract": [
        sample(_masked(((0, 1), (1, 2), (0, 2)), 0), real(2, 3), real(3, 4), flags(2, 3)),
        sample(_masked(((1, 0), (2, 1), (2, 0)), 1), real(3, 2), real(4, 3), flags(4, 3)),
        sample(_masked(((0, 1), (1,), (0,)), 1), complex_(2, 3), complex_(3), flags(3)),
        sample(_masked(((0,), (0,), ()), 0), real(3), real(3, start=8), flags(3)),
    ],
}  # fmt: skip
