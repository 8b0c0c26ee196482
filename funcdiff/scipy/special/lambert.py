"""Lambert's W function of traced arrays, with SciPy's signature."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.types import FLOAT, INT
from funcdiff.numpy.border.promotion import Traced
from funcdiff.scipy.primitives.special import integrals
from funcdiff.scipy.special.calls import broadcast_to, for_traced, whole

_COMPLEX: Final = np.dtype(np.complex128)


@for_traced
def lambertw(z: Any, k: Any = 0, tol: Any = 1e-8) -> Traced:
    """Return Lambert's W function, a solution w of ``w·exp(w) = z``.

    Parameters
    ----------
    z
        Real or complex argument; the result is differentiable in it.
    k
        Whole numbers, the branch; it broadcasts with `z`.
    tol
        Tolerance of the iteration, which has no part in the derivative.

    Returns
    -------
    array
        Complex128, of the common shape.  For real z on the branches 0 and -1 the real function is
        ``lambertw(z).real``.

    Raises
    ------
    NotDifferentiableError
        If the branch is a traced floating array.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 4.13.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda z: special.lambertw(z).real)(0.0))
    1.0
    """
    branch = whole(k, "lambertw", "branch")
    return integrals.lambertw(*broadcast_to((_COMPLEX, INT, FLOAT), z, branch, tol))
