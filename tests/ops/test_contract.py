"""Contractions compute the same bits as the code that is written for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcdiff.backend.code.source import source
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.evaluate import Executable
from funcdiff.core.types import ArrayType
from funcdiff.ops.products.contract import Contraction, contract_p


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize(("left", "right", "out"), [
    ((0,), (1,), (0, 1)),
    ((0,), (1,), (1, 0)),
    ((0, 1), (0,), (1, 0)),
    ((1, 0), (0, 2), (0, 1, 2)),
    ((0, 1), (), (1, 0)),
    ((), (0,), (0,)),
    ((), (), ()),
    ((0, 1), (2,), (0, 1, 2)),
    ((0, 1), (1, 2), (0, 2)),
    ((0, 1, 2), (0, 2, 3), (0, 1, 3)),
])  # fmt: skip
def test_written_products_have_the_bits_of_the_implementation(
    left: tuple[int, ...], right: tuple[int, ...], out: tuple[int, ...], dtype: type
) -> None:
    rng = np.random.default_rng(0)
    for sizes in ([1, 1, 1, 1], [1, 2, 1, 3], [3, 1, 2, 1], [2, 3, 4, 2], [0, 1, 2, 3]):
        operands: list[Any] = [
            (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)[()]
            if np.dtype(dtype).kind == "c"
            else np.asarray(rng.normal(size=shape), dtype)[()]
            for shape in ([sizes[k] for k in labels] for labels in (left, right))
        ]
        with Builder("product") as builder:
            xs = [builder.input(ArrayType(x.shape, x.dtype)) for x in operands]
            program = builder.program(bind(contract_p, Contraction(left, right, out), *xs))
        (written,) = source(program).function()(*operands)
        (expected,) = Executable(program).interpret(*operands)
        np.testing.assert_array_equal(written, expected)
        summed = np.einsum(operands[0], list(left), operands[1], list(right), list(out))
        np.testing.assert_allclose(written, summed, rtol=1e-5, atol=1e-6)
