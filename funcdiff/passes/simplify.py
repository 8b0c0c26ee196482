"""Simplifies a program in one forward walk: rewriting, common subexpressions, dead code.

A rewrite is a function of the parameters and operands of an equation that returns what to use
instead, or None; its docstring is the identity.  Those of `algebra` and `rearranging` keep every
bit.  For the linear programs of derivatives there are more: those of `numbers` keep the number, its
`products` but for rounding, those of `masking` the zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress, count
from typing import Any, Final

from funcdiff.core.atoms import Atom
from funcdiff.core.late import late_import
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import live_equations, map_nested, walk
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.user.custom_function import tangent_program
from funcdiff.ops.user.custom_rules import Tangent
from funcdiff.passes.rewrites import (
    algebra,
    cancellation,
    norms,
    numbers,
    radii,
    rearranging,
)
from funcdiff.passes.rewrites.rewriter import Rewriter, Rules
from funcdiff.passes.supports import masking
from funcdiff.passes.supports.nesting import Supported, emit_nested
from funcdiff.passes.supports.propagation import Support
from funcdiff.transforms.jvp import Mask

_bits: Final = (algebra.rules, rearranging.rules)
_numbers: Final = (*_bits, numbers.rules, numbers.signs, numbers.products, cancellation.rules)
_plain: Final = Rewriter(*_bits, norms.rules)
_coefficients: Final = Rewriter(*_bits, numbers.repeated)


@memoised
def simplify(program: Program, values: Mask = ()) -> Program:
    """Return a program with the same outputs, bit for bit.

    It is no longer than the one given, but for views, and for the product with a number that a
    contraction may be.
    Outputs that are not marked in `values` are coefficients of derivatives; by default none are.
    """
    with Builder("simplify", SHARED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        return builder.program(inline_simplified(program, xs, values))


def inline_simplified(
    program: Program, operands: Sequence[Tracer], values: Mask = ()
) -> list[Tracer]:
    """Record the equations of a program, applied to the operands, rewriting on the way.

    What only coefficients need is rewritten more freely (see `funcdiff.passes.rewrites.numbers`).
    """
    rewrite = _rewrite_rule(_primitives_of(program))
    if all(values):
        return walk(program, operands, rewrite)
    exact = live_equations(program, compress(program.outputs, values))
    places = count()

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        if next(places) in exact:
            return rewrite(eq, xs)
        return _coefficients.emit(eq.primitive, map_nested(simplify, eq.params), *xs)

    return walk(program, operands, rule)


def inline_simplified_linear(
    program: Program, operands: Sequence[Tracer], linear: Mask
) -> list[Tracer]:
    """Record the same of a program that is linear in some inputs (see `simplify_linear`)."""
    rewriter = masking.LinearRewriter(*_numbers)
    return _inline_simplified_linear(program, operands, linear, rewriter)


def _inline_simplified_linear(
    program: Program, operands: Sequence[Tracer], linear: Mask, rewriter: masking.LinearRewriter
) -> list[Tracer]:
    depends: set[Atom] = {v for v, flag in zip(program.inputs, linear, strict=True) if flag}
    primitives = _primitives_of(program)
    rewrite = _rewrite_rule(primitives)

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        flags = tuple([atom in depends for atom in eq.operands])
        if True not in flags:
            return rewrite(eq, xs)
        depends.update(eq.results)
        body = _vjp_program(eq)
        if body is not None:
            return _inline_simplified_linear(body, xs, flags, rewriter)
        ys = emit_nested(rewriter.supports, eq, xs, flags, _simplify_supported)
        return rewriter.emit(eq.primitive, eq.params, *xs) if ys is None else ys

    return walk(program, operands, rule)


def _vjp_program(eq: Equation) -> Program | None:
    """Return the program of a tangent that a VJP rule defines, if there is one."""
    if not isinstance(eq.params, Tangent):
        return None
    try:
        return tangent_program(eq.params.backward, eq.params)
    except NotDifferentiableError:  # which the equation raises if it is run
        return None


def _primitives_of(program: Program) -> set[Primitive[Any]]:
    return {eq.operation.primitive for eq in program.equations}


def _rewrite_rule(
    primitives: set[Primitive[Any]],
) -> Callable[[Equation, list[Tracer]], Sequence[Tracer]]:
    """Return the function that records an equation of a program of these primitives, rewritten."""
    spectral = any(primitive.facts.spectral for primitive in primitives)
    tables: tuple[Rules, ...] = (*_bits, norms.rules)
    if spectral:
        tables += (late_import("funcdiff.passes.spectra").rules,)
    if not primitives.isdisjoint(radii.MAKERS):
        emit = radii.RadialRewriter(*tables).emit
    else:
        emit = Rewriter(*tables).emit if spectral else _plain.emit
    return lambda eq, xs: emit(eq.primitive, map_nested(simplify, eq.params), *xs)


@memoised
def simplify_linear(program: Program, linear: Mask) -> Program:
    """Simplify the program of a derivative, which is linear in the inputs that `linear` marks.

    In the result an infinite coefficient never meets a zero that a mask has put in its place.
    """
    with Builder("simplify", SHARED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        return builder.program(inline_simplified_linear(program, xs, linear))


@memoised
def _simplify_supported(program: Program, linear: Mask, given: Mask) -> Supported:
    """Simplify a linear program that other equations hold: see `passes.supports.nesting`."""
    rewriter = masking.LinearRewriter(*_numbers)
    supports = rewriter.supports
    with Builder("simplify", SHARED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        for x, flag in zip(xs, given, strict=True):
            if flag:
                supports.assume(x, builder.input(x.type.with_dtype(BOOL)))
        ys = _inline_simplified_linear(program, xs, linear, rewriter)
        found = [supports.resolve(y) for y in ys]
        known = [
            supports.record(s) if isinstance(s, Support) else constant(s, y.type.with_dtype(BOOL))
            for y, s in zip(ys, found, strict=True)
            if s is not True
        ]
        return Supported(builder.program([*ys, *known]), tuple(s is not True for s in found))
