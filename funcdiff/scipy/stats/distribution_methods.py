"""Methods of SciPy's distributions as operations: values are SciPy's, derivatives follow from F.

Of a distribution function F with the density f and shape parameters θ, in standard form,

    dF = f dx + F_θ dθ,    d ln F = (f dx + F_θ dθ) / F,    dQ = (dq - F_θ dθ) / f,

where Q is the quantile function, by the implicit function theorem.  Only F_θ and the derivatives
of f need to know the distribution: they are those of its leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final

import numpy as np

from funcdiff.core.access import pointwise
from funcdiff.core.primitive import Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.numpy.border.promotion import array, broadcast_shapes, fit, shape_of
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.stats.closed_forms import formulas, slopes
from funcdiff.scipy.stats.double_exponential import nan_where
from funcdiff.scipy.stats.entropies import entropy_along
from funcdiff.scipy.stats.leaf_programs import along, evaluate, is_program
from funcdiff.scipy.stats.leaves import has_own, scipys
from funcdiff.scipy.stats.scores import has_scores, log_density, slope
from funcdiff.space import sum_tangents

_FLOAT: Final = np.dtype(FLOAT)


class Method(Params):
    """A method of a distribution, by their names in ``scipy.stats``, perhaps with an order."""

    distribution: str
    method: str
    order: int = 0


def method(distribution: str, name: str, *xs: Any, order: int = 0) -> Any:
    """Apply a method in standard form to a value and shape parameters, element by element."""
    p = Method(distribution, name, order)
    if not xs:
        return _implementation(p)()
    shape = broadcast_shapes(*map(shape_of, xs))
    operands = [fit(x, ArrayType(shape, x.dtype)) for x in map(floating, xs)]
    return bind(method_p, p, *operands)[0]


def floating(x: Any) -> Any:
    """Return a value or a shape parameter as an array of a floating dtype."""
    x = array(x)
    return x if x.dtype.kind == "f" else convert(x, _FLOAT)


def _abstract(_p: Method, *types: ArrayType) -> Types:
    if any(t.shape != types[0].shape or t.dtype.kind != "f" for t in types):
        raise TypeError(f"operands must be real, of one shape, got {', '.join(map(repr, types))}")
    return (types[0].with_dtype(_FLOAT),)


def _implementation(p: Method) -> Callable[..., Any]:
    def run(*xs: Any) -> Any:
        plain = scipys(p.distribution)
        with np.errstate(all="ignore"):
            if p.method == "stats":
                found = plain.stats(*xs, moments="mvsk"[p.order])
            elif p.method == "moment":
                found = plain.moment(p.order, *xs)
            else:
                found = getattr(plain, p.method)(*xs)
        return np.asarray(found, FLOAT)[()]

    return run


# ---- derivatives ---------------------------------------------------------------------------------


def _forward(p: Method, xs: Tracers, ts: Tangents) -> Pushed:
    y = bind(method_p, p, *xs)[0]
    _refuse_whole_numbers(p, ts)
    # in float32 densities lose all digits where parameters are large
    wide = [[z if z is None else convert(z, _FLOAT) for z in zs] for zs in (xs, ts)]
    with np.errstate(all="ignore"):
        return [y], [_rule(p)(p, *wide, y)]


def _rule(p: Method) -> Callable[..., Any]:
    steps = hasattr(scipys(p.distribution), "pmf") and p.method in _STEPS
    return (_STEPS if steps else _RULES)[p.method]


_SMOOTH: Final = ("nbinom", "erlang")
"""Distributions that take real numbers for shape parameters that are declared to be integers."""


@cache
def _are_whole(distribution: str) -> tuple[bool, ...]:
    """Return which shape parameters SciPy takes whole numbers for only."""
    infos = scipys(distribution)._shape_info()
    return tuple(bool(info.integrality) and distribution not in _SMOOTH for info in infos)


def _refuse_whole_numbers(p: Method, ts: Tangents) -> None:
    """Raise where a parameter has a tangent that SciPy takes whole numbers for only."""
    infos = scipys(p.distribution)._shape_info()
    moving = ts[len(ts) - len(infos) :]
    for info, t, is_whole in zip(infos, moving, _are_whole(p.distribution), strict=True):
        if is_whole and t is not None:
            raise NotDifferentiableError(
                f"scipy.stats.{p.distribution}.{p.method} was differentiated in its parameter "
                f"{info.name} at {user_location()}, which is a whole number. Keep it out of the "
                f"differentiated arguments, or write fd.stop_gradient({info.name})."
            )


def shape_slope(
    distribution: str, name: str, xs: Sequence[Any], ts: Sequence[Any], y: Any = None
) -> Any:
    """Return the derivative of a leaf along shape parameters where it is in the support.

    A log density needs its value `y`, too.
    """
    stated = slopes.get(distribution, {}).get(name)
    if stated is None:
        found = slope(distribution, name, xs, [None, *ts[1:]], y)
    else:
        partials = stated(partial(method, distribution), *xs)
        found = sum_tangents(
            [None if t is None else p * t for p, t in zip(partials, ts[1:], strict=True)]
        )
    return None if found is None else np.where(_is_inside(distribution, xs), found, 0.0)


def _along_shapes(p: Method, name: str, xs: Sequence[Any], ts: Tangents, share: Any) -> Any:
    """Return the derivative of F or 1 - F along shape parameters, where `share` is its value.

    Of a share above a half, which cancels, it is minus that of the other one, if SciPy has both.
    """
    found = shape_slope(p.distribution, name, xs, ts)
    other = "_sf" if name == "_cdf" else "_cdf"
    if found is None or not (has_own(p.distribution, name) and has_own(p.distribution, other)):
        return found
    return np.where(share > 0.5, -shape_slope(p.distribution, other, xs, ts), found)


def _is_inside(distribution: str, xs: Sequence[Any]) -> Any:
    return evaluate(distribution, "_support_mask", *xs) & np.isfinite(xs[0])


def density(distribution: str, name: str, xs: Sequence[Tracer]) -> Any:
    """Return a density or its logarithm, of which only the value is known if it is compiled."""
    stated, leaf = formulas.get(distribution, {}), f"_{name}"
    base = leaf.replace("log", "")
    is_compiled = leaf in stated or (base in stated and not has_own(distribution, leaf))
    is_compiled |= any(_are_whole(distribution))  # which the operation refuses to differentiate
    compute = log_density if has_scores(distribution, leaf) else evaluate
    found = None if is_compiled else compute(distribution, leaf, *xs)
    return method(distribution, name, *xs) if found is None else found


def _of_density(p: Method, xs: Tracers, ts: Tangents, y: Any) -> Any:
    """Push forward a density or its logarithm."""
    found = slope(p.distribution, f"_{p.method}", xs, ts, y)
    return np.where(_is_inside(p.distribution, xs), found, 0.0)


def _of_probability(p: Method, xs: Tracers, ts: Tangents, y: Any) -> Any:
    """Push forward F, or 1 - F."""
    own = None
    if ts[0] is not None:
        height = (1 if p.method == "cdf" else -1) * density(p.distribution, "pdf", xs)
        own = np.where(_is_inside(p.distribution, xs), height, 0.0) * ts[0]
    return sum_tangents([own, _along_shapes(p, f"_{p.method}", xs, ts, y)])


def _of_logarithm(p: Method, xs: Tracers, ts: Tangents, y: Any) -> Any:
    """Push forward ln F, or ln(1 - F); f/F as a difference of logarithms, which do not vanish."""
    name = f"_{p.method}"
    is_stated = name in slopes.get(p.distribution, {})
    if not is_stated and has_own(p.distribution, name) and is_program(p.distribution, name, xs):
        return _of_density(p, xs, ts, y)
    sign = 1 if p.method == "logcdf" else -1
    own = None
    if ts[0] is not None:
        rate = sign * np.exp(density(p.distribution, "logpdf", xs) - y)
        own = np.where(_is_inside(p.distribution, xs), rate, 0.0) * ts[0]
    along_shapes = shape_slope(p.distribution, name, xs, ts) if is_stated else None
    return sum_tangents([own, along_shapes if is_stated else _of_log_mass(p, xs, ts, y)])


def _of_quantile(p: Method, xs: Tracers, ts: Tangents, y: Any) -> Any:
    """Push forward the inverse of F, or of 1 - F."""
    sign, name = (1, "_cdf") if p.method == "ppf" else (-1, "_sf")
    at = [y, *xs[1:]]
    height: Any = np.where(_is_inside(p.distribution, at), density(p.distribution, "pdf", at), 0.0)
    steep = sign / height
    own = None if ts[0] is None else steep * ts[0]
    found = _along_shapes(p, name, at, ts, xs[0])
    if found is not None:
        # of an end the method adds the slope
        moves = evaluate(p.distribution, "_open_support_mask", *at) & (height != 0)
        found = np.where(moves, found, 0.0) * np.where(moves, -steep, 0.0)
    return sum_tangents([own, found])


def _of_mass(p: Method, xs: Tracers, ts: Tangents, y: Any) -> Any:
    """Push forward what is a step function of its argument: in its shape parameters only."""
    return shape_slope(p.distribution, f"_{p.method}", xs, ts, y)


def _of_log_mass(p: Method, xs: Tracers, ts: Tangents, y: Any) -> Any:
    if has_own(p.distribution, name := f"_{p.method}") and is_program(p.distribution, name, xs):
        return shape_slope(p.distribution, name, xs, ts, y)
    found = _along_shapes(p, name.replace("log", ""), xs, ts, np.exp(y))
    return None if found is None else np.where(y == -np.inf, 0.0, np.exp(-y)) * found


def _of_parameters(p: Method, xs: Tracers, ts: Tangents, y: Any) -> Any:
    """Push forward what is of parameters alone; an infinite moment has no derivative."""
    found = along(p.distribution, f"_{p.method}", xs, ts, p.order)
    lost = nan_where(np.isinf(y), *xs)
    return sum_tangents([found, *(None if t is None else lost * t for t in ts)])


def _of_sum(p: Method, xs: Tracers, ts: Tangents, y: Any) -> Any:
    """Push forward the entropy of a discrete distribution, which SciPy may sum term by term."""
    if is_program(p.distribution, "_entropy", xs):
        return _of_parameters(p, xs, ts, y)
    return entropy_along(p.distribution, xs, ts)


_RULES: Final[dict[str, Callable[..., Any]]] = {
    **dict.fromkeys(("pdf", "logpdf"), _of_density),
    **dict.fromkeys(("cdf", "sf"), _of_probability),
    **dict.fromkeys(("logcdf", "logsf"), _of_logarithm),
    **dict.fromkeys(("ppf", "isf"), _of_quantile),
    **dict.fromkeys(("stats", "moment", "entropy"), _of_parameters),
}
_STEPS: Final[dict[str, Callable[..., Any]]] = {
    **dict.fromkeys(("pmf", "logpmf", "cdf", "sf"), _of_mass),
    **dict.fromkeys(("logcdf", "logsf"), _of_log_mass),
    **dict.fromkeys(("ppf", "isf"), lambda *_: None),
    "entropy": _of_sum,
}
"""Of discrete distributions, which are step functions."""

method_p: Final = Primitive(
    "distribution_method", Method, _abstract, impl=_implementation, jvp=_forward, access=pointwise
)
