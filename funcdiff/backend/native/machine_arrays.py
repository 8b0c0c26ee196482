"""Arrays of machine code: one number for all elements, a view of memory, or a formula of others.

Every array gives `width` elements in a row at a place, `at`; loops over places write them to
memory.  What is rearranged is a view, with an offset and strides, so that an expression reads
shifted, turned and repeated operands where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from funcdiff.backend.native.formulas import KINDS, MEMORY, Formula
from funcdiff.backend.native.llvm import WIDTH, Code, Vector, join, of_width
from funcdiff.core.late import computed
from funcdiff.core.primitive import Operation
from funcdiff.core.types import ArrayType

Index: TypeAlias = int | str
"""A place along an axis: known, or the name of an integer."""
Place: TypeAlias = tuple[Index, ...]

_ON_STACK: Final = 2048
_STACK: Final = 1 << 15
"""Bytes of an array, and of all, up to which it is on the stack, where LLVM can keep it in
registers; threads may have little of it."""
_LARGEST: Final = 1 << 28
"""Bytes of memory that a function may take."""


class UncoveredError(Exception):
    """A program has something that no machine code is written for."""


def kind_of(type_: ArrayType) -> str:
    """Return LLVM's type of elements; raises UncoveredError if they have no machine code."""
    if type_.dtype not in KINDS:
        raise UncoveredError(type_)
    return KINDS[type_.dtype]


class Exit(NamedTuple):
    """A guard at which a function ends, with an outcome and values in the memory it is given.

    The places are those of the first bytes, that of the outcome first, behind all other memory:
    only one guard is ever met.
    """

    number: int
    places: tuple[int, ...]
    types: tuple[ArrayType, ...]


class Step(NamedTuple):
    """An equation that NumPy computes, on arrays in the memory that a function is given.

    `place` is where that begins which Python calls; the others are those of operands and results.
    """

    operation: Operation
    function: Callable[..., Any]
    place: int
    operands: tuple[int, ...]
    results: tuple[int, ...]


class Function(Code):
    """The instructions of a function, and the memory that it works in."""

    def __init__(self) -> None:
        super().__init__()
        self.allocations: list[str] = []  # instructions that come first
        self.parts: dict[str, str] = {}  # the functions that it calls, by name
        # Bytes of memory on the stack, of what its caller gives it, and of these for exits.
        self.stack = self.work = self.behind = 0
        # What elements of formulas are, at a place and of a width, in the loop that is written.
        self.known: dict[Any, Vector] = {}
        self.exits: list[Exit] = []  # where it ends before its end, in order
        self.steps: list[Step] = []  # what NumPy computes

    # ---- integers --------------------------------------------------------------------------

    def plus(self, a: Index, b: Index) -> Index:
        """Return the sum of two integers."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if 0 in (a, b):
            return b if a == 0 else a
        return self.add(f"add nsw i64 {a}, {b}")

    def times(self, a: Index, factor: int) -> Index:
        """Return a multiple of an integer."""
        if isinstance(a, int):
            return a * factor
        return a if factor == 1 else self.add(f"mul nsw i64 {a}, {factor}") if factor else 0

    # ---- memory ----------------------------------------------------------------------------

    def memory(self, type_: ArrayType) -> View:
        """Return memory of the function's own for an array."""
        kind, size = MEMORY[kind_of(type_)]
        name = self.name()
        count = type_.size * size
        if count <= _ON_STACK and self.stack + count <= _STACK:
            self.stack += count
            made = f"alloca [{max(type_.size, 1)} x {kind}], align 64"
        else:
            made = f"getelementptr i8, ptr %work, i64 {self.place_in_work(type_)}"
        self.allocations.append(f"  {name} = {made}")
        return whole(self, type_, name)

    def place_in_work(self, type_: ArrayType) -> int:
        """Return where memory for an array begins in what the caller gives."""
        return self._bytes(type_.size * MEMORY[kind_of(type_)][1])

    def _bytes(self, count: int) -> int:
        place = self.work
        self.work += -(-count // 64) * 64
        if self.work > _LARGEST:
            raise UncoveredError
        return place

    def memory_for_caller(self, type_: ArrayType) -> tuple[View, int]:
        """Return memory for an array that the caller sees, and where it begins."""
        place, name = self.place_in_work(type_), self.name()
        self.allocations.append(f"  {name} = getelementptr i8, ptr %work, i64 {place}")
        return whole(self, type_, name), place

    def leave(self, number: int, values: Sequence[Value], returned: int) -> None:
        """End the function with values in memory, and return an integer."""
        places, end = [], 0
        for x in values:
            name = self.add(f"getelementptr i8, ptr %exits, i64 {end}")
            store(self, x, whole(self, x.type, name))
            places.append(end)
            end += -(-x.type.size * MEMORY[kind_of(x.type)][1] // 64) * 64
        self.behind = max(self.behind, end)
        self.exits.append(Exit(number, tuple(places), tuple([x.type for x in values])))
        self.do(f"ret i32 {returned}")

    def step(self, operation: Operation, function: Any, *places: Sequence[int]) -> None:
        """Let Python compute an operation by a function, on operands and results in memory."""
        place = self._bytes(8)
        self.steps.append(Step(operation, function, place, *map(tuple, places)))
        held = self.add(f"getelementptr i8, ptr %work, i64 {place}")
        called = self.add(f"load ptr, ptr {held}")
        failed, on = self.add(f"call i1 @step(ptr {called})"), self.name()[1:]
        self.do(f"br i1 {failed}, label %stop, label %{on}")
        self.block(on)

    # ---- loops -----------------------------------------------------------------------------

    def loop(
        self,
        count: int,
        body: Callable[[Index, list[Vector]], Sequence[Vector]],
        carried: Sequence[Vector] = (),
        *,
        step: int = 1,
    ) -> list[Vector]:
        """Run a body for 0, step, 2·step and so on, so often; return what it carries at the end."""
        if count <= 0:
            return list(carried)
        if count == 1:
            return list(body(0, list(carried)))
        before, head, done = self.label, self.name()[1:], self.name()[1:]
        self.do(f"br label %{head}")
        self.block(head)
        first, i, following = len(self.lines), self.name(), self.name()
        inside = [Vector(self, self.name(), x.kind, x.width) for x in carried]
        made = list(body(i, inside))
        self.add(f"add nuw nsw i64 {i}, {step}", following)
        more = self.add(f"icmp ult i64 {following}, {count * step}")
        self.do(f"br i1 {more}, label %{head}, label %{done}")
        phis = [f"  {i} = phi i64 [ 0, %{before} ], [ {following}, %{self.label} ]"]
        for x, start, end in zip(inside, carried, made, strict=True):
            ends = f"[ {start.text}, %{before} ], [ {end.text}, %{self.label} ]"
            phis.append(f"  {x.text} = phi {x.type} {ends}")
        self.lines[first:first] = phis
        self.block(done)
        return made

    def nest(self, shape: Sequence[int], body: Callable[[Place], None]) -> None:
        """Run a body for every place of a shape."""

        def inner(rest: Sequence[int], place: Place) -> None:
            if not rest:
                body(place)
                return

            def once(i: Index, _carried: list[Vector]) -> list[Vector]:
                inner(rest[1:], (*place, i))
                return []

            self.loop(rest[0], once)

        inner(shape, ())

    def across(
        self,
        length: int,
        body: Callable[[Index, int], None],
        *,
        twice: bool = True,
        most: int = WIDTH,
    ) -> None:
        """Run a body for pieces of a row, by first element and width.

        `twice` says whether it may come to some elements twice, `most` how wide a piece may be.
        """
        width = widest(length, most)
        if not width:
            return

        def once(i: Index, _carried: list[Vector]) -> list[Vector]:
            body(i, width)
            return []

        self.loop(length // width, once, step=width)
        rest = length % width
        while rest:
            last = min(width, 2 * widest(rest, width)) if twice else widest(rest, width)
            last = last if last // 2 < rest else last // 2
            body(length - (last if twice else rest), last)
            rest = 0 if twice else rest - last

    def pieces(
        self, shape: Sequence[int], body: Callable[[Place, int], None], *, twice: bool = True
    ) -> None:
        """Run a body for pieces of all rows of an array, by first element and width."""
        if not shape:
            body((), 1)
            return
        self.nest(
            shape[:-1],
            lambda front: self.across(shape[-1], lambda i, n: body((*front, i), n), twice=twice),
        )

    # ---- functions of numbers --------------------------------------------------------------

    def part(self, name: str, formula: Formula, *xs: Vector) -> Vector:
        """Return a long formula of vectors, which is written once for each width."""
        x = xs[0]
        name = f"{name}.{x.kind}.{x.width}"
        if name not in self.parts:
            inner = Code()
            inner.block("entry")
            y = formula(*[Vector(inner, f"%x{k}", x.kind, x.width) for k in range(len(xs))])
            self.declared.update(inner.declared)
            given = ", ".join([f"{x.type} %x{k}" for k in range(len(xs))])
            lines = [f"define internal {y.type} @{name}({given}) noinline {{", *inner.lines]
            self.parts[name] = "\n".join([*lines, f"  ret {y}", "}", ""])
        return x.emit(f"call {x.type} @{name}({', '.join(map(str, xs))})")


def widest(length: int, most: int = WIDTH) -> int:
    """Return how many elements of a row are worked on at a time: a power of two, or 0 of none."""
    return min(most, 1 << (length.bit_length() - 1)) if length > 0 else 0


class Value(Protocol):
    """An array."""

    @property
    def type(self) -> ArrayType:
        """Shape and dtype."""

    def at(self, place: Place, width: int) -> Vector:
        """Return so many elements in a row."""


@dataclass(frozen=True, eq=False)
class Number:
    """An array whose elements are all one number."""

    number: Vector
    type: ArrayType

    def at(self, _place: Place, width: int) -> Vector:
        """Return the number so often."""
        return self.number.repeat(width)


@dataclass(frozen=True, eq=False)
class View:
    """An array in memory; offset and strides count elements."""

    code: Function
    type: ArrayType
    base: str
    offset: Index
    strides: tuple[int, ...]

    def at(self, place: Place, width: int) -> Vector:
        """Load elements."""
        stride = self.strides[-1] if width > 1 else 1
        if stride == 0:
            return self.at(place, 1).repeat(width)
        if stride != 1:
            return join([self.at(self._move(place, k), 1) for k in range(width)])
        code, kind = self.code, kind_of(self.type)
        in_memory, size = MEMORY[kind]
        held = of_width(in_memory, width)
        loaded = code.add(f"load {held}, ptr {self._address(place)}, align {size}")
        if kind == "i1":
            zero = Vector(code, "", in_memory, width).like(0)
            loaded = code.add(f"icmp ne {held} {loaded}, {zero.text}")
        return Vector(code, loaded, kind, width)

    def put(self, place: Place, x: Vector) -> None:
        """Store elements."""
        if x.width > 1 and self.strides[-1] != 1:
            for k, number in enumerate(x.lanes):
                self.put(self._move(place, k), number)
            return
        in_memory, size = MEMORY[x.kind]
        if x.kind == "i1":
            x = x.emit(f"zext {x} to {of_width(in_memory, x.width)}", in_memory)
        self.code.do(f"store {x}, ptr {self._address(place)}, align {size}")

    def _move(self, place: Place, count: int) -> Place:
        return (*place[:-1], self.code.plus(place[-1], count))

    def _address(self, place: Place) -> str:
        code, offset = self.code, self.offset
        for i, stride in zip(place, self.strides, strict=True):
            offset = code.plus(offset, code.times(i, stride))
        if offset == 0:
            return self.base
        kind, _ = MEMORY[kind_of(self.type)]
        return code.add(f"getelementptr {kind}, ptr {self.base}, i64 {offset}")

    # ---- other views of the same memory ----------------------------------------------------

    def view(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: Index = 0) -> View:
        """Return elements of the same memory in another order, from some element on."""
        moved = self.code.plus(self.offset, offset)
        return View(self.code, self.type.with_shape(shape), self.base, moved, strides)

    def row(self, i: Index) -> View:
        """Return the elements at a place along the first axis."""
        offset = self.code.times(i, self.strides[0])
        return self.view(self.type.shape[1:], self.strides[1:], offset)

    @property
    def is_whole(self) -> bool:
        """Whether the elements follow each other in memory."""
        axes = zip(self.type.shape, self.strides, strides_of(self.type.shape), strict=True)
        return all(n <= 1 or stride == expected for n, stride, expected in axes)


@dataclass(frozen=True, eq=False)
class Pointwise:
    """An array each of whose elements is a formula of those at its place in others."""

    code: Function
    type: ArrayType
    formula: Formula
    operands: tuple[Value, ...]

    @computed
    def depth(self) -> int:
        """How many formulas are within each other."""
        return 1 + max([x.depth for x in self.operands if isinstance(x, Pointwise)], default=0)

    def at(self, place: Place, width: int) -> Vector:
        """Compute elements, once in a loop."""
        key = (id(self), place, width)
        found = self.code.known.get(key)
        if found is None:
            found = self.formula(*[x.at(place, width) for x in self.operands])
            self.code.known[key] = found
        return found


def whole(code: Function, type_: ArrayType, base: str) -> View:
    """Return an array that fills memory from its first byte on."""
    return View(code, type_, base, 0, strides_of(type_.shape))


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Return how far the elements along each axis are apart in memory, in elements."""
    strides, size = [1] * len(shape), 1
    for k in range(len(shape) - 1, -1, -1):
        strides[k] = size
        size *= max(shape[k], 1)
    return tuple(strides)


def store(code: Function, x: Value, target: View) -> None:
    """Write the elements of an array to memory."""
    flat, row = _flat(x, {}), _flat(target, {})
    if flat is not None and isinstance(row, View):
        x, target = flat, row
    code.known = {}
    code.pieces(target.type.shape, lambda at, width: target.put(at, x.at(at, width)))


def _flat(x: Value, known: dict[int, Value | None]) -> Value | None:
    """Return an array as one of one axis, where its elements follow each other anyhow."""
    if id(x) in known:
        return known[id(x)]
    found: Value | None = None
    flat = x.type.with_shape((x.type.size,))
    if isinstance(x, Number):
        found = Number(x.number, flat)
    elif isinstance(x, View):
        found = x.view(flat.shape, (1,)) if x.is_whole else None
    elif isinstance(x, Pointwise):
        operands = [y for y in (_flat(operand, known) for operand in x.operands) if y is not None]
        if len(operands) == len(x.operands):
            found = Pointwise(x.code, flat, x.formula, tuple(operands))
    known[id(x)] = found
    return found
