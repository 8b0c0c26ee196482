"""Lambert's W function of traced arrays, with SciPy's signature."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Tracer
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.numpy.promotion import Traced, broadcast_shapes, fit, shape_of
from funcdiff.ops.special import integrals
from funcdiff.scipy.calls import for_traced

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
    if isinstance(k, Tracer) and k.type.differentiable:
        raise NotDifferentiableError(
            f"scipy.special.lambertw was given a traced branch of dtype {k.dtype} at "
            f"{user_location()}: branches are whole numbers. Keep k out of the differentiated "
            "arguments, as an int or an integer array."
        )
    branch = k if isinstance(k, Tracer) or type(k) is int else np.asarray(k, INT)
    shape = broadcast_shapes(*map(shape_of, (z, branch, tol)))
    return integrals.lambertw(
        fit(z, ArrayType(shape, _COMPLEX)),
        fit(branch, ArrayType(shape, INT)),
        fit(tol, ArrayType(shape, FLOAT)),
    )
