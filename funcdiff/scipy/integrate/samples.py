"""`simpson` of an even number of samples at given places, where SciPy's code converts by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.borrowed import copy_of
from funcdiff.scipy.covered import covers, load


@covers("scipy.integrate")
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate samples by Simpson's rule.

    An even number of them has an odd number of intervals; the last one is integrated with the
    parabola through the last three points.

    References
    ----------
    K. V. Cartwright, "Simpson's Rule Cumulative Integration with MS Excel and Irregularly-spaced
    Data", Journal of Mathematical Sciences and Mathematics Education 12 (2017).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import integrate
    >>> fd.grad(integrate.simpson)(np.ones(4), np.array([0.0, 1.0, 2.0, 3.0]))
    array([0.33333333, 1.25      , 1.        , 0.41666667])
    """
    borrowed = copy_of(load("scipy.integrate").simpson)
    y = array(y)
    if x is None or y.shape[axis] % 2 or y.shape[axis] < 4:
        return borrowed(y, x, dx=dx, axis=axis)
    y = np.moveaxis(y, axis, -1)
    x = np.moveaxis(x, axis, -1) if np.ndim(x) > 1 else array(x)
    before, last = x[..., -2] - x[..., -3], x[..., -1] - x[..., -2]
    weights = (
        _ratio(2 * last**2 + 3 * before * last, 6 * (before + last)),
        _ratio(last**2 + 3 * before * last, 6 * before),
        _ratio(-(last**3), 6 * before * (before + last)),
    )
    rest = sum(w * y[..., -1 - k] for k, w in enumerate(weights))
    return borrowed(y[..., :-1], x[..., :-1], axis=-1) + rest


def _ratio(a: Any, b: Any) -> Any:
    """Return a/b, zero where b is."""
    return np.where(b == 0, 0.0, a / np.where(b == 0, 1.0, b))
