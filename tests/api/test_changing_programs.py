"""What changes between calls is seen: each call does what it does if every call is traced."""

from __future__ import annotations

import dis

import pytest

from funcdiff.api.calls.repeated import INSTRUCTIONS
from tests.api.changing_programs import TRANSFORMS, WAYS, compare, every, program, way

REFUSED = frozenset(
    """
    <0> ANNOTATIONS_PLACEHOLDER ASYNC_GEN_WRAP BEFORE_ASYNC_WITH BEFORE_WITH BUILD_INTERPOLATION
    BUILD_SET BUILD_STRING BUILD_TEMPLATE CALL_INTRINSIC_2 CHECK_EG_MATCH CHECK_EXC_MATCH
    CLEANUP_THROW CONVERT_VALUE DELETE_ATTR DELETE_DEREF DELETE_FAST DELETE_GLOBAL DELETE_NAME
    DELETE_SUBSCR DO_TRACE END_ASYNC_FOR END_SEND ENTER_EXECUTOR EXIT_INIT_CHECK FORMAT_SIMPLE
    FORMAT_VALUE FORMAT_WITH_SPEC GET_AITER GET_ANEXT GET_AWAITABLE GET_YIELD_FROM_ITER
    IMPORT_FROM IMPORT_NAME IMPORT_STAR INTERPRETER_EXIT IS_OP JUMP JUMP_IF_FALSE JUMP_IF_TRUE
    JUMP_NO_INTERRUPT LOAD_BUILD_CLASS LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF
    LOAD_FROM_DICT_OR_GLOBALS LOAD_LOCALS LOAD_NAME LOAD_SPECIAL LOAD_SUPER_ATTR
    LOAD_SUPER_METHOD LOAD_ZERO_SUPER_ATTR LOAD_ZERO_SUPER_METHOD MATCH_CLASS MATCH_KEYS
    MATCH_MAPPING MATCH_SEQUENCE POP_BLOCK POP_EXCEPT PREP_RERAISE_STAR PRINT_EXPR PUSH_EXC_INFO
    RESERVED RESUME_CHECK SEND SETUP_ANNOTATIONS SETUP_CLEANUP SETUP_FINALLY SETUP_WITH SET_ADD
    SET_UPDATE STORE_ATTR STORE_GLOBAL STORE_NAME TRACE_RECORD WITH_EXCEPT_START
    """.split()  # noqa: SIM905
)
"""Instructions that make code open: text, imports, classes, errors caught, names stored, sets."""


@pytest.mark.parametrize("transform", ["grad", pytest.param("jvp", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WAYS)
def test_what_decides_in_another_way_is_seen(
    name: str, transform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(way(name), TRANSFORMS[transform], monkeypatch)


def test_every_change_of_what_a_function_can_see_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    for found in every():
        compare(found, TRANSFORMS["grad"], monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_random_changes_of_random_programs_are_seen(
    transform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(12):
        compare(program(f"{transform} {seed}"), TRANSFORMS[transform], monkeypatch)


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_more_random_changes_are_seen(
    transform: str, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(100 * part + 100, 100 * part + 150):
        compare(program(f"{transform} {seed}"), TRANSFORMS[transform], monkeypatch)


def test_every_instruction_of_this_python_has_been_looked_at() -> None:
    known = INSTRUCTIONS | REFUSED
    names = [name for name in dis.opmap if not name.startswith(("INSTRUMENTED_", "_"))]
    assert sorted(set(names) - known) == []
    assert INSTRUCTIONS.isdisjoint(REFUSED)
