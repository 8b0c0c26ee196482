"""Random variates by reparametrization: derivatives in the parameters at fixed random numbers.

A variate is x = F⁻¹(u; θ)·scale + loc for some u that does not depend on the parameters, however it
was drawn, so that dx = -F_θ(z) dθ·scale/f(z) + z dscale + dloc at z = (x - loc)/scale: implicit
reparameterization (M. Figurnov, S. Mohamed, A. Mnih, "Implicit Reparameterization Gradients",
NeurIPS 2018).  Variates are SciPy's own; those of discrete distributions are constant.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.adapting.conditions import forgiveness, is_known_to_hold
from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.errors import ConcreteValueError, NotDifferentiableError, user_location
from funcdiff.numpy.border.promotion import array, shape_of
from funcdiff.numpy.border.values import is_constant, value_of
from funcdiff.ops.linalg.systems import triangular_solve
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.ops.user.python_call import Entered
from funcdiff.reading.text.control import STATEMENTS, from_outside
from funcdiff.scipy.covered import Holder, holds_traced
from funcdiff.scipy.places import place
from funcdiff.scipy.stats.distribution_methods import density, shape_slope
from funcdiff.scipy.stats.leaves import distribution, scipys
from funcdiff.space import sum_tangents


@dataclass(frozen=True)
class Source:
    """The state of a generator from which a draw starts, or a seed."""

    state: Any


sources: Final = Entered[Source](
    "the generator", "A program that was stored has none: trace the function again."
)
"""States of generators of random numbers, from which a draw starts."""


class Draw(Params):
    """A draw of variates: of which distribution and shape, from which state of a generator.

    Behind `batches` axes in front each example is drawn from the same state.  The distributions and
    shapes in `before` are drawn first, for nothing but where the generator stands then: their
    parameters are the first operands.
    """

    distribution: str
    size: tuple[int, ...]
    source: str
    before: tuple[tuple[str, tuple[int, ...]], ...] = ()
    batches: tuple[int, ...] = ()

    def with_batch_axis(self, size: int) -> Draw:
        """Return the same for operands with one more axis in front."""
        return replace(self, batches=(size, *self.batches))


class Drawn(NamedTuple):
    """A draw by parameters that may not be known."""

    distribution: str
    size: tuple[int, ...]
    parameters: list[Any]


def draw(
    distribution: str, shapes: Any, loc: Any, scale: Any, size: Any, random_state: Any,
    before: list[Drawn] | None = None,
) -> Any:  # fmt: skip
    """Draw as SciPy does, and let the generator go on as SciPy would.

    With a list of what was drawn `before`, the generator stays where it is, and the draw is added.
    """
    plain = scipys(distribution)
    given = [array(x) for x in (*shapes, loc, scale)]
    generator = plain.random_state if random_state is None else random_state
    if isinstance(generator, int | np.integer):
        source = sources.enter("seed", Source(int(generator)))
    else:
        source = sources.enter("generator", Source(copy.deepcopy(generator)))
        if before is None:
            _go_on(plain, given, size, generator)
    shape = np.broadcast_shapes(*map(shape_of, given)) if size is None else size
    shape = tuple(int(n) for n in np.atleast_1d(shape)) if shape != () else ()
    earlier = tuple((each.distribution, each.size) for each in before or ())
    parameters = [x for each in before or () for x in each.parameters]
    if before is not None:
        before.append(Drawn(distribution, shape, given))
    return bind(draw_p, Draw(distribution, shape, source, earlier), *parameters, *given)[0]


def _go_on(plain: Any, given: list[Any], size: Any, generator: Any) -> None:
    try:
        values = list(map(value_of, given))
    except ConcreteValueError as error:
        raise ConcreteValueError(
            f"scipy.stats.{plain.name}.rvs moves its generator on by what it draws, which is not "
            f"known inside vmap, cond or scan, at {user_location()}. Give a number as "
            "random_state, or draw outside."
        ) from error
    _call(plain, values, size, generator)


def _call(plain: Any, values: Any, size: Any, generator: Any) -> Any:
    *shapes, loc, scale = values
    given = {} if hasattr(plain, "pmf") else {"scale": scale}
    return plain.rvs(*shapes, loc=loc, **given, size=size, random_state=generator)


def _implementation(p: Draw) -> Callable[..., Any]:
    def one(*values: Any) -> Any:
        generator = copy.deepcopy(sources[p.source].state)
        for name, size in (*p.before, (p.distribution, p.size)):
            count = _count(name)
            found = _call(scipys(name), values[:count], size, generator)
            values = values[count:]
        return np.asarray(found, _dtype(p))[()]

    def run(*values: Any) -> Any:
        if not p.batches:
            return one(*values)
        found = np.empty((*p.batches, *p.size), _dtype(p))
        for index in np.ndindex(*p.batches):
            found[index] = one(*(x[index] for x in values))
        return found

    return run


def _count(distribution: str) -> int:
    """Return how many parameters a distribution has."""
    count: int = scipys(distribution).numargs + 2
    return count


def _dtype(p: Draw) -> np.dtype[Any]:
    return np.dtype(INT if hasattr(scipys(p.distribution), "pmf") else FLOAT)


def _abstract(p: Draw, *_types: ArrayType) -> Types:
    return (ArrayType((*p.batches, *p.size), _dtype(p)),)


def _forward(p: Draw, xs: Tracers, ts: Tangents) -> Pushed:
    y = bind(draw_p, p, *xs)[0]
    own = _count(p.distribution)
    xs, ts = xs[-own:], ts[-own:]
    if y.dtype.kind != "f" or all(t is None for t in ts):
        return [y], [None]
    count = len(p.batches)

    def spread(x: Any) -> Any:
        """Return a parameter, or its tangent, in the shape of the variates."""
        if x is None:
            return None
        own = x.type.shape[count:]
        while len(own) > len(p.size):
            own = own[1:]
        ones = (1,) * (len(p.size) - len(own))
        return np.broadcast_to(np.reshape(x, (*p.batches, *ones, *own)), y.type.shape)

    *shapes, loc, scale = map(spread, xs)
    *t_shapes, t_loc, t_scale = map(spread, ts)
    z = (y - loc) / scale
    at = [z, *shapes]
    moved = shape_slope(p.distribution, "_cdf", at, [None, *t_shapes])
    if moved is not None:
        height: Any = density(p.distribution, "pdf", at)
        moved = moved * (-scale / height)
    return [y], [sum_tangents([moved, t_loc, None if t_scale is None else z * t_scale])]


draw_p: Final = Primitive(
    "random_variates",
    Draw,
    _abstract,
    impl=Implementation(_implementation, fresh=True),
    jvp=_forward,
)

STATEMENTS[draw_p.name] = from_outside(
    lambda p: f"(*parameters) -> variates of {p.distribution}, of the generator {p.source}"
)


# ---- Random vectors and matrices as functions of the parameters, at the same random numbers ------
#
# SciPy's own code draws them from a generator that answers traced parameters, too.  A normal vector
# moves with the Cholesky factor L of its covariance, x = μ + L·(L₀⁻¹x₀), whatever factor NumPy drew
# it with.  Of a singular one that is the factor in its range, which is taken to stay the same.
# Gamma variates, of which others are made, move as those of `draws`.


class Variates:
    """A generator of random numbers whose distributions may have traced parameters.

    Each draw begins where the generator stands after the one before.  Where this depends on what is
    not known, one that is made of a number is left where it was, and what is drawn from then on
    draws again what was drawn before it.
    """

    def __init__(self, seed: Any) -> None:
        self._plain = place("scipy._lib._util", "check_random_state")(seed)
        self._before: list[Drawn] = []

    @property
    def plain(self) -> Any:
        """The generator, unless it would have gone on by what is not known."""
        if not self._before:
            return self._plain
        raise ConcreteValueError(
            "this is drawn from where the generator stands after a draw by parameters that are not "
            f"known inside vmap, cond, scan and jit, at {user_location()}. Draw outside of these."
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw normal variates."""
        return loc + scale * self.standard_normal(size)

    def standard_normal(self, size: Any = None) -> Any:
        """Draw normal variates of mean 0 and variance 1."""
        if not self._before:
            return self._plain.standard_normal(size)
        return draw("norm", [], 0.0, 1.0, _lengths(size), self._plain, self._before)

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None) -> Any:
        """Draw normal vectors: as NumPy does by singular values, which are constants."""
        normal: Any = self.standard_normal((*_lengths(size), np.shape(mean)[-1]))
        fixed: Any = stop_gradient(array(cov))
        u, s, vh = np.linalg.svd(fixed)
        legacy = isinstance(self._plain, np.random.RandomState)
        root: Any = np.sqrt(s)[:, None] * (vh if legacy else u.T)
        drawn: Any = normal @ root
        columns: Any = np.reshape(drawn, (-1, drawn.shape[-1])).T
        basis, is_within = _range_of(u, s)
        before, after = (_cholesky_within(x, basis, is_within) for x in (fixed, array(cov)))
        white: Any = triangular_solve(before, array(basis.T @ columns), lower=True)
        return mean + np.reshape((basis @ (after @ white)).T, drawn.shape)

    def chisquare(self, df: Any, size: Any = None) -> Any:
        """Draw from χ²."""
        given = None if size is None else _lengths(size)
        return self._draw("chi2", df, given)

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        """Draw shares: gamma variates by their sum."""
        sticks = isinstance(self._plain, np.random.Generator)
        if sticks and is_known_to_hold(lambda: np.max(alpha) < 0.1):
            raise NotDifferentiableError(
                "scipy.stats.dirichlet.rvs draws in another way where all of alpha are below 0.1, "
                f"at {user_location()}. Give a number as random_state."
            )
        shape = (*_lengths(size), np.shape(alpha)[-1])
        parts = self._draw("gamma", alpha, shape)
        return parts / np.sum(parts, axis=-1, keepdims=True)

    def choice(self, count: int, size: Any = None, p: Any = None) -> Any:
        """Draw whole numbers, which have no derivative by their probabilities."""
        if isinstance(p, Tracer) and not is_constant(p):
            raise NotDifferentiableError(
                f"gaussian_kde.resample was differentiated in the weights at {user_location()}: "
                "which points are drawn jumps with them. Draw from fd.stop_gradient(weights)."
            )
        return self.plain.choice(count, size, p=p)

    def _draw(self, name: str, parameter: Any, size: Any) -> Any:
        """Draw from a distribution with one parameter."""
        forgive = forgiveness()
        try:
            return distribution(name).rvs(parameter, size=size, random_state=self.plain)
        except ConcreteValueError:
            forgive()
            return draw(name, [parameter], 0.0, 1.0, size, self._plain, self._before)


def _range_of(u: Any, s: Any) -> tuple[Any, Any]:
    """Return a basis that has one of the range of a covariance, and which of its vectors that is.

    It is that of the unit vectors where the covariance has full rank.
    """
    size = len(s)
    is_within = s > size * np.finfo(s.dtype).eps * np.max(s)
    return np.where(np.all(is_within), np.eye(size), u), is_within


def _cholesky_within(cov: Any, basis: Any, is_within: Any) -> Any:
    """Return the Cholesky factor of a covariance in its range, and ones beside it."""
    in_range = is_within[:, None] & is_within
    return array(np.linalg.cholesky(np.where(in_range, basis.T @ cov @ basis, np.eye(len(basis)))))


def _lengths(size: Any) -> tuple[int, ...]:
    return () if size is None else tuple(int(n) for n in np.ravel(size))


def check_random_state(seed: Any) -> Any:
    """Return SciPy's generator of a seed, and one of ours as it is."""
    plain = place("scipy._lib._util", "check_random_state")
    return seed if isinstance(seed, Variates) else plain(seed)


def drawing(
    plain: Callable[..., Any], borrowed: Callable[..., Any], seed: str = "random_state"
) -> Callable[..., Any]:
    """Return ``rvs`` of SciPy's, which is its borrowed code where a parameter is traced.

    Its argument for the generator is called `seed`.
    """
    signature = inspect.signature(plain)

    @wraps(plain)
    def rvs(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs)
        state = given.arguments.get(seed)
        held = args, kwargs, list(vars(self).values())
        if current_builder() is None or not holds_traced(held):
            if isinstance(state, Variates):
                given.arguments[seed] = state.plain
            return plain(*given.args, **given.kwargs)
        if state is None:
            state = getattr(getattr(self, "_dist", self), "_random_state", None)
        if not isinstance(state, Variates):
            if not isinstance(state, int | np.integer):
                _check_known(held)
            given.arguments[seed] = Variates(state)
        return borrowed(*given.args, **given.kwargs)

    return rvs


def _check_known(held: Any) -> None:
    """Check that a generator, which moves on by what is drawn, is not shared by several draws."""
    try:
        for x in _tracers_in(held):
            value_of(x)
    except ConcreteValueError as error:
        raise ConcreteValueError(
            "a generator of random numbers moves on with each draw, and how many there will be is "
            f"not known inside vmap, cond, scan and jit, at {user_location()}. Give a number, as "
            "random_state=0, from which every call draws the same, or draw outside of these."
        ) from error


def _tracers_in(value: Any) -> Iterator[Tracer]:
    """Yield the traced arrays in nested arguments and in attributes of objects of ours."""
    if isinstance(value, Tracer):
        yield value
    elif isinstance(value, list | tuple):
        yield from chain.from_iterable(map(_tracers_in, value))
    elif isinstance(value, dict):
        yield from _tracers_in(list(value.values()))
    elif isinstance(value, Holder):
        yield from (x for x in vars(value).values() if isinstance(x, Tracer))
