"""Discrete cosine and sine transforms of types 1 to 4 along one axis, as SciPy scales them.

Every one is ``M = c·D·O·E`` with an orthogonal matrix O, the scale c of a norm, and diagonal
matrices D and E that differ from 1 at an end at most, and that there are not if the transform is
made orthogonal.  O is symmetric for types 1 and 4, and those of types 2 and 3 are transposes of one
another: so the transpose of a transform, ``c·E·Oᵀ·D``, is one of the same family between two
rescalings of ends.

References
----------
G. Strang, "The Discrete Cosine Transform", SIAM Review 41 (1999), 135-147; S. A. Martucci,
"Symmetric Convolution and the Discrete Sine and Cosine Transforms", IEEE Transactions on Signal
Processing 42 (1994), 1038-1051.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from funcdiff.core.access import along
from funcdiff.core.late import scipy_function
from funcdiff.core.primitive import Params, Tangents, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import linear
from funcdiff.ops.structure.structural import concatenate
from funcdiff.space import broadcast, mul

_DUAL: Final = {1: 1, 2: 3, 3: 2, 4: 4}
_DOUBLE: Final = {("dct", 1): (2, 2), ("dct", 2): (2, 1), ("dst", 2): (1, 2)}
"""Squares of the ends of D; those of E are the reciprocals of the transpose's."""


class Cosine(Params):
    """A transform by its function, `dct` or `dst`, its type, axis and norm.

    Attributes
    ----------
    orthogonal
        Whether it is orthogonal up to a factor.
    """

    function: str
    type: int
    axis: int
    norm: str
    orthogonal: bool


def _abstract(p: Cosine, x: ArrayType) -> Types:
    least = 2 if (p.function, p.type) == ("dct", 1) else 1
    fits = 0 <= p.axis < x.ndim and x.shape[p.axis] >= least
    if not (fits and x.dtype.kind == "f" and p.type in _DUAL):
        raise TypeError(f"there is no {p.function} of type {p.type} along axis {p.axis} of {x}")
    return (x,)


def _transform(x: Any, *, name: str, kind: int, axis: int, norm: str, orthogonal: bool) -> Any:
    compute = scipy_function(name, "scipy.fft")
    return compute(x, kind, axis=axis, norm=norm, orthogonalize=orthogonal)


def _weigh(x: Tracer, axis: int, first: float, last: float) -> Tracer:
    """Multiply the ends of an axis."""
    length = x.shape[axis]
    if length == 1 or first == last == 1:
        return x if first * last == 1 else mul(x, constant(first * last, x.type))
    parts = [
        constant(value, ArrayType((count,), x.dtype))
        for value, count in ((first, 1), (1, length - 2), (last, 1))
    ]
    return mul(x, broadcast(concatenate(parts, 0), x.shape, (axis,)))


def _transpose(p: Cosine, _types: Types, cts: Sequence[Any], _xs: Tangents) -> list[Tracer]:
    dual = replace(p, type=_DUAL[p.type])
    if p.orthogonal:
        return [transform(cts[0], dual)]
    before, behind = (_DOUBLE.get((q.function, q.type), (1, 1)) for q in (p, dual))
    y = transform(_weigh(cts[0], p.axis, *before), dual)
    return [_weigh(y, p.axis, 1 / behind[0], 1 / behind[1])]


cosine_p: Final = linear(
    "cosine_transform",
    Cosine,
    abstract=_abstract,
    impl=lambda p: partial(
        _transform, name=p.function, kind=p.type, axis=p.axis, norm=p.norm, orthogonal=p.orthogonal
    ),
    transpose=_transpose,
    access=along,
)


def transform(x: Tracer, p: Cosine) -> Tracer:
    """Return a discrete cosine or sine transform of a real array."""
    return bind(cosine_p, p, x)[0]
