"""Ufuncs of ``scipy.special`` with several results: an operation computes each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.core.dependencies import scipy_function
from funcdiff.core.types import ArrayType
from funcdiff.numpy.border.promotion import Traced, broadcast_shapes, dtype_of, fit, shape_of
from funcdiff.numpy.messages.foreign import handlers
from funcdiff.numpy.ufuncs import calls
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.primitives.special import (
    cylinder,
    elliptic,
    integrals,
    mathieu,
    normal,
    spheroidal,
    voigt,
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
        dtypes: tuple[np.dtype[Any], ...] = calls.resolve(ufunc, tuple(map(dtype_of, operands)))
        shape = broadcast_shapes(*map(shape_of, operands))
        xs = [fit(x, ArrayType(shape, d)) for x, d in zip(operands, dtypes, strict=True)]
        return tuple(op(*xs) for op in ops)

    handlers[name] = ours


several("fresnel", normal.fresnel_sine, normal.fresnel_cosine)
several("sici", integrals.sine_integral, integrals.cosine_integral)
several("shichi", integrals.hyperbolic_sine_integral, integrals.hyperbolic_cosine_integral)
several("airy", cylinder.airy_ai, cylinder.airy_ai_slope, cylinder.airy_bi, cylinder.airy_bi_slope)
several(
    "airye", cylinder.airye_ai, cylinder.airye_ai_slope, cylinder.airye_bi, cylinder.airye_bi_slope
)
several(
    "ellipj", elliptic.jacobi_sn, elliptic.jacobi_cn, elliptic.jacobi_dn, elliptic.jacobi_amplitude
)
several("iti0k0", cylinder.iti0, cylinder.itk0)
several("itj0y0", cylinder.itj0, cylinder.ity0)
several("it2i0k0", cylinder.it2i0, cylinder.it2k0)
several("it2j0y0", cylinder.it2j0, cylinder.it2y0)
several(
    "itairy",
    cylinder.itairy_ai,
    cylinder.itairy_bi,
    cylinder.itairy_turned_ai,
    cylinder.itairy_turned_bi,
)
several("pbdv", cylinder.pbdv_value, cylinder.pbdv_slope)
several("pbvv", cylinder.pbvv_value, cylinder.pbvv_slope)
several("pbwa", cylinder.pbwa_value, cylinder.pbwa_slope)
several("modfresnelp", *map(_of_complex, (voigt.modfresnelp_integral, voigt.modfresnelp_scaled)))
several("modfresnelm", *map(_of_complex, (voigt.modfresnelm_integral, voigt.modfresnelm_scaled)))
for _name in ("cem", "sem", "modcem1", "modcem2", "modsem1", "modsem2"):
    _parts = (getattr(mathieu, f"mathieu_{_name}_{part}") for part in ("value", "slope"))
    several(f"mathieu_{_name}", *_parts)
for _name, _pair in spheroidal.waves.items():
    several(_name, *_pair)
