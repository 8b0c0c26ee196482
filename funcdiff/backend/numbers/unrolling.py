"""Unrolls programs of small arrays into Python code, one float variable per element.

A NumPy call costs as much as the arithmetic of some twenty floats.  So where arrays have a handful
of elements, or single elements of a long one are read in a loop, code without arrays is quicker:
slices, reshapes and concatenations are then a matter of names, and cost nothing.

The elements of an array are texts, of names or numbers, in a NumPy array of objects: what only
rearranges elements works on that as it does on numbers.

Long lists of assignments are split into functions of bounded length: Python's compiler takes
kilobytes of memory for each statement of a function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, starmap
from struct import pack_into
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.backend.code.formulas import reduction_ufunc
from funcdiff.backend.code.source import Source, function
from funcdiff.backend.numbers.estimates import is_handed_on, is_rearranging, is_worth_unrolling
from funcdiff.backend.numbers.scalars import EXACT, FUNCTIONS, Attempt, expression, literal
from funcdiff.core.atoms import Atom, Var
from funcdiff.core.program import Equation, Program
from funcdiff.core.running.dataflow import Choice, choices, last_uses
from funcdiff.core.types import BOOL, FLOAT, INT, ArrayType
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.guard import Guard, divert
from funcdiff.ops.control.sweeps import Scan, While
from funcdiff.ops.products.contract import Contraction, arrangement
from funcdiff.ops.structure.slicing import Slice, add_slice_p
from funcdiff.ops.structure.structural import select_p, stop_gradient_p
from funcdiff.space import Axes

PART: Final = 4000
"""Statements in one function."""


class Statement(NamedTuple):
    """``name = template.format(*operands)``."""

    name: str
    template: str
    operands: Sequence[str]

    def lines(self) -> list[str]:
        """Return the statement, in one line."""
        return [f"{self.name} = {self.template.format(*self.operands)}"]


class Alternative(NamedTuple):
    """One of two lists of statements, and the names that get values from whichever runs."""

    condition: str  # whether the second runs
    names: Sequence[str]  # assigned by both
    # Statements and values.
    branches: Sequence[tuple[Sequence[Statement | Alternative], Sequence[str]]]

    def lines(self) -> list[str]:
        """Return the statement, line by line."""
        other, first = (
            [f"    {line}" for line in [*lines_of(statements), self._assign(values)]]
            for statements, values in self.branches
        )
        return [f"if {self.condition}:", *first, "else:", *other]

    def _assign(self, values: Sequence[str]) -> str:
        if not values:
            return "pass"
        return f"{', '.join(self.names)}, = {', '.join(values)},"


def lines_of(statements: Iterable[Statement | Alternative]) -> list[str]:
    """Return the lines of statements."""
    return [line for statement in statements for line in statement.lines()]


def _in_functions(statements: Sequence[Statement], needed: Iterable[str]) -> list[str]:
    """Return the lines of functions that run so many statements each, one after the other.

    The names that one of them gives and another reads, or that are `needed` in the end, are those
    of the function around them.
    """
    place = {s.name: k // PART for k, s in enumerate(statements)}
    read = {x for k, s in enumerate(statements) for x in s.operands if place.get(x) != k // PART}
    shared = place.keys() & read.union(needed)
    lines: list[str] = []
    for k in range(0, len(statements), PART):
        part = statements[k : k + PART]
        given = [s.name for s in part if s.name in shared]
        body = [f"nonlocal {', '.join(given)}"] if given else []
        lines += [" = ".join([*given, "None"]), f"def part_{k // PART}():"]
        lines += [*(f"    {line}" for line in body + lines_of(part)), f"part_{k // PART}()"]
    return lines


# ---- elements ------------------------------------------------------------------------------------


def _pack(*numbers: float) -> Any:
    """Return an array of floats."""
    x: Any = np.empty(len(numbers))
    pack_into(f"{len(numbers)}d", x, 0, *numbers)
    return x


_UNPACKED: Final = 16
"""Elements up to which an argument is unpacked; of a longer one, each is read where it is used."""

_NAMES: Final = {
    "math": math, "array": np.array, "float64": np.float64, "bool_": np.bool_,
    "packed": _pack, "divert": divert,
}  # fmt: skip

_OF_NOTHING: Final[dict[np.ufunc, str]] = {
    np.add: "0.0",
    np.multiply: "1.0",
    np.maximum: "(-math.inf)",
    np.minimum: "math.inf",
    np.logical_and: "True",
    np.logical_or: "False",
}
"""What reductions make of no elements."""


class Unrolled(Attempt):
    """A program of floats as a function of arrays."""

    def __init__(self, source: Source, sure: Callable[[], Callable[..., Any]]) -> None:
        super().__init__(source.function(), sure)
        self.source = source  # its code
        # Whether it calls NumPy, which may warn.
        self.warns = not source.names.keys() <= _NAMES.keys()


class Body(NamedTuple):
    """Statements that compute all elements of the results of a program, one by one."""

    inputs: list[list[str]]  # the elements of each
    statements: list[Statement | Alternative]
    outputs: list[list[str]]  # the elements of each
    names: dict[str, Any]  # what the statements call


def unroll(program: Program) -> Source | None:
    """Return the code of a program of floats; None if it is not worth it."""
    if not is_worth_unrolling(program):
        return None
    return _Unroller(program, _Names(), flat=False).source()


def keeps_bits(program: Program) -> bool:
    """Return whether a program of floats has NumPy's results to the last bit, were it unrolled."""
    return all(
        is_rearranging(eq) or eq.operation.function in EXACT or eq.primitive is select_p
        for eq in program.equations
    )


def unroll_body(program: Program) -> Body | None:
    """Return the statements of a program of floats, the body of a loop; None if not worth it."""
    if not is_worth_unrolling(program, flat=True):
        return None
    return unroll_float_body(program)


def unroll_float_body(program: Program) -> Body:
    """Return the statements of a program of floats."""
    return _Unroller(program, _Names(), flat=True).body()


class _Names:
    """What the code calls, by the names that it has there; branches share them."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = dict(_NAMES)
        self._called: dict[Any, str] = {}

    def of(self, eq: Equation, function: Any) -> str:
        """Return the name of a function that is called; another one for other parameters."""
        key = eq.primitive, eq.params
        if key not in self._called:
            name = eq.primitive.name
            self._called[key] = f"{name}_{len(self._called)}" if name in self.known else name
            self.known[self._called[key]] = function
        return self._called[key]


class _Unroller:
    """Finds the statements that compute the elements of each variable, and writes them down."""

    def __init__(
        self,
        program: Program,
        names: _Names,
        *,
        flat: bool,
        given: Sequence[Any] | None = None,
        prefix: str = "v",
    ) -> None:
        self._program, self._flat, self._names, self._prefix = program, flat, names, prefix
        self._statements: list[Statement | Alternative] = []
        self._elements: list[Any] = [*(given or map(self._argument, program.inputs))]
        for eq, choice in zip(program.equations, choices(program, last_uses(program)), strict=True):
            if isinstance(eq.params, Cond):
                self._elements += self._choose(eq)
            else:
                self._elements.append(self._result(eq, choice))

    # ---- elements --------------------------------------------------------------------------

    def _argument(self, v: Var) -> Any:
        """Return the elements of an argument: names, or places in a list."""
        if not v.type.shape:
            return f"x{v.number}"
        named = self._flat or v.type.size <= _UNPACKED
        text = "x{}_{}" if named else "x{}[{}]"
        names = [text.format(v.number, k) for k in range(v.type.size)]
        return np.array(names, dtype=object).reshape(v.type.shape)

    def _read(self, atom: Atom) -> Any:
        if isinstance(atom, Var):
            return self._elements[atom.number]
        text = literal(atom)
        return np.full(atom.type.shape, text, dtype=object) if atom.type.shape else text

    def _result(self, eq: Equation, choice: Choice) -> Any:
        """Return the elements of a result, with statements for those that are computed."""
        xs = [self._read(atom) for atom in eq.operands]
        shape = eq.results[0].type.shape
        if eq.primitive is stop_gradient_p:
            return xs[0]
        if isinstance(eq.params, Guard):
            self._guard(eq, eq.params, xs)
            return xs[0]
        if eq.primitive is add_slice_p:
            return self._add_to_box(eq, xs[0] if choice.in_place else xs[0].copy(), xs[1])
        if is_rearranging(eq):
            rearranged = choice.function(*[np.asarray(x, dtype=object) for x in xs])
            return rearranged if shape else np.asarray(rearranged, dtype=object)[()]
        number = self._own_name(eq.results[0])
        if reduction_ufunc(eq) in _OF_NOTHING:
            made = [self._fold(eq, row, f"{number}_{k}") for k, row in enumerate(_rows(eq, *xs))]
        elif eq.operation.contracts:
            made = [self._product(f"{number}_{k}", row) for k, row in enumerate(_terms(eq, *xs))]
        else:
            made = self._elementwise(eq, xs, number)
        return np.array(made, dtype=object).reshape(shape) if shape else made[0]

    def _assign(self, name: str, text: str, operands: Sequence[str]) -> str:
        self._statements.append(Statement(name, text, operands))
        return name

    def _elementwise(self, eq: Equation, xs: Sequence[Any], name: str) -> list[str]:
        found = expression(eq)
        assert found is not None
        template = found.template
        if found.called is not None:
            template = template.replace("{called}", self._names.of(eq, found.called))
        if not eq.results[0].type.shape:
            return [self._assign(name, template, xs)]
        rows = zip(*(x.flat for x in xs), strict=True)
        return [self._assign(f"{name}_{k}", template, row) for k, row in enumerate(rows)]

    def _own_name(self, v: Var) -> str:
        return f"{self._prefix}{v.number}"

    def _choose(self, eq: Equation) -> list[Any]:
        """Return the elements of the results of whichever of two branches runs."""
        condition, *xs = [self._read(atom) for atom in eq.operands]
        names = [f"{self._own_name(v)}_{k}" for v in eq.results for k in range(v.type.size)]
        prefixes = [f"{self._own_name(eq.results[0])}{letter}" for letter in "no"]
        branches = []
        for branch, prefix in zip(eq.params_as(Cond).branches, prefixes, strict=True):
            inner = _Unroller(branch, self._names, flat=True, given=xs, prefix=prefix).body()
            branches.append((inner.statements, [x for output in inner.outputs for x in output]))
        self._statements.append(Alternative(f"{condition} > 0", names, branches))
        taken = iter(names)
        return [
            np.array([next(taken) for _ in range(v.type.size)], dtype=object).reshape(v.type.shape)
            if v.type.shape
            else next(taken)
            for v in eq.results
        ]

    def _add_to_box(self, eq: Equation, x: Any, u: Any) -> Any:
        """Return the elements of `x` with those of `u` added to a box of them.

        What is added to nothing is itself, but that -0.0 may stand for 0.0.
        """
        p = eq.params_as(Slice)
        box = x[p.index]
        for k, (place, old, new) in enumerate(
            zip(np.ndindex(box.shape), box.flat, u.flat, strict=True)
        ):
            name = f"{self._own_name(eq.results[0])}_{k}"
            box[place] = new if old == "0.0" else self._assign(name, "{} + {}", (old, new))
        return x

    def _guard(self, eq: Equation, p: Guard, xs: Sequence[Any]) -> None:
        """Leave the code where the flag is another one, with arrays of what is handed over."""
        elements, texts = [xs[0]], []
        for atom, x in zip(eq.operands[1:], xs[1:], strict=True):
            listed = ["{}" for _ in _elements(x)]
            if isinstance(atom, Var) and atom in self._program.inputs:
                listed = [f"*x{atom.number}"] if atom.type.shape else [f"x{atom.number}"]
            else:
                elements += _elements(x)
            texts.append(_as_array(atom, listed))
        holds = "{}" if p.outcome else "not {}"
        handed = "".join(f", {text}" for text in texts)
        text = f"{holds} or divert({p.number}, {1 - p.outcome}{handed})"
        self._assign(self._own_name(eq.results[0]), text, elements)

    def _fold(self, eq: Equation, row: Sequence[str], name: str) -> str:
        """Return the element that a reduction makes of some; a sum begins with 0.0."""
        ufunc = reduction_ufunc(eq)
        assert ufunc is not None
        result = row[0] if len(row) else _OF_NOTHING[ufunc]
        for k, element in enumerate(row[1:]):
            text = FUNCTIONS[ufunc]
            if ufunc is np.add and k == len(row) - 2:
                text += " + 0.0"
            result = self._assign(f"{name}_{k}", text, (result, element))
        return result

    def _product(self, name: str, pairs: Sequence[str]) -> str:
        """Return the sum of the products of pairs."""
        text = " + ".join([*["{} * {}"] * (len(pairs) // 2), "0.0"])
        return self._assign(name, text, pairs) if pairs else "0.0"

    # ---- code ------------------------------------------------------------------------------

    def body(self) -> Body:
        """Return the statements, and the elements that come in and go out."""
        elements = [_elements(self._elements[v.number]) for v in self._program.inputs]
        outputs = [_elements(self._read(atom)) for atom in self._program.outputs]
        return Body(elements, self._statements, outputs, self._names.known)

    def source(self) -> Source:
        """Return the code: one function, with others in it if there are many statements."""
        outputs = [(atom, _elements(self._read(atom))) for atom in self._program.outputs]
        inputs = self._program.inputs
        lines = list(map(_conversion, inputs))
        lines += [  # short arguments are taken apart at once
            f"[{', '.join(self._elements[v.number].flat)}] = x{v.number}"
            for v in inputs
            if v.type.shape and 0 < v.type.size <= _UNPACKED
        ]
        statements = [s for s in self._statements if isinstance(s, Statement)]  # of no choices
        if len(statements) > PART:
            lines += _in_functions(statements, chain(*(elements for _, elements in outputs)))
        else:
            lines += lines_of(statements)
        lines.append(f"return [{', '.join(starmap(_as_array, outputs))}]")
        text = function("program", [f"x{v.number}" for v in inputs], lines)
        return Source(text, self._names.known)


def _as_array(atom: Atom, elements: Iterable[str]) -> str:
    """Return the array, or the number of NumPy's, with these elements."""
    listed = ", ".join(elements)
    dtype = "bool_" if atom.type.dtype == BOOL else "float64"
    if not atom.type.shape:
        return f"{dtype}({listed})"
    made = f"array([{listed}], {dtype})"
    return made if atom.type.ndim == 1 else f"{made}.reshape({atom.type.shape})"


def _conversion(v: Var) -> str:
    name = f"x{v.number}"
    if not v.type.shape:
        return f"{name} = {'bool' if v.type.dtype == BOOL else 'float'}({name})"
    return f"{name} = {name if v.type.ndim == 1 else f'{name}.ravel()'}.tolist()"


def _elements(x: Any) -> list[str]:
    """Return the elements of a variable in order."""
    return list(x.flat) if isinstance(x, np.ndarray) else [x]


def _rows(eq: Equation, x: Any) -> Iterator[list[str]]:
    """Yield the elements of which a reduction makes one."""
    p = eq.params_as(Axes)
    kept = [axis for axis in range(x.ndim) if axis not in p.axes]
    last = x.transpose(*kept, *p.axes)
    for place in np.ndindex(last.shape[: len(kept)]):
        yield _elements(last[place])


def _terms(eq: Equation, x: Any, y: Any) -> Iterator[list[str]]:
    """Yield the pairs, one behind the other, that a contraction multiplies and adds up to one."""
    p, op = eq.params_as(Contraction), eq.operation
    sizes, inner = op.access.lengths(op.operands, op.results), arrangement(p).inner
    for place in np.ndindex(*(sizes[k] for k in p.out)):
        pairs: list[str] = []
        for rest in np.ndindex(*(sizes[k] for k in inner)):
            at = dict(zip((*p.out, *inner), (*place, *rest), strict=True))
            pairs += [x[tuple(at[k] for k in p.left)], y[tuple(at[k] for k in p.right)]]
        yield pairs


# ---- Writes loops by Python floats, which have the statements of their bodies in them ------------
#
# Rows are taken apart, and results put together, some thousand at a time: a list of floats takes
# four times the memory of an array.  Without it Runge-Kutta takes 7 to 8 times as long with NumPy
# alone, a `while_loop` of two numbers 6, a scan of them that branches 11.


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
