"""Whole programs as one function of machine code, which Python calls with arrays.

Where an index is out of bounds, or a value is refused, NumPy computes everything again, and raises.
Where a guard meets another outcome, the values are handed over that others go on with.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.backend.code.source import Source, function
from funcdiff.backend.native.flow import FIRST_EXIT, Flow, begin_polling, is_step
from funcdiff.backend.native.llvm import Vector
from funcdiff.backend.native.machine import WEIGHT, MachineCode
from funcdiff.backend.native.machine_arrays import (
    Exit,
    Function,
    Number,
    Step,
    UncoveredError,
    kind_of,
    whole,
)
from funcdiff.backend.numbers.estimates import Cost, cost, estimate_time, is_worth_unrolling
from funcdiff.backend.numbers.scalars import Attempt
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import copy_aliased
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.ops.control.guard import Diverted

_READY: Final = 0x101
"""An array's flags if its elements follow each other, aligned."""

_FAILED, _ELSEWHERE, _STOPPED = 1, 2, 3
"""What is returned where NumPy is to compute everything; of arrays that are not ready; and where
something was raised, by the user's interrupt or in a step."""

_FLAGS: Final = 48
"""Bytes from where an array says where its elements are to where its flags are."""


@lru_cache(maxsize=1)
def knows_arrays() -> bool:
    """Whether arrays lie in memory as they do in NumPy 2 on machines of 64 bits."""
    x = np.ones((3, 2))[::2]
    place = id(x) + object.__basicsize__
    if ctypes.sizeof(ctypes.c_void_p) != 8 or type(x).__basicsize__ < _FLAGS + 4:
        return False
    data = ctypes.c_void_p.from_address(place).value
    flags = ctypes.c_int32.from_address(place + _FLAGS).value
    return data == x.ctypes.data and flags == x.flags.num


_NUMBERS: Final = {
    "double": ("  {0} = call double @PyFloat_AsDouble(ptr {1})",),
    "float": (
        "  {0}.d = call double @PyFloat_AsDouble(ptr {1})", "  {0} = fptrunc double {0}.d to float",
    ),
    "i64": ("  {0} = call i64 @PyLong_AsLongLong(ptr {1})",),
    "i1": (
        "  {0}.i = call i32 @PyObject_IsTrue(ptr {1})", "  {0} = icmp ne i32 {0}.i, 0",
    ),
}  # fmt: skip
"""Instructions that make a number of a Python object."""

_HEADER: Final = """\
declare double @PyFloat_AsDouble(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLong(i64)
declare i32 @PyObject_IsTrue(ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyObject_CallObject(ptr, ptr)
declare void @Py_DecRef(ptr)

define internal i1 @step(ptr %called) noinline {
  %result = call ptr @PyObject_CallObject(ptr %called, ptr null)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %end, label %done
done:
  call void @Py_DecRef(ptr %result)
  br label %end
end:
  ret i1 %failed
}

define internal i1 @interrupted() noinline cold {
  %held = call i32 @PyGILState_Ensure()
  %set = call i32 @PyErr_CheckSignals()
  %thread = call ptr @PyEval_SaveThread()
  call void @PyEval_RestoreThread(ptr %thread)
  call void @PyGILState_Release(i32 %held)
  %stopped = icmp ne i32 %set, 0
  ret i1 %stopped
}
"""


class Text(NamedTuple):
    """A program as LLVM's text, the bytes of memory that it works in, guards, and steps."""

    text: str
    work: int
    exits: Sequence[Exit]
    steps: Sequence[Step]


def text_of(program: Program, *, alone: bool) -> Text:
    """Return the text of a program; raises UncoveredError if something has no machine code.

    `alone` says whether other threads of Python wait for it.
    """
    code = Function()
    code.block("start")
    inputs, parameters = [], []
    for k, v in enumerate(program.inputs):
        kind = kind_of(v.type)
        parameters.append(f"{'ptr' if v.type.shape else kind} %x{k}")
        number = Number(Vector(code, f"%x{k}", kind, 1), v.type)
        inputs.append(whole(code, v.type, f"%x{k}") if v.type.shape else number)
    targets = []
    for k, type_ in enumerate(program.output_types):
        kind_of(type_)
        parameters.append(f"ptr noalias %y{k}")
        targets.append(whole(code, type_, f"%y{k}"))
    Flow(code, program, inputs, set()).write(targets)
    alone_in_memory = "" if code.steps else "noalias "  # of which Python has arrays, for steps
    given = ", ".join([*parameters, f"ptr {alone_in_memory}%work"])
    body = [
        f"define internal i32 @compute({given}) noinline {{",
        "entry:", *code.allocations, *begin_polling(),
        f"  %exits = getelementptr i8, ptr %work, i64 {code.work}", "  br label %start",
        *code.lines, "  ret i32 0",
        "fail:", f"  ret i32 {_FAILED}", "stop:", f"  ret i32 {_STOPPED}", "}", "",
    ]  # fmt: skip
    lines = [
        *code.declared,
        _HEADER,
        *code.parts.values(),
        *body,
        *_entry(program, alone=alone or bool(code.steps)),
    ]
    exits = [
        x._replace(places=tuple([code.work + place for place in x.places])) for x in code.exits
    ]
    return Text("\n".join(lines), code.work + code.behind, exits, code.steps)


def _are_numbers(program: Program) -> list[bool]:
    """Return which outputs are doubles without axes, which come in one array."""
    return [not t.shape and t.dtype == FLOAT for t in program.output_types]


def _entry(program: Program, *, alone: bool) -> list[str]:
    """Return the function that Python calls: of the inputs, arrays for the outputs, and memory.

    It reads where arrays begin, and whether they are in order, in NumPy's structure for them.
    """
    inputs, numbers = program.input_types, _are_numbers(program)
    head = object.__basicsize__
    lines = ["define ptr @entry(ptr %self, ptr %given, i64 %count) {", "entry:"]
    ready, converted = "true", list[str]()

    def array(k: int) -> str:
        """Return where the array begins that is argument k."""
        lines.append(f"  %d{k} = getelementptr i8, ptr %o{k}, i64 {head}")
        lines.append(f"  %a{k} = load ptr, ptr %d{k}")
        return f"ptr %a{k}"

    def argument(k: int) -> None:
        lines.append(f"  %p{k} = getelementptr ptr, ptr %given, i64 {k}")
        lines.append(f"  %o{k} = load ptr, ptr %p{k}")

    arguments = []
    for k, t in enumerate(inputs):
        argument(k)
        if not t.shape:
            arguments.append(f"{kind_of(t)} %a{k}")
            converted += [line.format(f"%a{k}", f"%o{k}") for line in _NUMBERS[kind_of(t)]]
            continue
        arguments.append(array(k))
        lines += [
            f"  %f{k} = getelementptr i8, ptr %o{k}, i64 {head + _FLAGS}",
            f"  %g{k} = load i32, ptr %f{k}", f"  %h{k} = and i32 %g{k}, {_READY}",
            f"  %i{k} = icmp eq i32 %h{k}, {_READY}", f"  %r{k} = and i1 %i{k}, {ready}",
        ]  # fmt: skip
        ready = f"%r{k}"
    k, outputs = len(inputs), list[str]()
    for is_number in numbers:
        if is_number:
            continue
        argument(k)
        outputs.append(array(k))
        k += 1
    places = iter(outputs)
    if any(numbers):
        argument(k)
        array(k)
    for place, is_number in enumerate(numbers):
        if is_number:
            before = sum(numbers[:place])
            lines.append(f"  %n{place} = getelementptr double, ptr %a{k}, i64 {before}")
            arguments.append(f"ptr %n{place}")
        else:
            arguments.append(next(places))
    k += any(numbers)
    argument(k)
    arguments.append(array(k))
    call = [f"  %status = call i32 @compute({', '.join(arguments)})"]
    if not alone:
        restore = "  call void @PyEval_RestoreThread(ptr %thread)"
        call = ["  %thread = call ptr @PyEval_SaveThread()", *call, restore]
    return [*lines, *_ending(ready, [*converted, *call])]


def _ending(ready: str, run: Sequence[str]) -> list[str]:
    """Return what runs if all arrays are ready, and returns an integer to Python."""
    return [
        f"  br i1 {ready}, label %run, label %elsewhere", "run:", *run,
        f"  %stopped = icmp eq i32 %status, {_STOPPED}",
        "  br i1 %stopped, label %stop, label %go",
        "go:", "  %result = sext i32 %status to i64",
        "  %made = call ptr @PyLong_FromLong(i64 %result)", "  ret ptr %made",
        "elsewhere:", f"  %other = call ptr @PyLong_FromLong(i64 {_ELSEWHERE})", "  ret ptr %other",
        "stop:", "  ret ptr null", "}", "",
    ]  # fmt: skip


class _Method(ctypes.Structure):
    """What Python calls a PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )  # fmt: skip


_FAST_CALL: Final = 0x80


def python_function(text: str) -> Callable[..., int]:
    """Return the machine code of a text as a function of Python, which holds what it needs."""
    code = MachineCode(text, "entry")
    method = _Method(b"program", code.address, _FAST_CALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    function: Callable[..., int] = make(ctypes.addressof(method), (code, method), None)
    return function


class _Memory:
    """What a call works in: bytes, and the steps of NumPy's on arrays in them."""

    def __init__(self, text: Text) -> None:
        self.bytes = np.empty(max(text.work, 1), np.uint8)
        self._steps = [self._step(step) for step in text.steps]
        for step, called in zip(text.steps, self._steps, strict=True):
            self.array(step.place, ArrayType((), INT))[...] = id(called)

    def array(self, place: int, type_: ArrayType) -> Any:
        """Return the array that begins at a place."""
        return np.frombuffer(self.bytes, type_.dtype, type_.size, place).reshape(type_.shape)

    def _step(self, step: Step) -> Callable[[], None]:
        """Return what computes a step."""
        op = step.operation
        operands = [self.array(k, t) for k, t in zip(step.operands, op.operands, strict=True)]
        results = [self.array(k, t) for k, t in zip(step.results, op.results, strict=True)]
        function, is_one = step.function, op.result_count == 1

        def run() -> None:
            made = function(*[x if x.ndim else x[()] for x in operands])
            for place, y in zip(results, [made] if is_one else made, strict=True):
                place[...] = y

        return run


class Routine(Attempt):
    """A program as machine code; ``sure()`` makes the function that computes it by NumPy."""

    def __init__(
        self, program: Program, text: Text, sure: Callable[[], Callable[..., Any]]
    ) -> None:
        self._text = text
        self._idle: list[_Memory] = []
        self.source = self._source(program, python_function(text.text))
        super().__init__(self.source.function(), lambda: _owning(sure()))
        self.warns = bool(text.steps)
        self.kept_weight = WEIGHT

    def _source(self, program: Program, run: Callable[..., int]) -> Source:
        names: dict[str, Any] = {
            "empty": np.empty, "run": run, "leave": self._leave, "idle": self._idle,
            "take": lambda: _Memory(self._text),
        }  # fmt: skip
        inputs = [f"x{k}" for k in range(len(program.inputs))]
        lines, given, outputs = list[str](), list(inputs), list[str]()
        numbers = _are_numbers(program)
        for k, (type_, is_number) in enumerate(zip(program.output_types, numbers, strict=True)):
            if is_number:
                outputs.append(f"numbers[{sum(numbers[:k])}]")
                continue
            dtype = f"dtype_{type_.dtype.name}"
            names[dtype] = type_.dtype
            lines.append(f"y{k} = empty({type_.shape}, {dtype})")
            outputs.append(f"y{k}" if type_.shape else f"y{k}[()]")
            given.append(f"y{k}")
        if any(numbers):
            lines.append(f"numbers = empty({sum(numbers)})")
            given.append("numbers")
        lines += [
            "try:", "    work = idle.pop()", "except IndexError:", "    work = take()",
            f"status = run({', '.join([*given, 'work.bytes'])})",
            f"if status: return leave(status, work, {', '.join(inputs)})",
            "idle.append(work)",
            f"return [{'*numbers' if numbers and all(numbers) else ', '.join(outputs)}]",
        ]  # fmt: skip
        comment = "".join(f"# {line}\n" for line in self._text.text.splitlines())
        return Source(function("program", inputs, lines) + "\n" + comment, names)

    def _leave(self, status: int, work: _Memory, *arrays: Any) -> list[Any]:
        """Return the results of a call that did not come to its end, or raise."""
        met = self._text.exits[status - FIRST_EXIT] if status >= FIRST_EXIT else Exit(0, (), ())
        values = [
            work.array(place, t).copy()[()] for place, t in zip(met.places, met.types, strict=True)
        ]
        self._idle.append(work)
        if status == _ELSEWHERE:
            results: list[Any] = self.quick(*[np.array(x, order="C") for x in arrays])
            return results
        if status == _FAILED:
            raise ArithmeticError("machine code cannot compute this")
        raise Diverted(met.number, int(values[0]), tuple(values[1:]))


def _owning(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return a function whose results are in nobody else's memory."""
    return lambda *arrays: copy_aliased(function(*arrays), arrays)


_LONG: Final = 20_000.0
"""Nanoseconds from which on other threads of Python run meanwhile."""


def _is_quicker_as_floats(program: Program, work: Cost) -> bool:
    """Whether Python's numbers take less time: of NumPy's functions, these are called directly."""
    return work.steps > 0 and is_worth_unrolling(program) and estimate_time(program) < work.time


def routine(
    program: Program, sure: Callable[[], Callable[..., Any]], *, always: bool = False
) -> Routine | None:
    """Return a program as machine code; None if something in it has none, or it would be slower.

    `always` asks for it even then.
    """
    if not knows_arrays():
        return None
    work = cost(program, is_step)
    if not always and (work.saving <= 0 or _is_quicker_as_floats(program, work)):
        return None
    try:
        return Routine(program, text_of(program, alone=work.time < _LONG), sure)
    except UncoveredError:
        return None
