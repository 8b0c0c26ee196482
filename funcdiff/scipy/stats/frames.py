"""SciPy's distributions for traced arrays: location, scale and values outside of the support.

A distribution here is an object of SciPy's class, with these methods in front.  Where nothing is
traced they are SciPy's own.  Elsewhere they bring the argument to standard form, and choose by
masks what lies outside of the support or has parameters that are not valid, so that a batch may
hold both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from math import comb
from typing import Any, Final, TypeVar, cast

import numpy as np

import funcdiff.numpy
from funcdiff.adapting.conditions import forgiveness
from funcdiff.api.inspection import stop_gradient
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, constant, current_builder
from funcdiff.core.running.walk import inline
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError, user_location
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import is_traced
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.borrowed import copy_of
from funcdiff.scipy.covered import Holder, holds_traced
from funcdiff.scipy.places import place
from funcdiff.scipy.stats.distribution_methods import density, floating, method
from funcdiff.scipy.stats.double_exponential import corners_of
from funcdiff.scipy.stats.draws import draw
from funcdiff.scipy.stats.expectations import PARTS, Panels, sum_by_masks
from funcdiff.scipy.stats.leaves import distribution, has_own, scipys

F = TypeVar("F", bound=Callable[..., Any])


def for_traced(function: F) -> F:
    """Let SciPy's method of the same name answer where nothing is traced."""
    name = function.__name__

    @wraps(function)
    def wrapper(self: Any, *args: Any, **kwds: Any) -> Any:
        if current_builder() is None or not (holds_traced(args) or holds_traced(kwds)):
            return getattr(self._plain, name)(*args, **kwds)
        return function(self, *map(_join, args), **{k: _join(v) for k, v in kwds.items()})

    return cast(F, wrapper)


def _join(value: Any) -> Any:
    joins = type(value) in (list, tuple) and is_traced(value)
    return funcdiff.numpy.array(value) if joins else value


def _record_once(function: F) -> F:
    """Let a method of arrays be recorded once for arguments of some types."""

    @lru_cache(maxsize=1024)
    def program(
        key: str, positional: int, names: tuple[str, ...], types: tuple[ArrayType, ...]
    ) -> tuple[Program, list[Any]] | None:
        with Builder(function.__name__) as builder:
            xs = list(map(builder.input, types))
            named = dict(zip(names, xs[positional:], strict=True))
            try:
                y = function(distribution(key), *xs[:positional], **named)
            except Exception:  # the call itself is to say what is wrong
                return None
            return builder.program([array(y)]), builder.captures

    @wraps(function)
    def wrapper(self: Any, *args: Any, **kwds: Any) -> Any:
        values = [*args, *kwds.values()]
        if not all(isinstance(x, (Tracer, np.ndarray, np.generic, float, int)) for x in values):
            return function(self, *args, **kwds)
        xs = list(map(array, values))
        found = program(self._key, len(args), tuple(kwds), tuple(x.type for x in xs))
        if found is None:
            return function(self, *args, **kwds)
        return inline(found[0], [*xs, *map(array, found[1])])[0]

    return cast(F, wrapper)


def _method_of_value(name: str) -> Callable[..., Any]:
    """Return a method of a value in standard form, such as the distribution function."""

    def compute(self: Any, x: Any, *args: Any, **kwds: Any) -> Any:
        shapes, x, _, valid = self._standardize(x, args, kwds)
        return np.where(valid, method(self._key, name, x, *shapes), self.badvalue)

    compute.__name__ = compute.__qualname__ = name
    return for_traced(_record_once(compute))


def _quantile(name: str) -> Callable[..., Any]:
    def compute(self: Any, q: Any, *args: Any, **kwds: Any) -> Any:
        shapes, loc, scale = self._parameters(args, kwds)
        standard = method(self._key, name, q, *shapes)
        if isinstance(self, Continuous) and has_own(self._key, "_get_support"):
            for end in self._get_support(*shapes):  # a quantile moves with it
                finite = np.where(np.isfinite(end), end, 0.0)
                moved = np.where(standard == end, finite - stop_gradient(finite), 0.0)
                standard = standard + moved
        return np.where((scale > 0) & (loc == loc), standard * scale + loc, self.badvalue)

    compute.__name__ = compute.__qualname__ = name
    return for_traced(_record_once(compute))


_NUMBER: Final = ArrayType((), np.dtype(FLOAT))


def _strong(x: Any) -> Any:
    """Return an array, or of a Python number a constant, which programs show as it is."""
    return constant(x, _NUMBER) if type(x) in (int, float) else funcdiff.numpy.asarray(x)


class Distribution(Holder):
    """What continuous and discrete distributions have in common."""

    _plain: Any
    _key: str
    _parse_args: Any
    _parse_args_stats: Any
    _argcheck: Any
    _get_support: Any
    _support_mask: Any
    badvalue: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return distribution, (self._key,)

    def _parameters(self, args: Any, kwds: Any) -> tuple[tuple[Any, ...], Any, Any]:
        shapes, loc, scale = self._parse_args(*args, **kwds)
        loc, scale = map(_strong, (loc, scale))
        return tuple(map(floating, shapes)), loc, scale

    def _standardize(self, x: Any, args: Any, kwds: Any) -> tuple[tuple[Any, ...], Any, Any, Any]:
        """Return shape parameters, the argument in standard form, and where the scale is one."""
        shapes, loc, scale = self._parameters(args, kwds)
        x = funcdiff.numpy.asarray(x)
        with np.errstate(all="ignore"):
            z = array((x - loc) / scale)
        return shapes, convert(z, np.dtype(FLOAT)), scale, scale > 0

    def freeze(self, *args: Any, **kwds: Any) -> Any:
        """Return the distribution with these parameters."""
        return _frozen(self, args, kwds)

    def __call__(self, *args: Any, **kwds: Any) -> Any:
        """Return the distribution with these parameters."""
        return self.freeze(*args, **kwds)

    cdf = _method_of_value("cdf")
    sf = _method_of_value("sf")
    logcdf = _method_of_value("logcdf")
    logsf = _method_of_value("logsf")
    ppf = _quantile("ppf")
    isf = _quantile("isf")

    def _inside(self, value: Any, outside: float, x: Any, shapes: Any, valid: Any) -> Any:
        if shapes:
            valid = valid & (self._argcheck(*shapes) != 0)
        value = np.where(np.isinf(x), stop_gradient(value), value)  # flat there, whatever it is
        inside = np.where(self._support_mask(x, *shapes), value, outside)
        return np.where(valid & ~np.isnan(x), inside, self.badvalue)

    @for_traced
    def stats(self, *args: Any, **kwds: Any) -> Any:
        """Return mean, variance, skewness and kurtosis, those whose letters `moments` has."""
        shapes, loc, scale, moments = self._parse_args_stats(*args, **kwds)
        shapes = tuple(map(floating, shapes))
        loc, scale = map(_strong, (loc, scale))
        valid = (scale > 0) & (loc == loc)
        found = []
        for k, letter in enumerate("mvsk"):
            if letter in moments:
                value = method(self._key, "stats", *shapes, order=k)
                value = (value * scale + loc, value * scale * scale, value, value)[k]
                found.append(np.where(valid, value, self.badvalue))
        return found[0] if len(found) == 1 else tuple(found)

    @for_traced
    def entropy(self, *args: Any, **kwds: Any) -> Any:
        """Return the entropy; that of the standard form is shifted by ln(scale)."""
        shapes, loc, scale = self._parameters(args, kwds)
        value = method(self._key, "entropy", *shapes) + np.log(scale)
        return np.where((scale > 0) & (loc == loc), value, self.badvalue)

    @for_traced
    def moment(self, order: int, *args: Any, **kwds: Any) -> Any:
        """Return E[Xⁿ] by the binomial theorem from moments in standard form."""
        if np.floor(order) != order or order < 0:
            return self._plain.moment(order)
        shapes, loc, scale = self._parameters(args, kwds)
        total: Any = 0.0
        for k in range(int(order) + 1):
            raw = method(self._key, "moment", *shapes, order=k) if k else 1.0
            term = comb(int(order), k) * scale**k * loc ** (int(order) - k) * raw
            total = total + (
                term if k == order else np.where(np.isinf(raw) & (loc == 0), 0.0, term)
            )
        return np.where(scale > 0, total, self.badvalue)

    @for_traced
    def support(self, *args: Any, **kwds: Any) -> Any:
        """Return the ends of the support."""
        shapes, loc, scale = self._parameters(args, kwds)
        valid = self._argcheck(*shapes) & (scale > 0)
        ends = self._get_support(*shapes)
        low, high = (np.where(valid, _move(end, loc, scale), self.badvalue) for end in ends)
        return low, high

    def rvs(self, *args: Any, **kwds: Any) -> Any:
        """Draw random variates, which are SciPy's, as functions of the parameters."""
        if not (holds_traced(args) or holds_traced(kwds)):
            return self._plain.rvs(*args, **kwds)
        generator = kwds.pop("random_state", None)
        shapes, loc, scale, size = self._parse_args_rvs_of(*args, **kwds)
        return draw(self._key, shapes, loc, scale, size, generator)

    def _parse_args_rvs_of(self, *args: Any, size: Any = None, **kwds: Any) -> tuple[Any, ...]:
        count = self._plain.numargs + (1 if hasattr(self, "pmf") else 2)
        if len(args) > count:
            *args, size = args  # type: ignore[assignment]
        shapes, loc, scale = self._parse_args(*args, **kwds)
        return shapes, loc, scale, size

    def fit(self, data: Any, *args: Any, **kwds: Any) -> Any:
        """Fit to data that is not traced, as SciPy does."""
        if holds_traced(data) or holds_traced(args) or holds_traced(kwds):
            raise UnsupportedNumPyError(
                f"scipy.stats.{self._key}.fit of a traced array is not supported, at "
                f"{user_location()}. It searches for a maximum: minimize .nnlf with "
                "funcdiff.scipy.optimize, or declare the maximum with fd.custom_root."
            )
        return self._plain.fit(data, *args, **kwds)

    @property
    def random_state(self) -> Any:
        """SciPy's generator of random numbers."""
        return self._plain.random_state

    @random_state.setter
    def random_state(self, seed: Any) -> None:
        self._plain.random_state = seed

    @property
    def _random_state(self) -> Any:
        return self._plain._random_state

    @_random_state.setter
    def _random_state(self, generator: Any) -> None:  # by frozen distributions
        self._plain._random_state = generator


def _move(end: Any, loc: Any, scale: Any) -> Any:
    """Return an end of the support, which the scale does not move if it is infinite or 0."""
    is_far = np.isinf(end)
    if not isinstance(end, Tracer) and np.all(is_far | (np.asarray(end) == 0)):
        return end + loc
    return np.where(is_far, end, np.where(is_far, 0.0, end) * scale + loc)


class Continuous(Distribution):
    """The methods of `scipy.stats.rv_continuous`."""

    _pdf: Any
    _logpdf: Any

    @for_traced
    @_record_once
    def pdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """Return the density; zero, with zero slopes, outside of the support."""
        shapes, x, scale, valid = self._standardize(x, args, kwds)
        value = density(self._key, "pdf", [x, *shapes]) / scale
        return self._inside(value, 0.0, x, shapes, valid)

    @for_traced
    @_record_once
    def logpdf(self, x: Any, *args: Any, **kwds: Any) -> Any:
        """Return the logarithm of the density."""
        shapes, x, scale, valid = self._standardize(x, args, kwds)
        value = density(self._key, "logpdf", [x, *shapes])
        return self._inside(value - np.log(scale), -np.inf, x, shapes, valid)

    @for_traced
    def nnlf(self, theta: Any, x: Any) -> Any:
        """Return the negative log-likelihood along a first axis; infinite if it cannot occur."""
        *shapes, loc, scale = map(floating, theta)
        z = (funcdiff.numpy.asarray(x) - loc) / scale
        valid = (scale > 0) & (self._argcheck(*shapes) != 0)
        possible = valid & np.all(self._support_mask(z, *shapes))
        found = len(z) * np.log(scale) - np.sum(self.logpdf(z, *shapes), axis=0)
        return np.where(possible, found, np.inf)

    def expect(
        self, func: Any = None, args: Any = (), loc: Any = 0, scale: Any = 1, lb: Any = None,
        ub: Any = None, conditional: bool = False, **kwds: Any,
    ) -> Any:  # fmt: skip
        """Return the mean of a function, which may close over traced arrays.

        Where the tails begin, which SciPy integrates by themselves, has no derivative.
        """
        if current_builder() is None:
            return self._plain.expect(func, args, loc, scale, lb, ub, conditional, **kwds)
        law = self.freeze(*args, loc=loc, scale=scale)
        low, high = law.support()
        low, high = low if lb is None else lb, high if ub is None else ub
        below = 0.0 if lb is None else law.cdf(low)
        mass = (1.0 if ub is None else law.cdf(high)) - below
        parts = [stop_gradient(law.ppf(below + part * mass)) for part in PARTS]
        corners = [np.clip(c * scale + loc, low, high) for c in corners_of(self._key, *args)]
        inner = list(np.sort(np.stack([parts[0], *corners, parts[-1]]))) if corners else parts
        moves = has_own(self._key, "_get_support")
        ends = (
            lb is None and (moves or bool(np.isfinite(self._plain.a))),
            ub is None and (moves or bool(np.isfinite(self._plain.b))),
        )
        panels = Panels(law, scale, [low, *inner, high], corners)
        found = panels.mean((lambda x: x) if func is None else func, ends, kwds)
        return found / mass if conditional else found


class Discrete(Distribution):
    """The methods of `scipy.stats.rv_discrete`."""

    _nonzero: Any

    @for_traced
    @_record_once
    def pmf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """Return the probabilities of whole numbers; zero elsewhere."""
        return self._mass("pmf", 0.0, k, args, kwds)

    @for_traced
    @_record_once
    def logpmf(self, k: Any, *args: Any, **kwds: Any) -> Any:
        """Return the logarithms of the probabilities."""
        return self._mass("logpmf", -np.inf, k, args, kwds)

    def _mass(self, name: str, outside: float, k: Any, args: Any, kwds: Any) -> Any:
        shapes, k, _, valid = self._standardize(k, args, kwds)
        k = stop_gradient(k)  # they are steps in it
        with np.errstate(all="ignore"):
            value = density(self._key, name, [k, *shapes])
        value = np.where(self._nonzero(k, *shapes), value, outside)
        return self._inside(value, outside, k, shapes, valid)

    def expect(
        self, func: Any = None, args: Any = (), loc: Any = 0, lb: Any = None, ub: Any = None,
        conditional: bool = False, *options: Any, **kwds: Any,
    ) -> Any:  # fmt: skip
        """Return the mean of a function, which may close over traced arrays.

        As SciPy does it sums from the median on, until blocks of terms add nothing.  Where nobody
        knows which these are it sums all that there may be, by masks.
        """
        if current_builder() is None:
            return self._plain.expect(func, args, loc, lb, ub, conditional, *options, **kwds)
        law = self.freeze(*args)
        low, high = law.support()
        low, high = low if lb is None else lb - loc, high if ub is None else ub - loc

        def terms(k: Any) -> Any:
            return (k + loc if func is None else func(k + loc)) * law.pmf(k)

        total = copy_of(place("scipy.stats._distn_infrastructure", "_expect"))
        given = terms, low, high, stop_gradient(law.ppf(0.5))
        forgive = forgiveness()
        try:
            found = total(*given, 1, *options, **kwds)
        except ConcreteValueError:
            forgive()
            found = sum_by_masks(*given, *options, **kwds)
        return found / (law.sf(low - 1) - law.sf(high)) if conditional else found


# ---- frozen --------------------------------------------------------------------------------------


def _frozen(distribution: Any, args: Any, kwds: Any) -> Any:
    found = object.__new__(distribution._frozen_kind)
    plain = scipys(distribution._key)
    own = object.__new__(type(distribution))
    vars(own).update(vars(distribution))
    own._plain = plain.__class__(**plain._updated_ctor_param())
    shapes, _, _ = own._parse_args(*args, **kwds)
    found.args, found.kwds, found.dist = args, kwds, own
    found.a, found.b = own._get_support(*shapes)
    return found
