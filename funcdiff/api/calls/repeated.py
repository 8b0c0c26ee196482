"""Memoises traces of calls that would record the same again, by purity analysis.

A function is traced in every call, since what it does may have changed.  But if its code only
computes, if nothing that it can see has changed, and if it did not ask for values and did not warn,
its trace is that of before.  Below stand, one after the other: which values never change, which
code only computes, what functions can see, and the traces that are kept.
"""

from __future__ import annotations

import builtins
import cmath
import dis
import math
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import WRAPPER_ASSIGNMENTS, cache, lru_cache, partial, reduce
from itertools import repeat
from operator import is_
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.inputs import Inputs
from funcdiff.api.calls.tracing import Trace, nowhere
from funcdiff.api.calls.transformed import Transformed
from funcdiff.core.late import listening
from funcdiff.core.origins import reader
from funcdiff.core.recording.quiet import warns_as_usual
from funcdiff.core.recording.snapshot import owner_of
from funcdiff.core.scope import current
from funcdiff.core.types import DTYPE_NAMES
from funcdiff.numpy.border.dispatch import implementation, ufuncs
from funcdiff.numpy.messages.foreign import operation_of
from funcdiff.numpy.namespace import OURS, Namespace
from funcdiff.ops.families import by_ufunc

# ---- values that never change --------------------------------------------------------------------


_VALUES: Final = frozenset({type(None), bool, int, float, complex, str, type(...)})
_PYTHONS: Final = frozenset({
    abs, all, any, bool, complex, dict, divmod, enumerate, filter, float, int, isinstance, len,
    list, map, max, min, np.ndarray, pow, range, reduce, reversed, round, slice, sorted, sum, tuple,
    zip, *(x for m in (math, cmath) for x in vars(m).values() if type(x) is BuiltinFunctionType),
    *(x for x in vars(np).values() if type(x) is type and issubclass(x, np.number)), np.bool,
    *(x for x in vars(builtins).values() if type(x) is type and issubclass(x, Exception)),
})  # fmt: skip
"""They call nothing but operators of arguments; exceptions, too, if only to be raised."""

CLOSED: Final[set[Any]] = set()
"""Functions of packages above this one that only compute from their arguments; they add them."""

_OURS: Final = (
    "funcdiff.api.control.", "funcdiff.api.inspection.stop_gradient",
    "funcdiff.nn.", "funcdiff.scipy.fft.", "funcdiff.scipy.linalg.", "funcdiff.scipy.special.",
)  # fmt: skip
"""Modules of ours that have only such functions, and one of them."""

_NUMPYS: Final = (np, np.linalg, np.fft)
_METHODS: Final = frozenset({name for x in (np.ndarray, list, dict, np.ufunc) for name in dir(x)})
_OPEN: Final = ("base", "ctypes", "data", "dump", "dumps", "resize", "setflags", "tofile")
"""Methods of arrays that write elsewhere, and attributes that show more than their content."""


def kind_of(x: Any) -> type:
    """Return a type that is compared and hashed as types are: that of a value, or `object`."""
    kind = type(x)
    if type(kind) is type:
        return kind
    return np.dtype if issubclass(kind, np.dtype) else object


def is_value(x: Any) -> bool:
    """Whether it is a number, a string that formats nothing, None, or a tuple or slice of these."""
    kind = kind_of(x)
    if kind is tuple:
        return all(map(is_value, x))
    if kind is slice:
        return all(map(is_value, (x.start, x.stop, x.step)))
    return kind in _VALUES and not (kind is str and "%" in x)


def is_closed(x: Any, kind: type) -> bool:
    """Whether it never changes, and nothing but arguments decides what it does."""
    if kind is range or kind is np.bool or issubclass(kind, np.number):
        return kind is range or kind in _PYTHONS
    if kind is np.dtype:
        return x in DTYPE_NAMES
    if kind is np.ufunc:
        return x in by_ufunc or x in ufuncs or operation_of(x) is not None
    if kind not in (type, FunctionType, BuiltinFunctionType, type(np.sum)):
        return any(x is module for module in _NUMPYS)
    if x in _PYTHONS or x in CLOSED or (kind is not type and implementation(x) is not None):
        return True
    return kind is FunctionType and _is_ours(x)


@cache
def is_attribute(name: str) -> bool:
    """Whether it only computes as an attribute of arrays, lists, dictionaries, and NumPy itself."""
    found = [vars(module)[name] for module in _NUMPYS if name in vars(module)]
    if name == "dtype" or not found:
        return name in _METHODS and not name.startswith("__") and name not in _OPEN
    return name not in _OPEN and all(is_value(x) or is_closed(x, kind_of(x)) for x in found)


def _is_ours(f: FunctionType) -> bool:
    """Whether a function stands in one of our modules, and was not made of one of the user's."""
    name, home = f.__name__, sys.modules.get(str(f.__module__))
    made = sys.modules.get(str(f.__globals__.get("__name__")))
    if made is None or vars(made) is not f.__globals__:
        return False
    if made.__name__ == Namespace.__module__:
        return implementation(getattr(f, "__wrapped__", f)) is not None
    known = getattr(home, name, None) is f and f"{f.__module__}.{name}".startswith(_OURS)
    return OURS.get(name) is f or known


# ---- code that only computes: instructions, and the names that it loads --------------------------


INSTRUCTIONS: Final = frozenset(
    """
    BINARY_OP BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SLICE
    BUILD_TUPLE CACHE CALL CALL_FUNCTION_EX CALL_INTRINSIC_1 CALL_KW COMPARE_OP CONTAINS_OP COPY
    COPY_FREE_VARS DICT_MERGE DICT_UPDATE END_FOR EXTENDED_ARG FOR_ITER GET_ITER GET_LEN
    JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD JUMP_IF_FALSE_OR_POP
    JUMP_IF_TRUE_OR_POP KW_NAMES LIST_APPEND LIST_EXTEND LIST_TO_TUPLE LOAD_ASSERTION_ERROR
    LOAD_ATTR LOAD_CLOSURE LOAD_COMMON_CONSTANT LOAD_CONST LOAD_DEREF LOAD_FAST
    LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK
    LOAD_FAST_LOAD_FAST LOAD_GLOBAL LOAD_METHOD LOAD_SMALL_INT MAKE_CELL MAKE_FUNCTION MAP_ADD
    NOP NOT_TAKEN POP_ITER POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_NONE
    POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE
    POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_FORWARD_IF_TRUE
    POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_IF_TRUE POP_TOP PRECALL
    PUSH_NULL RAISE_VARARGS RERAISE RESUME RETURN_CONST RETURN_GENERATOR RETURN_VALUE
    SET_FUNCTION_ATTRIBUTE STORE_DEREF STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_MAYBE_NULL
    STORE_FAST_STORE_FAST STORE_SLICE STORE_SUBSCR SWAP TO_BOOL UNARY_INVERT UNARY_NEGATIVE
    UNARY_NOT UNARY_POSITIVE UNPACK_EX UNPACK_SEQUENCE YIELD_VALUE
    """.split()  # noqa: SIM905
)
"""Not among them: text, ``is``, imports, ``with``, what catches errors, stores or deletes names."""

_INTRINSICS: Final = (3, 5, 6)
"""Of Python 3.12: the end of a generator, ``+x``, a tuple of a list."""


class Loads(NamedTuple):
    """The global names that code loads, each with attributes at once asked of it; all others."""

    names: frozenset[tuple[str, ...]]
    attributes: frozenset[str]
    has_text: bool  # among its constants


@lru_cache(maxsize=1024)
def loads_of(code: CodeType) -> Loads | None:
    """Return what code loads, with functions that are defined in it; None if it is open."""
    chains, attributes, has_text = list[list[str]](), set[str](), False
    for part in codes(code):
        chain: list[str] | None = None  # of the name that was loaded just before
        for step in dis.get_instructions(part):
            name, value = step.opname, step.argval
            is_constant = name in ("LOAD_CONST", "RETURN_CONST")
            if (
                name not in INSTRUCTIONS
                or (is_constant and type(value) is not CodeType and not is_value(value))
                or (name == "CALL_INTRINSIC_1" and step.arg not in _INTRINSICS)
                or (name == "STORE_DEREF" and value in part.co_freevars)  # which outlives the call
            ):
                return None
            has_text |= is_constant and type(value) in (str, tuple)
            if step.is_jump_target:  # what lies on the stack may come from elsewhere
                chain = None
            if name in ("LOAD_ATTR", "LOAD_METHOD"):
                if chain is None:
                    attributes.add(value)
                else:
                    chain.append(value)
            elif name == "LOAD_GLOBAL":
                chains.append(chain := [value])
            elif name != "EXTENDED_ARG":
                chain = None
    return Loads(frozenset(map(tuple, chains)), frozenset(attributes), has_text)


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield code, and that of the functions that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


# ---- what functions can see besides numbers, with its content ------------------------------------


_MOST_BYTES: Final = 1 << 23
"""Of all arrays, which are compared whole: 40 µs for a megabyte."""

_MOST_THINGS: Final = 512
_LABELS: Final = frozenset({*WRAPPER_ASSIGNMENTS, "__wrapped__", "__derived__", "_call", "_made"})
"""Attributes of functions for which nothing asks; others are open."""

MODULES: Final[set[type]] = {ModuleType, Namespace}
"""Types of modules, which have in ``vars`` what was found in them; packages above add theirs."""

TABLES: Final[set[type]] = {dict}
"""Types of tables of global names, whose ``get`` finds what code finds."""

ABSENT: Final[Any] = object()
F = TypeVar("F", bound=Callable[..., Any])
LookUp: TypeAlias = Callable[[dict[str, Any], str], Any]


class OpenError(Exception):
    """Something can be seen that may decide and cannot be compared."""


class Surroundings:
    """What can be seen from some functions, and arguments of theirs; `OpenError` if not all is."""

    def __init__(self, roots: Sequence[Any]) -> None:
        self._roots = roots
        self.nbytes = 0  # of all arrays, with those that they are views of
        self._known: dict[int, Any] = {}  # which keeps all alive
        self._tables: dict[int, tuple[Mapping[str, Any], dict[str, Any]]] = {}
        self._parts: list[tuple[Any, list[Any]]] = []
        self._arrays: list[tuple[Any, tuple[Any, ...], bytes]] = []
        self._options: Any = None
        pending = [*roots]
        while pending:
            pending += self._values_in(pending.pop())
        self._names = [(t, tuple(names), [*names.values()]) for t, names in self._tables.values()]

    def are_unchanged(self, roots: Sequence[Any]) -> bool:
        """Whether everything is as it was, for the same objects, or functions made anew."""
        if not (len(roots) == len(self._roots) and all(map(_are_alike, roots, self._roots))):
            return False
        for table, names, values in self._names:
            if not all(map(is_, map(table.get, names, repeat(ABSENT)), values)):
                return False
        for x, parts in self._parts:
            if not _are_same(_parts_of(x), parts):
                return False
        for array, looks, content in self._arrays:
            if _looks(array) != looks or array.tobytes() != content:
                return False
        return self._options is None or np.get_printoptions() == self._options

    def _values_in(self, x: Any) -> list[Any]:
        """Note something, and return what is seen in it."""
        kind = kind_of(x)
        if kind is str:  # with which numbers in an array become strings
            self._options = np.get_printoptions()
        is_known = id(x) in self._known or is_closed(x, kind)
        if is_known or (kind is not tuple and is_value(x)):
            return []
        self._known[id(x)] = x
        if len(self._known) > _MOST_THINGS:
            raise OpenError
        if kind is np.ndarray:
            self.nbytes += owner_of(x).nbytes  # which is kept alive
            if x.dtype not in DTYPE_NAMES or self.nbytes > _MOST_BYTES:
                raise OpenError
            self._arrays.append((x, _looks(x), x.tobytes()))
            return []
        parts = self._note(x)
        if (derived := derivation(x)) is not None:
            return [derived[-1]]
        if kind is FunctionType:
            return [*free_values(x, self._look_up)]
        if kind not in (list, tuple, dict, partial, staticmethod) or (kind is partial and vars(x)):
            raise OpenError
        return [part for part in parts if part is not ABSENT]

    def _look_up(self, owner: Any, name: str) -> Any:
        """Return what a name stands for in a table or a module, noting it."""
        table = table_with(owner, name)
        if id(owner) not in self._tables:
            self._tables[id(owner)] = table, {}
            if table is not owner:
                self._note(owner)
        return self._tables[id(owner)][1].setdefault(name, table.get(name, ABSENT))

    def _note(self, x: Any) -> list[Any]:
        parts = _parts_of(x)
        self._parts.append((x, parts))
        return parts


def table_with(owner: Any, name: str) -> Mapping[str, Any]:
    """Return the names of a table or a module, with one that a module of ours finds when asked."""
    is_table = type(owner) in TABLES
    if not is_table:
        getattr(owner, name, None)
    table: Mapping[str, Any] = owner if is_table else vars(owner)
    return table


def free_values(f: Any, look_up: LookUp) -> Iterator[Any]:
    """Yield what a function loads from its cells, by names and as defaults."""
    if not _LABELS.issuperset(vars(f)):
        raise OpenError
    yield from (f.__defaults__ or ())
    yield f.__kwdefaults__
    yield from map(content, f.__closure__ or ())
    yield from global_values(f.__code__, f.__globals__, f.__builtins__, look_up)


def global_values(code: CodeType, table: Any, pythons: Any, look_up: LookUp) -> Iterator[Any]:
    """Yield what code loads by global names, and by attributes of modules that these lead to."""
    loads = loads_of(code)
    if loads is None or not all(map(is_attribute, loads.attributes)) or type(table) not in TABLES:
        raise OpenError
    within = look_up(table, "__builtins__")  # of functions that are defined in it
    if type(pythons) is not dict or not (
        within is pythons or (within is builtins and pythons is vars(builtins))
    ):
        raise OpenError
    if loads.has_text:
        yield ""
    for name, *attributes in loads.names:
        x = look_up(table, name)
        x = look_up(pythons, name) if x is ABSENT else x
        for attribute in attributes:
            if kind_of(x) in MODULES:
                x = look_up(x, attribute)
            elif not is_attribute(attribute):
                raise OpenError
        yield x


def derivation(x: Any) -> tuple[Any, ...] | None:
    """Return what decides what a derivative does: code of ours, options, and the function."""
    f = x._call if type(x) is Transformed else x
    found: Any = vars(f).get("__derived__") if type(f) is FunctionType else None
    if found is None or found[0] is not f.__code__ or not _LABELS.issuperset(vars(x)):
        return None  # one of the user's that wraps it has its attributes
    return tuple(found)


def note_derivation(f: Callable[..., Any], *options: Hashable) -> Callable[[F], F]:
    """Return a decorator of functions that see nothing but `f`, of which the options make them."""

    def note(function: F) -> F:
        vars(function)["__derived__"] = (function.__code__, options, f)
        return function

    return note


def content(cell: CellType) -> Any:
    """Return what is in a cell, `ABSENT` if nothing is."""
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def _parts_of(x: Any) -> list[Any]:
    """Return what a function or a container is made of."""
    kind = type(x)
    if kind is FunctionType:
        given, cells = x.__defaults__ or (), map(content, x.__closure__ or ())
        parts = [x.__code__, x.__globals__, x.__builtins__, x.__kwdefaults__, *vars(x), ABSENT]
        return [*parts, *given, ABSENT, *cells]
    if kind is list or kind is tuple:
        return [*x]
    if kind is staticmethod:  # of a function that is no method
        return [x.__func__]
    if kind is dict:
        return [*x, *x.values()]
    if kind is partial:
        named = x.keywords
        return [x.func, *x.args, ABSENT, *named, *named.values(), ABSENT, *vars(x)]
    return [kind, *vars(x), *vars(x).values()] if kind is Transformed else [kind]


def _are_alike(x: Any, y: Any) -> bool:
    """Whether they are one object, or made anew of the same parts."""
    if x is y:
        return True
    is_made = type(x) is type(y) and type(x) in (FunctionType, partial, tuple)
    return is_made and _are_same(_parts_of(x), _parts_of(y))


def _are_same(these: Sequence[Any], those: Sequence[Any]) -> bool:
    return len(these) == len(those) and all(map(is_, these, those))


def _looks(x: Any) -> tuple[Any, ...]:
    return x.shape, x.strides, x.dtype, x.flags.num, id(x.base)


# ---- the traces that are kept --------------------------------------------------------------------


_monitoring: Final[Any] = getattr(sys, "monitoring", None)
_TOOLS: Final = (0, 1)
"""Of Python 3.12: debuggers, and what measures coverage."""

_MOST_MISSES: Final = 8
"""So many times in a row something has changed before a call is not looked at any more."""

_MOST_CALLS: Final = 256
_MOST_BYTES_KEPT: Final = 1 << 25
_BYTES_AN_ENTRY: Final = 1 << 13
"""Of arrays that a function sees: to compare them takes less time than to record an entry again."""

_NUMBERS: Final = frozenset({bool, int, float, complex, np.float64})
_OPERANDS: Final = frozenset({*_NUMBERS, np.ndarray, np.float32, np.complex128, np.complex64})
_FUNCTIONS: Final = (FunctionType, Transformed, partial)
_ONE_LEAF: Final = (pytree.LEAF,)
_CONTAINERS: Final = (None, type(None), list, tuple, dict)
_LOCATE: Final = Trace._fields.index("locate")


class _Kept(NamedTuple):
    """A trace, what could be seen when it was recorded, and how many bytes these are, roughly."""

    seen: Surroundings
    trace: Trace
    nbytes: int


class _Call:
    """What was seen of a call, None if it may not be kept, what is kept, and misses in a row."""

    __slots__ = ("kept", "misses", "seen")

    def __init__(self) -> None:
        self.seen: Surroundings | None = None
        self.kept: _Kept | None = None
        self.misses = 0


_calls: Final[dict[tuple[Any, ...], _Call]] = {}


def forget_calls() -> None:
    """Forget all that is known of calls."""
    _calls.clear()


def find_call(
    f: Callable[..., Any], inputs: Inputs, given: Sequence[Any], kind: tuple[Hashable, ...]
) -> tuple[_Call, list[Any]] | None:
    """Return what is known of a call, and the objects that decide; None of one that is not known.

    Of differentiated arguments the types decide, of those that are `given` all; so does `kind`.
    """
    types = [*map(type, inputs.operands)]
    if (
        type(f) not in _FUNCTIONS
        or inputs.others
        or not _OPERANDS.issuperset(types)
        or (inputs.structures != _ONE_LEAF and not all(map(_is_plain, inputs.structures)))
        or _is_looked_at()
    ):
        return None
    objects: list[Any] = []
    looks = [y for x in inputs.operands for y in (x.shape, x.dtype)]
    hints = [_hint(x, objects) for x in (f, *given)]
    key = (*hints, kind, inputs.structures, inputs.weak, *types, *looks)
    call = _calls.get(key)
    if call is None:
        if len(_calls) >= _MOST_CALLS:
            _calls.clear()
        _calls[key] = _Call()
        return None
    return call, objects


def trace_again(call: _Call, objects: list[Any], traced: Callable[[], Trace]) -> Trace:
    """Return ``traced()``, which calls and traces the function, or its result of before."""
    kept, seen = call.kept, call.seen  # which another thread may forget
    if kept is not None and kept.seen.are_unchanged(objects):
        call.misses, trace = 0, kept.trace
        # an error is located where the function runs again
        locate = lambda *how: traced().locate(*how)  # noqa: E731
        return Trace._make((*trace[:_LOCATE], locate, *trace[_LOCATE + 1 :]))
    if call.misses >= _MOST_MISSES:
        return traced()
    if seen is not None and seen.are_unchanged(objects):
        return _trace_and_keep(call, seen, objects, traced)
    return _trace_and_look(call, objects, traced)


def _trace_and_look(call: _Call, objects: list[Any], traced: Callable[[], Trace]) -> Trace:
    """Trace, and note what could be seen if that is all that decides the trace."""
    call.kept = call.seen = None
    misses, call.misses = call.misses, _MOST_MISSES
    try:
        before = Surroundings(objects)
    except OpenError:
        return traced()
    trace = traced()
    if _may_be_kept(before, objects, trace):
        call.seen, call.misses = before, misses + 1
    return trace


def _trace_and_keep(
    call: _Call, seen: Surroundings, objects: list[Any], traced: Callable[[], Trace]
) -> Trace:
    """Trace what changed nothing the last time, and keep the trace if it is silent, too.

    What warns has to do so in each call: it may hear the first warning only.
    """
    misses, call.misses = call.misses, _MOST_MISSES
    with listening, warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        trace = traced()
    if heard or not _may_be_kept(seen, objects, trace):
        return traced() if heard else trace
    outputs = [type(y)(None, y.atom, y.type) for y in trace.outputs]  # without values
    nbytes = sum([seen.nbytes, *[x.nbytes for x in trace.captures], 100 * len(trace.recording[0])])
    call.kept = _Kept(seen, trace._replace(outputs=outputs, locate=nowhere), nbytes)
    call.misses = misses
    kept = [c.kept for c in _calls.copy().values()]  # at once: other threads may add some
    if sum([k.nbytes for k in kept if k]) > _MOST_BYTES_KEPT:
        _calls.clear()
    return trace


def _is_looked_at() -> bool:
    """Whether somebody waits for what a call does: a trace outside, a reader, or a debugger."""
    if current() is not None or reader.get() is not None or sys.gettrace() is not None:
        return True
    if _monitoring is not None and any(map(_monitoring.get_tool, _TOOLS)):
        return True
    return not warns_as_usual()


def _hint(x: Any, objects: list[Any]) -> Hashable:
    """Return a number by value, or collect what is an object, and return where it lies in memory.

    The place is only a hint where to look, since another object may come to lie there.
    """
    kind = type(x)
    if kind in _NUMBERS and x == x:
        return kind, x if kind is int else repr(x)
    if kind in (FunctionType, Transformed) and vars(x) and (derived := derivation(x)) is not None:
        return (*derived[:-1], _hint(derived[-1], objects))
    objects.append(x)
    found = x.func if kind is partial else x
    return id(found.__code__ if type(found) is FunctionType else found)


@lru_cache(maxsize=256)
def _is_plain(structure: pytree.Structure) -> bool:
    """Whether there are only lists, tuples and dictionaries of strings in a structure."""
    return (
        structure.container in _CONTAINERS
        and all(map(is_value, structure.keys))
        and all(map(_is_plain, structure.children))
    )


def _may_be_kept(before: Surroundings, objects: list[Any], trace: Trace) -> bool:
    """Whether what could be seen has decided a trace, is unchanged by it, and soon compared."""
    is_small = before.nbytes <= _BYTES_AN_ENTRY * (len(trace.recording[0]) + 32)
    return is_small and _is_decided(trace) and before.are_unchanged(objects)


def _is_decided(trace: Trace) -> bool:
    """Whether types have decided all of a trace, and nothing else has happened."""
    return not (
        trace.asked
        or trace.by_layout
        or trace.others
        or trace.aux
        or trace.calls
        or trace.rule_calls
        or trace.decisions
        or trace.evaluated
    )
