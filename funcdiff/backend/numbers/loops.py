"""Writes a scan by Python floats as one loop, which has the statements of the body in it.

Rows are taken apart, and results put together, some thousand at a time: a list of floats takes four
times the memory of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from struct import pack_into
from typing import Any, Final

import numpy as np

from funcdiff.backend.code.source import Source
from funcdiff.backend.numbers.statements import PART
from funcdiff.backend.numbers.unrolling import Body, unroll_body
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.ops.control.scan import Scan

_BLOCK: Final = 1 << 12
"""Rows that are taken apart at a time."""


def loop_of_numbers(p: Scan) -> Callable[..., Any] | None:
    """Return the implementation of a scan by Python floats; None if it is not worth it.

    It raises what `scalars.Attempt` expects where NumPy would not raise.
    """
    body = unroll_body(p.body)
    if body is None or len(body.statements) > PART:
        return None
    stacked = p.body.output_types[p.carries :]
    names = {
        **body.names, "empty": np.empty, "pack_into": pack_into, "results": _results(p, stacked)
    }  # fmt: skip
    return Source("\n".join(_lines(p, body)) + "\n", names).function()


def _lines(p: Scan, body: Body) -> Iterator[str]:
    """Yield the lines of the function."""
    end = p.constants + p.carries
    names = [f"a{k}" for k in range(len(body.inputs))]
    yield f"def program({', '.join(names)}):"
    for name, elements in zip(names[:end], body.inputs, strict=False):
        yield f"    [{', '.join(elements)}] = {name}.ravel().tolist()"
    if p.reverse:
        yield from (f"    {name} = {name}[::-1]" for name in names[end:])
    made = [x for output in body.outputs[p.carries :] for x in output]
    yield f"    rows = empty(({p.length}, {len(made)}))"
    yield f"    for first in range(0, {p.length}, {_BLOCK}):"
    yield f"        last = min(first + {_BLOCK}, {p.length})"
    for name in names[end:]:
        yield f"        {name}_ = iter({name}[first:last].ravel().tolist())"
    yield "        made = []"
    yield f"        {_head(body.inputs[end:], names[end:])}"
    yield from (f"            {statement.text()}" for statement in body.statements)
    if made:
        yield f"            made += ({', '.join(made)},)"
    before = [x for elements in body.inputs[p.constants : end] for x in elements]
    after = [x for elements in body.outputs[: p.carries] for x in elements]
    yield (
        f"            {', '.join(before)}, = {', '.join(after)}," if before else "            pass"
    )
    if made:
        yield "        pack_into(f'{len(made)}d', rows[first:last], 0, *made)"
    yield f"    return results([{', '.join(before)}], rows)"


def _head(elements: Sequence[Sequence[str]], names: Sequence[str]) -> str:
    """Return the head of the loop over the rows of a block, which names their elements."""
    targets = [x for row in elements for x in row]
    sources = [f"{name}_" for row, name in zip(elements, names, strict=True) for _ in row]
    if not targets:
        return "for _ in range(first, last):"
    if len(targets) == 1:
        return f"for {targets[0]} in {sources[0]}:"
    return f"for {', '.join(targets)} in zip({', '.join(sources)}):"


def _results(p: Scan, stacked: Sequence[ArrayType]) -> Callable[..., Any]:
    """Return what puts the results together."""
    carried = p.body.output_types[: p.carries]

    def results(carry: Sequence[Any], rows: Any) -> Any:
        last = _split(np.array(carry, FLOAT), carried)
        return (*last, *_split(rows[::-1] if p.reverse else rows, stacked))

    return results


def _split(elements: Any, types: Sequence[ArrayType]) -> list[Any]:
    """Cut the last axis into arrays of the given types."""
    parts, start = [], 0
    for t in types:
        part = elements[..., start : start + t.size].astype(t.dtype)
        parts.append(part.reshape((*elements.shape[:-1], *t.shape))[()])
        start += t.size
    return parts
