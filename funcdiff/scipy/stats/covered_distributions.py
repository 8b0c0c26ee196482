"""The distributions of ``scipy.stats``: SciPy's classes, with leaves and methods of ours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from funcdiff.scipy.array_api import without_slopes_unless
from funcdiff.scipy.borrowed import copy_of, stand_in
from funcdiff.scipy.covered import Holder, cover, load
from funcdiff.scipy.places import place, requirements_of
from funcdiff.scipy.stats.closed_forms import _log_gauss_mass, formulas
from funcdiff.scipy.stats.frames import Continuous, Discrete
from funcdiff.scipy.stats.leaves import objects
from funcdiff.scipy.stats.refusals import REFUSED


def _lazyselect(
    condlist: Sequence[Any], choicelist: Sequence[Any], arrays: Any, default: Any = 0
) -> Any:
    """Choose among functions of all elements; of several conditions that hold the last counts."""
    found: Any = default
    shape = np.broadcast_shapes(*map(np.shape, (*arrays, *condlist)))
    with np.errstate(all="ignore"):
        for condition, choice in zip(condlist, choicelist, strict=True):
            used = without_slopes_unless(condition, arrays)
            chosen = choice(*map(np.atleast_1d, used))  # some write into arrays with an axis
            found = np.where(condition, chosen, found)
    return np.reshape(np.broadcast_to(found, shape or (1,)), shape)


def cover_distributions() -> None:
    """Enter every distribution of SciPy's that is an object of its own."""
    for function in (_lazyselect, _log_gauss_mass):
        with requirements_of("scipy.stats", ""):  # what is not there has no user
            stand_in(place("scipy.stats._continuous_distns", function.__name__), function)
    for name, plain in vars(load("scipy.stats")).items():
        is_object = hasattr(plain, "freeze") and not isinstance(plain, type)
        if is_object and name not in REFUSED:
            with requirements_of("scipy.stats", name):
                found = _make(name, plain)
                objects[name] = found
                stand_in(plain, found)
                cover("scipy.stats", name, found)


@cache
def _frozen_kind(frame: type) -> Any:
    name = f"rv_{frame.__name__.lower()}_frozen"
    frozen = place("scipy.stats._distn_infrastructure", name)
    return type(frozen.__name__, (frozen, Holder), {"__reduce__": _reduce_frozen})


def _reduce_frozen(self: Any) -> tuple[Any, ...]:
    """Return what pickles a frozen distribution: its name, parameters and, if it has one, seed."""
    seed = self.dist._plain.random_state
    seed = None if seed is np.random.mtrand._rand else seed
    return _frozen_again, (self.dist._key, self.args, self.kwds, seed)


def _frozen_again(name: str, args: Any, kwds: Any, seed: Any) -> Any:
    found = objects[name](*args, **kwds)
    if seed is not None:
        found.random_state = seed
    return found


def _make(name: str, plain: Any) -> Any:
    frame = Discrete if hasattr(plain, "pmf") else Continuous
    borrowed = copy_of(type(plain))
    kind: Any = type(type(plain).__name__, (frame, borrowed), dict(formulas.get(name, {})))
    found = object.__new__(kind)
    vars(found).update(vars(plain))
    found._plain, found._key, found._frozen_kind = plain, name, _frozen_kind(frame)
    return found


cover_distributions()
