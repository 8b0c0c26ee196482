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
    airy,
    integrals,
    jacobi,
    kelvin,
    mathieu,
    normal,
    parabolic,
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
several("airy", airy.airy_ai, airy.airy_ai_slope, airy.airy_bi, airy.airy_bi_slope)
several("airye", airy.airye_ai, airy.airye_ai_slope, airy.airye_bi, airy.airye_bi_slope)
several("ellipj", jacobi.jacobi_sn, jacobi.jacobi_cn, jacobi.jacobi_dn, jacobi.jacobi_amplitude)
several("iti0k0", kelvin.iti0, kelvin.itk0)
several("itj0y0", kelvin.itj0, kelvin.ity0)
several("it2i0k0", kelvin.it2i0, kelvin.it2k0)
several("it2j0y0", kelvin.it2j0, kelvin.it2y0)
several(
    "itairy",
    kelvin.itairy_ai,
    kelvin.itairy_bi,
    kelvin.itairy_turned_ai,
    kelvin.itairy_turned_bi,
)
several("pbdv", parabolic.pbdv_value, parabolic.pbdv_slope)
several("pbvv", parabolic.pbvv_value, parabolic.pbvv_slope)
several("pbwa", parabolic.pbwa_value, parabolic.pbwa_slope)
several("modfresnelp", *map(_of_complex, (voigt.modfresnelp_integral, voigt.modfresnelp_scaled)))
several("modfresnelm", *map(_of_complex, (voigt.modfresnelm_integral, voigt.modfresnelm_scaled)))
for _name in ("cem", "sem", "modcem1", "modcem2", "modsem1", "modsem2"):
    _parts = (getattr(mathieu, f"mathieu_{_name}_{part}") for part in ("value", "slope"))
    several(f"mathieu_{_name}", *_parts)
for _name, _pair in spheroidal.waves.items():
    several(_name, *_pair)
