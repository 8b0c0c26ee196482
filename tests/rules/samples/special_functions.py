"""Samples of Bessel and Airy functions, integrals, hypergeometric and distribution functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.core.types import real_dtype
from funcdiff.numpy.messages.foreign import handlers
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.primitives.special import (
    bessel,
    elliptic,
    family,
    goodness,
    integrals,
    mathieu,
    noncentral,
    normal,
    spheroidal,
)
from funcdiff.scipy.primitives.special import distribution_functions as distributions
from funcdiff.scipy.primitives.special import orthogonal_polynomials as polynomials
from tests.rules.sample import Sample, complex_, integers, real, sample


def _positive(*shape: int, start: int = 1) -> Any:
    return real(*shape, low=0.4, high=2.7, start=start)


def _away(*shape: int) -> Any:
    """Return complex numbers off both axes, where exp(-|Re z|) and exp(-|Im z|) have kinks."""
    return _positive(*shape) - 1j * _positive(*shape, start=4)


def _float32(x: Any) -> Any:
    return np.asarray(x).astype(np.complex64 if np.iscomplexobj(x) else np.float32)[()]


def _of(op: Callable[..., Any], *points: Any) -> list[Sample]:
    """Return samples of a function of one argument; second derivatives are checked at the first."""
    others = [*points[1:], _float32(points[0].flat[0])]
    return [sample(op, points[0]), *(sample(op, x, order=1) for x in others)]


def _of_orders(op: Callable[..., Any], *points: Any) -> list[Sample]:
    """Return samples at the orders 1/2, 1, 3/2, ..., which have no tangents."""

    def f(n: Any, x: Any) -> Any:
        twice: Any = convert(n, real_dtype(x.dtype))
        return op(twice / 2, x)

    return _at_orders(f, *points)


def _at_orders(f: Callable[..., Any], *points: Any) -> list[Sample]:
    others = [*points[1:], _float32(points[0].flat[:1])]
    return [
        sample(f, integers(*points[0].shape, high=5), points[0]),
        *(sample(f, integers(*x.shape, high=5), x, order=1) for x in others),
    ]


def _with(op: Callable[..., Any], *parameters: float) -> Callable[..., Any]:
    """Return a function of the last argument; the parameters before it are constants."""

    def f(x: Any) -> Any:
        type_ = x.type.with_dtype(real_dtype(x.dtype))
        return op(*(constant(p, type_) for p in parameters), x)

    return f


def _of_real(op: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a real number, for an operation on complex ones."""
    return lambda x: op(convert(x, np.dtype(np.complex128)))


def _of_second(op: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of all arguments but the first, which is 3."""
    return lambda *xs: op(constant(3, xs[0].type), *xs)


def _of_orders_1_and_2(op: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: op(*(constant(k, xs[0].type) for k in (1, 2)), *xs)


def _spheroidal(name: str) -> tuple[float, ...]:
    """Return orders, parameter and, where it is one, the characteristic value."""
    level = 4.287128543955807 if name.startswith("pro") else -0.5052439808809177
    return (0, 1, 2.0, level) if name.endswith("cv") else (0, 1, 2.0)


def _places(name: str) -> Any:
    """Return places at which SciPy's values are right."""
    return real(3, low=0.1, high=0.8) if "ang" in name else real(3, low=2.5, high=4)


def _trusted(op: Callable[..., Any], *parameters: float) -> Callable[..., Any]:
    """Return the identity, by a factor of 1."""
    return lambda x: x * _with(op, *parameters)(x)


def _scaled(op: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the first and the last argument."""
    return lambda a, x: op(a, constant(1.7, a.type), x)


def _counting(op: Callable[..., Any], trials: int | None) -> Callable[..., Any]:
    """Return a function of counts and a probability; SciPy takes some counts as floats."""

    def f(k: Any, p: Any) -> Any:
        if trials is None:
            return op(k, constant(3, k.type), p)
        return op(convert(k, p.dtype), constant(trials, k.type), p)

    return f


def _probabilities(*shape: int) -> Any:
    return real(*shape, low=0.15, high=0.85)


def _parameters(*shape: int) -> Any:
    return real(*shape, low=-1.6, high=0.9)


def _small(*shape: int) -> Any:
    return real(*shape, low=-0.02, high=0.03)


SAMPLES: dict[str, list[Sample]] = {
    "decay": [sample(normal.decay, real(4)), sample(normal.decay, complex_(3))],
    "exponential_ratio": [
        sample(normal.exponential_ratio, _positive(4)),
        sample(normal.exponential_ratio, complex_(3)),
    ],
    **{
        name: _of(getattr(bessel, name), real(3))
        for name in ("j0", "j1", "i0", "i1", "i0e", "i1e")
    },
    **{
        name: _of(getattr(bessel, name), _positive(3))
        for name in ("y0", "y1", "k0", "k1", "k0e", "k1e")
    },
    **{
        name: _of_orders(getattr(bessel, name), _positive(3), _away(2))
        for name in ("jv", "yv", "iv", "kv", "jve", "yve", "ive", "kve")
    },
    **{
        name: _of_orders(getattr(bessel, name), _away(3))
        for name in ("hankel1", "hankel2", "hankel1e", "hankel2e")
    },
    "whole_part": _of_orders(lambda n, x: family.whole_part(n) * x, _positive(3)),
    "yn": [sample(bessel.yn, integers(3), _positive(3))],
    "kn": [sample(bessel.kn, integers(3), _positive(3))],
    **{
        name + kind: _at_orders(getattr(bessel, name + kind), _positive(3), _away(2))
        for name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn")
        for kind in ("", "_slope")
    },
    "sph_legendre_p": _at_orders(
        lambda n, theta: polynomials.sph_legendre_p(n + 1, 1 - n, theta), _positive(3)
    ),
    **{
        name: _of(getattr(bessel, name), real(3), complex_(2))
        for name in ("airy_ai", "airy_ai_slope", "airy_bi", "airy_bi_slope")
    },
    **{
        name: _of(getattr(bessel, name), _positive(3), _away(2))
        for name in ("airye_ai", "airye_ai_slope", "airye_bi", "airye_bi_slope")
    },
    **{
        name: _of(getattr(integrals, name), _positive(3), _away(2))
        for name in (
            "expi", "exp1", "spence", "sine_integral", "cosine_integral",
            "hyperbolic_sine_integral", "hyperbolic_cosine_integral",
        )
    },
    "expn": [sample(integrals.expn, integers(3, low=0, high=4), _positive(3))],
    "lambertw": [
        sample(
            lambda k, z: integrals.lambertw(z, k, constant(1e-8, k.type.with_dtype(z.real.dtype))),
            integers(3, low=-1, high=2), _away(3),
        )
    ],
    "ellipk": _of(elliptic.ellipk, _parameters(4)),
    "ellipe": _of(elliptic.ellipe, _parameters(4)),
    "ellipkm1": _of(elliptic.ellipkm1, _positive(4)),
    "ellipkinc": [sample(elliptic.ellipkinc, real(4), _parameters(4))],
    "ellipeinc": [sample(elliptic.ellipeinc, real(4), _parameters(4))],
    "elliptic_sines": [
        sample(lambda phi, m: elliptic.elliptic_sines((1, 1), phi, m), 4 * real(4), _parameters(4)),
        sample(lambda phi, m: elliptic.elliptic_sines((1, 0), phi, m), real(4), _small(4)),
    ],
    **{
        name: [
            sample(getattr(elliptic, name), *(_positive(3, start=5 * k) for k in range(n))),
            sample(getattr(elliptic, name), *(_away(2) + k for k in range(n)), order=1),
        ]
        for name, n in (("elliprf", 3), ("elliprc", 2), ("elliprd", 3), ("elliprg", 3))
    },
    "elliprj": [sample(elliptic.elliprj, *(_positive(3, start=5 * k) for k in range(4)))],
    **{
        f"carlson_{many}": [
            sample(
                partial(elliptic.of_arguments[n], (0, 3, 1, 2, 1)[: n + 1]),
                *(_positive(3, start=5 * k) for k in range(n)),
            )
        ]
        for n, many in ((2, "pair"), (3, "triple"), (4, "quadruple"))
    },
    "kolmogorov": _of(goodness.kolmogorov, real(4, low=0.3, high=1.6)),
    "kolmogi": _of(goodness.kolmogi, _probabilities(4)),
    "smirnov": [sample(goodness.smirnov, integers(4), _probabilities(4))],
    "smirnovi": [sample(goodness.smirnovi, integers(4), _probabilities(4))],
    "smirnov_derivatives": [
        sample(_with(partial(goodness.smirnov_derivatives, (1,)), 7), _probabilities(4)),
    ],
    "chndtr": [sample(noncentral.chndtr, *(_positive(3, start=4 * k) for k in range(3)))],
    "ncfdtr": [sample(noncentral.ncfdtr, *(_positive(3, start=4 * k) for k in range(4)))],
    "nctdtr": [sample(noncentral.nctdtr, _positive(4), real(4), real(4, start=5))],
    "noncentral_chi_square": [
        sample(
            partial(noncentral.noncentral_chi_square, (1, 0, 2)),
            *(_positive(3, start=4 * k) for k in range(3)),
        )
    ],
    "noncentral_chi_square_log_density": [
        sample(
            partial(noncentral.noncentral_chi_square_log_density, orders),
            *(_positive(3, start=4 * k) for k in range(3)),
        )
        for orders in ((0, 0, 0), (1, 0, 2))
    ],
    "noncentral_beta": [
        sample(
            partial(noncentral.noncentral_beta, (0, 1, 1, 2)),
            *(_positive(3, start=4 * k) for k in range(4)),
        )
    ],
    "noncentral_t": [
        sample(
            partial(noncentral.noncentral_t, (1, 0, 2)), *(_positive(4), real(4), real(4, start=5)),
        )
    ],
    "tklmbda": [sample(goodness.tklmbda, real(4, low=-0.6), _parameters(4))],
    "tukey_log_odds": [sample(goodness.tukey_log_odds, real(4, low=-0.6), _parameters(4))],
    **{
        name: [sample(_of_real(getattr(normal, name)), real(4))]
        for kind in "pm"
        for name in (f"modfresnel{kind}_integral", f"modfresnel{kind}_scaled")
    },
    "besselpoly": [sample(bessel.besselpoly, *(_positive(2, start=3 * k) for k in range(3)))],
    "besselpoly_series": [
        sample(
            partial(bessel.besselpoly_series, (1, 1)),
            *(_positive(2, start=3 * k) for k in range(3)),
        ),
    ],
    **{
        name: [sample(_of_second(getattr(mathieu, name)), _positive(3))]
        for name in ("mathieu_a", "mathieu_b")
    },
    "mathieu_values": [sample(_of_second(partial(mathieu.mathieu_values, (1, 2))), real(3))],
    "mathieu_waves": [
        sample(_of_second(partial(mathieu.mathieu_waves, (0, 1, 1))), real(3), _positive(3)),
    ],
    "mathieu_radial": [
        sample(
            _of_second(partial(mathieu.mathieu_radial, (2, 0, 0, 1))), _positive(2),
            _positive(2, start=4),
        ),
    ],
    **{
        f"mathieu_{kind}_{part}": [
            sample(
                _of_second(getattr(mathieu, f"mathieu_{kind}_{part}")), real(2), 20 * _positive(2),
            ),
        ]
        for kind in ("cem", "sem")
        for part in ("value", "slope")
    },
    **{
        f"mathieu_{kind}_{part}": [
            sample(
                _of_second(getattr(mathieu, f"mathieu_{kind}_{part}")), _positive(2),
                _positive(2, start=4),
            ),
        ]
        for kind in ("modcem1", "modcem2", "modsem1", "modsem2")
        for part in ("value", "slope")
    },
    "pro_cv": [sample(_with(spheroidal.pro_cv, 1, 2), _positive(3))],
    "obl_cv": [sample(_with(spheroidal.obl_cv, 1, 2), _positive(3))],
    "spheroidal_polynomials": [
        sample(
            _of_orders_1_and_2(partial(spheroidal.spheroidal_polynomials, (0, 1))), real(3),
            real(3, low=-0.8, high=0.9),
        ),
    ],
    "spheroidal_values": [
        sample(_with(partial(spheroidal.spheroidal_values, (1,)), 1, 2), real(3)),
    ],
    "spheroidal_series": [
        sample(
            _of_orders_1_and_2(partial(spheroidal.spheroidal_series, (2, -1, 0, 1))), _positive(2),
            real(2, low=2.5, high=4),
        ),
    ],
    **{
        op.primitive.name: [sample(_with(op, *_spheroidal(name)), _places(name))]
        for name, pair in spheroidal.waves.items()
        for op in pair
    },
    **{
        f"{name}_trust": [
            sample(_trusted(handlers[f"{name}_trust"], *_spheroidal(name)), _places(name))
        ]
        for name in ("pro_rad2", "pro_rad2_cv", "obl_rad2", "obl_rad2_cv")
    },
    "hyp0f1": _of(_with(polynomials.hyp0f1, 0.7), real(3), complex_(2)),
    "hyp1f1": _of(_with(polynomials.hyp1f1, 0.7, 1.3), real(3), complex_(2)),
    "hyp2f1": _of(_with(polynomials.hyp2f1, 0.7, -0.4, 1.3), _parameters(3), complex_(2)),
    "hyperu": _of(_with(polynomials.hyperu, 0.7, 1.3), _positive(3)),
    "struve": _of_orders(bessel.struve, _positive(3)),
    "modstruve": _of_orders(bessel.modstruve, _positive(3)),
    "wofz": _of(normal.wofz, complex_(3), np.array([13.5 + 0.3j, -12.2 + 4.1j])),
    "voigt_profile": [
        sample(normal.voigt_profile, real(3), _positive(3, start=2), _positive(3, start=6), order=1)
    ],
    **{
        name: _of(_with(getattr(distributions, name), 2.6), _positive(3))
        for name in ("chdtr", "chdtrc", "pdtr", "pdtrc", "stdtr")
    },
    **{
        name: _of(_with(getattr(distributions, name), 2.6, 3.4), _positive(3))
        for name in ("fdtr", "fdtrc")
    },
    **{
        name: [sample(_scaled(getattr(distributions, name)), _positive(3), _positive(3, start=5))]
        for name in ("gdtr", "gdtrc")
    },
    **{
        name: [
            sample(
                _counting(getattr(distributions, name), 5), integers(3, high=6), _probabilities(3)
            ),
        ]
        for name in ("bdtr", "bdtrc")
    },
    **{
        name: [
            sample(_counting(getattr(distributions, name), None), integers(3), _probabilities(3)),
        ]
        for name in ("nbdtr", "nbdtrc")
    },
}  # fmt: skip
