"""Ufuncs of ``scipy.special`` with several results: an operation computes each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.core.types import ArrayType
from funcdiff.numpy.border.promotion import Traced, broadcast_shapes, dtype_of, fit, shape_of
from funcdiff.numpy.messages.foreign import handlers
from funcdiff.numpy.ufuncs import ufunc_calls
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.primitives.special import (
    bessel,
    elliptic,
    integrals,
    mathieu,
    normal,
    spheroidal,
)


def _of_complex(op: Callable[..., Any]) -> Callable[..., Any]:
    """Return a complex result of a real argument."""
    return lambda x: op(convert(x, np.result_type(x.dtype, np.complex64)))


def several(name: str, *ops: Callable[..., Any]) -> None:
    """Let the ufunc of that name give the results of these operations, as a tuple.

    A result that nothing uses is never computed.
    """

    def ours(*operands: Any) -> tuple[Traced, ...]:
        ufunc: Any = scipy_function(name)
        dtypes: tuple[np.dtype[Any], ...] = ufunc_calls.resolve(
            ufunc, tuple(map(dtype_of, operands))
        )
        shape = broadcast_shapes(*map(shape_of, operands))
        xs = [fit(x, ArrayType(shape, d)) for x, d in zip(operands, dtypes, strict=True)]
        return tuple(op(*xs) for op in ops)

    handlers[name] = ours


several("fresnel", normal.fresnel_sine, normal.fresnel_cosine)
several("sici", integrals.sine_integral, integrals.cosine_integral)
several("shichi", integrals.hyperbolic_sine_integral, integrals.hyperbolic_cosine_integral)
several("airy", bessel.airy_ai, bessel.airy_ai_slope, bessel.airy_bi, bessel.airy_bi_slope)
several("airye", bessel.airye_ai, bessel.airye_ai_slope, bessel.airye_bi, bessel.airye_bi_slope)
several(
    "ellipj", elliptic.jacobi_sn, elliptic.jacobi_cn, elliptic.jacobi_dn, elliptic.jacobi_amplitude
)
several("iti0k0", bessel.iti0, bessel.itk0)
several("itj0y0", bessel.itj0, bessel.ity0)
several("it2i0k0", bessel.it2i0, bessel.it2k0)
several("it2j0y0", bessel.it2j0, bessel.it2y0)
several(
    "itairy", bessel.itairy_ai, bessel.itairy_bi, bessel.itairy_turned_ai, bessel.itairy_turned_bi
)
several("pbdv", bessel.pbdv_value, bessel.pbdv_slope)
several("pbvv", bessel.pbvv_value, bessel.pbvv_slope)
several("pbwa", bessel.pbwa_value, bessel.pbwa_slope)
several("modfresnelp", *map(_of_complex, (normal.modfresnelp_integral, normal.modfresnelp_scaled)))
several("modfresnelm", *map(_of_complex, (normal.modfresnelm_integral, normal.modfresnelm_scaled)))
for _name in ("cem", "sem", "modcem1", "modcem2", "modsem1", "modsem2"):
    _parts = (getattr(mathieu, f"mathieu_{_name}_{part}") for part in ("value", "slope"))
    several(f"mathieu_{_name}", *_parts)
for _name, _pair in spheroidal.waves.items():
    several(_name, *_pair)
