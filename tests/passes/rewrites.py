"""A rewrite as a test sees it: the name of a rule, a program before it, the program after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import evaluate
from funcdiff.core.text.parse import parse
from funcdiff.core.types import ArrayType
from funcdiff.passes.rewrites.rewriter import Rules


@dataclass(frozen=True)
class Rewrite:
    """What a rule makes of a program; both texts have the inputs `inputs`."""

    rule: str
    inputs: str
    before: str
    after: str
    operation: str = ""
    """What the rule is shown for, if it is for several operations."""

    def __str__(self) -> str:
        return f"{self.rule.strip('_')} {self.operation}".strip()

    @property
    def program(self) -> Program:
        """The program before."""
        return parse(self._text(self.before))

    @property
    def expected(self) -> str:
        """The text of the program after, as a program is written."""
        return self._text(self.after)

    def _text(self, body: str) -> str:
        return f"program({self.inputs}) {{\n{body}\n}}"


@dataclass(frozen=True)
class Masking(Rewrite):
    """A rewrite of a program that is linear in its first inputs, and what it is for.

    Attributes
    ----------
    given
        The other operands: masks, indices and coefficients that are infinite or NaN.
    results
        The results for a tangent of twos.
    linear
        How many of the inputs are linear.
    """

    given: tuple[Any, ...] = ()
    results: tuple[Any, ...] = ()
    linear: int = 1

    @property
    def flags(self) -> tuple[bool, ...]:
        """Which inputs the program is linear in."""
        return tuple(k < self.linear for k in range(len(self.program.inputs)))

    @property
    def operands(self) -> list[Any]:
        """Tangents of twos, and the other operands."""
        types = self.program.input_types
        tangents = [np.full(t.shape, 2, t.dtype) for t in types[: self.linear]]
        given = zip(self.given, types[self.linear :], strict=True)
        return [*tangents, *(np.asarray(x, t.dtype) for x, t in given)]


def rewrites(text: str) -> list[Rewrite]:
    """Return the rewrites of a text, a paragraph each.

    A paragraph names the rule with the inputs of a program, and the operation if there are several;
    then come the equations before, ``=>`` and those after.  Without an arrow nothing changes.
    Lines that are indented twice go on with the one before.
    """
    return [Rewrite(*_parts_of(paragraph)) for paragraph in text.strip().split("\n\n")]


def maskings(text: str) -> list[Masking]:
    """Return maskings, paragraphs of which have lines for what is given, results, and `linear`."""
    found = []
    for paragraph in text.strip().split("\n\n"):
        rewrite, *fields = re.split(r"\n(?=given|linear|results)", paragraph)
        values = {name: _value(value) for name, value in (f.split(" ", 1) for f in fields)}
        found.append(Masking(*_parts_of(rewrite), **values))
    return found


def _parts_of(paragraph: str) -> tuple[str, str, str, str, str]:
    head, body = re.sub(r"\n {4,}", " ", paragraph).split("\n", 1)
    rule, inputs, operation = re.fullmatch(r"(.*?)\((.*)\)(.*)", head).groups()  # type: ignore[union-attr]
    before, _, after = body.partition("\n=>\n")
    return rule.strip(), inputs, before, after or before, operation.strip()


def _value(text: str) -> Any:
    return eval(
        text if text.isdigit() else f"({text},)", {"inf": np.inf, "nan": np.nan, "pi": np.pi}
    )


def names(rules: Rules) -> set[str]:
    """Return the names of the rules in a table."""
    return {rule.__name__ for of_primitive in rules.values() for rule in of_primitive}


def run(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """Evaluate a program without NumPy's warnings."""
    with np.errstate(all="ignore"):
        return evaluate(program, arrays)


# ---- bits --------------------------------------------------------------------------------------


def singular(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the numbers of a dtype at which identities break."""
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, info.max, info.min, info.max - 1, info.min + 1], dtype)
    if dtype.kind == "c":
        parts = singular(dtype.type(0).real.dtype)
        z = np.empty((len(parts), len(parts)), dtype)
        z.real, z.imag = np.meshgrid(parts, parts)
        return z.ravel()
    floats = np.finfo(dtype)
    positive = [0.0, np.inf, np.nan, floats.smallest_subnormal, floats.max, 1.5]
    values = np.array(positive, dtype)
    return np.concatenate([values, -values])


def singular_points(types: Iterable[ArrayType]) -> Iterator[list[Any]]:
    """Yield operands of the given types until every singular number has been everywhere."""
    types = list(types)
    count = max(len(singular(t.dtype)) for t in types)
    for start in range(count):
        yield [_filled(t, start * (3 * k + 1)) for k, t in enumerate(types)]


def _filled(type_: ArrayType, start: int) -> Any:
    numbers = np.roll(singular(type_.dtype), -start)
    return np.resize(numbers, type_.shape)[()]


def require_same_bits(left: Sequence[Any], right: Sequence[Any]) -> None:
    """Compare results bit for bit; of a NaN, only the sign."""
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        for x, y in zip(_parts(a), _parts(b), strict=True):
            assert np.array_equal(x, y, equal_nan=x.dtype.kind == "f"), (a, b)
            if x.dtype.kind == "f":
                assert np.array_equal(np.signbit(x), np.signbit(y)), (a, b)


def _parts(x: Any) -> list[Any]:
    return [np.real(x), np.imag(x)] if x.dtype.kind == "c" else [x]
