"""Names the variables of a derived program after the user's, by comparing their values.

Rewriting and derivatives keep no account of where an equation comes from.  But a variable of the
final program that agrees with a recorded value, at a point in general position near the arguments,
is that value, and one that agrees with its cotangent is that: two different analytic functions
agree only on a set of measure zero (J. Schwartz, "Fast probabilistic algorithms for verification
of polynomial identities", J. ACM 27, 1980).  A mistake would be a wrong comment,
never a wrong number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Literal, Ref, Var
from funcdiff.core.builder import Builder, bind
from funcdiff.core.evaluate import Executable
from funcdiff.core.policy import CLOSED
from funcdiff.core.primitive import Params
from funcdiff.core.program import Equation, Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.scan import Scan
from funcdiff.ops.control.sweeps import While
from funcdiff.ops.control.while_loop import while_p
from funcdiff.ops.user.custom_rules import Tangent
from funcdiff.ops.user.custom_tangent import pushed_forward
from funcdiff.ops.user.linear_solve import linear_solve_p
from funcdiff.ops.user.opaque import opaque_p
from funcdiff.ops.user.root import root_p
from funcdiff.reading.labels import Label, Path
from funcdiff.reading.provenance import LocatedEntries, Notes, Place, Recorded, content
from funcdiff.reading.sampling import UNKNOWN, Values, fingerprint, inputs_of, is_telling
from funcdiff.space import add
from funcdiff.transforms.linearize import linearize
from funcdiff.transforms.transpose import transpose

_FIRST: Final = "first of"
"""Marks what is known of the first example of a batch."""

_LONGEST: Final = 64
"""Characters of a line of the user's that a comment has."""

_DELICATE: Final = frozenset({while_p, opaque_p, root_p, linear_solve_p})
"""Operations that need not end, or work, at a point other than the one that was given."""


def labels_of(notes: Notes, program: Program) -> dict[tuple[Path, int], Label]:
    """Return names and places of the variables of a program.

    Parameters
    ----------
    notes
        Of a trace, whose outermost function the program is of.
    program
        The program, however it was rewritten.
    """
    top = notes.functions[-1]
    values = Values(top, exact=any(eq.primitive in _DELICATE for eq in _equations(program)))
    for recorded in notes.functions:
        values.add(recorded)
    known: dict[Any, Label] = {}
    for recorded in notes.functions[:-1]:
        _enter_values(known, notes, recorded, values)
        _enter_cotangents(known, notes, recorded, values)
    _enter_values(known, notes, top, values)
    labels: dict[tuple[Path, int], Label] = {}
    inputs = [values.of(top.builder, k) for k in inputs_of(top.builder)]
    with np.errstate(all="ignore"):
        _look_through(program, inputs, known, (), labels)
    return labels


# ---- the table -----------------------------------------------------------------------------------


def _enter_values(
    known: dict[Any, Label], notes: Notes, recorded: Recorded, values: Values
) -> None:
    """Enter what a function recorded, with names and lines."""
    entries = recorded.builder.entries
    assert isinstance(entries, LocatedEntries)
    for number, place in enumerate(entries.places):
        value = values.of(recorded.builder, number)
        entry = entries[number]
        if entry and is_telling(value):
            is_input = isinstance(entry[0], ArrayType)
            comment = "" if is_input or place is None else as_comment(place)
            word = notes.name(recorded.builder, number)
            first = id(recorded.builder) in values.of_examples
            _enter(known, value, Label(word, comment), first=first)


def _enter(known: dict[Any, Label], value: Any, label: Label, *, first: bool) -> None:
    """Enter what is known of a value, beside what was known before."""
    for key in _keys(value, first=first) if label != Label() else ():
        before = known.get(key, Label())
        known[key] = Label(before.name or label.name, before.place or label.place)


def _keys(value: Any, *, first: bool) -> list[tuple[Any, ...]]:
    """Return under what a value is entered: its bits, and what agrees with it to rounding.

    `first` is for values of the first example of a batch.
    """
    keys = [content(value), fingerprint(value)]
    return keys + [(_FIRST, *key) for key in keys] if first else keys


def _label_of(known: dict[Any, Label], value: Any, *, first: bool = False) -> Label:
    """Return what is known of a value."""
    if not is_telling(value):
        return Label()
    keys = _keys(value, first=first)[-2:]
    return next((known[key] for key in keys if key in known), Label())


def as_comment(place: Place) -> str:
    """Return a line of the user's as a comment."""
    return f"{place.short}: {_shorten(place.source)}" if place.source else place.short


def _shorten(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 4]} ..."


def _enter_cotangents(
    known: dict[Any, Label], notes: Notes, recorded: Recorded, values: Values
) -> None:
    """Enter the cotangents of what a function with a scalar result recorded."""
    builder = recorded.builder
    results = [y.type for y in recorded.outputs[:1]]
    if not builder.policy.eager or not results or results[0].shape or results[0].dtype.kind != "f":
        return
    arrays = [values.of(builder, number) for number in inputs_of(builder)]
    if any(x is UNKNOWN for x in arrays):
        return
    lines = _first_uses(builder)
    computed = dict(known)
    try:
        found = _cotangents(recorded, arrays)
    except Exception:  # no derivative, or none at this point
        return
    for number, value in found.items():
        place = lines.get(number)
        comment = f"derivative of line {place.line}: {_shorten(place.source)}" if place else ""
        plain = values.of(builder, number)
        word = notes.name(builder, number)
        if not word and is_telling(plain):  # what a function in between calls it
            word = _label_of(known, plain).name
        # d(x * y)/dy is x, which is no derivative for a reader
        if _label_of(computed, value).place:
            word = ""
        if is_telling(value):
            label = Label(f"d_{word}" if word else "", comment.removesuffix(": "))
            _enter(known, value, label, first=id(builder) in values.of_examples)


def _first_uses(builder: Builder) -> dict[int, Place]:
    """Return for each variable the line that uses it first: there the cotangent is complete."""
    entries = builder.entries
    assert isinstance(entries, LocatedEntries)
    lines: dict[int, Place] = {}
    for entry, place in zip(entries, entries.places, strict=True):
        for ref in entry[1:] if entry and not isinstance(entry[0], ArrayType) else ():
            if not isinstance(ref, Literal) and place is not None:
                lines.setdefault(ref, place)
    return lines


def _cotangents(recorded: Recorded, arrays: Sequence[Any]) -> dict[int, Any]:
    """Return the cotangents of all floating variables, from 1 for the result.

    They are those of terms that are added to the variables, at zero.
    """
    outer = recorded.builder
    refs = (outer.ref(recorded.outputs[0]),)
    numbers: list[int] = []
    with Builder("cotangents", CLOSED) as builder:
        handles: list[Tracer] = []
        for number, entry in enumerate(outer.entries):
            if not entry:
                continue
            if isinstance(entry[0], ArrayType):
                ys = [builder.input(entry[0])]
            else:
                op, *operands = entry
                xs = [_handle(ref, handles) for ref in operands]
                ys = list(bind(op.primitive, op.params, *xs))
            for k, y in enumerate(ys):
                if y.type.dtype.kind == "f" and number + k not in numbers:
                    numbers.append(number + k)
                    y = add(y, builder.input(y.type))
                handles.append(y)
        program = builder.program([_handle(refs[0], handles)])
    return _pull_back(program, numbers, outer, arrays)


def _handle(ref: Ref, handles: Sequence[Tracer]) -> Tracer:
    return Builder.handle(None, ref, ref.type) if isinstance(ref, Literal) else handles[ref]


def _pull_back(
    program: Program, numbers: Sequence[int], outer: Builder, arrays: Sequence[Any]
) -> dict[int, Any]:
    given = iter(arrays)
    operands, active = [], []
    for entry in outer.entries:
        if entry and isinstance(entry[0], ArrayType):
            operands.append(next(given))
            active.append(False)
            kinds = [entry[0]]
        else:
            kinds = list(entry[0].results) if entry else []
        for t in kinds:
            if t.dtype.kind == "f":
                operands.append(np.zeros(t.shape, t.dtype)[()])
                active.append(True)
    split = linearize(program, tuple(active), (True,))
    count = sum(active)
    linear = (True,) * count + (False,) * split.residuals
    with np.errstate(all="ignore"):
        results = Executable(split.primal).interpret(*operands)
        one = split.primal.output_types[0].dtype.type(1)
        pulled = Executable(transpose(split.linear, linear)).interpret(*results[1:], one)
    return dict(zip(numbers, pulled, strict=True))


# ---- the final program -----------------------------------------------------------------------


def _look_through(
    program: Program,
    arrays: Sequence[Any],
    known: dict[Any, Label],
    path: Path,
    labels: dict[tuple[Path, int], Label],
) -> None:
    """Evaluate a program, and label what is known; then what leads to it."""
    env = list(arrays)

    def enter(v: Var, value: Any) -> None:
        label = _label_of(known, value)
        if label == Label() and value is not UNKNOWN and np.ndim(value) and len(value):
            label = _label_of(known, value[0], first=True)
        if label != Label():
            labels[path, v.number] = label

    for v, value in zip(program.inputs, env, strict=True):
        enter(v, value)
    for index, eq in enumerate(program.equations):
        operands = [x.array if isinstance(x, Literal) else env[x.number] for x in eq.operands]
        results = _results(eq, operands)
        env.extend(results)
        for v, value in zip(eq.results, results, strict=True):
            enter(v, value)
        if not any(x is UNKNOWN for x in operands):
            for k, nested, inner in _nested(eq, operands):
                _look_through(nested, inner, known, (*path, index, k), labels)
    _hand_places_back(program, path, labels)


def _results(eq: Equation, operands: Sequence[Any]) -> list[Any]:
    nothing = [UNKNOWN for _ in eq.results]
    if any(x is UNKNOWN for x in operands):
        return nothing
    try:
        found = eq.operation.function(*operands)
    except Exception:  # the point is not in the domain
        return nothing
    return [found] if len(eq.results) == 1 else list(found)


def _nested(eq: Equation, xs: list[Any]) -> Iterator[tuple[int, Program, list[Any]]]:
    """Give the programs in an equation, with values that they are run on, the first iteration's."""
    p = eq.params
    if isinstance(p, Cond):
        k = min(max(int(xs[0]), 0), len(p.branches) - 1)
        yield k, p.branches[k], xs[1:]
    elif isinstance(p, Scan):
        constants, carry, rows = p.split(xs)
        if p.length:
            yield 0, p.body, [*constants, *carry, *(x[-1 if p.reverse else 0] for x in rows)]
    elif isinstance(p, While):
        constants, carries = p.split(xs)
        yield 0, p.sweeps[0], [*constants, *carries[0]]
        yield len(p.sweeps), p.test, [*constants, *carries[0]]
    elif isinstance(p, Tangent):
        yield 0, pushed_forward(p.backward, p), xs
    else:
        body = getattr(p, "body", None)
        if isinstance(body, Program) and len(body.inputs) == len(xs):
            yield 0, body, xs


def _hand_places_back(program: Program, path: Path, labels: dict[tuple[Path, int], Label]) -> None:
    """Give what has no place that of what it is computed for first."""
    places: dict[int, str] = {}
    for eq in reversed(program.equations):
        place = ""
        for v in eq.results:
            label = labels.get((path, v.number), Label())
            place = place or label.place or places.get(v.number, "")
        for v in eq.results:
            label = labels.get((path, v.number), Label())
            labels[path, v.number] = Label(label.name, label.place or place)
        for x in eq.operands:
            if isinstance(x, Var) and place:
                places[x.number] = place


def _equations(program: Program) -> Iterator[Equation]:
    """Give the equations of a program and of all programs in it."""
    for eq in program.equations:
        yield eq
        for nested in _programs(eq.params):
            yield from _equations(nested)


def _programs(p: Params) -> Iterator[Program]:
    for field in fields(p):
        value = getattr(p, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Program):
                yield part
