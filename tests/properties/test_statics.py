"""Static values that nothing tells apart share a program; all others have their own."""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff import pytree
from funcdiff.pytree.statics import static_key
from tests.properties.laws import examples


class Kind(IntEnum):
    """Equal to the numbers."""

    NOTHING = 0
    ONE = 1


class Pair(NamedTuple):
    """Equal to every tuple of the same."""

    first: Any
    second: Any = 0


class Other(NamedTuple):
    """Equal to a `Pair`."""

    first: Any
    second: Any = 0


@dataclass(frozen=True)
class Frozen:
    """Compared by a generated method."""

    first: Any
    second: Any = 0


@attrs.frozen
class Attrs:
    """Compared by a generated method of another kind."""

    first: Any


class Lax:
    """Compared by a method of the user's, which does not look at types."""

    def __init__(self, first: Any) -> None:
        self.first = first

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lax) and bool(self.first == other.first)

    def __hash__(self) -> int:
        return hash(self.first)

    def __repr__(self) -> str:
        return f"Lax({self.first!r})"


class Number(float):
    """A number of a class of the user's."""

    def __repr__(self) -> str:
        return f"Number({float(self)!r})"


def double(x: Any, c: Any) -> Any:
    """Stand for a function of which a part is fixed."""
    return 2 * x


@dataclass
class Layer:
    """A container with a static field."""

    x: Any
    static: Any = field(metadata={"static": True})


class Tagged:
    """A registered container."""

    def __init__(self, x: Any, tag: Any) -> None:
        self.x, self.tag = x, tag


pytree.register(Tagged, lambda t: ([t.x], t.tag), lambda tag, children: Tagged(children[0], tag))

Recipe = Callable[[], Any]
"""Makes a value, each time a new one."""


def _at(hours: int) -> datetime:
    return datetime(2020, 1, 1, 12 + hours, tzinfo=timezone(timedelta(hours=hours)))


NUMBERS: list[Recipe] = [
    *(functools.partial(kind, value) for value in (0, 1) for kind in (int, bool, float, complex)),
    *(functools.partial(kind, value) for value in (0, 1)
      for kind in (np.int8, np.int64, np.bool_, np.float32, np.float64, np.complex128, Number)),
    *(functools.partial(kind, -0.0) for kind in (float, np.float32, np.float64, np.longdouble)),
    lambda: Number(-0.0), lambda: complex(-0.0, 0.0), lambda: complex(0.0, -0.0),
    lambda: Kind.ONE, lambda: Kind.NOTHING, lambda: Fraction(1), lambda: Fraction(0),
]  # fmt: skip

ATOMS: list[Recipe] = [
    *NUMBERS,
    lambda: float("nan"), lambda: complex(0.0, float("nan")), lambda: np.float64("nan"),
    lambda: np.float32("nan"), lambda: np.longdouble("nan"),
    lambda: "a", lambda: "1", lambda: b"a", lambda: np.str_("a"), lambda: None, lambda: ...,
    lambda: Decimal("1.0"), lambda: Decimal("1.00"), lambda: Decimal("-0"), lambda: Decimal("nan"),
    lambda: range(0), lambda: range(1, 1), lambda: (), frozenset, lambda: int, lambda: float,
    lambda: _at(0), lambda: _at(1), lambda: datetime(2020, 1, 1, 12, tzinfo=UTC),
]  # fmt: skip


def _made(kind: Callable[..., Any], parts: list[Recipe]) -> Recipe:
    return lambda: kind(*(part() for part in parts))


def _one_of(item: Any) -> frozenset[Any]:
    return frozenset([item])


def _fixed(c: Any) -> Any:
    return functools.partial(double, c=c)


def _containers(inner: st.SearchStrategy[Recipe]) -> st.SearchStrategy[Recipe]:
    one = st.tuples(inner).map(list)
    several = st.lists(inner, min_size=1, max_size=2)
    return st.one_of(
        several.map(lambda parts: lambda: tuple(part() for part in parts)),
        *[several.map(functools.partial(_made, kind)) for kind in (Pair, Other, Frozen)],
        *[one.map(functools.partial(_made, kind)) for kind in (Attrs, _one_of, _fixed)],
        st.sampled_from([*NUMBERS, _made(Pair, NUMBERS[:2])]).map(lambda r: _made(Lax, [r])),
    )


recipes = st.recursive(st.sampled_from(ATOMS), _containers, max_leaves=4)
# two or three of a few: otherwise hardly any are equal
several_recipes = st.lists(recipes, min_size=2, max_size=4)


def seen(value: Any) -> str:
    """Return all that can be seen of a value: what funcdiff has no part in."""
    return f"{type(value)} {value!r}"


def weight(value: Any) -> float:
    """Return a number that depends on all that can be seen."""
    return float(zlib.crc32(seen(value).encode()))


# ---- where static values come in -----------------------------------------------------------------

Use = Callable[[Any], Any]
"""Calls a compiled function with a static value."""


def by_position(f: Callable[[Any, Any], Any]) -> Use:
    compiled: Any = fd.jit(f, static_argnums=1)
    return lambda c: compiled(np.ones(2), c)


def by_name(f: Callable[[Any, Any], Any]) -> Use:
    compiled: Any = fd.jit(lambda x, *, c: f(x, c), static_argnames="c")
    return lambda c: compiled(np.ones(2), c=c)


def as_a_key(f: Callable[[Any, Any], Any]) -> Use:
    compiled = fd.jit(lambda tree: f(*next((x, k) for k, x in tree.items())))
    return lambda c: compiled({c: np.ones(2)})


def as_a_field(f: Callable[[Any, Any], Any]) -> Use:
    compiled = fd.jit(lambda layer: f(layer.x, layer.static))
    return lambda c: compiled(Layer(np.ones(2), c))


def as_registered(f: Callable[[Any, Any], Any]) -> Use:
    compiled = fd.jit(lambda tagged: f(tagged.x, tagged.tag))
    return lambda c: compiled(Tagged(np.ones(2), c))


def in_a_function(f: Callable[[Any, Any], Any]) -> Use:
    compiled = fd.jit(lambda x, g: f(x, g.keywords["c"]))
    return lambda c: compiled(np.ones(2), functools.partial(double, c=c))


def under_a_gradient(f: Callable[[Any, Any], Any]) -> Use:
    compiled = fd.jit(fd.value_and_grad(lambda layer: np.sum(f(layer.x, layer.static))))
    return lambda c: compiled(Layer(np.ones(2), c))[0] / 2 * np.ones(2)


PLACES = [by_position, by_name, as_a_key, as_a_field, as_registered, in_a_function,
          under_a_gradient]  # fmt: skip


def require_own_programs(place: Callable[[Any], Use], made: list[Recipe]) -> None:
    """Call with fresh values twice: the function is traced once for each that can be told."""
    traced: list[str] = []

    def f(x: Any, c: Any) -> Any:
        traced.append(seen(c))
        return x * weight(c)

    use = place(f)
    for make in [*made, *made[::-1]]:
        np.testing.assert_array_equal(use(make()), np.full(2, weight(make())))
    assert sorted(traced) == sorted({seen(make()) for make in made})


def require_keys(made: list[Recipe]) -> None:
    """Require that keys, and the hashes of keys, agree with what can be seen."""
    for one in made:
        assert static_key(one()) == static_key(one())
        assert hash(static_key(one())) == hash(static_key(one()))
        for other in made:
            same = seen(one()) == seen(other())
            assert (static_key(one()) == static_key(other())) is same


@examples(40, 540)
@given(several_recipes)
def test_keys_are_equal_where_nothing_tells_values_apart(made: list[Recipe]) -> None:
    require_keys(made)


@pytest.mark.slow
def test_all_atoms_have_keys_of_their_own() -> None:
    for kind in (Pair, Frozen, Attrs, _one_of, _fixed):
        require_keys([_made(kind, [atom]) for atom in ATOMS])
    require_keys([*ATOMS, *[_made(Lax, [atom]) for atom in NUMBERS]])


@pytest.mark.slow
@examples(20, 520)
@given(st.sampled_from(PLACES), several_recipes)
def test_every_static_value_has_its_own_program(place: Any, made: list[Recipe]) -> None:
    require_own_programs(place, made)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", [lambda c: c, Pair, Frozen, Attrs, Lax, _one_of])
def test_equal_numbers_of_different_types_are_compiled_apart(place: Any, kind: Any) -> None:
    values = [1, 1.0, True, np.float64(1.0), 0.0, -0.0, 0, *([] if kind is Lax else [math.nan])]
    require_own_programs(place, [functools.partial(kind, value) for value in values])


def test_an_opaque_function_is_called_with_its_own_static_value() -> None:
    opaque = fd.primitive(lambda x, g: x * weight(next(iter(g))), result=lambda x, g: np.empty(2))
    for make in [*ATOMS, *ATOMS[::-1]]:
        found = fd.jit(lambda x, items: opaque(x, items))(np.ones(2), frozenset([make()]))
        np.testing.assert_array_equal(found, np.full(2, weight(make())))
