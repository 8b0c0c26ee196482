"""Boolean selections ``y[mask]`` of unknown length, which can be stored into the same places.

So ``y[y <= 0] *= 0.2`` and ``y[m] = np.exp(y[m]) + 1`` are a choice between elements, as
``y[m] = 0.0`` is, for examples that differ in the count, and in the body of a loop.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from funcdiff.core.evaluate import is_repeatable
from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.border.values import constant_value
from funcdiff.ops.structure.structural import convert
from funcdiff.pytree.registry import register


class Chosen(NDArrayOperatorsMixin):
    """The elements of an array where a mask is true, known as all elements and the mask.

    Ufuncs of it, of numbers and of what the same mask chooses are again such elements.  Whatever
    needs their number is refused.
    """

    views = None  # no other array shares its memory

    def __init__(self, whole: Tracer, mask: Tracer) -> None:
        self._whole, self._mask = whole, mask

    def whole_for(self, mask: Any) -> Tracer:
        """Return all elements, of which this mask chooses these; raises if it is another one."""
        if not (isinstance(mask, Tracer) and _is_equal(mask, self._mask)):
            self._refuse()
        return self._whole

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        out = keywords.pop("out", None)
        if method != "__call__" or keywords or ufunc.nout != 1 or (out and out[0] is not self):
            self._refuse()
        whole: Any = ufunc(*map(self._operand, inputs))
        if out is None:
            return Chosen(whole, self._mask)
        if not np.can_cast(whole.dtype, self._whole.dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast ufunc {ufunc.__name__!r} output from {whole.dtype!r} to "
                f"{self._whole.dtype!r} with casting rule 'same_kind', at {user_location()}"
            )
        self._whole = convert(whole, self._whole.dtype)
        return self

    def _operand(self, x: Any) -> Any:
        if isinstance(x, Chosen):
            return x.whole_for(self._mask)
        if np.ndim(x) > self._whole.ndim - self._mask.ndim:
            self._refuse()
        return x

    def _refuse(self, *_args: Any, **_keywords: Any) -> NoReturn:
        constant_value(self._mask, "y[mask]")
        raise AssertionError

    __array__ = __array_function__ = __len__ = __iter__ = __bool__ = __float__ = __int__ = _refuse
    __str__ = __format__ = _refuse
    __getitem__ = __setitem__ = __contains__ = __matmul__ = __rmatmul__ = __index__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self) -> str:
        return f"elements of {self._whole!r} where a mask is true, at {user_location()}"


def _is_equal(a: Tracer, b: Tracer) -> bool:
    """Whether two values are of the same operations on the same operands."""
    builder, pending, seen = a.builder, [(a.atom, b.atom)], set[Any]()
    if builder is None or b.builder is not builder:
        return False
    while pending:
        pair = pending.pop()
        if pair[0] == pair[1] or pair in seen:
            continue
        seen.add(pair)
        made = [builder.origin(ref) if isinstance(ref, int) else None for ref in pair]
        if made[0] is None or made[1] is None or made[0][0] is not made[1][0]:
            return False
        op = made[0][0]
        if op.result_count != 1 or not is_repeatable((op,)):
            return False
        pending += zip(made[0][1], made[1][1], strict=True)
    return True


def _never(x: Chosen) -> NoReturn:
    x._refuse()


register(Chosen, _never, lambda _aux, children: children[0])
