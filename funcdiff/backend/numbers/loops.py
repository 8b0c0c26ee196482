"""Writes loops by Python floats, which have the statements of their bodies in them.

Rows are taken apart, and results put together, some thousand at a time: a list of floats takes four
times the memory of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from struct import pack_into
from typing import Any, Final

import numpy as np

from funcdiff.backend.code.source import Source
from funcdiff.backend.numbers.estimates import is_handed_on
from funcdiff.backend.numbers.unrolling import PART, Body, lines_of, unroll_body, unroll_float_body
from funcdiff.core.program import Program
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.ops.control.scan import Scan
from funcdiff.ops.control.sweeps import While

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


def while_of_numbers(p: While) -> Callable[..., Any] | None:
    """Return the implementation of a `while_loop` by Python floats; None if it is not worth it.

    It raises what `scalars.Attempt` expects where NumPy would not raise.
    """
    test = _unroll(p.test)
    sweeps = [_unroll(body) for body in p.sweeps]
    first = p.constants
    carried = [body.output_types[:n] for body, n in zip(p.sweeps, p.carries, strict=True)]
    if test is None or None in sweeps or INT in [t.dtype for types in carried for t in types]:
        return None
    bodies = [body for body in sweeps if body is not None]
    names = {name: value for body in (test, *bodies) for name, value in body.names.items()}
    if any(body.names[name] is not names[name] for body in (test, *bodies) for name in body.names):
        return None  # functions with other parameters, of one name
    names |= {"results": [partial(_results_of, types) for types in carried]}
    lines = list(_lines_of_sweeps(p, test, bodies, first))
    return Source("\n".join(lines) + "\n", names).function()


def _unroll(program: Program) -> Body | None:
    """Return the statements of a test or a sweep, which may do nothing but hand on."""
    body = unroll_body(program)
    if body is None and not program.equations and all(map(is_handed_on, program.inputs)):
        body = unroll_float_body(program)
    return None if body is None or len(lines_of(body.statements)) > PART else body


def _lines_of_sweeps(p: While, test: Body, bodies: Sequence[Body], first: int) -> Iterator[str]:
    """Yield the lines of the function of a `while_loop`.

    What sweep k leaves at each iteration is in the list ``rows[k]``, in the order of the first.
    """
    groups = [f"a{k}" for k in range(p.constants + sum(p.carries))]
    yield f"def program({', '.join(groups)}):"
    for name, elements in zip(groups[:first], bodies[0].inputs, strict=False):
        yield f"    [{', '.join(elements)}] = {name}.ravel().tolist()"
    yield "    returned = []"
    given = iter(groups[first:])
    for k, (body, n) in enumerate(zip(bodies, p.carries, strict=True)):
        before = body.inputs[first : first + n]
        for elements in before:
            yield f"    [{', '.join(elements)}] = {next(given)}.ravel().tolist()"
        yield f"    rows_{k} = []"
        if k == 0:
            yield "    while True:"
            yield from (f"        {line}" for line in lines_of(test.statements))
            yield f"        if not {test.outputs[0][0]}:"
            yield "            break"
        else:
            yield f"    {_head_of_rows(p, bodies, k)}"
        yield from (f"        {line}" for line in lines_of(body.statements))
        made = [x for elements in body.outputs[n:] for x in elements]
        yield f"        rows_{k}.append(({''.join(f'{x}, ' for x in made)}))"
        old, new = ([x for xs in group for x in xs] for group in (before, body.outputs[:n]))
        if old:
            yield f"        {', '.join(old)}, = {', '.join(new)},"
        if p.reverse[k]:
            yield f"    rows_{k}.reverse()"
        yield f"    returned += results[{k}]([{', '.join(old)}])"
    yield "    return returned"


def _head_of_rows(p: While, bodies: Sequence[Body], k: int) -> str:
    """Return the head of the loop of a sweep over the rows that those before it have left."""
    names = [x for elements in bodies[k].inputs[p.constants + p.carries[k] :] for x in elements]
    targets = []
    for body, n in zip(bodies[:k], p.carries[:k], strict=True):
        count = sum(map(len, body.outputs[n:]))
        targets.append(f"({''.join(f'{x}, ' for x in names[:count])})")
        names = names[count:]
    order = "[::-1]" if p.reverse[k] else ""
    lists = ", ".join(f"rows_{j}{order}" for j in range(k))
    return f"for {', '.join(targets)}, in zip({lists}, strict=True):"


def _results_of(types: Sequence[ArrayType], elements: Sequence[Any]) -> list[Any]:
    """Return the last carry of a sweep."""
    results, start = [], 0
    for t in types:
        part = np.array(elements[start : start + t.size], t.dtype).reshape(t.shape)
        results.append(part[()])
        start += t.size
    return results


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
    yield from (f"            {line}" for line in lines_of(body.statements))
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
