"""Frozen values: random draws and global numbers that compiled code has for good, and warnings.

A compiled function is traced once.  A random number that it draws is the same in each call from
then on, and a global number, or one that it closes over, stays what it was.
"""

from __future__ import annotations

import dis
import inspect
import pickle
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import chain
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.calls.repeated import ABSENT, codes, content
from funcdiff.errors import FrozenValueWarning, is_users_file, user_location

_MOST_FUNCTIONS: Final = 64
_NUMBERS: Final = (int, float, complex, np.number, np.bool)


class Loaded(NamedTuple):
    """A global name, or a cell, that a function loads, and the line where it does first."""

    name: str
    owner: dict[str, Any] | CellType
    place: str

    def value(self) -> Any:
        """Return what it stands for now."""
        owner = self.owner
        return content(owner) if isinstance(owner, CellType) else owner.get(self.name, ABSENT)


def _within_reach(f: Any, *, methods: bool = False) -> list[tuple[CodeType, list[Loaded]]]:
    """Return the code of a function, and of those of the user's that it loads, with what it loads.

    With `methods`, those that it may find as attributes of what it loads count, too.
    """
    found = dict[CodeType, list[Loaded]]()
    pending = [f]
    while pending and len(found) < _MOST_FUNCTIONS:
        called, function = pending[-1], _plain(pending.pop())
        if function is None or function.__code__ in found:
            continue
        code = function.__code__
        names, stored = _loads(code)
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
        places = [(name, cells.get(name, function.__globals__), x) for name, x in names]
        if isinstance(method := inspect.unwrap(called), MethodType) and code.co_varnames:
            me, place = code.co_varnames[0], f"{code.co_filename!r}, line {code.co_firstlineno}"
            places.append((me, {me: method.__self__}, place))
        found[code] = [Loaded(*x) for x in places if x[0] not in stored]
        values = [x.value() for x in found[code]]
        pending += values
        used = {name for part in codes(code) if methods for name in part.co_names}
        for x in values if used else ():
            held, kinds = getattr(x, "__dict__", {}), [vars(kind) for kind in type(x).__mro__]
            pending += [held[n] for n in used & held.keys()]
            named = [kind[n] for kind in kinds for n in used & kind.keys()]
            pending += [MethodType(g, x) for g in named if isinstance(g, FunctionType)]
    return list(found.items())


def _plain(f: Any) -> FunctionType | None:
    """Return the function of the user's behind what is called; None if there is none."""
    f = inspect.unwrap(f) if callable(f) else f
    while isinstance(f, partial | MethodType):
        f = f.func if isinstance(f, partial) else f.__func__
    is_users = isinstance(f, FunctionType) and is_users_file(f.__code__.co_filename)
    return f if is_users else None


@lru_cache(maxsize=1024)
def _loads(code: CodeType) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """Return the names that code loads from without, with the line, and those that it stores."""
    loaded, stored = dict[str, str](), set[str]()
    for part in codes(code):
        line = part.co_firstlineno
        for step in dis.get_instructions(part):
            line = step.positions.lineno or line if step.positions else line
            is_outer = step.opname == "LOAD_DEREF" and step.argval in code.co_freevars
            if is_outer or step.opname == "LOAD_GLOBAL":
                loaded.setdefault(step.argval, f"{part.co_filename!r}, line {line}")
            elif step.opname in ("STORE_GLOBAL", "STORE_DEREF"):
                stored.add(step.argval)
    return tuple(loaded.items()), frozenset(stored)


# ---- random draws --------------------------------------------------------------------------------


@contextmanager
def draws_of(f: Any) -> Iterator[Callable[[], str]]:
    """Give a function that says which generator of those that `f` can see has drawn since, where.

    So it does of one that `f` has made without a seed; an empty text if none has.
    """
    reached = _within_reach(f, methods=True)
    makes = any(_MAKERS.intersection(part.co_names) for code, _ in reached for part in codes(code))
    seeds = any("seed" in code.co_names for code, _ in reached)  # it draws the same in each call
    names = [(x, code.co_names) for code, loads in reached for x in loads if not seeds]
    states = [(x, g, _state_of(g)) for x, held in names for g in _generators(x.value(), held)]

    def first_draw() -> str:
        drawn = (f"{x.name}, at {x.place}" for x, g, state in states if state != _state_of(g))
        return next(chain(drawn, entropy), "")

    def see(frame: FrameType, event: str, _: Any) -> None:
        is_unseeded = frame.f_code is _SEED and frame.f_locals["a"] is None
        if event == "call" and (frame.f_code is _ENTROPY or is_unseeded):
            entropy.append(f"a generator without a seed, at {user_location()}")

    entropy: list[str] = []
    if not makes or sys.getprofile() is not None:
        yield first_draw
        return
    np.random  # noqa: B018 - imported here, where it makes its own generator, unless it was before
    sys.setprofile(see)
    try:
        yield first_draw
    finally:
        sys.setprofile(None)


_ENTROPY: Final = random.SystemRandom.getrandbits.__code__
"""What NumPy and `secrets` call for numbers of the system."""

_SEED: Final = random.Random.seed.__code__
"""What a generator of Python is given its seed by, or None."""

_MAKERS: Final = {"random", "secrets", "Random", "RandomState", "Generator", "default_rng"}
"""Names of modules and functions, without any of which code makes no generator."""


def _generators(value: Any, names: Sequence[str]) -> Iterator[Any]:
    """Yield the generators that a value is, or by which a module draws in code with these names."""
    module: Any = sys.modules.get("numpy.random")
    kinds = (random.Random, *((module.Generator, module.RandomState) if module else ()))
    held = vars(value) if hasattr(value, "__dict__") else {}
    owner = getattr(value, "__self__", None)  # of random.random, and of np.random.rand
    for x in (value, owner, *(held[name] for name in names if name in held)):
        if isinstance(x, kinds):
            yield x
        elif x is random:
            yield random._inst
        elif module is not None and x is module:
            yield module.mtrand._rand


def _state_of(generator: Any) -> bytes | None:
    """Return the state of a generator, the same while it draws nothing; None if it has none."""
    with suppress(NotImplementedError):  # the entropy of the system
        return pickle.dumps(generator)
    return None


def warn_of_draw(name: object, drawn: str) -> None:
    """Warn that a compiled function drew random numbers while it was traced."""
    warnings.warn(
        f"{name} draws random numbers by {drawn}. Under jit they are drawn once, while it is "
        "traced, and are the same in each call. Draw them outside, and pass them as an argument.",
        FrozenValueWarning,
        stacklevel=2,
    )


# ---- global numbers ------------------------------------------------------------------------------


class Watch:
    """Global numbers that a function loads or closes over, as they were when it was traced.

    `changed` is told of the first that is another one, once.
    """

    def __init__(self, f: Any, changed: Callable[[str], None]) -> None:
        values = [(x, x.value()) for _, loads in _within_reach(f) for x in loads]
        numbers = [(x, y) for x, y in values if isinstance(y, _NUMBERS)]
        self._numbers, self._changed = numbers, changed
        self._tables = [(x.owner, x.name, y) for x, y in numbers if isinstance(x.owner, dict)]
        self._cells = [(x.owner, y) for x, y in numbers if isinstance(x.owner, CellType)]

    def look(self) -> None:
        """Say if a number has changed."""
        for table, name, value in self._tables:
            if table.get(name) is not value:
                self._tell()
        for cell, value in self._cells:
            if content(cell) is not value:
                self._tell()

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that looks before; where there are no numbers, the call itself."""
        if not self._numbers:
            return call
        look = self.look

        def watching(leaves: Any, args: Any, kwargs: Any) -> Any:
            look()
            return call(leaves, args, kwargs)

        return watching

    def _tell(self) -> None:
        for x, value in self._numbers:
            now = x.value()
            if now is not value and now != value:
                self._changed(
                    f"{x.name}, which it loads at {x.place}, was {value!r} and is {now!r}"
                )
                self._tables, self._cells = [], []
                return


def warn_of_change(name: object, change: str) -> None:
    """Warn that a compiled function goes on with a number that has changed."""
    warnings.warn(
        f"{name} was traced with a number that has changed since: {change}. Under jit it stays "
        "what it was. Pass it as an argument, or call clear_cache() of the function.",
        FrozenValueWarning,
        stacklevel=2,
    )
