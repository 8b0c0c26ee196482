"""Purity analysis: recognises code that only computes from its arguments and names.

Its instructions compute, compare, subscript, jump, call, and make tuples, lists, dictionaries and
functions; an instruction that is not known, of another version of Python, makes code open.  Its
constants are numbers and strings.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Final, NamedTuple

from funcdiff.api.calls.closed_values import is_value

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
    for part in _codes(code):
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


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
