"""Code that has no way to anything but names, constants and what NumPy makes of their values.

What such code does is decided by the values of the names, if these are of kinds whose operators and
methods depend on nothing else either.  Instructions are allowed by name: one that is not known, of
another version of Python, makes code open.  So do those that catch errors: what they catch may be
that memory is short, or the stack deep.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any, Final, NamedTuple

import numpy as np

_INSTRUCTIONS: Final = frozenset(
    """
    BINARY_OP BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SLICE
    BUILD_STRING BUILD_TUPLE CACHE CALL CALL_FUNCTION_EX CALL_KW COMPARE_OP CONTAINS_OP
    CONVERT_VALUE COPY COPY_FREE_VARS DELETE_DEREF DELETE_FAST DELETE_SUBSCR DICT_MERGE
    DICT_UPDATE END_FOR EXTENDED_ARG FORMAT_SIMPLE FORMAT_VALUE FORMAT_WITH_SPEC FOR_ITER
    GET_ITER GET_LEN IS_OP JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD
    JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP KW_NAMES LIST_APPEND LIST_EXTEND LIST_TO_TUPLE
    LOAD_ASSERTION_ERROR LOAD_ATTR LOAD_CLOSURE LOAD_CONST LOAD_DEREF LOAD_FAST
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

_OF_MEMORY: Final = frozenset(
    """
    base ctypes data dump dumps flags format format_map setflags strides tofile
    """.split()  # noqa: SIM905
)
"""Attributes that write files, format any attribute, or look at how arrays lie in memory."""

_MODELS: Final[list[Any]] = [
    np.empty(0), np.dtype(float), np.add, np.finfo(float), np.iinfo(int), [], (), {}, "", 0j, 0,
    range(0), slice(0),
]  # fmt: skip

ATTRIBUTES: Final = (
    frozenset(name for value in _MODELS for name in dir(value) if not name.startswith("_"))
    - _OF_MEMORY
)
"""Attributes that the values decide of which they are."""


class Names(NamedTuple):
    """The names that code uses.

    Attributes
    ----------
    globals
        Of its module, or of Python.
    attributes
        Of modules or of values.
    """

    globals: frozenset[str]
    attributes: frozenset[str]


@lru_cache(maxsize=1024)
def names_of_closed(code: CodeType) -> Names | None:
    """Return the names that code uses, that of functions in it included; None if it is open."""
    used, attributes = set[str](), set[str]()
    for part in _codes(code):
        if not _INSTRUCTIONS.issuperset(map(dis.opname.__getitem__, part.co_code[::2])):
            return None
        before = None
        for step in dis.get_instructions(part):
            name = step.opname
            if name == "IS_OP" and not (before and before.argval in (None, True, False)):
                return None  # equal numbers may be the same object or not
            if name == "LOAD_GLOBAL":
                used.add(step.argval)
            elif name in ("LOAD_ATTR", "LOAD_METHOD"):
                attributes.add(step.argval)
            before = step if name == "LOAD_CONST" else None
    if any(name in _OF_MEMORY or name.startswith("__") for name in attributes):
        return None
    return Names(frozenset(used), frozenset(attributes))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
