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

import difflib
from typing import Any

import numpy as np

import funcdiff.ops.special.bessel
import funcdiff.ops.special.distributions
import funcdiff.ops.special.elliptic
import funcdiff.ops.special.entropy
import funcdiff.ops.special.gamma
import funcdiff.ops.special.hypergeometric
import funcdiff.ops.special.incomplete
import funcdiff.ops.special.logistic
import funcdiff.ops.special.normal
import funcdiff.ops.special.powers
import funcdiff.ops.special.struve
import funcdiff.ops.special.voigt
import funcdiff.scipy.results  # noqa: F401
from funcdiff.errors import MissingDependencyError
from funcdiff.numpy.border.dispatch import functions, ufuncs
from funcdiff.numpy.messages.foreign import handlers, operation_of
from funcdiff.numpy.namespace import UncoveredNameError
from funcdiff.ops.families import by_ufunc
from funcdiff.ops.special.family import by_name, scipy_function
from funcdiff.scipy.gammas import comb, multigammaln, polygamma, zeta
from funcdiff.scipy.lambert import lambertw
from funcdiff.scipy.normalization import log_softmax, logsumexp, softmax, softplus
from funcdiff.scipy.spherical import spherical_in, spherical_jn, spherical_kn, spherical_yn

__all__ = [
    "comb",
    "lambertw",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "polygamma",
    "softmax",
    "softplus",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
    "zeta",
]


_ALIASES = ("digamma", "jn")
"""Second names of ufuncs."""


def __getattr__(name: str) -> Any:
    """Return the function of that name in SciPy if traced arrays know it."""
    try:
        found = None if name.startswith("_") else scipy_function(name)
    except AttributeError:
        found = None
    except MissingDependencyError:
        if name in by_name or name in handlers or name in _ALIASES:
            raise
        found = None
    if found is not None and _covers(found):
        return found
    near = difflib.get_close_matches(name, __dir__(), n=3, cutoff=0.6)
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    if found is None:
        raise AttributeError(
            f"funcdiff.scipy.special has no attribute {name!r}, nor has scipy.special.{hint}"
        )
    raise UncoveredNameError(
        f"scipy.special.{name} is not covered by funcdiff.{hint} Use scipy.special.{name} itself "
        "on values that need no derivative."
    )


def _covers(value: Any) -> bool:
    if isinstance(value, np.ufunc):
        return value in by_ufunc or value in ufuncs or operation_of(value) is not None
    return callable(value) and not isinstance(value, type) and value in functions


def __dir__() -> list[str]:
    known = (name for name in (*by_name, *handlers, *_ALIASES) if not name.startswith("_"))
    return sorted({*__all__, *filter(_is_scipys, known)})


def _is_scipys(name: str) -> bool:
    try:
        return _covers(scipy_function(name))
    except (AttributeError, MissingDependencyError):
        return False
