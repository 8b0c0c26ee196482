"""`quad` and `quad_vec` of traced integrands: integrals of programs, by SciPy's routines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.inputs import as_tracers
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.walk import rearrange
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.errors import (
    NotDifferentiableError,
    OutputError,
    UnsupportedNumPyError,
    user_location,
)
from funcdiff.numpy.border.promotion import array, as_number
from funcdiff.numpy.border.values import value_of
from funcdiff.numpy.memory import views
from funcdiff.ops.user.integral import Integral, integral
from funcdiff.scipy.covered import load
from funcdiff.scipy.integrate.closures import NUMBER, attempt, entry, has_tracer, refuse_tracing
from funcdiff.scipy.ways import Closure, closure, closures

Integrand: TypeAlias = Callable[[Any], Sequence[Any]]
Rule: TypeAlias = dict[str, Any]


@entry("scipy.integrate", "quad", note="full_output needs values; wvar of 'alg' is a constant.")
def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: str | None = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    """Integrate a function over an interval; it may close over traced arrays.

    The derivative is Leibniz' rule, ``∫ ∂f/∂θ dx + f(b) db/dθ - f(a) da/dθ``, whose integral is
    found by the same routine to the same tolerances, once for every element of θ in reverse mode;
    these share the values of the integrand.  Break points that are traced move: where the integrand
    jumps there, the jump is part of the derivative.

    An integrand that decides by values, ``if x < 1``, is traced for each way that it takes where
    values are known; elsewhere, and where integrals are nested, it branches by `np.where`.

    Raises
    ------
    NotDifferentiableError
        If the exponents of an algebraic weight are traced.

    References
    ----------
    H. Flanders, "Differentiation Under the Integral Sign", Amer. Math. Monthly 80 (1973).
    R. Piessens and others, "QUADPACK", Springer 1983.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import integrate
    >>> area = lambda b: integrate.quad(lambda x: b * x, 0.0, b)[0]
    >>> print(area(2.0), fd.grad(area)(2.0))  # b³/2
    4.0 6.0
    """
    args = args if isinstance(args, tuple) else (args,)
    rule = {
        "epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points, "weight": weight,
        "wvar": wvar, "wopts": wopts, "maxp1": maxp1, "limlst": limlst,
    }  # fmt: skip
    if complex_func:
        re = quad(lambda x: np.real(func(x, *args)), a, b, (), full_output, **rule)
        im = quad(lambda x: np.imag(func(x, *args)), a, b, (), full_output, **rule)
        found = re[0] + 1j * im[0], re[1] + 1j * im[1]
        return (*found, {"real": re[2:], "imag": im[2:]}) if full_output else found

    f = attempt(lambda: integrand_of(lambda x: (func(x, *args),), a, b, rule), a, b, points, wvar)
    if isinstance(f, Exception):
        return load("scipy.integrate").quad(
            refuse_tracing(func, f), a, b, args, full_output, **rule
        )
    if not (f.is_traced or has_tracer(a, b, points, wvar)):
        return load("scipy.integrate").quad(func, a, b, args, full_output, **rule)
    found = record_integral(lambda x: (func(x, *args),), a, b, rule, f)
    return (*found, *_scipys_report(f, a, b, rule)) if full_output else found


def record_integral(
    f: Integrand, a: Any, b: Any, rule: Rule, traced: Closure | None = None
) -> tuple[Any, Any]:
    """Record the integral of a function that returns numbers, and its error.

    `f`: ``f(x) -> (y, *errors)``: if there is one, the error of y counts, too.
    `a`, `b`: the ends.
    `rule`: keywords of `quad`.
    `traced`: the function, if it was traced.
    """
    weight, wvar, points = rule.get("weight"), rule.get("wvar"), rule.get("points")
    moving = (wvar, a, b) if str(weight).startswith("alg") else (wvar,)
    if weight is not None and has_tracer(*moving):
        return _substitute(f, a, b, rule)
    if rule.get("wopts") is not None:
        raise UnsupportedNumPyError(
            f"quad of a traced integrand takes no wopts, at {user_location()}. The moments are "
            "computed anew: leave wopts out."
        )
    unused = {"points", "wopts"}
    if weight is not None:
        points = None
    else:
        unused |= {"weight", "wvar", "maxp1", "limlst"}
    options = {k: v for k, v in rule.items() if k not in unused}
    program = traced or integrand_of(f, a, b, rule)
    return integrate_program("quad", program, a, b, points, options)


def integrand_of(f: Integrand, a: Any, b: Any, rule: Rule) -> Closure:
    """Trace an integrand: its value, that times the weight, and its error if it tells that."""

    def explore(g: Callable[[float], Any]) -> None:
        plain = {k: static(v) for k, v in rule.items() if k != "wopts"}
        load("scipy.integrate").quad(
            lambda x: g(x)[0], float(value_of(a)), float(value_of(b)), **plain
        )

    def numbers(x: Any) -> list[Any]:
        y, *errors = map(_number, f(x))
        return [double(z) for z in (y, _apply_weight(y, x, rule), *errors)]

    return closures([numbers], [NUMBER], explore)[0]


def _number(y: Any) -> Any:
    if np.size(y) != 1:
        raise OutputError(
            f"an integrand of quad returned an array of shape {np.shape(y)}, at "
            f"{user_location()}. Return a number; quad_vec integrates arrays."
        )
    return np.reshape(y, ())


def double(y: Any) -> Any:
    """Return an array in double precision."""
    return array(y) + np.zeros((), FLOAT)


def integrate_program(
    routine: str, f: Closure, a: Any, b: Any, points: Any, options: Rule
) -> tuple[Any, Any]:
    """Record an integral of what `integrand_of` returned; return it, and its error."""
    inputs = range(len(f.program.inputs))
    last = range(2, len(f.program.outputs))
    program = rearrange(f.program, inputs, [0, *last])
    ends = rearrange(f.program, inputs, [1, *last])
    breaks = [] if points is None else list(np.unique(points) if is_plain(points) else points)
    p = Integral(
        program, ends, len(breaks), 0, bool(last), routine,
        tuple((k, static(v)) for k, v in options.items()), (),
    )  # fmt: skip
    numbers = map(double, (a, b, *breaks))
    value, error = integral(p, as_tracers([*f.captures, *numbers]))
    return views.fresh(value), views.fresh(error)


def is_plain(value: Any) -> bool:
    """Return whether nothing in a container is traced."""
    return not has_tracer(value)


def static(value: Any) -> Any:
    """Return an option as a parameter of an equation."""
    if isinstance(value, Tracer):
        value = np.asarray(value_of(value))
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return tuple(map(static, value)) if isinstance(value, list | tuple) else value


def _scipys_report(f: Closure, a: Any, b: Any, rule: Rule) -> Sequence[Any]:
    """Return what SciPy says of an integral of the present values, which must be known."""
    values = list(map(value_of, f.captures))
    run = executable(f.program)
    ends = [float(value_of(x)) for x in (a, b)]
    plain = {k: static(v) for k, v in rule.items() if k != "wopts"}
    found: Sequence[Any] = load("scipy.integrate").quad(
        lambda x: run(*values, np.float64(x))[0], *ends, full_output=1, wopts=rule["wopts"], **plain
    )
    return found[2:]


# ---- weights -------------------------------------------------------------------------------------


def _apply_weight(y: Any, x: Any, rule: Rule) -> Any:
    """Return an integrand times its weight, which Leibniz' rule takes at the ends.

    Of algebraic weights the ends are not traced: see `_substitute`.
    """
    weight, w = rule.get("weight"), rule.get("wvar")
    if weight in ("cos", "sin"):
        return y * (np.cos(w * x) if weight == "cos" else np.sin(w * x))
    return y / (x - w) if weight == "cauchy" else y


def _substitute(f: Integrand, a: Any, b: Any, rule: Rule) -> tuple[Any, Any]:
    """Integrate with a weight that moves, in a variable in which it rests."""
    weight, w = rule["weight"], rule["wvar"]
    if weight in ("cos", "sin"):  # u = w·x

        def scale(u: Any) -> Any:
            y, *errors = f(u / w)
            return y / w, *errors

        return record_integral(scale, w * a, w * b, {**rule, "wvar": 1.0})
    if weight == "cauchy":  # u = x - c
        return record_integral(lambda u: f(w + u), a - w, b - w, {**rule, "wvar": 0.0})
    if has_tracer(w):
        raise NotDifferentiableError(
            f"quad has no derivative by the exponents of the weight {weight!r}, at "
            f"{user_location()}. Give numbers, or write the weight into the integrand."
        )
    return _algebraic(f, a, b, rule)


_LOGARITHMS = {"alg": (0, 0), "alg-loga": (1, 0), "alg-logb": (0, 1), "alg-log": (1, 1)}
"""Algebraic weights: the powers of ln(x - a) and ln(b - x)."""


def _algebraic(f: Integrand, a: Any, b: Any, rule: Rule) -> tuple[Any, Any]:
    """Integrate with x = a + (b - a)·u, where ln(x - a) = ln(b - a) + ln u."""
    width = b - a
    powers = {powers: name for name, powers in _LOGARITHMS.items()}
    at_a, at_b = _LOGARITHMS[rule["weight"]]
    scale = width ** (1.0 + rule["wvar"][0] + rule["wvar"][1])
    value: Any = 0.0
    error: Any = 0.0
    for i in range(at_a + 1):
        for j in range(at_b + 1):
            part = {**rule, "weight": powers[i, j]}
            found = record_integral(lambda u: f(a + width * u), 0.0, 1.0, part)
            factor = scale * np.log(width) ** (at_a - i + at_b - j)
            value, error = value + factor * found[0], error + np.abs(factor) * found[1]
    return value, error


# ---- several variables ---------------------------------------------------------------------------


@entry("scipy.integrate", "nquad", note="full_output needs values.")
def nquad(
    func: Callable[..., Any],
    ranges: Sequence[Any],
    args: Any = None,
    opts: Any = None,
    full_output: bool = False,
) -> Any:
    """Integrate over several variables; function, ranges and options may close over traced arrays.

    An integral of integrals, each with the derivative of `quad`.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import integrate
    >>> triangle = lambda a: integrate.nquad(lambda y, x: x * y, [lambda x: (0, x), (0, a)])[0]
    >>> print(round(fd.grad(triangle)(2.0), 12))  # of a⁴/8
    4.0
    """
    given = () if args is None else tuple(args)
    bounds = [_constant_or_called(r) for r in ranges]
    rules = [opts or {}] * len(bounds) if opts is None or isinstance(opts, dict) else opts
    options = [_constant_or_called(rule) for rule in rules]

    def integrand(depth: int, *xs: Any) -> Integrand:
        """Return the function of the variable that is integrated at a depth."""
        if depth == len(bounds) - 1:
            return lambda x: (func(x, *xs),)
        return lambda x: integrate_inner(depth + 1, x, *xs)

    def integrate_inner(depth: int, *xs: Any) -> tuple[Any, Any]:
        low, high = bounds[-depth - 1](*xs)
        return record_integral(integrand(depth, *xs), low, high, dict(options[-depth - 1](*xs)))

    first = bounds[-1](*given), dict(options[-1](*given))
    f = attempt(
        lambda: integrand_of(integrand(0, *given), first[0][0], first[0][1], first[1]), *first
    )
    if isinstance(f, Exception):
        func = refuse_tracing(func, f)
    if isinstance(f, Exception) or not (f.is_traced or has_tracer(*first)):
        return load("scipy.integrate").nquad(func, ranges, args, opts, full_output)
    found = integrate_inner(0, *given)
    if not full_output:
        return found
    seen = load("scipy.integrate").nquad(
        lambda *xs: value_of(func(*xs)), [_on_values(r) for r in bounds], given,
        [_on_values(rule) for rule in options], full_output=True,
    )  # fmt: skip
    return (*found, *seen[2:])


def _constant_or_called(value: Any) -> Callable[..., Any]:
    return value if callable(value) else lambda *_xs: value


def _on_values(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose results have the values of what is traced in them."""
    return lambda *xs: pytree.map(lambda x: value_of(x) if isinstance(x, Tracer) else x, f(*xs))


# ---- `quad_vec` of traced problems: integrals of functions with values in a vector space ---------


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
