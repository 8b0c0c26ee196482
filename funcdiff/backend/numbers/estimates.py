"""Estimates whether a program runs faster unrolled to Python floats than on arrays.

The figures are times in nanoseconds that were measured with NumPy 2 on one machine.  They need not
be right but in their proportions: what a NumPy call costs, and what Python's arithmetic does.
"""

from __future__ import annotations

from math import prod
from typing import Any, Final

from funcdiff.backend.code.formulas import reduction_ufunc
from funcdiff.backend.numbers.scalars import Expression, expression, is_number
from funcdiff.core.atoms import Atom
from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Equation, Program
from funcdiff.ops.products.contract import Contraction, contract_p, lengths
from funcdiff.ops.structure.slicing import add_slice_p, replace_slice_p, slice_p
from funcdiff.ops.structure.structural import concatenate_p, permute_p, reshape_p, reverse_p
from funcdiff.space import broadcast_p

REARRANGING: Final[dict[Primitive[Any], float]] = {
    broadcast_p: 100,
    permute_p: 200,
    reshape_p: 150,
    reverse_p: 400,
    slice_p: 150,
    concatenate_p: 1000,
    add_slice_p: 700,
    replace_slice_p: 700,
}
"""Operations that are only names if arrays are taken apart, and the time that NumPy takes."""

_CALL: Final = 450.0
"""A NumPy function, called with small arrays."""
_NUMBER: Final = 90.0
"""An operator of Python, of NumPy's numbers."""
_OPERATOR: Final = 25.0
"""An operator of Python, of floats."""
_FUNCTION: Final = 55.0
"""A function of `math`."""
_UFUNC: Final = 700.0
"""A NumPy function of a float, made a float again."""
_MOST: Final = 256
"""Terms up to which a sum is written out."""


def is_worth_unrolling(program: Program, *, flat: bool = False) -> bool:
    """Whether a program is quicker as one of floats; `flat`: if it takes and returns them so."""
    unrolled, called = 0.0, 0.0
    for eq in program.equations:
        cost = _time_unrolled(eq)
        if cost is None:
            return False
        unrolled += cost
        called += _time_called(eq)
    if not all(is_number(atom.type.dtype) for atom in (*program.inputs, *program.outputs)):
        return False
    if not any(v.type.shape for eq in program.equations for v in eq.results):
        return not any(v.type.shape for v in program.inputs) or unrolled < called
    taken = sum(_time_of_unpacking(v, flat=flat) for v in program.inputs)
    made = sum(_time_of_packing(atom, flat=flat) for atom in program.outputs)
    return 1.25 * (unrolled + taken + made) < called


def _time_unrolled(eq: Equation) -> float | None:
    """Return the time of an equation of floats; None if it cannot be one."""
    size = eq.results[0].type.size
    if not all(is_number(atom.type.dtype) for atom in (*eq.operands, *eq.results)):
        return None
    if eq.primitive in REARRANGING:
        return _OPERATOR if eq.primitive is add_slice_p else 0.0
    if reduction_ufunc(eq) is not None:
        terms = eq.operands[0].type.size
        return _OPERATOR * terms if terms <= _MOST * max(size, 1) else None
    if eq.primitive is contract_p:
        terms = _terms(eq)
        return 2 * _OPERATOR * terms if terms <= _MOST * max(size, 1) else None
    found = expression(eq)
    return None if found is None else size * _time_of_expression(found)


def _time_of_expression(found: Expression) -> float:
    """Return the time of an expression."""
    if found.called is not None:
        return _UFUNC
    return _FUNCTION if "math." in found.template else _OPERATOR


def _time_called(eq: Equation) -> float:
    """Return the time of an equation of NumPy's arrays."""
    type_ = eq.results[0].type
    if eq.primitive in REARRANGING:
        return REARRANGING[eq.primitive]
    if reduction_ufunc(eq) is not None:
        return 3 * _CALL + eq.operands[0].type.size
    if eq.primitive is contract_p:
        return 2 * _CALL + _terms(eq)
    found = expression(eq)
    if not type_.shape and found is not None and _time_of_expression(found) == _OPERATOR:
        return _NUMBER
    return _CALL + type_.size


def _terms(eq: Equation) -> int:
    """Return how many products a contraction adds up."""
    x, y = (atom.type.shape for atom in eq.operands)
    return prod(lengths(eq.params_as(Contraction), x, y).values())


def _time_of_unpacking(atom: Atom, *, flat: bool) -> float:
    """Return the time of taking an argument apart."""
    if not atom.type.shape:
        return _OPERATOR
    return _OPERATOR * atom.type.size if flat else 150 + _OPERATOR * atom.type.size


def _time_of_packing(atom: Atom, *, flat: bool) -> float:
    """Return the time of making a result."""
    if not atom.type.shape:
        return _OPERATOR if flat else 2 * _OPERATOR
    return _OPERATOR * atom.type.size if flat else 500 + 2 * _OPERATOR * atom.type.size
