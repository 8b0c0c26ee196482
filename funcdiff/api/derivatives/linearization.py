"""`linearize`: the Jacobian at a point as a linear function, for many Jacobian-vector products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.api.calls.arguments import FunctionName
from funcdiff.api.calls.differentiated import trace_call
from funcdiff.api.calls.selection import Selection
from funcdiff.api.derivatives.first_sight import PUSHFORWARD, LinearMap
from funcdiff.api.derivatives.linear_maps import Pushforward
from funcdiff.api.derivatives.products import check_point, with_aux
from funcdiff.api.signatures.products import Linearize
from funcdiff.api.signatures.typed import typed_as
from funcdiff.api.signatures.variables import Argnames, Argnums, Primals


@typed_as[Linearize]()
def linearize(
    f: Callable[..., Any],
    *primals: *Primals,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the value of a function and its derivative there, the linear map ``t ↦ J·t``.

    The work that depends on the point only is done once, so many directions are cheap.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    *primals
        The point, one value per argument.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `grad`; by default all of the
        primals.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    **kwargs
        Further arguments of `f` by keyword; differentiated only if they are in `argnames`.

    Returns
    -------
    y
        ``f(*primals)``.
    f_jvp : callable
        ``f_jvp(*tangents)`` takes one tangent per differentiated argument, like it in structure,
        shapes and dtypes, and returns a tangent like `y`.
    aux
        Only with ``has_aux=True``.

    Raises
    ------
    InputError
        If a differentiated leaf is an integer or boolean array, or an argument is not there.
    CotangentError
        By ``f_jvp``, if a tangent does not match its primal.

    Examples
    --------
    >>> import funcdiff as fd
    >>> y, f_jvp = fd.linearize(lambda x: x**3, 2.0)
    >>> f_jvp(1.0), f_jvp(0.5)
    (np.float64(12.0), np.float64(6.0))
    """
    check_point("linearize", primals, kwargs)
    selection = Selection(f, "linearize", argnums, argnames, every=True)
    inputs, trace = trace_call(f, selection, primals, kwargs, has_aux=has_aux)
    operands = [*inputs.operands, *trace.captures]
    derivative = LinearMap(PUSHFORWARD, trace, len(inputs.operands), operands)

    pushforward = Pushforward(FunctionName(f), derivative, trace, inputs)
    return with_aux(trace, derivative.outputs, pushforward)
