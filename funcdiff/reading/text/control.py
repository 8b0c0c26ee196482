"""Writes control flow, user functions and solvers as Python statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias

from funcdiff.backend.numbers.scalars import makes_index
from funcdiff.core.atoms import Var
from funcdiff.core.program import Equation, Program
from funcdiff.core.types import BOOL
from funcdiff.errors import ProgramError
from funcdiff.ops.axes.indexing import Count
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.guard import Guard
from funcdiff.ops.control.sweeps import Scan, While
from funcdiff.ops.user.bridged import Bridged
from funcdiff.ops.user.custom_function import tangent_program
from funcdiff.ops.user.custom_known import KnownTangent
from funcdiff.ops.user.failing import Fails
from funcdiff.ops.user.integral import Integral
from funcdiff.ops.user.python_call import Batch, Batches, Opaque, entered
from funcdiff.ops.user.replay import Replay
from funcdiff.ops.user.solved_equations import LinearSolve, Root, first_unknown
from funcdiff.reading.provenance import label_of
from funcdiff.reading.text.expressions import (
    UnwritableError,
    allocation,
    build,
    call,
    constant,
    item,
    items,
    name,
    text_of,
)
from funcdiff.reading.text.writer import Body, Writing

# ---- functions -----------------------------------------------------------------------------------


def _call_of_body(body: Callable[[Any], Program], wanted: Callable[[Any], str]) -> Writing:
    """Write a call of a function of the text, which runs a program of the parameters."""

    def write(b: Body, eq: Equation) -> None:
        function = b.writer.module.function(body(eq.params), wanted(eq.params))
        b.assign(eq, call(function, *map(b.whole, eq.operands)))

    return write


# ---- branches ------------------------------------------------------------------------------------


def _cond(b: Body, eq: Equation) -> None:
    p = eq.params_as(Cond)
    operands = [b.simple(atom) for atom in eq.operands[1:]]
    tests = branch_tests(b, eq, len(p.branches))
    order = range(len(p.branches)) if len(p.branches) != 2 else (1, 0)
    used = [k for k, v in enumerate(eq.results) if b.is_used(v)]
    written = []
    names = {b.label(eq.results[k]).name for k in used}
    for k in order:
        with b.writer.apart() as lines, b.writer.indent():
            outputs = b.writer.write(p.branches[k], operands, plain=names)
        written.append((lines, [outputs[j] for j in used]))
    targets = [b.target(eq.results[k]) for k in used]
    if len(written) == 2 and len(used) == 1 and not any(lines for lines, _ in written):
        (_, (first,)), (_, (second,)) = written
        choice = ast.IfExp(tests[0], first, second)
        b.writer.assign(targets[0], choice)
        return
    for k, (lines, outputs) in enumerate(written):
        word = "if" if k == 0 else "elif"
        with b.writer.block(f"{word} {text_of(tests[k])}:" if k < len(tests) else "else:", lines):
            for target, value in zip(targets, outputs, strict=True):
                b.writer.assign(target, value)


def branch_tests(b: Body, eq: Equation, count: int) -> list[ast.expr]:
    """Return what decides for each branch but the last one; of two, for the second."""
    index = eq.operands[0]
    maker = b.maker(index)
    if count == 2:
        if maker is not None and makes_index(maker):
            (before,) = maker.operands
            if isinstance(before, Var):
                return [b.whole(before) if b.uses(index) == 1 else b.simple(before)]
        return [build("i > 0", i=b.whole(index))]
    i = b.simple(index)
    first = [build("i <= 0", i=i)] if count > 1 else []
    return first + [build("i == k", i=i, k=constant(k)) for k in range(1, count - 1)]


# ---- loops ---------------------------------------------------------------------------------------


def _start(
    b: Body, program: Program, first: int, values: Sequence[ast.expr], results: Sequence[Var]
) -> list[str]:
    """Assign the first carry to names of their own; return the names."""
    names = []
    inputs = program.inputs[first : first + len(values)]
    for v, value, result in zip(inputs, values, results, strict=True):
        inner, outer = label_of(program, v).name, b.label(result).name
        word = outer if outer.startswith("d_") else inner or outer
        names.append(b.writer.new(word or "carry"))
        b.writer.assign(names[-1], value)
    return names


def _next(b: Body, names: Sequence[str], values: Sequence[ast.expr]) -> None:
    """Assign the next carry, all at once."""
    changed = [(n, x) for n, x in zip(names, values, strict=True) if text_of(x) != n]
    if changed:
        left, right = zip(*changed, strict=True)
        b.writer.assign(", ".join(left), items(right) if len(right) > 1 else right[0])


def _scan(b: Body, eq: Equation) -> None:
    p = eq.params_as(Scan)
    constants, carry, rows = p.split(eq.operands)
    inputs = p.split(p.body.inputs)
    fixed = [b.simple(atom) for atom in constants]
    words = [label_of(p.body, v).name for v in inputs[2]]
    arrays = [
        b.simple(atom, f"{word}s" if word else "") for atom, word in zip(rows, words, strict=True)
    ]
    names = _start(b, p.body, p.constants, [*map(b.whole, carry)], eq.results[: p.carries])
    stacks = []
    for v, y in zip(eq.results[p.carries :], p.body.outputs[p.carries :], strict=True):
        row = label_of(p.body, y).name if isinstance(y, Var) else ""
        word = b.label(v).name
        stacks.append(b.writer.new(f"{row}s" if row and word in ("", row) else word or "rows"))
        b.writer.assign(stacks[-1], allocation("np.empty", v.type))
    k = b.writer.new("k")
    with _loop(b, k, f"range({p.length})", reverse=p.reverse):
        own = [_row(b, x, k, word) for x, word in zip(arrays, words, strict=True)]
        outputs = b.writer.write(p.body, [*fixed, *map(name, names), *own], plain=names)
        for stack, value in zip(stacks, outputs[p.carries :], strict=True):
            b.writer.assign(f"{stack}[{k}]", value)
        _next(b, names, outputs[: p.carries])
    for v, word in zip(eq.results, [*names, *stacks], strict=True):
        b.define(v, name(word))


def _loop(b: Body, word: str, steps: str, *, reverse: bool) -> AbstractContextManager[None]:
    return b.writer.block(f"for {word} in {f'reversed({steps})' if reverse else steps}:")


def _row(b: Body, x: ast.expr, k: str, wanted: str) -> ast.expr:
    """Assign a row of an array that the loop walks along, if the body has a name for it."""
    stack = x.id if isinstance(x, ast.Name) else ""
    single = stack[:-1] if stack.endswith("s") and len(stack) > 1 else "row"
    word = b.writer.new(wanted or single)
    b.writer.assign(word, item(x, [name(k)]))
    return name(word)


def _while(b: Body, eq: Equation) -> None:
    p = eq.params_as(While)
    constants, carries = p.split(eq.operands)
    fixed = [b.simple(atom) for atom in constants]
    steps = b.writer.new("steps") if len(p.sweeps) > 1 else ""
    if steps:
        b.writer.line(f"{steps} = []")
    results: list[str] = []
    count = 0  # of values that a step has by now
    for k, sweep in enumerate(p.sweeps):
        first = [b.whole(atom) for atom in carries[k]]
        names = _start(b, sweep, p.constants, first, eq.results[len(results) :][: p.carries[k]])
        results += names
        operands = [*fixed, *map(name, names)]
        row = b.writer.new("step") if k else ""
        head = _loop(b, row, steps, reverse=p.reverse[k]) if k else _while_loop(b, p.test, operands)
        with head:
            values = [b.writer.new("value") for _ in range(count)] if k else []
            if values:
                b.writer.line(f"{text_of(items([*map(name, values)]))} = {row}")
            outputs = b.writer.write(sweep, [*operands, *map(name, values)], plain=names)
            rows = ", ".join(map(text_of, outputs[p.carries[k] :]))
            if k == 0 and steps:
                b.writer.line(f"{steps}.append([{rows}])")
            elif rows:
                b.writer.line(f"{row} += [{rows}]")
            _next(b, names, outputs[: p.carries[k]])
            count += len(outputs) - p.carries[k]
    for v, word in zip(eq.results, results, strict=True):
        b.define(v, name(word))


def _while_loop(
    b: Body, test: Program, operands: Sequence[ast.expr]
) -> AbstractContextManager[None]:
    """Return a loop; a test of several statements comes first in its body."""
    with b.writer.apart() as lines, b.writer.indent():
        (goes_on,) = b.writer.write(test, operands)
        if lines:
            with b.writer.block(f"if {text_of(build('not x', x=goes_on))}:"):
                b.writer.line("break")
    return b.writer.block("while True:" if lines else f"while {text_of(goes_on)}:", lines)


# ---- functions of the user's that have no text ---------------------------------------------------

One: TypeAlias = Callable[[list[ast.expr]], ast.expr]
"""From the operands of one example to a call."""


def _examples(b: Body, eq: Equation, batches: Batches, one: One) -> None:
    """Assign the results of a call, or, if there are batch axes, of one call for every example."""
    operands = [b.simple(atom) for atom in eq.operands]
    count = len(eq.results)
    b.assign(eq, _stack_examples(b, batches, operands, count, one) if batches else one(operands))


def _stack_examples(
    b: Body, batches: Sequence[Batch], operands: Sequence[ast.expr], count: int, one: One
) -> ast.expr:
    """Write a loop over the examples; return what stacks their results."""
    (size, flags), *inner = batches
    if not size:
        raise ProgramError("a batch of no examples, of a function that has no text, is not written")
    rows, k = b.writer.new("rows"), b.writer.new("k")
    b.writer.line(f"{rows} = []")
    with b.writer.block(f"for {k} in range({size}):"):
        own = [item(x, [name(k)]) if on else x for x, on in zip(operands, flags, strict=True)]
        value = _stack_examples(b, inner, own, count, one) if inner else one(own)
        b.writer.line(f"{rows}.append({text_of(value)})")
    formula = "np.stack(rows)" if count == 1 else "map(np.stack, zip(*rows))"
    return build(formula, rows=name(rows))


def _bridge(b: Body, eq: Equation) -> None:
    word = eq.params_as(Bridged).name
    types = ", ".join(str(atom.type) for atom in eq.operands)
    results = ", ".join(str(v.type) for v in eq.results)
    meaning = f"({types}) -> ({results}), the function of another library, or a derivative of it"
    function = b.writer.module.need(word, word, meaning)
    b.assign(eq, call(function, *(b.simple(atom) for atom in eq.operands)))


def _opaque(b: Body, eq: Equation) -> None:
    p = eq.params_as(Opaque)
    if p.batches and entered[p.name].batch is not None:
        raise ProgramError(
            f"{p.name} cannot be written as NumPy code: it has a function of its own for batches "
            "(fd.primitive(..., batch=...)). Write the program of one example, and call it in a "
            "loop."
        )
    types = ", ".join(str(atom.type) for atom in eq.operands)
    results = ", ".join(map(str, p.results))
    meaning = f"({types}) -> ({results}), the function declared with fd.primitive"
    function = b.writer.module.need(p.name, p.name, meaning)
    _examples(b, eq, p.batches, lambda xs: call(function, *xs))


def _tangent_of_known(b: Body, eq: Equation) -> None:
    """Call the rules of a call that was made, as a function of its number and tangents."""
    p = eq.params_as(KnownTangent)
    types = ", ".join(str(atom.type) for atom in eq.operands)
    results = ", ".join(str(y.type) for y in eq.results)
    word = f"{p.name}_{'cotangent' if p.transposed else 'tangent'}"
    function = b.writer.module.need(word, word, f"({types}) -> ({results}), by the rules of a call")
    _examples(b, eq, (), lambda xs: call(function, *xs))


def _solver(b: Body, eq: Equation) -> None:
    """Call a solver of the user's with a function and where to start, or the right-hand side."""
    p = eq.params
    assert isinstance(p, Root | LinearSolve)
    first = first_unknown(p)
    equation = b.writer.module.function(p.program, f"{p.name}_equation")
    meaning = "(function, x) -> x, the solver"
    if p.unknowns > 1:
        meaning = f"(function, xs) -> xs, the solver, where xs is a tuple of {p.unknowns}"
    if p.aux:
        meaning += f"; it returns (x, aux), with {len(p.aux)} results in aux"
    solver = b.writer.module.need(p.solver, str(p.solver), meaning)
    plain = p.unknowns == 1

    def one(xs: list[ast.expr]) -> ast.expr:
        word = b.writer.new("unknown" if plain else "unknowns")
        unknown: ast.expr = name(word) if plain else ast.Starred(name(word), ast.Load())
        function = build(f"lambda {word}: y", y=call(equation, *xs[:first], unknown))
        found = call(solver, function, xs[first] if plain else items(xs[first:]))
        if not p.aux:
            return found
        b.writer.module.helpers.add(_UNPACKED)
        return call("_unpacked", found)

    _examples(b, eq, p.batches, one)


def _fails(b: Body, eq: Equation) -> None:
    """Try what may raise."""
    if b.writer.module.dialect.translate is not None:
        raise UnwritableError("there, linear algebra need not raise what NumPy raises")
    p = eq.params_as(Fails)
    if p.keeps:
        raise UnwritableError("what is kept of an attempt is of a program that runs")
    tried = b.writer.module.function(p.program, "tried")
    b.writer.module.helpers.add(_OUTCOME)
    errors = constant(p.errors)
    _examples(b, eq, p.batches, lambda xs: call("_outcome", name(tried), errors, *xs))


def _integral(b: Body, eq: Equation) -> None:
    """Call a routine of SciPy's with the integrand, its ends and break points."""
    p = eq.params_as(Integral)
    integrand = b.writer.module.function(p.program, "integrand")
    options = ", ".join(f"{key}={value!r}" for key, value in p.options)
    meaning = f"(f, a, b, points) -> (*integrals, error), scipy.integrate.{p.routine}({options})"
    routine = b.writer.module.need((p.routine, p.options), p.routine, meaning)

    def one(xs: list[ast.expr]) -> ast.expr:
        x = b.writer.new("x")
        function = build(f"lambda {x}: y", y=call(integrand, *xs[: p.first_end], name(x)))
        first, last, *points = xs[p.first_end :]
        return call(routine, function, first, last, items(points))

    _examples(b, eq, p.batches, one)


def _replay(b: Body, eq: Equation) -> None:
    """Call a solver, or the derivative of its steps."""
    p = eq.params_as(Replay)
    kinds = "".join(f"_{kind}" for kind, *_ in p.steps)
    meaning = "(*operands) -> results, the solver"
    if kinds:
        meaning = (
            f"(*operands) -> results, by the derivative of its steps:{kinds.replace('_', ' ')}"
        )
    key = p.maker, p.steps, p.results
    function = b.writer.module.need(key, f"{p.maker}{kinds}", meaning)
    _examples(b, eq, p.batches, lambda xs: call(function, *xs))


def from_outside(meaning: Callable[[Any], str]) -> Callable[[Body, Equation], None]:
    """Return how to write an operation that needs what a text cannot hold, such as a generator.

    Its function has the name `routine` of the parameters, by default that of the primitive.
    """

    def write(b: Body, eq: Equation) -> None:
        wanted = getattr(eq.params, "routine", eq.operation.primitive.name)
        function = b.writer.module.need(eq.params, wanted, meaning(eq.params))
        b.assign(eq, call(function, *(b.simple(atom) for atom in eq.operands)))

    return write


_OUTCOME: Final = '''\
def _outcome(function, errors, *xs):
    """Return 0, or the number of the exception that a function raises, also at these errors."""
    try:
        with np.errstate(**dict({"all": "ignore"}, **dict.fromkeys(errors, "raise"))):
            function(*xs)
    except np.linalg.LinAlgError:
        return np.int8(1)
    except ValueError:
        return np.int8(2)
    except FloatingPointError:
        return np.int8(3)
    return np.int8(0)
'''

_UNPACKED: Final = '''\
def _unpacked(found):
    """Return a solution and what comes with it as one tuple."""
    x, aux = found
    parts = [part if isinstance(part, tuple) else (part,) for part in (x, aux)]
    return (*parts[0], *parts[1])
'''


# ---- guards --------------------------------------------------------------------------------------


def _guard(b: Body, eq: Equation) -> None:
    p = eq.params_as(Guard)
    decides = eq.operands[0]
    x = b.whole(decides) if b.uses(decides) == 1 else b.simple(decides)
    if decides.type.dtype == BOOL:
        fails = build("not x", x=x) if p.outcome else x
    else:
        fails = build("x != k", x=x, k=constant(p.outcome))
    with b.writer.block(f"if {text_of(fails)}:"):
        b.writer.line('raise ValueError("the arguments go another way")')
    if b.is_used(eq.results[0]):
        b.assign(eq, b.whole(decides))


def _need(b: Body, eq: Equation) -> None:
    for x in map(b.whole, eq.operands):
        if not isinstance(x, ast.Name):
            b.writer.line(text_of(x))
    if b.is_used(eq.results[0]):
        b.assign(eq, build("True"))


def _places(b: Body, eq: Equation) -> None:
    p, mask = eq.params_as(Count), b.whole(eq.operands[0])
    if not p.leading and len(eq.results) == 1:
        b.assign(eq, build("np.flatnonzero(mask)", mask=mask))
        return
    places = build("np.nonzero(mask)", mask=mask)
    if p.leading:
        shape = eq.results[0].type.shape
        reshaped = "[x.reshape(shape) for x in places[leading:]]"
        places = build(reshaped, places=places, shape=constant(shape), leading=constant(p.leading))
    b.assign(eq, places)


STATEMENTS: Final[dict[str, Writing]] = {
    "guard": _guard,
    "needed": _need,
    "places": _places,
    "custom": _call_of_body(lambda p: p.body, lambda p: p.name),
    "custom_tangent": _call_of_body(
        lambda p: tangent_program(p.backward, p), lambda p: f"{p.name}_tangent"
    ),
    "checkpoint": _call_of_body(lambda p: p.body, lambda _p: "recomputed"),
    "cond": _cond,
    "scan": _scan,
    "while_loop": _while,
    "opaque": _opaque,
    "bridged": _bridge,
    "custom_known_tangent": _tangent_of_known,
    "root": _solver,
    "integral": _integral,
    "replay": _replay,
    "fails": _fails,
    "linear_solve": _solver,
}
"""How equations that hold programs, or functions of the user's, are written; others add theirs."""
