"""`quad_vec` of traced problems: integrals of functions with values in a vector space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.core.types import FLOAT
from funcdiff.core.walk import rearrange
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border.promotion import array, as_number
from funcdiff.scipy.covered import load
from funcdiff.scipy.integrate.closures import (
    NUMBER,
    attempt,
    closure,
    entry,
    has_tracer,
    refuse_tracing,
)
from funcdiff.scipy.integrate.quadrature import double, integrate_program


@entry("scipy.integrate", "quad_vec", note="full_output and workers need plain arrays.")
def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: float = 10000,
    workers: int = 1,
    points: Any = None,
    quadrature: str | None = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> Any:
    """Integrate a function with values in a vector space; it may close over traced arrays.

    The derivative is Leibniz' rule, as for `quad`; all elements of a derivative are integrated
    together, and `norm` is taken of all of them.

    Raises
    ------
    UnsupportedNumPyError
        For `full_output` and `workers` where something is traced.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import integrate
    >>> moments = lambda b: integrate.quad_vec(lambda x: x ** np.arange(3), 0.0, b)[0]
    >>> fd.jacobian(moments)(2.0)
    array([1., 2., 4.])
    """
    args = args if isinstance(args, tuple) else (args,)
    options = {
        "epsabs": epsabs, "epsrel": epsrel, "norm": norm, "cache_size": cache_size, "limit": limit,
        "quadrature": quadrature,
    }  # fmt: skip

    def values(x: Any) -> Any:
        y = array(f(as_number(x), *args))  # SciPy's points are Python numbers
        return double(y), double(y), y

    g = attempt(lambda: closure(values, NUMBER), a, b, points)
    if isinstance(g, Exception) or not (g.is_traced or has_tracer(a, b, points)):
        plain = load("scipy.integrate").quad_vec
        keywords = {"args": args} if args else {}
        f = refuse_tracing(f, g) if isinstance(g, Exception) else f
        return plain(f, a, b, workers=workers, points=points, full_output=full_output, **options,
                     **keywords)  # fmt: skip
    if full_output or workers != 1:
        raise UnsupportedNumPyError(
            f"quad_vec of a traced integrand has no full_output and no workers, at "
            f"{user_location()}. Ask for them on plain arrays, outside of what is differentiated."
        )
    *_, own = g.program.outputs
    program = rearrange(g.program, range(len(g.program.inputs)), [0, 1])
    found = integrate_program("quad_vec", g._replace(program=program), a, b, points, options)
    value, error = found
    return value.astype(own.type.dtype if own.type.differentiable else FLOAT), error
