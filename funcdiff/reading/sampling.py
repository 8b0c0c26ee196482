"""Evaluates a recording at a random point, so that different variables differ in value."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import ArrayType
from funcdiff.reading.provenance import Recorded, content

UNKNOWN: Final[Any] = object()
"""Stands for a value that is not known."""


class Values:
    """The values of recorded variables at a point near the arguments of the outermost function.

    Attributes
    ----------
    of_examples
        The builders, by `id`, whose inputs are the first of a stack: those of a batched function.
    """

    def __init__(self, top: Recorded, *, exact: bool) -> None:
        self._top = top
        self._exact = exact
        self._operands = {id(top.builder): top.operands}
        self._found: dict[int, list[Any]] = {}
        self.of_examples: set[int] = set()

    def add(self, recorded: Recorded) -> None:
        """Take note of what the inputs of a function are like."""
        self._operands[id(recorded.builder)] = recorded.operands

    def of(self, builder: Recorder, ref: Ref) -> Any:
        """Return the value of an atom, or `UNKNOWN`."""
        if isinstance(ref, Literal):
            return ref.array
        if id(builder) not in self._found:
            self._found[id(builder)] = []
            with np.errstate(all="ignore"):
                self._evaluate(builder)
        found = self._found[id(builder)]
        return found[ref] if ref < len(found) else UNKNOWN

    def _evaluate(self, builder: Recorder) -> None:
        found = self._found[id(builder)]
        given = [*self._operands.get(id(builder), ()), *builder.captures]
        count = 0
        for entry in builder.entries:
            if entry and isinstance(entry[0], ArrayType):
                found.append(self._input(builder, entry[0], count, given))
                count += 1
            elif entry:
                found.extend(self._results(builder, entry))

    def _input(self, builder: Recorder, type_: ArrayType, k: int, given: Sequence[Any]) -> Any:
        if k >= len(given):
            return UNKNOWN
        x = given[k]
        if isinstance(x, Tracer):
            x = x.atom.array if isinstance(x.atom, Literal) else self._outer(x, builder)
        elif x is not None and not self._exact:
            is_argument = builder is self._top.builder and k < len(self._top.operands)
            x = perturb(x, k + 1 if is_argument else 0)
        if x is UNKNOWN or x is None:
            return UNKNOWN
        x = np.asarray(x)[()]
        if x.shape != type_.shape and x.shape[1:] == type_.shape and len(x):
            x = x[0]
            self.of_examples.add(id(builder))
        return x if (x.shape, x.dtype) == (type_.shape, type_.dtype) else UNKNOWN

    def _outer(self, x: Tracer, inner: Recorder) -> Any:
        assert x.builder is not None
        value = self.of(x.builder, x.atom)
        if id(x.builder) in self.of_examples:
            self.of_examples.add(id(inner))
        return value

    def _results(self, builder: Recorder, entry: Sequence[Any]) -> list[Any]:
        op, *refs = entry
        operands = [self.of(builder, ref) for ref in refs]
        nothing = [UNKNOWN for _ in op.results]
        if any(x is UNKNOWN for x in operands):
            return nothing
        try:
            results = op.function(*operands)
        except Exception:  # the point is not in the domain: then nothing is known
            return nothing
        return [results] if len(op.results) == 1 else list(results)


def perturb(x: Any, seed: int) -> Any:
    """Return numbers near the given ones, the same for the same ones."""
    x = np.asarray(x)
    if x.dtype.kind not in "fc":
        return x
    random = np.random.default_rng([seed, zlib.crc32(x.tobytes())])
    factor, term = (random.uniform(-1.0, 1.0, x.shape) for _ in range(2))
    return (x * (1 + 1e-3 * factor) + 1e-4 * term).astype(x.dtype)[()]


def fingerprint(x: Any) -> tuple[Any, ...]:
    """Return what values that agree to rounding share, and others hardly ever do."""
    x = np.asarray(x)
    if x.dtype.kind not in "fc":
        return content(x)
    weights = np.random.default_rng(x.size).uniform(0.5, 1.5, x.size)
    digits = max(2, np.finfo(x.dtype).precision - 6)
    total = complex(np.sum(x.ravel() * weights))
    return x.shape, x.dtype, f"{total.real:.{digits}e}", f"{total.imag:.{digits}e}"


def inputs_of(builder: Recorder) -> list[int]:
    """Return the numbers of the inputs of a recording."""
    pairs = enumerate(builder.entries)
    return [k for k, entry in pairs if entry and isinstance(entry[0], ArrayType)]


def is_telling(x: Any) -> bool:
    """Whether a value is unlikely to be met by chance: a constant is met everywhere."""
    if x is UNKNOWN:
        return False
    x = np.asarray(x)
    if x.size == 0 or (x.dtype.kind not in "fc" and x.size < 4):
        return False
    first = x.flat[0]
    if x.size == 1:
        return bool(np.isfinite(first)) and first not in (-2, -1, 0, 0.5, 1, 2)
    return not bool(np.all((x == first) | np.isnan(x)))
