"""Programs are values: compared up to renaming, hashed once, immutable and picklable."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import threading
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given

import funcdiff
from funcdiff.core.atoms import Literal, literal
from funcdiff.core.primitive import Params, Primitive, fields_of
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import bind, constant
from funcdiff.errors import ProgramError
from funcdiff.ops.elementwise.mathematics import cos, sin
from funcdiff.scipy.primitives.special.gamma import gammaln
from funcdiff.space import add, mul
from tests.core.programs import calling, programs, recorded, temporary, type_named


def number(value: Any, type_text: str = "f64[]") -> Literal:
    return literal(value, type_named(type_text))


# ---- parameters ------------------------------------------------------------------------------


def test_no_module_gives_up_the_class_of_parameters() -> None:
    untyped = re.compile(r": Any = \w+\.params$", re.MULTILINE)
    modules = Path(funcdiff.__file__).parent.rglob("*.py")
    assert not [m.name for m in modules if untyped.search(m.read_text(encoding="utf-8"))]


# ---- equality --------------------------------------------------------------------------------


def test_programs_recorded_in_different_order_of_dead_code_are_equal() -> None:
    one = recorded(lambda x: [mul(sin(x), x)], "f64[3]")
    other = recorded(lambda x: [(cos(x), mul(sin(x), x))[1]], "f64[3]")
    assert one == other
    assert hash(one) == hash(other)


@given(programs())
def test_a_copy_is_equal_and_has_an_equal_hash(program: Program) -> None:
    twin = copy.deepcopy(program)
    assert twin == program
    assert hash(twin) == hash(program)


# ---- literals --------------------------------------------------------------------------------


def test_nan_is_equal_to_itself_in_a_literal() -> None:
    assert number(np.nan) == number(float("nan"))
    assert len({number(np.nan), number(float("nan"))}) == 1


def test_zeros_of_different_sign_are_different_literals() -> None:
    assert number(0.0) != number(-0.0)
    assert number(complex(0.0, 0.0), "c128[]") != number(complex(0.0, -0.0), "c128[]")


def test_nans_of_different_payload_are_different_literals() -> None:
    payload = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    assert number(payload) != number(np.nan)
    assert number(-np.float64(np.nan)) != number(np.nan)


def test_literals_of_different_types_differ() -> None:
    assert number(1.0) != number(1.0, "f32[]")
    assert number(1.0) != number(1.0, "f64[1]")
    assert number(1.0) != 1.0


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble])
def test_padding_does_not_tell_longdoubles_apart(dtype: Any) -> None:
    type_ = type_named("f64[]").with_dtype(np.dtype(dtype))
    clean = np.array([1.5], dtype)
    raw = np.frombuffer(clean.tobytes(), np.uint8).reshape(-1, np.dtype(np.longdouble).itemsize)
    dirty = raw.copy()
    if np.finfo(np.longdouble).nmant == 63:  # x87: ten bytes and padding
        dirty[:, 10:] = 0xFF
    assert Literal(clean[0], type_) == Literal(dirty.ravel().view(dtype)[0], type_)
    assert Literal(clean[0], type_) != literal(2.5, type_)


def test_a_literal_is_a_scalar_or_a_read_only_array_without_memory() -> None:
    assert type(number(2.0).array) is np.float64
    filled = number(2, "f64[1000,1000]").array
    assert filled.shape == (1000, 1000)
    assert filled.strides == (0, 0)
    assert not filled.flags.writeable


def test_an_integer_that_does_not_fit_its_dtype_is_refused() -> None:
    with pytest.raises(OverflowError):
        number(300, "u8[]")


# ---- hashing, immutability, pickling ---------------------------------------------------------


class Counted(Params):
    """Parameters that count how often they are hashed."""

    hashed: ClassVar[list[int]] = []

    def __hash__(self) -> int:
        self.hashed.append(1)
        return 0


def test_a_program_is_hashed_only_once() -> None:
    with temporary(Primitive("counted", Counted, lambda _p, x: (x,), lambda _p: np.positive)) as p:
        program = recorded(lambda x: bind(p, Counted(), x), "f64[]")
        hash(program)
        Counted.hashed.clear()
        assert {program: 1}[program] == 1
        assert not Counted.hashed


def test_nothing_of_a_program_can_be_changed() -> None:
    program = recorded(lambda x: [mul(x, constant(2, x.type))], "f64[]")
    (eq,) = program.equations
    for thing, name in [
        (program, "inputs"),
        (eq, "operands"),
        (eq.results[0], "number"),
        (eq.operands[1], "value"),
        (eq.params, "anything"),
    ]:
        with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
            setattr(thing, name, ())


def test_a_primitive_that_is_not_registered_is_named_when_unpickling() -> None:
    with calling() as p:
        text = pickle.dumps(p)
        assert pickle.loads(text) is p
    with pytest.raises(ProgramError, match=r"'call'.*Import the module"):
        pickle.loads(text)


@given(programs())
def test_a_program_survives_pickling(program: Program) -> None:
    hash(program)
    again = pickle.loads(pickle.dumps(program))
    assert again == program
    assert str(again) == str(program)


_ELSEWHERE = """
import pickle, sys
from funcdiff.core.text.parse import parse
program = pickle.loads(sys.stdin.buffer.read())
assert {parse(str(program)): 1}[program] == 1
"""


@pytest.mark.slow
def test_a_program_pickled_in_another_process_is_equal_here() -> None:
    program = recorded(lambda x: [add(gammaln(sin(x)), constant(0.1, x.type))], "f64[2]")
    hash(program)  # a cached hash must not travel
    root = Path(__file__).parents[2]
    subprocess.run(
        [sys.executable, "-c", _ELSEWHERE], input=pickle.dumps(program), cwd=root, check=True
    )


# ---- classes of parameters -----------------------------------------------------------------------


def test_a_class_of_parameters_is_a_frozen_dataclass_from_its_first_instance_on() -> None:
    class Turn(Params):
        axes: tuple[int, ...]
        times: int = 1

    class NamedTurn(Turn):
        name: str = "turn"

    assert [field.name for field in fields_of(Turn)] == ["axes", "times"]
    p = Turn((0, 1))
    assert repr(p).endswith("Turn(axes=(0, 1), times=1)")
    assert (p, hash(p)) == (Turn(axes=(0, 1), times=1), hash(Turn((0, 1))))
    assert replace(p, times=2).with_batch_axis(3) == Turn((1, 2), 2)
    assert NamedTurn((0, 1)) != p
    assert NamedTurn((0, 1), 1, "turn") == NamedTurn((0, 1))
    with pytest.raises(FrozenInstanceError):
        p.times = 3  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'axes'"):
        Turn()  # type: ignore[call-arg]


def test_threads_may_make_the_first_instances_at_once() -> None:
    class Shift(Params):
        places: int

    start, made = threading.Barrier(8), []

    def make() -> None:
        start.wait()
        made.append(Shift(3))

    threads: list[Any] = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == 8 * [Shift(3)]
    assert len(set(made)) == 1
