"""``scipy.special`` for traced arrays: ``from funcdiff.scipy import special``.

Its ufuncs (``scipy.special.gammaln(x)``) reach traced arrays by themselves, and are here, too.
Its Python functions (`logsumexp`, `softmax`, `polygamma`, ...) cannot; here they are under the
same names and signatures, and SciPy's own where nothing is traced.

Examples
--------
>>> import funcdiff as fd
>>> from funcdiff.scipy import special
>>> print(fd.grad(special.gammaln)(1.0).round(12))
-0.577215664902
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np

import funcdiff.scipy.primitives.special.bessel
import funcdiff.scipy.primitives.special.distribution_functions
import funcdiff.scipy.primitives.special.elliptic
import funcdiff.scipy.primitives.special.gamma
import funcdiff.scipy.primitives.special.goodness
import funcdiff.scipy.primitives.special.incomplete
import funcdiff.scipy.primitives.special.losses
import funcdiff.scipy.primitives.special.noncentral
import funcdiff.scipy.primitives.special.normal
import funcdiff.scipy.primitives.special.orthogonal_polynomials
import funcdiff.scipy.primitives.special.powers
import funcdiff.scipy.special.elementary
import funcdiff.scipy.special.results  # noqa: F401
from funcdiff.core.late import scipy_function
from funcdiff.errors import MissingDependencyError
from funcdiff.numpy.border.dispatch import implementation, ufuncs
from funcdiff.numpy.messages.foreign import handlers, operation_of
from funcdiff.numpy.namespace import numpy
from funcdiff.ops.families import by_ufunc
from funcdiff.scipy.covered import cover, load, namespace
from funcdiff.scipy.primitives.special import spheroidal
from funcdiff.scipy.special.elementary import lambertw
from funcdiff.scipy.special.gammas import comb, multigammaln, polygamma, zeta
from funcdiff.scipy.special.normalization import log_softmax, logsumexp, softmax, softplus
from funcdiff.scipy.special.refusals import REFUSED
from funcdiff.scipy.special.spherical import (
    sph_harm_y,
    sph_harm_y_all,
    spherical_in,
    spherical_jn,
    spherical_kn,
    spherical_yn,
)

__all__ = [
    "comb",
    "lambertw",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "polygamma",
    "softmax",
    "softplus",
    "sph_harm_y",
    "sph_harm_y_all",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
    "zeta",
]


vars(numpy)["special"] = sys.modules[__name__]
"""The namespace of traced arrays has it, for code that is written for any array library."""

_ALIASES = ("digamma", "jn", "sinc")
"""Second names of ufuncs, and a function of NumPy's."""

_INFINITE = "For x < 0 the integral itself, where SciPy has another imaginary part."
_LARGE = "m is whole; up to q = 1e6 derivatives are right, where SciPy's values are not, too."
_MODIFIED = (
    "m is whole, q > 0. SciPy's values of the first kind have ten digits after the point, of "
    "m = 20, say, none that count; derivatives by q have their digits for x >= 0."
)
_RADIAL = (
    "By x and c > 0; by c nan where all digits are lost, as of prolate ones for c > 20, and of "
    "oblate ones for x = 0 and m > 0."
)
_SECOND = "By x nan where SciPy's values are wrong; by c right there, too."
_INEXACT = ("ncfdtridfd", "ncfdtridfn", "ncfdtrinc", "nctdtridf", "nctdtrinc")
_SEARCHED = "SciPy's search for the value ends at about six digits; nan where it finds no solution."
_NOTES = {
    **dict.fromkeys(["mathieu_a", "mathieu_b", "mathieu_cem", "mathieu_sem"], _LARGE),
    **{f"mathieu_mod{kind}": _MODIFIED for kind in ("cem1", "cem2", "sem1", "sem2")},
    **dict.fromkeys(("pro_cv", "obl_cv"), "By c >= 0; m and n are whole."),
    **dict.fromkeys(spheroidal.waves, "By x; nan where SciPy's second kind is wrong."),
    **dict.fromkeys(("pro_rad1", "obl_rad1"), _RADIAL),
    **dict.fromkeys(("pro_rad2", "obl_rad2"), f"{_RADIAL} {_SECOND}"),
    "pro_ang1": "By x and c.",
    "obl_ang1": "By x and c; by c nan where c is large, as all digits are lost.",
    "besselpoly": (
        "SciPy's series and its derivatives lose digits as a grows: twelve are left for a = 5, six "
        "for a = 12; beyond, derivatives are nan."
    ),
    "itairy": (
        "Derivatives have all digits, SciPy's values six where the size of x is below 4, ever "
        "fewer of the decaying integral up to 9.25, and eight or more beyond."
    ),
    "modfresnelm": _INFINITE,
    "modfresnelp": _INFINITE,
    **dict.fromkeys(_INEXACT, _SEARCHED),
    "ncfdtr": "Where dfn + dfd < 0.1, derivatives have fewer than twelve digits.",
    "smirnov": "By d, to twelve digits; n is a whole number.",
    "smirnovi": "By p, to twelve digits; n is a whole number.",
    "tklmbda": "Derivatives keep their digits in the tails, where SciPy's values do not.",
}

_found, _names = namespace("scipy.special", REFUSED)


@cache
def _enter_ufuncs() -> None:
    """Enter SciPy's ufuncs, which are as they are, in the table of what is covered."""
    for name in {*handlers, *_ALIASES} & set(vars(load("scipy.special"))):
        if not name.startswith("_") and _is_covered(scipy_function(name)):
            cover("scipy.special", name, scipy_function(name), note=_NOTES.get(name, ""))


def _is_covered(value: Any) -> bool:
    if isinstance(value, np.ufunc):
        return value in by_ufunc or value in ufuncs or operation_of(value) is not None
    is_function = callable(value) and not isinstance(value, type | np.ufunc)
    return is_function and implementation(value) is not None


def __getattr__(name: str) -> Any:
    """Return the function of that name in SciPy, which refuses traced arrays it does not know."""
    if not name.startswith("__"):
        try:
            _enter_ufuncs()
        except MissingDependencyError:
            if name in handlers or name in _ALIASES:
                raise
            raise AttributeError(name) from None
    return _found(name)


def __dir__() -> list[str]:
    try:
        _enter_ufuncs()
    except MissingDependencyError:
        return __all__
    return _names()


cover("scipy.special", "softplus", softplus)
