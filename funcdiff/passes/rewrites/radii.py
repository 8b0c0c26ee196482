"""Marks functions of a norm that are smooth at 0, to be differentiated through its square.

A radius is what has a kink, or a vertical tangent, where its square has none: a norm, |x|, √x.
What elementwise operations make of it is followed by value and slope at 0, as far as these are
known.  Where a slope vanishes, or may, as in ``(1 + r)·exp(-r)``, the result is marked as `radial`:
the value stays, and the derivatives are those by the square.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from funcdiff.core.access import Labels
from funcdiff.core.builder import Builder, bind, constant
from funcdiff.core.policy import CLOSED, SHARED
from funcdiff.core.primitive import NONE, Operation, Params, Primitive
from funcdiff.core.tracer import Tracer
from funcdiff.core.walk import inline, made_by, maker, operands_of
from funcdiff.ops.elementwise import mathematics as ops
from funcdiff.ops.elementwise.complex import imag, modulus_p, real
from funcdiff.ops.linalg.radial import Radial, known, known_p, radial
from funcdiff.ops.structure.structural import permute
from funcdiff.passes.rewrites.jets import (
    Jet,
    is_analytic,
    is_flattened,
    is_identity,
    jet_of_constant,
    jet_of_result,
    number,
)
from funcdiff.passes.rewrites.kinks import is_sum_of_squares
from funcdiff.passes.rewrites.rewriting import Rewriter, is_same
from funcdiff.space import broadcast_p, reduce_sum, splat

_LONGEST: Final = 32
"""Equations and parameters that a function of a radius may have."""

_MOST: Final = 32
"""Functions of radii that are marked in a program: what follows them in a long chain is not."""

Move: TypeAlias = tuple[Primitive[Any], Params]

_SQUARES: Final[dict[Primitive[Any], Callable[..., Tracer]]] = {
    ops.root_of_squares.primitive: lambda s: s,
    ops.sqrt.primitive: lambda s: s,
    ops.absolute.primitive: lambda x: ops.square(x),
    ops.fabs.primitive: lambda x: ops.square(x),
    ops.hypot.primitive: lambda x, y: ops.add(ops.square(x), ops.square(y)),
    modulus_p: lambda z: ops.add(ops.square(real(z)), ops.square(imag(z))),
}
"""What makes a radius, and the square of it."""

MAKERS: Final = frozenset((*_SQUARES, ops.power.primitive))
"""Operations without which there is no radius in a program."""


class Radius(NamedTuple):
    """The variable that is a radius, and how its elements have been moved since."""

    atom: int
    moves: tuple[Move, ...] = ()


Jets: TypeAlias = Mapping[Radius, Jet]
_NO_JETS: Final[Jets] = {}


class RadialRewriter(Rewriter):
    """A rewriter for one walk over a program, which keeps track of functions of radii."""

    def __init__(self, *tables: Any) -> None:
        super().__init__(*tables)
        self._jets: dict[Any, Jets] = {}
        self._marked: dict[Any, Tracer] = {}

    def emit(self, primitive: Primitive[Any], params: Params, *xs: Tracer) -> tuple[Tracer, ...]:
        """Record an equation, or what the rules have for it, marked if it is flat in a radius."""
        if primitive is known_p or (isinstance(params, Radial) and not params.order):
            head = maker(xs[0])
            if head is not None and head.primitive is primitive:
                return (xs[0],)  # marked already, on this walk
        ys = super().emit(primitive, params, *xs)
        if len(ys) != 1 or ys[0].builder is None or not ys[0].type.differentiable:
            return ys
        return (self._note_jets(ys[0]),)

    def jets(self, x: Tracer) -> Jets:
        """Return the radii that a value is a function of."""
        return _NO_JETS if x.builder is None else self._jets.get(x.atom, _NO_JETS)

    def _note_jets(self, y: Tracer) -> Tracer:
        if y.atom in self._marked:
            return self._marked[y.atom]
        head = maker(y)
        if head is None or y.atom in self._jets:
            return y
        xs = operands_of(y, head)
        half = _half_power(head, xs)
        if half is not None:
            return self._of_half_power(y, xs[0], half)
        sides = head.access.operands
        if head.contracts and sides[0] == sides[1] and is_same(*xs):
            return self._of_product(y, xs[0], sides[0], head.access.results[0])
        jets = self._jets_of_result(head, xs)
        if _is_radius(head):
            jets = {**jets, Radius(_number(y)): Jet(0.0, 1.0)}
        if not jets:
            return y
        self._jets[y.atom] = jets
        result = y
        if is_analytic(head):
            for radius, jet in jets.items():
                operands = [self.jets(x).get(radius) for x in xs]
                if len(self._marked) < _MOST and is_flattened(head.primitive, jet, operands):
                    result = self._mark(result, y, radius)
        return result

    def _jets_of_result(self, head: Operation, xs: Sequence[Tracer]) -> dict[Radius, Jet]:
        """Return the radii that the result of an equation is a function of."""
        if head.primitive.facts.hands_on:
            return dict(self.jets(xs[0]))
        if head.primitive.facts.elements == "moved":
            move = (head.primitive, head.params)
            return {
                Radius(r.atom, (*r.moves, move)): jet._replace(length=jet.length + 1)
                for r, jet in self.jets(xs[0]).items()
            }
        known = [self.jets(x) for x in xs]
        found: dict[Radius, Jet] = {}
        if not any(known) or not is_analytic(head):
            return found
        kinked = head.primitive in _SQUARES
        radii = dict.fromkeys(r for jets in known for r in jets)
        for radius in radii:
            pairs = zip(xs, known, strict=True)
            jets = [
                jets[radius] if radius in jets else jet_of_constant(x, head) for x, jets in pairs
            ]
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
        radius = Radius(_number(r))
        with Builder("radial", CLOSED) as builder:
            number = builder.input(r.type.with_shape(()))
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
        total = reduce_sum(self._single(ops.square.primitive, NONE, x), summed)
        marked = known(y, permute(total, tuple(map(rest.index, out))))
        self._marked[y.atom] = marked
        return marked

    def _mark(self, before: Tracer, y: Tracer, radius: Radius) -> Tracer:
        """Return the value, known to be a function of the square of a radius."""
        assert y.builder is not None
        head = y.builder.entries[radius.atom][0]
        r = Builder.handle(y.builder, radius.atom, head.result)
        body = _Body(self, radius, r)
        copied = body.copy(before, ())
        if copied is None:
            return before
        square = _SQUARES[head.primitive](*operands_of(r, head))
        moved = _move(r, radius.moves)
        self._jets.setdefault(moved.atom, {radius: Jet(0.0, 1.0)})
        operands = [before, moved, _move(square, radius.moves)]
        p = Radial(body.builder.program([copied]), 0, kink=head.primitive is not ops.sqrt.primitive)
        marked = radial(p, [*operands, *body.parameters])
        self._jets[marked.atom] = self._jets[y.atom]
        self._marked[y.atom] = marked
        return marked


def _number(x: Tracer) -> int:
    """Return the number of the variable that a handle is on."""
    assert isinstance(x.atom, int)
    return x.atom


def _is_radius(head: Operation) -> bool:
    if head.primitive is modulus_p:
        return True
    return head.primitive in _SQUARES and all(t.dtype.kind == "f" for t in head.operands)


def _half_power(head: Operation, xs: Sequence[Tracer]) -> int | None:
    """Return n of a power n/2 of a sum of squares, n odd."""
    if head.primitive is not ops.power.primitive or xs[0].dtype.kind != "f":
        return None
    exponent = number(xs[1])
    if exponent is None or not exponent > 0 or 2 * exponent % 2 != 1:
        return None
    return int(2 * exponent) if is_sum_of_squares(xs[0]) else None


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

    What does not depend on the radius becomes a parameter.
    """

    def __init__(self, rewriter: RadialRewriter, radius: Radius, r: Tracer) -> None:
        self.builder = Builder("radial", SHARED)
        self.parameters: list[Tracer] = []
        self._rewriter = rewriter
        self._radius = radius
        self._r = self.builder.input(r.type.with_shape(()))
        self._copies: dict[Any, Tracer] = {}

    def copy(self, x: Tracer, moves: tuple[Move, ...], depth: int = 0) -> Tracer | None:
        """Return a value, whose elements are moved afterwards; None if the function is long."""
        if x.builder is None:
            return constant(splat(x), x.type.with_shape(()))
        if Radius(_number(x), moves) == self._radius:
            return self._r
        key = x.atom, moves
        if key not in self._copies:
            depends = self._jet(x, moves) is not None
            copied = (
                self._copy_equation(x, moves, depth + 1) if depends else self._parameter(x, moves)
            )
            if copied is None or len(self.builder.entries) > _LONGEST:
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
        if head.primitive.facts.elements == "moved":
            return self.copy(xs[0], ((head.primitive, head.params), *moves), depth)
        body = None
        if isinstance(p, Radial):
            if is_identity(self._jet(xs[1], moves)):
                body, xs = p.body, xs[3:]
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
                return inline(body, [self._r, *operands])[0]
            return bind(head.primitive, p, *operands)[0]

    def _jet(self, x: Tracer, moves: tuple[Move, ...]) -> Jet | None:
        """Return what is known of a value, moved, as a function of the radius."""
        for r, jet in self._rewriter.jets(x).items():
            if Radius(r.atom, (*r.moves, *moves)) == self._radius:
                return jet
        return None
