"""`check_rules`: everything that the rules of an operation promise, checked at one point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.transformed import FunctionName
from funcdiff.core.access import Cut, Label, Labels, numbers
from funcdiff.core.atoms import Literal
from funcdiff.core.policy import SHARED, Policy
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.evaluate import evaluate
from funcdiff.core.running.progress import Progress
from funcdiff.core.running.walk import inline
from funcdiff.core.text.check import check
from funcdiff.core.text.parse import parse
from funcdiff.core.tracebacks import public
from funcdiff.core.types import ArrayType
from funcdiff.numpy.border.promotion import array, concrete
from funcdiff.passes.simplify import simplify
from funcdiff.testing.quotients import Accuracy, Neighbourhood, mismatch
from funcdiff.testing.subject import direction, disagreement, rounding
from funcdiff.transforms.jvp import Mask, jvp, present
from funcdiff.transforms.linearize import Linearized, linearize
from funcdiff.transforms.transpose import transpose
from funcdiff.transforms.vmap import vmap

# ---- Holds the labels of an operation's axes against what it computes ----------------------------
#
# If results at each place along a label follow from operands at that place, and everywhere in the
# same way, then operands that are everywhere what they are at one place give results that are
# everywhere what they were there; and only then.


def check_labels(eq: Equation, operands: Sequence[Any], values: Sequence[Any]) -> None:
    """Assert what the labels of an equation say, at some operands and their results."""
    access, op = eq.operation.access, eq.operation
    if access.reduces is not None:
        axes = tuple(k for k, x in enumerate(access.operands[0]) if x not in access.results[0])
        expected = access.reduces.reduce(operands[0], axis=axes, dtype=op.results[0].dtype)
        _require(eq, "that is reduced", [expected], values)
    for label, length in access.lengths(op.operands, op.results).items():
        if not any(label in numbers(y) for y in access.results):
            _check_combination(eq, label, length, operands, values)
            continue
        for places in _copies(label, length, access.operands + access.results, eq):
            expected = _all_taken(values, access.results, label, places)
            with np.errstate(all="ignore"):
                found = op.function(*_all_taken(operands, access.operands, label, places))
            _require(eq, label, [found] if op.result_count == 1 else found, expected)


def _check_combination(
    eq: Equation, label: int, length: int, operands: Sequence[Any], values: Sequence[Any]
) -> None:
    """Assert that results of two parts of the operands can be put together."""
    access = eq.operation.access
    if access.combine is not None and length > 1:
        halves = np.split(np.arange(length), [length // 2])
        parts = [_all_taken(operands, access.operands, label, half) for half in halves]
        found = [eq.operation.function(*xs) for xs in parts]
        _require(eq, label, [access.combine(*found)], values)


def _copies(label: int, length: int, sides: Sequence[Labels], eq: Equation) -> Iterator[Any]:
    """Yield which place is copied to each: one for all that are in the same arrays."""
    inside = np.zeros(length, int)
    for k, (labels, atom) in enumerate(zip(sides, (*eq.operands, *eq.results), strict=True)):
        for axis, n in zip(labels, atom.type.shape, strict=True):
            if isinstance(axis, Cut) and axis.label == label:
                inside[axis.start + axis.step * np.arange(n)] += 1 << k
    for order in (1, -1):
        _, first, number = np.unique(inside[::order], return_index=True, return_inverse=True)
        places = np.arange(length)[::order][first[number]][::order]
        if np.any(places != np.arange(length)):
            yield places


def _all_taken(
    arrays: Sequence[Any], sides: Sequence[Labels], label: int, places: Any
) -> list[Any]:
    """Return arrays of what is at some places along a label."""
    found = []
    for x, labels in zip(arrays, sides, strict=True):
        taken = np.asarray(x)
        for k, axis in enumerate(labels):
            chosen = _numbers(axis, label, places, taken.shape[k])
            taken = taken if chosen is None else taken.take(chosen, k)
        found.append(taken[()])
    return found


def _numbers(axis: Label, label: int, places: Any, length: int) -> Any:
    """Return which elements of an axis are those at some places along a label."""
    if axis == label and type(axis) is int:
        return places
    if not isinstance(axis, Cut) or axis.label != label:
        return None
    return (places[axis.start + axis.step * np.arange(length)] - axis.start) // axis.step


def _require(eq: Equation, label: int | str, found: Sequence[Any], expected: Sequence[Any]) -> None:
    for x, y in zip(found, expected, strict=True):
        wrong = disagreement(x, y, rounding([x, y]))
        if wrong:
            raise AssertionError(f"label {label} of {eq.operation.access} in {eq}: {wrong}")


_EVERY_CHOICE_UP_TO: Final = 4
"""Inputs; beyond, the choices are each alone, and all."""

_SPREAD: Final = 0.02
"""How far the examples of a batch are from the given point."""


class _Case(NamedTuple):
    """A program at a point."""

    name: str
    program: Program
    operands: list[Any]

    @property
    def smooth(self) -> list[int]:
        """The inputs that have tangents."""
        return [k for k, t in enumerate(self.program.input_types) if t.differentiable]

    @property
    def output_mask(self) -> Mask:
        """Which outputs have tangents."""
        return tuple(t.differentiable for t in self.program.output_types)

    def directions(self, active: Mask, random: np.random.Generator) -> list[Any]:
        """Return a random tangent for each active input, None for the others."""
        pairs = zip(self.operands, active, strict=True)
        return [direction(x, random) if flag else None for x, flag in pairs]


@public
def check_rules(
    f: Callable[..., Any], *args: Any, order: int = 2, progress: bool | None = None
) -> None:
    """Assert that the rules of the operations that `f` emits are right at a point.

    `f` is traced to a program.  Of this program, and of its forward and reverse derivatives up to
    the given order, it is asserted that

    - the types recorded are those of the arrays that NumPy computes,
    - no operation writes to its operands, and the interpreter keeps every bit,
    - the labels of axes say which elements of a result depend on which of an operand,
    - a product whose elements are said to meet is the sum of their products,
    - the verifier accepts it, and printing and parsing give it back,
    - simplifying keeps every bit,
    - `jvp` equals central differences along a random direction of each argument; for every
      choice of differentiated arguments it is the sum of these, and `linearize` equals `jvp`,
    - ``Re Σ ct·(A·t) = Re Σ (Aᵀ·ct)·t`` and ``(Aᵀ)ᵀ = A`` for the derivative A,
    - `vmap` equals a loop, for every choice of batched arguments.

    Tolerances follow from the dtypes.

    Parameters
    ----------
    f
        Function of traced arrays, of NumPy code or strict operations; it may return a container.
    *args
        Arrays.  Floating and complex ones are differentiated; integer and boolean ones are not,
        but they are batched too.  The point should be away from kinks by a few hundredths
        (float32: tenths), for differences know nothing of them.  A single kink is right at
        ``order=1``, where central differences give the symmetric derivative.
    order
        To how many derivatives everything is repeated; 1 checks `f` itself alone.
    progress
        Whether to say on stderr how many programs were checked, by a bar of tqdm where that is
        installed.  By default lines are written if it takes more than five seconds.

    Raises
    ------
    AssertionError
        If something is not as promised: names what, and prints the numbers and the program.

    References
    ----------
    A. Griewank, A. Walther, "Evaluating Derivatives", SIAM 2008, section 3 (the dot-product
    test of adjoints).

    Examples
    --------
    >>> import numpy as np
    >>> from funcdiff.testing import check_rules
    >>> check_rules(lambda x, y: np.sin(x) * y[::-1], np.array([0.3, 1.2]), np.array([2.0, -0.7]))
    """
    cases = [_trace(f, args, order)]
    said = Progress(f"check_rules of {FunctionName(f)}", wanted=progress, unit="programs")
    with said:
        for remaining in range(order, 0, -1):
            for case in cases:
                said.doing = case.name
                _check(case)
                said.tick()
            if remaining > 1:
                cases = [derivative for case in cases for derivative in _derivatives(case)]


def _trace(f: Callable[..., Any], args: Sequence[Any], order: int) -> _Case:
    operands: list[Any] = [concrete(x) for x in args]
    with Builder(getattr(f, "__name__", "f"), Policy(pending=2 * order)) as builder:
        xs = [builder.input(ArrayType(x.shape, x.dtype), x) for x in operands]
        outputs = [array(leaf) for leaf in pytree.flatten(f(*xs))[0]]
        program = builder.program(outputs)
        return _Case("the program", program, [*operands, *builder.captures])


def _check(case: _Case) -> None:
    random = np.random.default_rng(len(case.operands))
    with _claim("types are those of NumPy, and operands are not written", case):
        outputs = _stepwise(case)
    with _claim("the interpreter keeps every bit", case):
        _require_bits(_run(case.program, case.operands), outputs)
    with _claim("the verifier accepts the program", case):
        check(case.program)
    with _claim("printing and parsing give the program back", case):
        if parse(str(case.program)) != case.program:
            raise AssertionError(f"parsed as\n{parse(str(case.program))}")
    with _claim("simplifying keeps every bit", case):
        _require_bits(_run(simplify(case.program), case.operands), outputs)
    _check_derivatives(case, outputs, random)
    for chosen in _choices(range(len(case.operands))):
        batched = tuple(k in chosen for k in range(len(case.operands)))
        with _claim(f"vmap equals a loop, batched {batched}", case):
            _compare_with_loop(case, batched, random)


@contextmanager
def _claim(claim: str, case: _Case) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        raise AssertionError(
            f"{claim}: not so for {case.name}: {kind}{error}\n{case.program}"
        ) from error


def _choices(places: Sequence[int]) -> list[tuple[int, ...]]:
    count = len(places)
    sizes = [1, count] if count > _EVERY_CHOICE_UP_TO else range(1, count + 1)
    return [chosen for size in sizes for chosen in combinations(places, size)]


def _run(program: Program, operands: Sequence[Any]) -> list[Any]:
    with np.errstate(all="ignore"):
        return evaluate(program, operands)


def _stepwise(case: _Case) -> list[Any]:
    """Run equation by equation, looking at types and at the operands' memory; return outputs."""
    program = case.program
    env = dict(zip(program.inputs, case.operands, strict=True))
    for eq in program.equations:
        operands = [a.array if isinstance(a, Literal) else env[a] for a in eq.operands]
        before = [np.asarray(x).tobytes() for x in operands]
        with np.errstate(all="ignore"):
            values = eq.operation.function(*operands)
        values = [values] if len(eq.results) == 1 else list(values)
        if [np.asarray(x).tobytes() for x in operands] != before:
            raise AssertionError(f"an operand was written by {eq}")
        for variable, value in zip(eq.results, values, strict=True):
            found = ArrayType(np.shape(value), np.asarray(value).dtype)
            if found is not variable.type:
                raise AssertionError(f"NumPy's result has type {found} in {eq}")
        if eq.primitive.facts.pairs is not None:
            _require_close([_sum_of_pairs(eq, operands)], values, rounding(values))
        check_labels(eq, operands, values)
        env.update(zip(eq.results, values, strict=True))
    return [a.array if isinstance(a, Literal) else env[a] for a in program.outputs]


def _sum_of_pairs(eq: Equation, operands: Sequence[Any]) -> Any:
    """Return the result of an operation by the pairs of elements that it says are multiplied."""
    assert eq.primitive.facts.pairs is not None
    places, elements = eq.primitive.facts.pairs(eq.params, eq.operation.operands, operands)
    x, y = (np.ravel(operands[k])[numbers] for k, numbers in elements.items())
    (result,) = eq.results
    total = np.zeros(result.type.size, result.type.dtype)
    np.add.at(total, places, x * y)
    return total.reshape(result.type.shape)


# ---- derivatives -----------------------------------------------------------------------------


def _check_derivatives(case: _Case, outputs: Sequence[Any], random: np.random.Generator) -> None:
    """Hold derivatives for one input against differences, those for several against their sum."""
    count, tolerance = len(outputs), rounding([*case.operands, *outputs])
    near = Neighbourhood(lambda xs: _smooth(_run(case.program, xs)), case.operands)
    directions = case.directions(tuple(t.differentiable for t in case.program.input_types), random)
    alone: dict[int, list[Any]] = {}
    for chosen in _choices(case.smooth):
        ts = [t if k in chosen else None for k, t in enumerate(directions)]
        active = tuple(t is not None for t in ts)
        with _claim(f"jvp equals central differences, differentiated {active}", case):
            pushed, mask = jvp(case.program, active, case.output_mask)
            if mask != case.output_mask:
                raise AssertionError(f"tangents {mask} for outputs {case.program.output_types}")
            results = _run(pushed, [*case.operands, *present(ts)])
            _require_bits(results[:count], outputs)
            tangents = results[count:]
            if len(chosen) == 1:
                alone[chosen[0]] = tangents
                found = mismatch(
                    near,
                    ts,
                    tangents,
                    lambda k: _run(pushed, [*near.jitter(k), *present(ts)])[count:],  # noqa: B023
                    Accuracy(),
                    blur=tolerance * max([1.0, *map(_size, near.ys)]),
                )
                if found is not None:
                    raise AssertionError(f"{found.path}, {found.text}")
            parts = zip(*(alone[k] for k in chosen), strict=True)
            for tangent, terms in zip(tangents, parts, strict=True):
                with np.errstate(all="ignore"):
                    total = sum(terms[1:], terms[0])
                scale = float(np.max(np.abs(terms), initial=1.0, where=np.isfinite(terms)))
                _require_close([tangent], [total], tolerance, scale)
        with _claim(f"linearize equals jvp, differentiated {active}", case):
            split = linearize(case.program, active, case.output_mask)
            primal = _run(split.primal, case.operands)
            _require_bits(primal[:count], outputs)
            pushed_again = _run(split.linear, [*present(ts), *primal[count:]])
            _require_close(pushed_again, tangents, tolerance)
        _check_transpose(case, split, present(ts), primal[count:], tangents, random)


def _check_transpose(
    case: _Case,
    split: Linearized,
    ts: Sequence[Any],
    residuals: Sequence[Any],
    tangents: Sequence[Any],
    random: np.random.Generator,
) -> None:
    """Check <ct, A·t> = <Aᵀ·ct, t>, of all cotangents and of each alone, and (Aᵀ)ᵀ = A."""
    linear = (True,) * len(ts) + (False,) * len(residuals)
    known = (False,) * len(residuals)
    count = len(tangents)
    choices = {(True,) * count, *(tuple(k == j for j in range(count)) for k in range(count))}
    for given in sorted(choices - {()}):
        chosen = [t for t, flag in zip(tangents, given, strict=True) if flag]
        cts = [direction(t, random) for t in chosen]
        with _claim(f"<ct, A·t> = <Aᵀ·ct, t>, cotangents {given}", case):
            turned = transpose(split.linear, linear, given)
            pulled = _run(turned, [*residuals, *cts])
            _require_close(
                [_pair(cts, chosen)],
                [_pair(pulled, ts)],
                rounding([*chosen, *pulled]),
                max(_magnitude(cts, chosen), _magnitude(pulled, ts)),
            )
        with _claim(f"(Aᵀ)ᵀ = A, cotangents {given}", case):
            back = transpose(turned, (*known, *(True for _ in cts)))
            _require_close(_run(back, [*residuals, *ts]), chosen, rounding([*chosen, *pulled]))


def _derivatives(case: _Case) -> list[_Case]:
    """Return the forward and the reverse derivative, as programs of the point and directions."""
    random = np.random.default_rng(7)
    active = tuple(k in case.smooth for k in range(len(case.operands)))
    if not (any(active) and any(jvp(case.program, active)[1])):
        return []
    pushed, _ = jvp(case.program, active)
    ts = present(case.directions(active, random))
    forward = _Case(f"the jvp of {case.name}", pushed, [*case.operands, *ts])
    split = linearize(case.program, active)
    linear = (True,) * sum(active) + (False,) * split.residuals
    turned = transpose(split.linear, linear)
    with Builder("vjp", SHARED) as builder:
        xs = [builder.input(t) for t in case.program.input_types]
        residuals = inline(split.primal, xs)[len(split.mask) :]
        cts = [builder.input(t) for t in split.linear.output_types]
        pulled = builder.program(inline(turned, [*residuals, *cts]))
    seeds = [direction(np.zeros(t.shape, t.dtype), random) for t in split.linear.output_types]
    return [forward, _Case(f"the vjp of {case.name}", pulled, [*case.operands, *seeds])]


# ---- batching --------------------------------------------------------------------------------


def _compare_with_loop(case: _Case, batched: Mask, random: np.random.Generator) -> None:
    sizes = {n for t in case.program.input_types for n in t.shape}
    size = min({2, 3, 4, 5, 6, 7} - sizes, default=8)  # no axis of a result can pass for another
    examples = [
        np.stack([_example(x, k, random) for k in range(size)]) if flag else x
        for x, flag in zip(case.operands, batched, strict=True)
    ]
    every = (True,) * len(case.program.outputs)
    program, _ = vmap(case.program, size, batched, every)
    results = _run(program, examples)
    for k in range(size):
        row = [x[k] if flag else x for x, flag in zip(examples, batched, strict=True)]
        expected = _run(case.program, row)
        _require_close([y[k] for y in results], expected, rounding([*row, *expected]))
    types = tuple(ArrayType(np.shape(y), np.asarray(y).dtype) for y in results)
    if types != program.output_types:
        raise AssertionError(f"types {types} were recorded as {program.output_types}")


def _example(x: Any, k: int, random: np.random.Generator) -> Any:
    """Return the k-th example: nearby numbers; other integers and flags of the same range."""
    x = np.asarray(x)
    if x.dtype.kind in "fc":
        return (x + x.dtype.type(_SPREAD) * direction(x, random)).astype(x.dtype)
    if not x.shape and x.dtype.kind == "b":
        return x ^ bool(k % 2)
    return np.roll(x, k)


# ---- comparisons -----------------------------------------------------------------------------


def _smooth(values: Sequence[Any]) -> list[Any]:
    return [v for v in values if np.asarray(v).dtype.kind in "fc"]


def _size(x: Any) -> float:
    return float(np.abs(x).max(initial=0.0))


def _pair(cts: Any, ts: Any) -> Any:
    return sum(np.sum(ct * t).real for ct, t in zip(cts, ts, strict=True))


def _magnitude(cts: Any, ts: Any) -> Any:
    """Return the sum of the sizes of the terms of a pairing, which its rounding is relative to."""
    return _pair(map(np.abs, cts), map(np.abs, ts))


def _require_bits(left: Sequence[Any], right: Sequence[Any]) -> None:
    for k, (a, b) in enumerate(zip(left, right, strict=True)):
        x, y = np.asarray(a), np.asarray(b)
        if x.dtype != y.dtype or x.shape != y.shape or _bits(x) != _bits(y):
            raise AssertionError(f"output {k}: {disagreement(x, y, 0.0) or (x, y)}")


def _bits(x: Any) -> bytes:
    """Return the memory of an array, all NaNs being alike."""
    plain: bytes = (np.where(np.isnan(x), np.nan, x) if x.dtype.kind in "fc" else x).tobytes()
    return plain


def _require_close(
    left: Sequence[Any], right: Sequence[Any], tolerance: float, scale: float = 1.0
) -> None:
    for k, (a, b) in enumerate(zip(left, right, strict=True)):
        found = disagreement(a, b, tolerance, scale)
        if found:
            raise AssertionError(f"output {k}, {found}")
