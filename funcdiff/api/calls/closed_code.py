"""Purity analysis: recognises code that only computes from its arguments and names.

Its instructions compute, compare, subscript, jump, call, and make tuples, lists, dictionaries and
functions; one that is not known, of another version of Python, makes code open.  Its constants
are numbers and strings.  Attributes that it asks for are those of modules, which lie in a table,
and a few of arrays, lists and dictionaries, of which the content decides.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any, Final, NamedTuple

import numpy as np

INSTRUCTIONS: Final = frozenset(
    """
    BINARY_OP BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SLICE
    BUILD_TUPLE CACHE CALL CALL_FUNCTION_EX CALL_INTRINSIC_1 CALL_KW COMPARE_OP CONTAINS_OP COPY
    COPY_FREE_VARS DICT_MERGE DICT_UPDATE END_FOR EXTENDED_ARG FOR_ITER GET_ITER GET_LEN IS_OP
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
"""Not among them: text, imports, what catches errors, ``with``, what stores or deletes names."""

_INTRINSICS: Final = (3, 5, 6)
"""Of Python 3.12: the end of a generator, ``+x``, a tuple of a list."""

ATTRIBUTES: Final = frozenset(
    """
    T accumulate all any append argmax argmin argsort astype clear clip conj conjugate copy cumprod
    cumsum diagonal dot dtype extend fill flatten get imag index insert item items keys mT max mean
    min ndim nonzero outer pop prod ravel real reduce repeat reshape reverse round searchsorted
    setdefault shape size sort squeeze std sum swapaxes take tolist trace transpose update values
    var
    """.split()  # noqa: SIM905
)
"""Attributes of arrays, lists, dictionaries and ufuncs."""

_CONSTANTS: Final = ("LOAD_CONST", "RETURN_CONST")
_PADDING: Final = ("CACHE", "EXTENDED_ARG")
_SINGLE: Final[tuple[object, ...]] = (None, False, True)
_VALUES: Final = frozenset({type(None), bool, int, float, complex, str, type(...)})


class Loads(NamedTuple):
    """What code loads.

    Attributes
    ----------
    globals, free
        Names, with the attributes that are at once asked of them.
    attributes
        Those that are asked of anything else.
    has_text
        Whether there are strings among its constants.
    """

    globals: list[tuple[str, tuple[str, ...]]]
    free: list[tuple[str, tuple[str, ...]]]
    attributes: frozenset[str]
    has_text: bool


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


@lru_cache(maxsize=1024)
def loads_of(code: CodeType) -> Loads | None:
    """Return what code loads, with functions that are defined in it; None if it is open."""
    loads: dict[str, list[tuple[str, list[str]]]] = {"LOAD_GLOBAL": [], "LOAD_DEREF": []}
    has_text, others = False, list[str]()
    for part in _codes(code):
        own = code.co_freevars if part is code else ()
        before: object = ...
        asked: list[str] | None = None  # of the name that was loaded just before
        for step in dis.get_instructions(part):
            name, value = step.opname, step.argval
            if step.is_jump_target:  # what lies on the stack may come from elsewhere
                before, asked = ..., None
            if (
                name not in INSTRUCTIONS
                or (name in _CONSTANTS and not (type(value) is CodeType or is_value(value)))
                or (name == "IS_OP" and before not in _SINGLE)  # equal numbers may be one object
                or (name == "CALL_INTRINSIC_1" and step.arg not in _INTRINSICS)
                or (name == "STORE_DEREF" and value in part.co_freevars)  # which outlives the call
            ):
                return None
            if name in ("LOAD_ATTR", "LOAD_METHOD"):
                if value.startswith("__"):
                    return None
                (others if asked is None else asked).append(value)
            elif name == "LOAD_GLOBAL" or (name == "LOAD_DEREF" and value in own):
                asked = []
                loads[name].append((value, asked))
            elif name not in _PADDING:
                asked = None
            has_text |= name in _CONSTANTS and type(value) in (str, tuple)
            if name not in _PADDING:
                before = value if name == "LOAD_CONST" else ...
    passed = {name for part in _codes(code) if part is not code for name in part.co_freevars}
    loads["LOAD_DEREF"] += [(name, []) for name in code.co_freevars if name in passed]
    names, free = [{(name, tuple(asked)) for name, asked in x} for x in loads.values()]
    return Loads(sorted(names), sorted(free), frozenset(others), has_text)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
