"""The text of a program is NumPy code that computes the interpreter's bits, and reads well."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.api.calls.inputs import Operands
from funcdiff.core.atoms import literal
from funcdiff.core.primitive import NONE, Params, Primitive, primitives
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import bind
from funcdiff.core.running.evaluate import Executable
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, ProgramError
from funcdiff.ops.user.bridged import Bridged
from funcdiff.ops.user.custom_known import KnownTangent
from funcdiff.ops.user.integral import Integral, integrate
from funcdiff.ops.user.python_call import Opaque, entered
from funcdiff.ops.user.replay import Replay
from funcdiff.reading.provenance import Examined
from funcdiff.reading.text.expressions import array, full_array, number
from funcdiff.reading.text.lines import identifier
from funcdiff.reading.text.module import of_program
from funcdiff.scipy.stats.draws import Draw
from funcdiff.scipy.stats.entropies import Slope
from tests.backend.test_source import LAYOUTS
from tests.reading.readable import KEPT, Kept, network
from tests.rules.test_rules import samples

TEXTS = Path(__file__).parent / "texts"
# ---- what texts need from outside ----------------------------------------------------------------


def newton(f: Any, start: Sequence[Any]) -> tuple[Any, ...]:
    x = np.append(*start)

    def value(x: Any) -> Any:
        return np.append(*f((x[:-1], x[-1])))

    for _ in range(9):
        steps = 1e-6 * np.eye(x.size)
        slope = np.stack([(value(x + h) - value(x - h)) / 2e-6 for h in steps], axis=1)
        x = x - np.linalg.solve(slope, value(x))
    return x[:-1], x[-1]


def repeat(f: Any, start: Sequence[Any]) -> tuple[Any, Any]:
    xs = tuple(start)
    for _ in range(60):
        xs = f(xs)
    return xs, np.int64(60)


def by_columns(f: Any, right: Sequence[Any]) -> tuple[Any, ...]:
    columns = [np.append(*f((e[:-1], e[-1]))) for e in np.eye(right[0].size + 1)]
    x = np.linalg.solve(np.stack(columns, axis=1), np.append(*right))
    return x[:-1], x[-1]


SOLVERS = {"newton": newton, "repeat": repeat, "by_columns": by_columns, "by_rows": by_columns}
"""The solvers of the samples, as functions of a function."""


def equations(program: Program) -> list[Equation]:
    found = []
    for eq in program.equations:
        found.append(eq)
        for value in (getattr(eq.params, name) for name in eq.params.__dataclass_fields__):
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Program):
                    found += equations(part)
    return found


def outside(program: Program) -> dict[str, Any]:
    """Return what the text of a program needs from outside."""
    names: dict[str, Any] = {}
    for eq in equations(program):
        if isinstance(eq.params, Opaque):
            names[identifier(eq.params.name)] = one_by_one(entered[eq.params.name].run)
        if isinstance(eq.params, Bridged):
            names[identifier(eq.params.name)] = eq.operation.function
        if isinstance(eq.params, KnownTangent):
            word = f"{eq.params.name}_{'cotangent' if eq.params.transposed else 'tangent'}"
            names[word] = eq.operation.function
        if isinstance(eq.params, Draw):
            names["random_variates"] = eq.operation.function
        if isinstance(eq.params, Slope):
            names[eq.params.routine] = eq.operation.function
        if isinstance(eq.params, Replay):
            kinds = "".join(f"_{kind}" for kind, *_ in eq.params.steps)
            one = replace(eq.params, batches=())
            names[f"{eq.params.maker}{kinds}"] = eq.operation.primitive.impl(one)
        if isinstance(eq.params, Integral):
            names[eq.params.routine] = partial(_integral, eq.params)
        solver = getattr(eq.params, "solver", "")
        if solver:
            names[identifier(solver)] = SOLVERS[solver.split(".")[0]]
    return names


def _integral(p: Integral, f: Any, a: Any, b: Any, points: Any) -> Any:
    """Return what the operation computes of an integrand that a text has."""

    def several(x: Any) -> Any:
        ys = f(x)
        return ys if isinstance(ys, tuple) else (ys,)

    return tuple(integrate(replace(p, batches=()), several, (a, b, *points)))


def one_by_one(run: Any) -> Any:
    def function(*xs: Any) -> Any:
        results = run(*(np.copy(x)[()] for x in xs))
        return results[0] if len(results) == 1 else tuple(results)

    return function


# ---- the same bits -------------------------------------------------------------------------------


def executed(text: str, names: dict[str, Any] | None = None) -> Any:
    """Return the function that a text defines, the last one."""
    scope = dict(names or {})
    exec(compile(text, "text", "exec"), scope)
    functions = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return scope[functions[-1]]


def assert_same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    for y, z in zip(found, expected, strict=True):
        assert np.shape(y) == np.shape(z)
        assert np.asarray(y).dtype == np.asarray(z).dtype
        np.testing.assert_array_equal(y, z)
        assert np.array_equal(np.signbit(np.real(y)), np.signbit(np.real(z)))


def assert_same_bits(
    program: Program, arrays: list[Any], expected: list[Any] | None = None
) -> None:
    before = [np.copy(x) for x in arrays]
    run = executed(of_program(program), outside(program))
    with np.errstate(all="ignore"):
        if expected is None:
            expected = Executable(program).interpret(*arrays)
        assert_same(run(*arrays), expected)
    for x, y in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, y)


def assert_call(f: Any, *args: Any, **kwargs: Any) -> str:
    """Check that the text of a call computes what the call's program does; return it."""
    text = fd.source(f)(*args, **kwargs)
    examined = Examined.of(f, args, kwargs)
    captures = examined.trace.captures
    large = [x for x in captures if np.size(x) > 16]
    words = [a.arg for a in ast.parse(text).body[-1].args.kwonlyargs]  # type: ignore[attr-defined]
    more = dict(zip([w for w in words if w not in kwargs], large, strict=True))
    with np.errstate(all="ignore"):
        found = fd.pytree.flatten(executed(text)(*args, **kwargs, **more))[0]
        operands = Operands((args, kwargs)).xs
        expected = fd.evaluate(fd.trace(f)(*args, **kwargs), [*operands, *captures])
    assert_same([y for y in found if not isinstance(y, str)], expected)
    return text


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_arguments_keeps_the_bits(layout: Any) -> None:
    random = np.random.default_rng(3)
    x, w, b = (layout(random.normal(size=shape)) for shape in ((40, 30), (30, 20), (20,)))

    def f(x: Any, w: Any, b: Any) -> Any:
        y = np.tanh(x @ w + b)
        z = np.sum(y * y - np.sin(y.T).T, axis=0) / np.max(y) + b
        return np.sum(np.where(z > 0, z, 0.1 * z[:, None] * x[:20, :20] + np.outer(b, z)))

    for g in (f, fd.grad(f, (0, 1, 2)), fd.jit(fd.grad(f))):
        assert_same_bits(fd.trace(g)(x, w, b), [x, w, b])
    batch = [x, w, np.stack([b, 2 * b])]
    assert_same_bits(fd.trace(fd.vmap(f, in_axes=(None, None, 0)))(*batch), batch)


STEPS = st.lists(
    st.tuples(st.sampled_from("+-*/secnrTmbwav"), st.integers(0, 9), st.integers(0, 9)), max_size=15
)
STEP: dict[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * (b * a),
    "/": lambda a, b: a / (1.5 + b * b),
    "s": lambda a, b: np.sin(a) - 1,
    "e": lambda a, b: np.exp(-np.abs(a)),
    "c": lambda a, b: np.where(a > b, a, 0.25),
    "n": lambda a, b: -a,
    "r": lambda a, b: b[::-1],
    "T": lambda a, b: a.T if a.shape[0] == a.shape[-1] else a,
    "m": lambda a, b: np.sum(a) * b,
    "b": lambda a, b: a.reshape(-1).reshape(a.shape) + b,
    "w": lambda a, b: np.concatenate([a[1:], b[:1]]),
    "a": lambda a, b: np.max(a, axis=0) * b,
    "v": lambda a, b: np.add(a, b),
}


@given(STEPS, st.sampled_from([(1,), (3,), (2, 3), (1, 3), (3, 1, 3), (3, 3)]))
def test_random_programs_compute_the_same_bits(steps: Any, shape: tuple[int, ...]) -> None:
    def f(x: Any, y: Any) -> Any:
        values = [x, y, 0.5 * x]
        for name, j, k in steps:
            values.append(STEP[name](values[j % len(values)], values[k % len(values)]))
        return values[-1], values[len(values) // 2], np.sum(values[-1], axis=0)

    random = np.random.default_rng(len(steps))
    args = [random.normal(size=shape) for _ in range(2)]
    assert_same_bits(fd.trace(f)(*args), args)
    total = fd.grad(lambda x, y: sum(np.sum(z) for z in f(x, y)))
    assert_same_bits(fd.trace(total)(*args), args)


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.longdouble, np.complex64, np.clongdouble, np.int8]
)
def test_numbers_keep_the_dtype_of_arrays(dtype: Any) -> None:
    x = np.array([1, 3, 2], dtype)
    third = dtype(1) / dtype(3) if np.dtype(dtype).kind != "i" else 3

    def f(x: Any) -> Any:
        y = np.where(np.isfinite(x), x * third, dtype(1)) + 2
        return y, np.concatenate([y, np.zeros(2, dtype)]), y - third, dtype(2) * np.ones(3, dtype)

    assert_call(f, x)


# ---- calls -----------------------------------------------------------------------------------


@dataclass
class Line:
    slope: Any
    offset: Any


Pair = namedtuple("Pair", "first second")
TABLE = np.arange(20.0).reshape(10, 2)
SHIFT = np.array([0.5, -0.0])


def of_containers(line: Any, *points: Any, scale: Any = 1.0, mode: str = "sum", **more: Any) -> Any:
    y = [line.slope * x + line.offset for x in points]
    total = sum(np.sum(x) for x in y) * scale + more["bias"][0]
    shifted = TABLE @ (points[0] + SHIFT)
    return {"total": total, "pair": Pair(y[0], (mode, shifted)), 3: [None, y[-1]]}


def test_containers_keywords_and_captured_arrays() -> None:
    line = Line(2.0, np.array([1.0, 2.0]))
    points = np.array([1.5, 2.5]), np.array([0.5, 0.25])
    keywords = {"scale": 3, "mode": "max", "bias": (np.float32(1),)}
    text = assert_call(of_containers, line, *points, **keywords)
    assert "def of_containers(line, *points, scale, mode, TABLE, **more):" in text
    assert "TABLE : float64[10, 2], which the function closes over" in text
    assert "SHIFT = np.array([0.5, -0.0])  # closed over" in text
    result = executed(text)(line, *points, **keywords, TABLE=TABLE)
    assert list(result) == ["total", "pair", 3]
    assert list(result["pair"]) == ["first", "second"]
    assert result["pair"]["second"][0] == "max"


def test_python_numbers_are_converted() -> None:
    text = assert_call(lambda x, n, z: (x / 3, n * 2, z * x), 0.0, 5, 1j)
    assert "x = np.float64(x)" in text
    assert "z = np.complex128(z)" in text


@pytest.mark.parametrize("name", KEPT)
def test_texts_are_those_that_were_read(name: str) -> None:
    kept: Kept = KEPT[name]
    text = assert_call(kept.f, *kept.args)
    assert text == (TEXTS / f"{name}.txt").read_text(encoding="utf-8")


def test_values_have_the_names_of_the_user() -> None:
    kept = KEPT["network_gradient"]
    text = fd.source(fd.jit(kept.f))(*kept.args)
    for word in ("hidden", "prediction", "residual", "d_w1", "d_b1", "d_hidden", "d_prediction"):
        assert f"    {word} = " in text, word
    line = network.__code__.co_firstlineno + 1
    assert f"# readable.py:{line}: hidden = np.tanh(" in text
    assert f"# derivative of line {line}: hidden = np.tanh(" in text


def test_a_value_of_the_function_is_not_called_a_derivative() -> None:
    def f(x: Any) -> Any:
        y = np.exp(-x)
        z = y * np.sin(x)
        return np.sum(z)

    text = fd.source(fd.value_and_grad(f))(np.array([0.3, 1.2]))
    assert "sin_x = np.sin(x)" in text  # which is dz/dy
    assert "d_x = " in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["network_gradient", "recurrent_gradient", "square_root"])
def test_texts_run_where_there_is_no_funcdiff(name: str, tmp_path: Path) -> None:
    kept: Kept = KEPT[name]
    text = fd.source(kept.f)(*kept.args)
    leaves, _ = fd.pytree.flatten(kept.args)
    np.savez(tmp_path / "args.npz", *leaves)
    (tmp_path / "text.py").write_text(text, encoding="utf-8")
    script = (
        "import sys; sys.modules['funcdiff'] = None\n"
        "import numpy as np, text\n"
        "x = [v for v in np.load('args.npz').values()]\n"
        "function = [f for f in vars(text).values() if callable(f)][-1]\n"
        f"result = function(*{_arguments(name)})\n"
        "print(repr([v.tobytes().hex() for v in _flat(result)]))\n"
    )
    flat = (
        "def _flat(v):\n"
        "    parts = v.values() if isinstance(v, dict) else v if isinstance(v, tuple) else None\n"
        "    return [v] if parts is None else [y for part in parts for y in _flat(part)]\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", flat + script], cwd=tmp_path, capture_output=True, check=True,
        text=True,
    )  # fmt: skip
    expected = fd.evaluate(
        fd.trace(kept.f)(*kept.args),
        [*Operands((kept.args, {})).xs, *Examined.of(kept.f, kept.args, {}).trace.captures],
    )
    assert ast.literal_eval(run.stdout) == [np.asarray(y).tobytes().hex() for y in expected]


def _arguments(name: str) -> str:
    if name == "network_gradient":
        return "[dict(w1=x[0], b1=x[1], w2=x[2]), x[3], x[4]]"
    return "[v[()] for v in x]"


def test_a_solver_is_needed_from_outside() -> None:
    def halve(f: Any, x: Any) -> Any:
        low, high = 0.0, 10.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if f(np.float64(middle)) < 0 else (low, middle)
        return np.float64(middle)

    g = fd.grad(lambda a: fd.custom_root(lambda x: x**3 - a, 1.0, halve))
    text = fd.source(g)(2.0)
    assert "It needs these names from outside:\n\n- halve: (function, x) -> x, the solver." in text
    found = executed(text, {"halve": halve})(2.0)
    assert found == fd.evaluate(fd.trace(g)(2.0), [np.float64(2.0), np.float64(1.0)])[0]


# ---- literals ------------------------------------------------------------------------------------

AWKWARD = [
    np.float64(-0.0),
    np.float64(np.inf),
    -np.float64(np.inf),
    np.float64(np.nan),
    np.float64(5e-324),
    np.frombuffer(b"\x01\0\0\0\0\0\xf8\x7f", np.float64)[0],
    np.float32(0.1),
    np.float16(6e-8),
    np.frombuffer(b"\x34\x12\xc0\xff", np.float32)[0],
    np.longdouble(1) / 3,
    np.complex128(complex(-0.0, np.nan)),
    np.complex64(0.1 - 0.3j),
    np.clongdouble(1j) / 3,
    np.uint64(2**64 - 1),
    np.int8(-128),
    np.bool_(True),
]


@pytest.mark.parametrize("value", AWKWARD, ids=repr)
def test_literals_give_the_same_bits_back(value: Any) -> None:
    def bits(x: Any) -> bytes:
        x = np.asarray(x)[()]
        return literal(x, ArrayType((), x.dtype)).bits

    alone = eval(
        compile(ast.Expression(_located(number(value, weak=False))), "", "eval"), {"np": np}
    )
    assert type(alone) is type(value)
    assert bits(alone) == bits(value)
    full = literal(value, ArrayType((2, 3), value.dtype))
    wide = eval(compile(ast.Expression(_located(full_array(full))), "", "eval"), {"np": np})
    assert wide.shape == (2, 3)
    assert wide.dtype == value.dtype
    assert {bits(x) for x in wide.flat} == {bits(value)}
    mixed = np.array([value, value.dtype.type(1)])
    back = eval(compile(ast.Expression(_located(array(mixed))), "", "eval"), {"np": np})
    assert back.dtype == mixed.dtype
    assert [bits(x) for x in back] == [bits(x) for x in mixed]


def _located(node: ast.expr) -> ast.expr:
    (statement,) = ast.parse(ast.unparse(node)).body
    assert isinstance(statement, ast.Expr)
    return statement.value


def test_a_parameter_may_have_a_name_that_the_text_calls() -> None:
    def f(range: Any, xs: Any) -> Any:  # noqa: A002
        return fd.scan(lambda carry, x: (carry * x, carry), range, xs)

    assert "from builtins import range" in assert_call(f, 2.0, np.arange(3.0))
    assert "builtins" not in assert_call(lambda range: range + 1, 2.0)  # noqa: A006


# ---- refusals ----------------------------------------------------------------------------------


def test_source_inside_a_trace_is_refused() -> None:
    def f(x: Any) -> Any:
        fd.source(np.sin)(x)
        return x

    with pytest.raises(InputError, match="while something is traced"):
        fd.grad(f)(1.0)


def test_a_parameter_that_hides_numpy_is_refused() -> None:
    with pytest.raises(InputError, match="parameter named np, which would hide"):
        fd.source(lambda np: np + 1)(1.0)


def test_every_primitive_can_be_written() -> None:
    for sample, *_ in samples().values():
        of_program(fd.trace(sample.f)(*sample.args))


def test_an_operation_without_text_is_refused_by_name() -> None:
    class Copied:
        def __call__(self, x: Any) -> Any:
            return np.array(x)

    compiled = Primitive("compiled_elsewhere", Params, lambda _p, x: (x,), lambda _p: Copied())
    try:
        with pytest.raises(ProgramError, match="compiled_elsewhere cannot be written as NumPy"):
            fd.source(lambda x: bind(compiled, NONE, x)[0])(np.ones(2))
    finally:
        primitives.pop("compiled_elsewhere")


def test_an_argument_out_of_reach_is_refused() -> None:
    key = object()
    with pytest.raises(InputError, match="is not reached by an expression"):
        fd.source(lambda d: d[key] * 2)({key: np.ones(2)})


def test_an_opaque_function_with_a_batch_rule_of_its_own_is_refused() -> None:
    def ordered(x: Any) -> Any:
        return np.sort(x)

    f = fd.primitive(ordered, result=lambda x: x, batch=lambda size, x: np.sort(x, axis=1))
    with pytest.raises(ProgramError, match="has a function of its own for batches"):
        fd.source(fd.vmap(f))(np.ones((2, 3)))


def test_the_text_of_a_compiled_function_raises_where_the_arguments_go_another_way() -> None:
    def f(x: Any) -> Any:
        y = x[x > 0]
        return np.sum(y**3) if np.sum(y) > 1 else np.sum(x)

    for g in (fd.jit(f), fd.jit(fd.grad(f))):
        text = fd.source(g)(np.array([1.0, 2.0, -3.0]))
        assert "if np.sum(mask.astype(np.int64)) != 2:" in text
        names: dict[str, Any] = {}
        exec(text, names)
        (written,) = (names[name] for name in ("f", "grad_f") if name in names)
        for x in (np.array([1.0, 2.0, -3.0]), np.array([0.5, -1.0, 0.7])):
            np.testing.assert_array_equal(written(x), g(x))
        for x in (np.array([0.1, 0.2, -3.0]), np.ones(3)):
            with pytest.raises(ValueError, match="another way"):
                written(x)
