"""Does each call of a covered SciPy function in a test once more, on traced arrays.

The test itself sees SciPy's own results only.  Of objects, the calls that made them are done once
more, too: a spline of traced values is evaluated at traced points.
"""

from __future__ import annotations

import copy
import json
import os
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pkgutil import walk_packages
from threading import current_thread, main_thread
from typing import Any, Final, NamedTuple

import numpy as np
import scipy.sparse

import funcdiff.scipy
from funcdiff.core.scope import without_recording
from funcdiff.core.tracer import Tracer
from funcdiff.scipy import sparse
from funcdiff.scipy.covered import table
from tests.numpy_suite.observing import classified, shown
from tests.numpy_suite.tracing import WAY, WAYS, is_traced, leaves_of

_LARGEST: Final = 3_000
_OFTEN: Final = 12
"""Calls of one function in one test, whatever its parameters, that are repeated."""
_RECORD: Final = os.environ.get("NUMPY_SUITE_RECORD")
_SECONDS: Final = 20
_MAKE: Final = "an object that is made of"
_CHANGING: Final = frozenset(
    ("extend", "add_xi", "set_yi", "update", "initialize", "step", "set_smoothing_factor")
)
"""Methods that change their object."""
_STATE: Final[np.random.RandomState] = np.random.mtrand._rand
"""What numbers are drawn from where a test names nothing."""
_counts: Counter[tuple[str, str]] = Counter()
_repeating: list[bool] = []


class _Call(NamedTuple):
    """A call of a covered function, ours beside SciPy's."""

    name: str
    ours: Callable[..., Any]
    given: list[Any]


_made: dict[int, tuple[Any, _Call]] = {}
"""Objects, by identity, and the calls that made them."""


def _covered() -> dict[int, tuple[str, Any, Any]]:
    found = {}
    for wing in walk_packages(funcdiff.scipy.__path__, "funcdiff.scipy."):
        if wing.ispkg:
            import_module(wing.name)
    for module, names in table.items():
        if "._" in module:
            continue
        theirs = import_module(module)
        ours = sys.modules[module.replace("scipy", "funcdiff.scipy", 1)]
        for name in names:
            plain = getattr(theirs, name, None)
            if plain is not None:
                place = f"{module.removeprefix('scipy.')}.{name}"
                found[id(plain)] = (place, plain, getattr(ours, name))
    return found


_COVERED: Final = _covered()


# ---- what rewritten tests call -------------------------------------------------------------------


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Do a call, and once more with traced arrays if the function is covered."""
    place, _, ours = _COVERED.get(id(function), ("", None, None))
    if not place and id(function) in _made:
        place, ours = "call", _bound(function, "__call__")
    if not place:
        return function(*args, **kwargs)
    return _observed(place, function, ours, args, kwargs)


def method(owner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a method, and once more that of an object made of traced arrays."""
    function = getattr(owner, name)
    if name.startswith("_"):  # SciPy's own, some of which end the process for what is not theirs
        return function(*args, **kwargs)
    of_class = id(owner) in _COVERED and id(function) not in _COVERED
    if id(owner) in _made or of_class:
        return _observed(name, function, _bound(owner, name), args, kwargs)
    return call(function, *args, **kwargs)


def _bound(owner: Any, name: str) -> tuple[Any, str]:
    return owner, name


# ---- which calls, and with what ------------------------------------------------------------------


def _encoded(value: Any) -> Any:
    """Return arguments as nested containers of arrays, where objects are how they were made."""
    if type(value) is list and {float} <= set(map(type, value)) <= {int, float}:
        return np.array(value)
    if type(value) in (list, tuple):
        return type(value)(map(_encoded, value))
    if type(value) is dict:
        return {key: _encoded(x) for key, x in value.items()}
    if id(value) in _made:
        made = _made[id(value)][1]
        return [_MAKE, made.ours, *made.given]
    if scipy.sparse.issparse(value) and value.dtype.kind in "fc":
        parts = value.tocoo()
        entries = (parts.data.copy(), tuple(x.copy() for x in parts.coords))
        return [_MAKE, _sparse, [type(value).__name__, entries, value.shape, value.format], {}]
    return _kept(value)


def _kept(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return copy.deepcopy(value)
    return value


def _sparse(kind: str, entries: Any, shape: Any, form: str) -> Any:
    kind = kind if hasattr(sparse, kind) else "coo_array"
    made = getattr(sparse, "coo_matrix" if kind.endswith("matrix") else "coo_array")
    return made(entries, shape=shape).asformat(form)


def _decoded(value: Any) -> Any:
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return copy.deepcopy(value)
    if type(value) is list and len(value) == 4 and value[0] is _MAKE:
        return _do(value[1], *map(_decoded, value[2:]))
    if type(value) in (list, tuple):
        return type(value)(map(_decoded, value))
    if type(value) is dict:
        return {key: _decoded(x) for key, x in value.items()}
    return value


def _do(ours: Any, args: Any, kwargs: Any) -> Any:
    """Do a call of ours: a function, or a method of an object that the first argument is."""
    return ours(*args, **kwargs)


def _method_of(name: str) -> Callable[..., Any]:
    def function(owner: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(owner, name)(*args, **kwargs)

    return function


def _is_suitable(leaves: list[Any]) -> bool:
    arrays = [x for x in leaves if isinstance(x, np.ndarray)]
    if any(type(x) is not np.ndarray or x.size > _LARGEST for x in arrays):
        return False
    return any(map(is_traced, leaves))


def _observed(name: str, function: Any, ours: Any, args: Any, kwargs: Any) -> Any:
    if name in _CHANGING:
        _made.pop(id(ours[0]), None)
        return function(*args, **kwargs)
    if type(ours) is tuple:
        owner, method = ours
        if id(owner) in _COVERED:
            place, _, holder = _COVERED[id(owner)]
            name, ours, first = f"{place}.{method}", getattr(holder, method), []
        else:
            name = f"{_made[id(owner)][1].name}().{method}"
            ours, first = _method_of(method), [owner]
    else:
        first = []
    if _repeating:
        holds = any(isinstance(x, Tracer) for x in leaves_of([list(args), kwargs]))
        return ours(*first, *args, **kwargs) if holds else function(*args, **kwargs)
    test = os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0].split("[")[0]
    asked = _Call(name, ours, [[*map(_encoded, (*first, *args))], _encoded(kwargs)])
    wanted = (
        test
        and current_thread() is main_thread()
        and _counts[test, name] < _OFTEN
        and _is_suitable(leaves_of(asked.given))
    )
    if not wanted:
        return _remembered(function(*args, **kwargs), asked)
    _counts[test, name] += 1
    state = _STATE.get_state()
    try:
        expected = function(*args, **kwargs)
    except Exception as error:
        _note(asked, test, error, state)
        raise
    _note(asked, test, expected, state)
    return _remembered(expected, asked)


def _remembered(result: Any, asked: _Call) -> Any:
    """Note how an object was made."""
    plain = (np.ndarray, np.generic, int, float, complex, str, list, tuple, dict, type(None))
    is_array = isinstance(result, plain) or scipy.sparse.issparse(result)
    if not is_array and (not callable(result) or type(result).__module__.startswith("scipy")):
        _made[id(result)] = (result, asked)
    return result


# ---- once more, and what differs -----------------------------------------------------------------


def flat(result: Any) -> Any:
    """Return results of any kind as nested lists and dictionaries of arrays."""
    if isinstance(result, list | tuple):
        return [flat(x) for x in result]
    if isinstance(result, dict):
        return {str(key): flat(x) for key, x in result.items()}
    if scipy.sparse.issparse(result) or hasattr(result, "todense"):
        return result.toarray()
    if isinstance(result, np.ndarray | np.generic | Tracer | int | float | complex):
        return result
    return None


class _SlowError(Exception):
    """A call takes longer than is worth while."""


def _stop(*_: Any) -> None:
    raise _SlowError


def _in_time(function: Any, given: Any) -> Any:
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)  # of the processor's time
    try:
        return WAYS[WAY](function, given)[0]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _note(asked: _Call, test: str, expected: Any, state: Any) -> None:
    def function(*args: Any, **kwargs: Any) -> Any:
        _STATE.set_state(state)
        return flat(_do(asked.ours, _decoded(list(args)), _decoded(kwargs)))

    after = _STATE.get_state()
    _repeating.append(True)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), without_recording():
            warnings.simplefilter("ignore")
            try:
                found = _in_time(function, copy.copy(asked.given))
            except (Exception, SystemExit) as error:
                found = error
            if isinstance(found, _SlowError):
                _counts[test, asked.name] = _OFTEN
            plain = expected if isinstance(expected, Exception) else flat(expected)
            kind, detail = classified(plain, found)
    finally:
        _repeating.pop()
        _STATE.set_state(after)
    if _RECORD:
        text = "" if kind == "right" else f"{shown(asked.given)} -> {detail}"
        with open(_RECORD, "a", encoding="utf-8") as file:
            file.write(json.dumps([kind, asked.name, test, text]) + "\n")
