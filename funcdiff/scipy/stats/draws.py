"""Random variates by reparametrization: derivatives in the parameters at fixed random numbers.

A variate is x = F⁻¹(u; θ)·scale + loc for some u that does not depend on the parameters, however it
was drawn, so that dx = -F_θ(z) dθ·scale/f(z) + z dscale + dloc at z = (x - loc)/scale: implicit
reparameterization (M. Figurnov, S. Mohamed, A. Mnih, "Implicit Reparameterization Gradients",
NeurIPS 2018).  Variates are SciPy's own; those of discrete distributions are constant.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.promotion import array, shape_of
from funcdiff.numpy.border.values import value_of
from funcdiff.ops.user.python_call import Entered
from funcdiff.reading.text.control import STATEMENTS, from_outside
from funcdiff.scipy.stats.leaves import scipys
from funcdiff.scipy.stats.methods import density, shape_slope
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

    def batched(self, size: int) -> Draw:
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
        generator = _state_of(p)
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


def _state_of(p: Draw) -> Any:
    """Return a state of its own, so that each run draws the same."""
    return copy.deepcopy(sources[p.source].state)


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
