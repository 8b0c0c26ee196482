"""Samples of users' code: rules of their own, failing operations, checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff.core.primitive import NONE, operation, registered
from funcdiff.core.program import Program, program_of_operation
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.interop.numpy_code import NUMPY_CODE
from funcdiff.interop.operation import Operation
from funcdiff.ops.control.guard import demand
from funcdiff.ops.control.rematerialization import Tap, checkpoint, tap
from funcdiff.ops.elementwise.logic import isnan
from funcdiff.ops.linalg.factorizations import cholesky_p
from funcdiff.ops.linalg.systems import Triangle
from funcdiff.ops.user.bridged import call_bridged
from funcdiff.ops.user.custom_function import custom_p, tangent_p
from funcdiff.ops.user.custom_known import Known, KnownTangent, RuleCalls, known_p, known_tangent_p
from funcdiff.ops.user.custom_rules import Custom, Tangent
from funcdiff.ops.user.failing import Fails, fails_p
from funcdiff.ops.user.python_call import Function, Opaque, entered, opaque
from tests.rules.sample import Sample, body, complex_, integers, real, sample

X, Y = real(3), real(3, start=8)


def _value(x: Any, y: Any) -> Any:
    return [np.sin(x) * y]


def _push(x: Any, y: Any, tx: Any, ty: Any) -> Any:
    return [np.sin(x) * y, np.cos(x) * y * tx + np.sin(x) * ty]


def _forward(x: Any, y: Any) -> Any:
    return np.sin(x) * y, x, y


def _backward(x: Any, y: Any, ct: Any) -> Any:
    return np.cos(x) * y * ct, np.sin(x) * ct


VALUE = body(_value, X, Y)
JVP = body(_push, X, Y, X, Y)
VJP = body(_forward, X, Y), body(_backward, X, Y, X)


def _custom(rule: Custom) -> Any:
    return lambda x, y: bind(custom_p, rule, x, y)


def _tangent(rule: Tangent, *, primals: bool) -> Any:
    def f(x: Any, y: Any, tx: Any, ty: Any) -> Any:
        return bind(tangent_p, rule, x, y, *((x, y) if primals else ()), tx, ty)

    return f


class _Scaled:
    """The rules of ``1.5·x - 0.25·y``, a call that was made at some point."""

    def push(self, active: Any, ts: Any) -> Any:
        slopes = [k for k, on in zip(SLOPES, active, strict=True) if on]
        return [sum(k * t for k, t in zip(slopes, ts, strict=True))]

    def pull(self, active: Any, cts: Any) -> Any:
        return [k * cts[0] for k, on in zip(SLOPES, active, strict=True) if on]


SLOPES = 1.5, -0.25
MADE = RuleCalls()
NUMBER = MADE.enter(_Scaled())


def _known(index: Any, x: Any, y: Any) -> Any:
    made = SLOPES[0] * x + SLOPES[1] * y
    return bind(known_p, Known("made", 1, has_rule=True), made, index, x, y)


def _known_tangent(*, transposed: bool) -> Any:
    types = (ArrayType((3,), np.dtype(float)),)
    rule = KnownTangent("made", (True, False), types, types, transposed=transposed)
    return lambda index, t: bind(known_tangent_p, rule, index, t)


def _opaque(n: Any, m: Any) -> Any:
    return opaque(Opaque(NAME, (ArrayType((3,), np.dtype(np.int64)),), ()), (n, m))


NAME = entered.enter("remainders", Function(lambda n, m: [n % m], None))
BRIDGED = Operation(lambda x, y: [np.sin(x) * y, np.cumsum(y) * x[0]], NUMPY_CODE)

SAMPLES: dict[str, list[Sample]] = {
    "custom": [
        sample(_custom(Custom("f", VALUE, 2, (JVP,), ())), X, Y),
        sample(_custom(Custom("f", VALUE, 2, (), VJP)), X, Y),
        sample(_custom(Custom("f", VALUE, 2, (JVP,), VJP)), X, Y),
    ],
    "custom_tangent": [
        sample(_tangent(Tangent("f", 2, 0, 0, (), VJP[1]), primals=False), X, Y, Y, X),
        sample(_tangent(Tangent("f", 2, 0, 2, (JVP,), VJP[1]), primals=True), X, Y, Y, X),
    ],
    "custom_known": [sample(_known, NUMBER, X, Y)],
    "custom_known_tangent": [
        sample(_known_tangent(transposed=False), NUMBER, X),
        sample(_known_tangent(transposed=True), NUMBER, X),
    ],
    "bridged": [
        sample(lambda x, y: call_bridged(BRIDGED, "product", [x, y]), X, Y),
        sample(
            lambda x, y, t: call_bridged(
                BRIDGED.pushforward((True, False), (True, True)), "p", [x, y, t]
            ),
            X,
            Y,
            Y,
        ),
    ],
    "opaque": [sample(_opaque, integers(3), integers(3, start=5))],
}


POSITIVE = np.array([[2.0, 0.3], [0.3, 1.0]])
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])


def _fails(a: Tracer) -> Tracer:
    op = operation(cholesky_p, Triangle(True), (ArrayType(a.shape, a.dtype),))
    return bind(fails_p, Fails(program_of_operation(op), ()), a)[0]


def _fails_by_floating_errors(a: Tracer) -> Tracer:
    op = operation(registered("log"), NONE, (ArrayType(a.shape, a.dtype),))
    return bind(fails_p, Fails(program_of_operation(op), (), ("divide", "invalid")), a)[0]


SAMPLES |= {
    "demand": [sample(lambda x: demand(x, isnan(x), ValueError("nan")), real(3, 2))],
    "fails": [
        sample(_fails, POSITIVE),
        sample(_fails, INDEFINITE),
        sample(_fails_by_floating_errors, POSITIVE - 0.3),
    ],
}


W, X_CHECKPOINT, Y_CHECKPOINT = real(3, 2), real(2, start=5), real(3, start=9)


def _checkpoint(program: Program, *keep: str) -> Callable[..., Any]:
    def f(*xs: Any) -> Sequence[Any]:
        return checkpoint(program, xs, keep)

    return f


def _layers(w: Any, x: Any, y: Any) -> Any:
    """Compute two results of several taps; `y` is tapped itself, and not needed for one."""
    inner: Any = tap(np.sin(w @ x), Tap("inner", 0))
    outer: Any = tap(np.exp(inner * tap(y, Tap("outer", 0))), Tap("outer", 1))
    return outer * inner, np.cumsum(x * x)


def _linear(w: Any, x: Any, y: Any) -> Any:
    return w @ x - np.sin(y)[0] * x[0], x[::-1]


def _counting(n: Any, x: Any) -> Any:
    return n + 1, np.cos(x) * x


LAYERS, LINEAR = (
    body(_layers, W, X_CHECKPOINT, Y_CHECKPOINT),
    body(_linear, W, X_CHECKPOINT, Y_CHECKPOINT),
)

SAMPLES |= {
    "checkpoint": [
        sample(_checkpoint(LAYERS), W, X_CHECKPOINT, Y_CHECKPOINT),
        sample(_checkpoint(LAYERS, "outer"), W, X_CHECKPOINT, Y_CHECKPOINT),
        sample(_checkpoint(LAYERS, "outer", "inner"), W, X_CHECKPOINT, Y_CHECKPOINT),
        sample(_checkpoint(LINEAR), W, X_CHECKPOINT, Y_CHECKPOINT),
        sample(_checkpoint(body(_layers, W * 1j, X_CHECKPOINT * 1j, Y_CHECKPOINT), "inner"),
               complex_(3, 2), complex_(2, start=5), Y_CHECKPOINT, order=1),
        sample(_checkpoint(body(_counting, integers(3), Y_CHECKPOINT)), integers(3), Y_CHECKPOINT),
    ],
    "tap": [
        sample(lambda x: tap(x, Tap("x", 0)), X_CHECKPOINT),
        sample(lambda x: tap(x, Tap("x", 1)), complex_(3)),
        sample(lambda n: tap(n, Tap("n", 0)), integers(3)),
    ],
}  # fmt: skip
