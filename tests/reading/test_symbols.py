"""Symbols note what is done with them."""

import ast

import pytest

from funcdiff.reading.text.expressions import Symbol, text_of


@pytest.mark.parametrize("sign", ["-", "/", "**", "@"])
def test_operands_keep_their_sides(sign: str) -> None:
    x = Symbol(ast.Name("x", ast.Load()), str, 1)
    for formula in (f"x {sign} 3.0", f"3.0 {sign} x"):
        assert text_of(eval(formula, {"x": x}).value) == formula
