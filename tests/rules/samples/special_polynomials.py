"""Samples of orthogonal polynomials, of Kelvin, Wright, parabolic and Jacobi's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.core.recording.builder import constant
from funcdiff.core.types import real_dtype
from funcdiff.scipy.primitives.special import bessel, elliptic
from funcdiff.scipy.primitives.special import distribution_functions as distributions
from funcdiff.scipy.primitives.special import orthogonal_polynomials as polynomials
from tests.rules.sample import Sample, complex_, integers, real, sample


def _inside(*shape: int, start: int = 1) -> Any:
    return real(*shape, low=0.15, high=0.85, start=start)


def _positive(*shape: int, start: int = 1) -> Any:
    return real(*shape, low=0.4, high=2.7, start=start)


def _of(op: Callable[..., Any], *parameters: float) -> Callable[..., Any]:
    """Return a function of its last operand; parameters of which there is none are constants."""

    def f(x: Any) -> Any:
        type_ = x.type.with_dtype(real_dtype(x.dtype))
        return op(*(constant(p, type_) for p in parameters), x)

    return f


def _of_degree(op: Callable[..., Any], *parameters: float) -> Callable[..., Any]:
    def f(n: Any, x: Any) -> Any:
        return op(n, *(constant(p, x.type) for p in parameters), x)

    return f


_PARAMETERS = {"jacobi": (0.6, 0.3), "sh_jacobi": (2.6, 1.3), "gegenbauer": (0.6,)}

SAMPLES: dict[str, list[Sample]] = {
    **{
        f"eval_{name}": [
            sample(
                _of_degree(getattr(polynomials, f"eval_{name}"), *_PARAMETERS.get(name, ())),
                integers(4, high=4), _inside(4),
            )
        ]
        for name in (
            "jacobi", "sh_jacobi", "gegenbauer", "legendre", "sh_legendre", "chebyt", "chebyu",
            "sh_chebyt", "sh_chebyu", "chebyc", "chebys", "laguerre", "hermite", "hermitenorm",
        )
    },
    "eval_genlaguerre": [
        sample(_of(polynomials.eval_genlaguerre, 2.5, 0.6), _inside(3)),
        sample(_of(polynomials.eval_genlaguerre, 2.0, 0.6), complex_(3)),
    ],
    "lpmv": [sample(_of(polynomials.lpmv, 1.0, 2.5), _inside(3))],
    **{
        name: [sample(getattr(bessel, name), _positive(3))]
        for name in (
            "ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip", "iti0", "itk0", "itj0",
            "ity0", "it2i0", "it2k0", "it2j0", "it2y0", "itstruve0", "it2struve0", "itmodstruve0",
        )
    },
    **{  # where SciPy's values have all digits
        name: [sample(getattr(bessel, name), sign * real(3, low=11.2, high=12.9))]
        for name, sign in (
            ("itairy_ai", -1), ("itairy_bi", -1), ("itairy_turned_ai", 1), ("itairy_turned_bi", 1),
        )
    },
    "wrightomega": [
        sample(polynomials.wrightomega, real(3)),
        sample(polynomials.wrightomega, complex_(3)),
    ],
    "wright_bessel": [sample(_of(polynomials.wright_bessel, 0.5, 1.2), _positive(3))],
    "log_wright_bessel": [sample(_of(polynomials.log_wright_bessel, 0.5, 1.2), _positive(3))],
    **{
        f"{name}_{part}": [sample(_of(getattr(bessel, f"{name}_{part}"), 1.5), _positive(3))]
        for name in ("pbdv", "pbvv", "pbwa")
        for part in ("value", "slope")
    },
    **{
        name: [sample(getattr(elliptic, name), _positive(3), _inside(3))]
        for name in ("jacobi_sn", "jacobi_cn", "jacobi_dn", "jacobi_amplitude", "agm")
    },
    "chdtri": [sample(distributions.chdtri, _positive(3, start=4), _inside(3), order=1)],
    **{
        name: [
            sample(
                getattr(distributions, name), _positive(3), _positive(3, start=4), _inside(3),
                order=1,
            )
        ]
        for name in ("gdtrix", "fdtri")
    },
    "stdtrit": [sample(distributions.stdtrit, _positive(3, start=4), _inside(3), order=1)],
    "pdtri": [sample(_of_degree(distributions.pdtri), integers(3, high=4), _inside(3))],
    "bdtri": [
        sample(
            lambda n, p: distributions.bdtri(constant(2, p.type), n, p), integers(3, low=3, high=6),
            _inside(3),
        )
    ],
    "nbdtri": [sample(_of(distributions.nbdtri, 2.0, 5.0), _inside(3))],
}  # fmt: skip
