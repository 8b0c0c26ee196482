"""Functions of scipy.special, as `funcdiff.scipy.special` has them; of JAX, `jax.scipy.special`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy

from tests.patterns.pattern import Argument, Pattern, complex_, pattern, positive, real
from tests.patterns.tables.calls import NAMES


def namespace(np: Any) -> Any:
    """Return the special functions that belong to a NumPy."""
    return import_module("funcdiff.scipy.special" if np is numpy else "jax.scipy.special")


def special(text: str, *arguments: Argument, **options: Any) -> Pattern:
    """Return the pattern that evaluates a text about `special` and the arguments `x`, `y`, `z`.

    ``special("special.gammaln(x)", positive(3))``.
    """
    names = ", ".join(("np", "special", *NAMES[: len(arguments)]))
    function = eval(f"lambda {names}: {text}")
    return pattern(
        text, lambda np, *xs: function(np, namespace(np), *xs), *arguments, exact=False, **options
    )


def _each(names: tuple[str, ...], *arguments: Argument, **options: Any) -> list[Pattern]:
    letters = ", ".join(NAMES[: len(arguments)])
    return [special(f"special.{name}({letters})", *arguments, **options) for name in names]


UNIT = real(5, low=0.1, high=0.9)
SIGNED_UNIT = real(5, low=-0.9, high=0.8)

GAMMAS = ("gamma", "gammaln", "loggamma", "rgamma", "psi", "digamma", "gammasgn")
OF_ALL = (
    "erf", "erfc", "erfcx", "dawsn", "ndtr", "log_ndtr", "expit", "log_expit", "exprel", "i0",
    "i0e", "i1", "i1e",
)  # fmt: skip
OF_POSITIVE = ("entr", "expi", "exp1", "spence")
OF_UNIT = ("logit", "ndtri", "erfcinv", "ellipk", "ellipe")
OF_TWO = ("beta", "betaln", "xlogy", "xlog1py", "rel_entr", "kl_div", "boxcox", "boxcox1p", "poch")
BESSEL = ("j0", "j1", "y0", "y1", "k0", "k1")
CONSTANT_ORDER = ("jv", "yv", "kv", "iv", "ive")

PATTERNS: list[Pattern] = [
    *_each(GAMMAS, positive(5)),
    *_each(OF_ALL, real(5)),
    *_each(OF_POSITIVE, positive(5)),
    *_each(OF_UNIT, UNIT),
    *_each(("erfinv",), SIGNED_UNIT),
    *_each(OF_TWO, positive(5), positive(5)),
    *_each(BESSEL, positive(5)),
    *(special(f"special.{name}(1.5, x)", positive(5)) for name in CONSTANT_ORDER),
    special("special.jn(2, x)", positive(5)),
    special("special.yn(2, x)", positive(5)),
    special("special.kn(2, x)", positive(5)),
    special("special.expn(3, x)", positive(5)),
    special("[a * k for k, a in enumerate(special.fresnel(x))]", real(5)),
    special("[a * k for k, a in enumerate(special.sici(x))]", positive(5)),
    special("special.gammainc(1.7, x)", positive(5)),
    special("special.gammaincc(1.7, x)", positive(5)),
    special("special.betainc(1.7, 2.3, x)", UNIT),
    special("special.polygamma(2, x)", positive(5)),
    special("special.multigammaln(x + 3, 2)", positive(5)),
    special("special.zeta(2.5, x)", positive(5)),
    special("special.comb(x + 3, y)", positive(5), positive(5)),
    special("special.binom(x + 3, y)", positive(5), positive(5)),
    special("special.huber(x, y)", positive(5), real(5)),
    special("special.pseudo_huber(x, y)", positive(5), real(5)),
    special("special.inv_boxcox(x, y)", UNIT, UNIT),
    special("np.real(special.lambertw(x))", positive(5)),
    special("np.real(special.lambertw(x, k=-1, tol=1e-9))", real(5, low=-0.3, high=-0.1)),
    special("special.hyp2f1(0.5, 1.2, 2.3, x)", SIGNED_UNIT),
    special("special.hyp1f1(0.5, 1.7, x)", real(5)),
    special("special.owens_t(x, y)", real(5), real(5)),
    special("special.logsumexp(x)", real(3, 4)),
    special("special.logsumexp(x, axis=(0, 1), keepdims=True)", real(3, 4)),
    special("special.logsumexp(x, axis=1, b=y)", real(3, 4), positive(3, 4)),
    special("special.logsumexp(x, axis=0, b=y, return_sign=True)", real(3, 4), real(3, 4)),
    special("special.softmax(x)", real(3, 4)),
    special("special.softmax(x, axis=1)", real(3, 4)),
    special("special.log_softmax(x, axis=0)", real(3, 4)),
    special("special.expit(x) * special.logit(special.expit(y))", real(5), real(5)),
    special("np.abs(special.loggamma(x))", complex_(4)),
]
