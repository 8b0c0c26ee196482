"""The programs of sparse Jacobians: their entries only, in the order of a pattern that is found.

The pattern holds at every point, given the index arrays, masks and zeros of matrices among the
inputs.  It is read off the linear program, and so are the entries themselves where it says what
becomes of single elements; elsewhere columns, or rows, that share no row are computed together as
one vector, and the entries are read off its image (see `funcdiff.passes.sparsity`).  Vectors go as
one batch if they fit into memory, else as many at a time as do.  Where nearly everything depends on
everything, the entries are those of the Jacobian as an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.derivatives.dense import Dense, is_forward, jacobian_program, starts
from funcdiff.api.derivatives.programs import pullback, refuse_choices, split_results
from funcdiff.api.signatures.variables import Mode
from funcdiff.core.atoms import Var
from funcdiff.core.origins import Place
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.recording.entries import Recording, program_of
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.running.dataflow import last_uses
from funcdiff.core.running.decisions import argument_value, decided
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline, rearrange
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.ops.axes.reductions import reduce_all
from funcdiff.ops.control.loops import scan
from funcdiff.ops.control.sweeps import Scan
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.structure.structural import convert, permute, reshape
from funcdiff.passes.simplify import simplify, simplify_linear
from funcdiff.passes.sparsity.assembly import (
    FullPattern,
    Pattern,
    block_entries,
    numbers_of,
    pattern_of,
)
from funcdiff.passes.sparsity.coloring import Coloring, cheapest, pull_rows, push_columns
from funcdiff.passes.sparsity.images import Images, UnknownImageError, unit_parts
from funcdiff.passes.sparsity.junctions import MOST_PAIRS, DensePatternError, Junctions
from funcdiff.passes.sparsity.known import Array, evaluate_known
from funcdiff.passes.sparsity.parts import Entries, distinct, hold, join_vectors, take
from funcdiff.space import mul, reduce_sum
from funcdiff.transforms.linearize import Linearized
from funcdiff.transforms.transpose import transpose
from funcdiff.transforms.vmap import vmap

BUDGET: Final = 1 << 28
"""Bytes that all vectors of a batch may take on their way."""
_PER_ENTRY: Final = 32
"""Bytes that they may take for each entry that they tell, if those are more."""


def fits(program: Program, vectors: int, entries: int) -> bool:
    """Whether vectors may go through a program as one batch, to find so many entries."""
    return _bytes_on_the_way(program) * vectors <= max(BUDGET, _PER_ENTRY * entries)


def entries_of_vectors(
    split: Linearized,
    linear: Program,
    blocks: Sequence[Pattern],
    whole: Pattern,
    coloring: Coloring,
    residuals: Sequence[Tracer],
) -> list[Tracer]:
    """Return the entries of the blocks, output by output, each in the order of its pattern.

    `whole` is the pattern of all blocks together, which has the coloring; `residuals` are the
    further inputs of the linear program.
    """
    count = len(linear.input_types) - len(residuals)
    xs, ys = linear.input_types[:count], linear.output_types
    pushes, pulls = coloring.pushes, coloring.pulls
    images: list[Tracer] = []
    if pushes:
        images = _images(linear, _units(coloring.columns, pushes, xs), residuals, last=False)
    rows = images
    if pulls:
        pulled = pullback(split, count, (True,) * len(ys))
        rows = _images(pulled, _units(coloring.rows, pulls, ys), residuals, last=True)
    tops, lefts = starts(ys), starts(xs)
    found = []
    for n, block in enumerate(blocks):
        k, j = divmod(n, count)
        row, column = block.rows + tops[k], block.columns + lefts[j]
        keys = row * whole.shape[1] + column
        mirrored = coloring.mirrored[np.searchsorted(whole.keys, keys)]
        direct = coloring.columns[column] * ys[k].size + block.rows
        across = coloring.rows[row] * xs[j].size + block.columns
        if not len(keys):
            found.append(constant(0, ArrayType((0,), ys[k].dtype)))
            continue
        if not mirrored.any():
            entries = take(images[k], direct)
        elif mirrored.all():
            entries = take(rows[j], across)
        elif rows is images and k == j:
            entries = take(images[k], np.where(mirrored, across, direct))
        else:
            both = join_vectors([_flat(images[k], ys[k].dtype), _flat(rows[j], ys[k].dtype)])
            entries = take(both, np.where(mirrored, across + images[k].type.size, direct))
        assert entries is not None
        found.append(convert(entries, ys[k].dtype))
    return found


def _flat(x: Tracer, dtype: np.dtype[Any]) -> Tracer:
    return convert(reshape(x, (x.type.size,)), dtype)


def _units(colors: Array, count: int, types: Sequence[ArrayType]) -> list[Array]:
    """Return one vector for each colour, which is 1 where an element has it, by array."""
    units = []
    for (start, stop), t in zip(pairwise(starts(types)), types, strict=True):
        own = colors[start:stop]
        places = np.flatnonzero(own >= 0)
        unit = np.zeros((count, t.size), t.dtype)
        unit[own[places], places] = 1
        units.append(unit.reshape(count, *t.shape))
    return units


def _images(
    program: Program, units: Sequence[Array], residuals: Sequence[Tracer], *, last: bool
) -> list[Tracer]:
    """Return the images of vectors, stacked, by result; `last` says that vectors come last.

    They may be followed by zeros.
    """
    size = len(units[0]) if units else 0
    most = max(1, BUDGET // max(1, _bytes_on_the_way(program)))
    length = max(1, -(-size // most))
    chunk = -(-size // length)
    flags = ((False,) * len(residuals), (True,) * len(units))
    stacked, _ = vmap(
        program, chunk, sum(flags if last else flags[::-1], ()), (True,) * len(program.outputs)
    )
    if length == 1:
        vectors = list(map(hold, units))
        return inline(stacked, [*residuals, *vectors] if last else [*vectors, *residuals])
    with Builder("jacobian", SHARED) as builder:
        given = [builder.input(x.type) for x in residuals]
        rows = [builder.input(ArrayType((chunk, *x.shape[1:]), x.dtype)) for x in units]
        operands = [*given, *rows] if last else [*rows, *given]
        body = builder.program(inline(stacked, operands))
    chunks = []
    for x in units:
        whole = np.zeros((length * chunk, *x.shape[1:]), x.dtype)
        whole[:size] = x
        chunks.append(hold(whole.reshape(length, chunk, *x.shape[1:])))
    return list(scan(Scan(body, len(given), 0, length, reverse=False), [*residuals, *chunks]))


def _bytes_on_the_way(program: Program) -> int:
    """Return the most bytes that results of a program take together while it runs."""
    last = last_uses(program)
    live = most = 0
    for index, eq in enumerate(program.equations):
        live += sum(v.type.nbytes for v in eq.results)
        most = max(most, live)
        atoms = {*eq.results, *(a for a in eq.operands if isinstance(a, Var))}
        atoms.difference_update(program.inputs)
        live -= sum(v.type.nbytes for v in atoms if last[v.number] == index)
    return most


class Given:
    """What is known of the inputs of a recording, compared by contents."""

    def __init__(self, operands: Sequence[Any], count: int) -> None:
        captures = [_constant(x) for x in operands[count:]]
        # By input: arrays of integers and booleans, and the zeros of floating matrices; None for
        # others.
        self.values = [*(None for _ in operands[:count]), *captures]
        self._key = tuple([x if x is None else (x.shape, x.dtype, x.tobytes()) for x in captures])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _constant(x: Any) -> Any:
    """Return what may be relied on of a value that is not differentiated."""
    if isinstance(x, Tracer):
        return _argument(x) if x.ndim and x.dtype.kind in "biu" else None
    if not isinstance(x, np.ndarray | np.generic):
        return None
    array = np.asarray(x)
    if array.dtype.kind in "biu":
        return array.copy()
    return array != 0 if array.ndim > 1 and not array.all() else None


def _argument(x: Tracer) -> Array | None:
    """Return the value of an argument of a function that is compiled, by which it decides.

    Arrays are told apart by a number first, which leads to the way of the array; then all of it is
    compared.
    """
    value = argument_value(x)
    if value is None or decided(x, _number) is None:
        return None
    every = tuple(range(x.ndim))
    return value if decided(x, lambda x: reduce_all(equal(x, hold(value)), every)) else None


def _number(x: Tracer) -> Tracer:
    """Return a number that hardly any other array of the size has."""
    factors = np.random.default_rng(0).integers(1, 1 << 31, x.type.size)
    flat = convert(reshape(x, (x.type.size,)), INT)
    return reduce_sum(mul(flat, hold(factors)), (0,))


_FEW: Final = 1 << 18
"""Entries that are always computed one by one; more if they are less than four full matrices."""


class Plan(NamedTuple):
    """How the entries of a Jacobian are computed."""

    program: Program  # from inputs and constants to the entries of each block, then results
    constants: list[Any]  # arrays of indices and numbers
    # Of each block, output by output; of columns first if they are asked for column by column.
    patterns: list[Pattern]
    colors: int  # how many vectors are pushed or pulled; 0 if every entry is computed outright


class _Derivative(NamedTuple):
    """A derivative as a linear program, and what is known of its residuals."""

    program: Program
    split: Linearized
    linear: Program
    known: list[tuple[Any, Any]]
    xs: Sequence[ArrayType]
    ys: Sequence[ArrayType]

    def images(self, residuals: Sequence[Tracer] | None) -> Images:
        """Return the inputs, to be followed; with coefficients if residuals are given."""
        sizes = [sum(t.size for t in ts) for ts in (self.ys, self.xs)]
        if residuals is None:
            images = Images(Junctions(sizes[1]))
        else:
            images = Images(None, min(MOST_PAIRS, max(_FEW, 4 * sizes[0] * sizes[1])))
        inputs = self.linear.inputs
        units = unit_parts(self.xs, with_data=residuals is not None)
        images.parts.update(zip(inputs, units, strict=False))
        rest = inputs[len(self.xs) :]
        if residuals is not None:
            images.others.update(zip(rest, residuals, strict=True))
        for variable, (value, nonzero) in zip(rest, self.known, strict=True):
            if value is not None:
                images.known.values[variable] = value
            elif nonzero is not None:
                images.known.nonzero[variable] = nonzero
        return images


@memoised
def _derivative(recording: Recording, count: int, results: int, given: Given) -> _Derivative:
    program = simplify(program_of(*recording))
    for forward in (True, False):
        program = refuse_choices(program, count, results, forward=forward)
    xs, ys = program.input_types[:count], program.output_types[:results]
    split = split_results(program, count, results, complete=True)
    flags = (True,) * count + (False,) * split.residuals
    linear = simplify_linear(split.linear, flags)
    known = evaluate_known(split.primal, given.values)[len(program.outputs) :]
    return _Derivative(program, split, linear, known, xs, ys)


@memoised
def plan_by_entries(
    recording: Recording, count: int, results: int, given: Given, *, by_columns: bool, pattern: Any
) -> Plan | None:
    """Plan the Jacobian of the first `results` outputs by `count` inputs, entry by entry.

    `pattern` is that of the only block, or None to find it.  There is no plan if entries cannot be
    followed with their coefficients, or are too many.  They are followed from the inputs, or from
    the outputs if that is less work: elements of few inputs may lie between many and few outputs.
    """
    try:
        derivative = _derivative(recording, count, results, given)
        plan = _plan_by_entries(derivative, by_columns=by_columns, pattern=pattern)
    except UnknownImageError:
        return None
    dtypes = {t.dtype for t in (*derivative.xs, *derivative.ys)}
    is_real = len(dtypes) == 1 and dtypes.pop().kind == "f"
    if is_real and _work(plan) > _DEAR * sum(place.nnz for place in plan.patterns):
        with suppress(UnknownImageError):
            other = _plan_by_entries(
                derivative, by_columns=by_columns, pattern=pattern, backwards=True
            )
            if _work(other) < _work(plan) and other.patterns == plan.patterns:
                return other
    return plan


@memoised
def product_plan(
    recording: Recording,
    count: int,
    results: int,
    given: Given,
    *,
    by_columns: bool,
    pattern: Any,
    mode: Mode,
    symmetric: bool = False,
) -> Plan:
    """Plan the Jacobian of the first `results` outputs by `count` inputs by products with it.

    `pattern` is that of the only block, or None to find it; `mode` says whether columns are pushed
    or rows pulled, None what takes fewer vectors; `symmetric` that the Jacobian is a Hessian.
    """
    derivative = _derivative(recording, count, results, given)
    patterns = [pattern]
    if pattern is None:
        patterns = jacobian_patterns(recording, count, results, given).blocks
    xs, ys = derivative.xs, derivative.ys
    if any(t.dtype.kind == "c" for t in (*xs, *ys)):
        mode = "forward"
    entries = sum(place.nnz for place in patterns)
    if 2 * entries <= sum(prod(place.shape) for place in patterns):
        coloring = cheapest(_whole(patterns, xs, ys), mode, symmetric=symmetric)
        return _plan_compressed(derivative, patterns, coloring, by_columns=by_columns)
    forward = is_forward(xs, ys, mode)
    size = sum(t.size for t in (xs if forward else ys))
    if fits(derivative.linear, size, entries):
        dense = jacobian_program(recording, count, results, mode, wants_value=True)
        return _read(derivative, dense, patterns, by_columns=by_columns)
    one_by_one = (push_columns if forward else pull_rows)(_whole(patterns, xs, ys), np.arange(size))
    return _plan_compressed(derivative, patterns, one_by_one, by_columns=by_columns)


class Patterns(NamedTuple):
    """The patterns of the blocks, output by output."""

    blocks: list[Pattern]
    certain: bool  # whether every element was followed; else places may be always zero


@memoised
def jacobian_patterns(recording: Recording, count: int, results: int, given: Given) -> Patterns:
    """Return the patterns of the Jacobian of the first `results` outputs by `count` inputs."""
    return _patterns(_derivative(recording, count, results, given))


def elements_met(recording: Recording, operands: Sequence[Any], count: int) -> int:
    """Return on how many elements of an input an element of the first output depends, at most.

    Where single elements cannot be followed, at these values; 1 if there are none.
    """
    known = [None if isinstance(x, Tracer) else x for x in operands]
    derivative = _derivative(recording, count, 1, Given(known, count))
    blocks, certain = _patterns(derivative)
    most = max([1, *(int(np.bincount(b.rows).max()) for b in blocks if b.nnz)])
    if certain or most == 1:
        return most
    return 2 if not any(x is None for x in known) and _mixes(derivative, known) else 1


def _mixes(derivative: _Derivative, operands: Sequence[Any]) -> bool:
    """Whether elements of the first output are no multiples of elements of an input, but sums."""
    rest = executable(derivative.split.primal)(*operands)[len(derivative.program.outputs) :]
    push = executable(derivative.linear)
    rng = np.random.default_rng(0)
    for k, x in enumerate(derivative.xs):
        sizes = np.sort(rng.uniform(0.5, 1.5, x.size))
        zero = [np.zeros(t.shape, t.dtype)[()] for t in derivative.xs]

        def image(v: Any, k: int = k, x: ArrayType = x, zero: list[Any] = zero) -> Any:
            given = [*zero[:k], v.reshape(x.shape).astype(x.dtype)[()], *zero[k + 1 :]]
            return quiet(push, *given, *rest)[0]

        total, weighted = image(np.ones(x.size)), image(sizes)
        ratio = np.ravel(np.abs(weighted)[total != 0] / np.abs(total)[total != 0])
        after = np.searchsorted(sizes, ratio)
        near = [np.abs(ratio - sizes.take(after - k, mode="clip")) for k in (0, 1)]
        if np.any(np.minimum(*near) > 1e4 * np.finfo(x.dtype).eps):
            return True
    return False


def mixing_place(recording: Recording, count: int, results: int, given: Given) -> Place | None:
    """Return the first line of which an element depends on more than half of an input.

    None if there is none, or no lines were noted when the recording was made.
    """
    derivative = _derivative(recording, count, results, given)
    linear, origins = derivative.linear, derivative.linear.origins
    images = derivative.images(None)
    assert images.junctions is not None
    with suppress(DensePatternError):
        images.run(linear)
    sizes = [x.size for x in derivative.xs]
    for eq in linear.equations:
        if origins is None or not any(atom in images.parts for atom in eq.operands):
            continue
        for v in eq.results:
            parts = images.parts.get(v)
            widest = sizes if parts is None else images.junctions.widest(parts, sizes)
            if any(2 * most > size > 1 for most, size in zip(widest, sizes, strict=True)):
                return origins[v.number].place
    return None


# ---- entries that are followed -------------------------------------------------------------------


_DEAR: Final = 24
"""Numbers computed for an entry from which on it is tried to follow them backwards."""


def _work(plan: Plan) -> int:
    """Return how many numbers a plan computes."""
    return sum(v.type.size for eq in plan.program.equations for v in eq.results)


def _turn(derivative: _Derivative) -> _Derivative:
    """Return the linear program of the transposed matrix in place of that of a derivative."""
    split, xs, ys = derivative.split, derivative.xs, derivative.ys
    pulled = transpose(split.linear, (True,) * len(xs) + (False,) * split.residuals)
    places = range(len(pulled.inputs))
    order = [*places[split.residuals :], *places[: split.residuals]]
    turned = rearrange(pulled, order, range(len(xs)))
    flags = (True,) * len(ys) + (False,) * split.residuals
    return derivative._replace(linear=simplify_linear(turned, flags), xs=ys, ys=xs)


def _blocks(derivative: _Derivative, residuals: Sequence[Tracer]) -> list[list[list[Entries]]]:
    """Return the entries of each block, output by output."""
    sizes = [x.size for x in derivative.xs]
    found = derivative.images(residuals).run(derivative.linear)
    return [block_entries(parts, sizes) for parts in found]


def _blocks_backwards(
    derivative: _Derivative, residuals: Sequence[Tracer]
) -> list[list[list[Entries]]]:
    """Return the same, followed from the outputs."""
    turned = _blocks(_turn(derivative), residuals)
    return [[[*map(_transpose, block)] for block in blocks] for blocks in zip(*turned, strict=True)]


def _plan_by_entries(
    derivative: _Derivative, *, by_columns: bool, pattern: Any, backwards: bool = False
) -> Plan:
    """Compute every entry outright."""
    program, split = derivative.program, derivative.split
    sizes = [x.size for x in derivative.xs]
    patterns, numbers = [], []
    with Builder("jacobian", SHARED) as builder:
        operands = [builder.input(t) for t in program.input_types]
        values = inline(split.primal, operands)
        follow = _blocks_backwards if backwards else _blocks
        found = follow(derivative, values[len(program.outputs) :])
        for y, blocks in zip(derivative.ys, found, strict=True):
            for block, n in zip(blocks, sizes, strict=True):
                turned = [_transpose(part) for part in block] if by_columns else block
                shape = (n, y.size) if by_columns else (y.size, n)
                place = pattern_of(turned, shape)
                if pattern is not None:  # if it lacks places, entries cannot be followed
                    given = pattern.transposed if by_columns else pattern
                    if len(np.setdiff1d(place.keys, given.keys)):
                        raise UnknownImageError
                    place = given
                patterns.append(place)
                numbers.append(numbers_of(turned, place, y.dtype))
        outputs = [*numbers, *values[: len(program.outputs)]]
        made = simplify(builder.program(outputs))
        return Plan(made, builder.captures, patterns, 0)


def _transpose(part: Entries) -> Entries:
    return Entries(part.columns, part.rows, part.data)


# ---- matrices that are nearly full ---------------------------------------------------------------


def _read(
    derivative: _Derivative, dense: Dense, patterns: list[Pattern], *, by_columns: bool
) -> Plan:
    """Read the entries from a Jacobian that is computed as arrays."""
    dtypes = [y.dtype for y in derivative.ys for _ in derivative.xs]
    with Builder("jacobian", SHARED) as builder:
        operands = [builder.input(t) for t in derivative.program.input_types]
        values = inline(dense.program, [*operands, *map(hold, dense.constants)])
        blocks, outputs = values[: len(dtypes)], values[len(dtypes) :]
        numbers = []
        for block, place, dtype in zip(blocks, patterns, dtypes, strict=True):
            flat = convert(reshape(block, place.shape), dtype)
            if by_columns:
                flat, place = permute(flat, (1, 0)), place.transposed
            flat = reshape(flat, (block.type.size,))
            numbers.append(flat if place.nnz == flat.type.size else _take(flat, place.keys))
        made = simplify(builder.program([*numbers, *outputs]))
        turned = [place.transposed for place in patterns] if by_columns else patterns
        return Plan(made, builder.captures, turned, max(1, *(max(p.shape) for p in patterns)))


# ---- vectors that are pushed or pulled -----------------------------------------------------------


def _plan_compressed(
    derivative: _Derivative, patterns: list[Pattern], coloring: Coloring, *, by_columns: bool
) -> Plan:
    """Compute columns that share no row together, or rows that share no column."""
    xs, ys, split = derivative.xs, derivative.ys, derivative.split
    whole = _whole(patterns, xs, ys)
    with Builder("jacobian", SHARED) as builder:
        operands = [builder.input(t) for t in derivative.program.input_types]
        values = inline(split.primal, operands)
        results = values[: len(derivative.program.outputs)]
        numbers = entries_of_vectors(
            split, derivative.linear, patterns, whole, coloring, values[len(results) :]
        )
        if by_columns:
            orders = [np.lexsort((place.rows, place.columns)) for place in patterns]
            numbers = list(map(_take, numbers, orders))
            patterns = [place.transposed for place in patterns]
        made = simplify(builder.program([*numbers, *results]))
        return Plan(made, builder.captures, patterns, coloring.products)


def _take(numbers: Tracer, places: Array) -> Tracer:
    found = take(numbers, places)
    assert found is not None
    return found


def _patterns(derivative: _Derivative) -> Patterns:
    sizes = [x.size for x in derivative.xs]
    images = derivative.images(None)
    assert images.junctions is not None
    try:
        found = images.run(derivative.linear)
        blocks = [
            pattern
            for y, parts in zip(derivative.ys, found, strict=True)
            for pattern in images.junctions.patterns(parts, y.size, sizes)
        ]
    except DensePatternError:
        blocks = [FullPattern(y.size, n) for y in derivative.ys for n in sizes]
        return Patterns(blocks, certain=False)
    return Patterns(blocks, images.certain)


def _whole(
    patterns: Sequence[Pattern], xs: Sequence[ArrayType], ys: Sequence[ArrayType]
) -> Pattern:
    """Return the pattern of all blocks beside and below each other."""
    if len(patterns) == 1:
        return patterns[0]
    rows, columns = (list(accumulate((t.size for t in ts), initial=0)) for ts in (ys, xs))
    places = [divmod(n, len(xs)) for n in range(len(patterns))]
    pairs = list(zip(patterns, places, strict=True))
    found = distinct(
        np.concatenate([p.rows + rows[k] for p, (k, _) in pairs]),
        np.concatenate([p.columns + columns[j] for p, (_, j) in pairs]),
    )
    return Pattern(*found, (rows[-1], columns[-1]))
