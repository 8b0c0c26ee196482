"""Marks functions of a norm that are smooth at 0, to be differentiated through its square.

A radius is what has a kink, or a vertical tangent, where its square has none: a norm, |x|, √x.
What elementwise operations make of it is followed by value and slope at 0, as far as these are
known.  Where a slope vanishes, or may, as in ``(1 + r)·exp(-r)``, the result is marked as `radial`:
the value stays, and the derivatives are those by the square.

Slopes that vanish at single values of a parameter count: ``(r - a)²`` is smooth where a = 0.  To
take what is computed for other than 0 would halve the code of many Hessians, and be wrong there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.access import Labels
from funcdiff.core.atoms import Entry, Literal
from funcdiff.core.policy import CLOSED, SHARED
from funcdiff.core.primitive import NONE, Operation, Params, Primitive
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.evaluate import evaluate
from funcdiff.core.running.walk import inline, made_by, maker, operands_of
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.numpy.border.promotion import SPECIAL_NUMBERS
from funcdiff.ops.elementwise import mathematics as ops
from funcdiff.ops.elementwise.complex import conj_p, join_p
from funcdiff.ops.linalg.divided_differences import partial
from funcdiff.ops.linalg.radial_functions import Radial, known, radial, radial_p
from funcdiff.ops.structure.structural import convert_p, permute, select_p
from funcdiff.passes.rewrites.norms import SQUARES, bare, is_sum_of_squares, number, same_as
from funcdiff.passes.rewrites.rewriter import Rewriter, is_same
from funcdiff.space import add_p, broadcast, broadcast_p, mul_p, neg_p, reduce_sum, splat

# ---- Computes first-order jets, value and slope at 0, of functions of a radius -------------------
#
# A value is a number only if it is one in every recording: other numbers of the user's become
# inputs or literals, by the way the function is called, and what is known of it must not depend on
# that.


def is_analytic(head: Operation) -> bool:
    """Whether an elementwise operation is no choice, and no part or conjugate of its operand."""
    real = head.results[0].dtype.kind != "c"
    followed = head.primitive.pointwise and head.primitive not in (conj_p, join_p, select_p)
    return followed and not (real and any(t.dtype.kind == "c" for t in head.operands))


class Unknown(Enum):
    """A slope without a known number: of one term, or a sum, which may vanish."""

    TERM = "term"
    SUM = "sum"


class Jet(NamedTuple):
    """What is known of a function of a radius at 0: its value, or None, and its slope.

    `length` is how many equations there are on the longest way from the radius.  What is no
    function of the radius is no `variable`.
    """

    value: float | complex | None
    slope: Any
    length: int = 0
    variable: bool = True


def _times(factor: Any, slope: Any) -> Any:
    if factor == 0 or slope == 0:
        return 0.0
    if isinstance(slope, Unknown):
        return slope
    return Unknown.TERM if factor is None else factor * slope


def _total(slopes: Sequence[Any]) -> Any:
    terms = [s for s in slopes if s != 0]
    if len(terms) < 2:
        return terms[0] if terms else 0.0
    return Unknown.SUM if any(isinstance(s, Unknown) for s in terms) else sum(terms)


def _product(x: Any, y: Any) -> Any:
    if x == 0 or y == 0:
        return 0.0
    return None if x is None or y is None else x * y


def _sum(x: Any, y: Any) -> Any:
    return None if x is None or y is None else x + y


def _add(x: Jet, y: Jet) -> Jet:
    return Jet(_sum(x.value, y.value), _total([x.slope, y.slope]))


def _negate(x: Jet) -> Jet:
    return Jet(_product(-1.0, x.value), _times(-1.0, x.slope))


def _multiply(x: Jet, y: Jet) -> Jet:
    slope = _total([_times(y.value, x.slope), _times(x.value, y.slope)])
    return Jet(_product(x.value, y.value), slope)


def _divide(x: Jet, y: Jet) -> Jet | None:
    if y.value == 0:
        return None
    inverse = None if y.value is None else 1 / y.value
    turned = _times(_product(inverse, inverse), _times(-1.0, y.slope))
    return _multiply(x, Jet(inverse, turned))


_ARITHMETIC: Final[dict[Primitive[Any], Callable[..., Jet | None]]] = {
    add_p: _add,
    mul_p: _multiply,
    neg_p: _negate,
    ops.sub.primitive: lambda x, y: _add(x, _negate(y)),
    ops.div.primitive: _divide,
    convert_p: lambda x: x,
}


def jet_of_result(op: Operation, jets: Sequence[Jet], *, kinked: bool) -> Jet | None:
    """Return the jet of the result of an operation; None if it is not smooth there.

    `kinked` tells whether it has a kink where its value is 0.
    """
    rule = _ARITHMETIC.get(op.primitive)
    if rule is not None:
        return rule(*jets)
    if all(jet.value is not None for jet in jets):
        values, variables = zip(*[(jet.value, jet.variable) for jet in jets], strict=True)
        found = _derivatives(op.primitive, op.operands, values, variables)
        if found is None or (kinked and found[0] == 0):
            return None
        slopes = [_times(d, jet.slope) for d, jet in zip(found[1], jets, strict=True)]
        return Jet(found[0], _total(slopes))
    moving = [jet.slope for jet in jets if jet.slope != 0]
    return Jet(None, Unknown.SUM if moving else 0.0)


@lru_cache(maxsize=4096)
def _derivatives(
    primitive: Primitive[Any],
    types: tuple[ArrayType, ...],
    values: tuple[Any, ...],
    variables: tuple[bool, ...],
) -> tuple[Any, list[Any]] | None:
    """Return value and slopes of an operation, if it and two derivatives are known and finite.

    Only variables have slopes: a power of a negative number has none by its exponent.
    """
    numbers = [t.with_shape(()) for t in types]
    if not all(t.differentiable for t in numbers):
        return None
    with Builder("radius", SHARED) as builder:
        program = builder.program(bind(primitive, NONE, *map(builder.input, numbers)))
        try:
            moving = [k for k, variable in enumerate(variables) if variable]
            first = [partial(program, k) for k in moving]
            second = [partial(f, k) for k, f in zip(moving, first, strict=True)]
        except NotDifferentiableError:
            return None
    xs = [np.asarray(x, t.dtype)[()] for x, t in zip(values, numbers, strict=True)]
    with np.errstate(all="ignore"):
        found = [evaluate(f, xs)[0] for f in (program, *first, *second)]
    if not all(np.isfinite(x) for x in found):
        return None
    value, *slopes = (x.item() for x in found[: len(moving) + 1])
    by_place = dict(zip(moving, slopes, strict=True))
    return value, [by_place.get(k, 0.0) for k in range(len(values))]


def is_flattened(primitive: Primitive[Any], result: Jet, operands: Sequence[Jet | None]) -> bool:
    """Whether the slope of a result vanishes, or may, while those of operands do not, or may not.

    A multiple of what may be flat is so if that is, by the chain rule: it needs no mark of its own.
    """
    slopes = [x.slope for x in operands if x is not None and x.slope != 0]
    if result.slope == 0 or not slopes:
        return bool(slopes)
    multiple = primitive in _ARITHMETIC and slopes == [Unknown.SUM]
    return result.slope is Unknown.SUM and not multiple


def jet_of_constant(x: Tracer, op: Operation) -> Jet:
    """Return the jet of an operand that is no function of the radius, a number or not."""
    value = number(x)
    lasts = value in SPECIAL_NUMBERS or op.primitive is ops.power.primitive
    return Jet(value if lasts else None, 0.0, variable=False)


def is_identity(jet: Jet | None) -> bool:
    """Whether a jet is that of the radius itself."""
    return jet is not None and jet.value == 0 and jet.slope == 1


_LONGEST: Final = 32
"""Equations and parameters that a function of a radius may have, with functions of others in it."""

_TOGETHER: Final = 3
"""Radii in which a result is marked: there is code for each of the 2ᵏ sides of k radii."""

_MOST: Final = 32
"""Functions of radii that are marked in a program: what follows them in a long chain is not."""

Move: TypeAlias = tuple[Primitive[Any], Params]

MAKERS: Final = frozenset((*SQUARES, ops.power.primitive))
"""Operations without which there is no radius in a program."""


def may_have_radii(entries: Iterable[Entry]) -> bool:
    """Whether there may be a radius in what was recorded; integer powers make none."""
    ops = [x for x in entries if x and type(x[0]) is Operation]
    others = [x[0].primitive for x in ops if not _is_integer(x[-1])]
    made = [x[0].primitive for x in ops]
    return not (MAKERS.isdisjoint(others) and SQUARES.keys().isdisjoint(made))


def _is_integer(x: Any) -> bool:
    """Whether an operand is a literal without a fraction or an imaginary part."""
    return isinstance(x, Literal) and x.value.imag == 0 and float(x.value.real).is_integer()


class Radius(NamedTuple):
    """The variable that is a radius, and how its elements have been moved since."""

    atom: int
    is_number: bool  # which is the same wherever it is moved to
    moves: tuple[Move, ...] = ()

    def move(self, *moves: Move) -> Radius:
        """Return it with its elements moved further."""
        return self if self.is_number else self._replace(moves=(*self.moves, *moves))


Jets: TypeAlias = Mapping[Radius, Jet]
_NO_JETS: Final[Jets] = {}


class RadialRewriter(Rewriter):
    """A rewriter for one walk over a program, which keeps track of functions of radii."""

    def __init__(self, *tables: Any) -> None:
        super().__init__(*tables)
        self._jets: dict[Any, Jets] = {}
        self._marked: dict[Any, Tracer] = {}
        self._squares: dict[Any, Tracer] = {}
        self._of_squares: dict[Any, Jet | None] = {}

    def emit(self, primitive: Primitive[Any], params: Params, *xs: Tracer) -> tuple[Tracer, ...]:
        """Record an equation, or what the rules have for it, marked if it is flat in a radius."""
        if isinstance(params, Radial) and not params.order and made_by(xs[0], primitive):
            return (xs[0],)  # marked already, on this walk
        ys = super().emit(primitive, params, *xs)
        if len(ys) != 1 or ys[0].builder is None or not ys[0].type.differentiable:
            return ys
        return (self._note_jets(ys[0]),)

    def jets(self, x: Tracer) -> Jets:
        """Return the radii that a value is a function of."""
        return _NO_JETS if x.builder is None else self._jets.get(x.atom, _NO_JETS)

    def jet(
        self, x: Tracer, radius: Radius, moves: tuple[Move, ...] = (), *, squares: bool = True
    ) -> Jet | None:
        """Return what is known of a value, moved, as a function of a radius.

        With `squares`, also if it is made of the square, even before the radius is.
        """
        jets = self.jets(x)
        if moves:
            jets = {r.move(*moves): jet for r, jet in jets.items()}
        if radius in jets:
            return jets[radius]
        return self._jet_of_square(x, radius, moves, 0) if squares else None

    def _jet_of_square(
        self, x: Tracer, radius: Radius, moves: tuple[Move, ...], depth: int
    ) -> Jet | None:
        """Return what is known of a value that elementwise operations make of the square."""
        square = self._squares[radius.atom]
        if not (isinstance(x.atom, int) and isinstance(square.atom, int)) or depth > _LONGEST:
            return None
        if x.atom < square.atom:  # which was recorded before the square
            return None
        moves = moves if x.shape else ()
        key = x.atom, radius, moves
        if (x.atom, moves) == (square.atom, radius.moves):
            return Jet(0.0, 0.0)
        if key not in self._of_squares:
            found = None
            if (head := maker(x)) is not None:
                xs = operands_of(x, head)
                if head.primitive.facts.elements == "moved":
                    moves = ((head.primitive, head.params), *moves)
                    found = self._jet_of_square(xs[0], radius, moves, depth + 1)
                elif is_analytic(head):
                    known = [self._jet_of_square(y, radius, moves, depth + 1) for y in xs]
                    jets = [
                        jet_of_constant(y, head) if jet is None else jet
                        for y, jet in zip(xs, known, strict=True)
                    ]
                    kinked = head.primitive in SQUARES
                    if any(jet is not None for jet in known):
                        found = jet_of_result(head, jets, kinked=kinked)
            self._of_squares[key] = found
        return self._of_squares[key]

    def _note_jets(self, y: Tracer) -> Tracer:
        if y.atom in self._marked:
            return self._marked[y.atom]
        head = maker(y)
        if head is None or y.atom in self._jets:
            return y
        xs = operands_of(y, head)
        half = _half_power(y)
        if half is not None:
            return self._of_half_power(y, *half)
        sides = head.access.operands
        if head.contracts and sides[0] == sides[1] and is_same(*xs):
            return self._of_product(y, xs[0], sides[0], head.access.results[0])
        plain = bare(y)
        jets = self._jets_of_result(head, xs) if plain is y else dict(self.jets(plain))
        if head.primitive in SQUARES and y.dtype.kind == "f":
            jets = {**jets, _radius(y): Jet(0.0, 1.0)}
            self._squares[y.atom] = SQUARES[head.primitive](self._square, *xs)
        if not jets:
            return y
        self._jets[y.atom] = jets
        result = y
        if is_analytic(head) and len(self._marked) < _MOST:
            flat = [
                radius
                for radius, jet in jets.items()
                if is_flattened(head.primitive, jet, [self.jet(x, radius) for x in xs])
            ]
            for radius in flat if len(flat) <= _TOGETHER else ():
                result = self._mark(result, y, radius)
        if result is not y and head.primitive in SQUARES:  # a norm of norms: smooth in them now
            self._jets[result.atom] = {_radius(y): Jet(0.0, 1.0)}
        return result

    def _jets_of_result(self, head: Operation, xs: Sequence[Tracer]) -> dict[Radius, Jet]:
        """Return the radii that the result of an equation is a function of."""
        if head.primitive.facts.elements == "moved":
            move = (head.primitive, head.params)
            return {
                r.move(move): jet._replace(length=jet.length + 1)
                for r, jet in self.jets(xs[0]).items()
            }
        known = [self.jets(x) for x in xs]
        found: dict[Radius, Jet] = {}
        if not any(known) or not is_analytic(head):
            return found
        kinked = head.primitive in SQUARES
        radii = dict.fromkeys(r for jets in known for r in jets)
        for radius in radii:
            jets = [self.jet(x, radius) or jet_of_constant(x, head) for x in xs]
            length = 1 + max(jet.length for jet in jets)
            if length > _LONGEST and len(radii) > _MOST:
                continue  # no mark reaches as far: a sum of many radii takes linear time
            jet = jet_of_result(head, jets, kinked=kinked)
            if jet is not None:
                found[radius] = jet._replace(length=length)
        return found

    # ---- marks ---------------------------------------------------------------------------------

    def _of_half_power(self, y: Tracer, s: Tracer, n: int) -> Tracer:
        """Return (Σ xᵢ²)ⁿᐟ² as the function rⁿ of the norm."""
        r = self._single(ops.root_of_squares.primitive, NONE, s)
        radius = _radius(r)
        with Builder("radial", CLOSED) as builder:
            number, _ = [builder.input(r.type.with_shape(())) for _ in range(2)]
            power = number if n == 1 else ops.power(number, constant(n, number.type))
            body = builder.program([power])
        marked = radial(Radial(body, 0, kink=True), [y, r, s])
        self._jets[y.atom] = self._jets[marked.atom] = {radius: Jet(0.0, 1.0 if n == 1 else 0.0)}
        self._marked[y.atom] = marked
        return marked

    def _of_product(self, y: Tracer, x: Tracer, labels: Labels, out: Labels) -> Tracer:
        """Return a sum of squares of radii, which is one of their squares."""
        if not any(jet.value == 0 and jet.slope != 0 for jet in self.jets(x).values()):
            return y
        rest = tuple(label for label in labels if label in out)
        summed = tuple(k for k, label in enumerate(labels) if label not in out)
        total = reduce_sum(self._square(x), summed)
        marked = known(y, permute(total, tuple(map(rest.index, out))))
        self._marked[y.atom] = marked
        return marked

    def _square(self, x: Tracer) -> Tracer:
        """Return the square, which of another radius is known to be that of its elements."""
        return self._single(ops.square.primitive, NONE, x)

    def _mark(self, before: Tracer, y: Tracer, radius: Radius) -> Tracer:
        """Return the value, known to be a function of the square of a radius."""
        assert y.builder is not None
        head = y.builder.entries[radius.atom][0]
        r = Builder.handle(y.builder, radius.atom, head.result)
        square = self._squares[radius.atom]
        for squares in (True, False):  # those of a long function may be parameters
            body = _Body(self, radius, r, square, squares=squares)
            copied = body.copy(before, ())
            if copied is not None:
                break
        else:
            return before
        moved = [_move(x, radius.moves) for x in (r, square)]
        if radius.is_number:
            moved = [broadcast(x, y.shape, ()) for x in moved]
        self._jets.setdefault(moved[0].atom, {radius: Jet(0.0, 1.0)})
        operands = [before, *moved]
        p = Radial(body.builder.program([copied]), 0, kink=head.primitive is not ops.sqrt.primitive)
        marked = radial(p, [*operands, *body.parameters])
        self._jets[marked.atom] = self._jets[y.atom]
        self._marked[y.atom] = marked
        return marked


def _radius(x: Tracer) -> Radius:
    assert isinstance(x.atom, int)
    return Radius(x.atom, not x.shape)


def _half_power(y: Tracer) -> tuple[Tracer, int] | None:
    """Return a sum of squares and n, odd, if `y` is its power n/2."""
    found = made_by(y, ops.power.primitive)
    if found is None or y.dtype.kind != "f":
        return None
    base, exponent = found[1][0], number(found[1][1])
    if exponent is None or not exponent > 0 or 2 * exponent % 2 != 1:
        return None
    return (base, int(2 * exponent)) if is_sum_of_squares(base) else None


def _move(x: Tracer, moves: Sequence[Move]) -> Tracer:
    for primitive, params in moves:
        if x.builder is None:
            (type_,) = primitive.abstract(params, x.type)
            x = constant(splat(x), type_)
        else:
            (x,) = bind(primitive, params, x)
    return x


class _Body:
    """Copies the equations between a radius and a function of it to a program of numbers.

    What does not depend on the radius becomes a parameter.  The square of the radius does, and with
    `squares` what is made of that alone.
    """

    def __init__(
        self, rewriter: RadialRewriter, radius: Radius, r: Tracer, square: Tracer, *, squares: bool
    ) -> None:
        self.builder = Builder("radial", SHARED)
        self.parameters: list[Tracer] = []
        self._rewriter = rewriter
        self._radius = radius
        self._r, self._s = [self.builder.input(r.type.with_shape(())) for _ in range(2)]
        self._square = square.atom, radius.moves
        self._squares = squares
        self._copies: dict[Any, Tracer] = {}
        self._nested = 0  # equations of functions of other radii within it

    def copy(self, x: Tracer, moves: tuple[Move, ...], depth: int = 0) -> Tracer | None:
        """Return a value, whose elements are moved afterwards; None if the function is long."""
        if x.builder is None:
            return constant(splat(x), x.type.with_shape(()))
        moves = moves if x.shape else ()
        if _radius(bare(x)).move(*moves) == self._radius:
            return self._r
        key = x.atom, moves
        if key == self._square:
            return self._s
        if key not in self._copies:
            copied = (
                self._copy_equation(x, moves, depth + 1)
                if self._depends(x, moves)
                else self._parameter(x, moves)
            )
            if copied is None or len(self.builder.entries) + self._nested > _LONGEST:
                return None
            self._copies[key] = copied
        return self._copies[key]

    def _parameter(self, x: Tracer, moves: tuple[Move, ...]) -> Tracer:
        """Return a parameter, a single number for what is equal everywhere."""
        x = _move(x, moves)
        found = made_by(x, broadcast_p)
        if found and not found[0].axes:
            x = found[1][0]
        self.parameters.append(x)
        return self.builder.input(x.type.with_shape(()))

    def _copy_equation(self, x: Tracer, moves: tuple[Move, ...], depth: int) -> Tracer | None:
        head = maker(x)
        if head is None or depth > _LONGEST:
            return None
        p, xs = head.params, operands_of(x, head)
        if head.primitive is not radial_p and (same := same_as(x)) is not None:
            return self.copy(same, moves, depth)
        if head.primitive.facts.elements == "moved":
            return self.copy(xs[0], ((head.primitive, head.params), *moves), depth)
        body = None
        if isinstance(p, Radial):
            if not p.order and is_identity(self._jet(xs[1], moves)):
                body, xs = p.body, xs[3:]
            elif self._depends(xs[1], moves) != self._depends(xs[2], moves):
                return None  # one of radius and square would be a parameter, the other not
            elif all(self._jet(y, moves) is None for y in xs[3:]):
                return None
        operands = []
        for y in xs:
            copied = self.copy(y, moves if y.shape == x.shape else (), depth)
            if copied is None:
                return None
            operands.append(copied)
        with self.builder:
            if body is not None:
                return inline(body, [self._r, self._s, *operands])[0]
            self._nested += p.equation_count
            return bind(head.primitive, p, *operands)[0]

    def _depends(self, x: Tracer, moves: tuple[Move, ...]) -> bool:
        """Return whether a value, moved, is a function of the radius."""
        if x.builder is None:
            return False
        return (x.atom, moves) == self._square or self._jet(x, moves) is not None

    def _jet(self, x: Tracer, moves: tuple[Move, ...]) -> Jet | None:
        """Return what is known of a value, moved, as a function of the radius."""
        return self._rewriter.jet(x, self._radius, moves, squares=self._squares)
