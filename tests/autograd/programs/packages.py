"""What packages built on autograd do beside its operators: conversions, iterators, odd rules."""

import ctypes
import warnings
from typing import Any

import autograd
import autograd.numpy as np
from autograd import (
    elementwise_grad,
    grad,
    hessian,
    hessian_vector_product,
    jacobian,
    make_hvp,
    make_jvp,
    make_vjp,
    value_and_grad,
)
from autograd.builtins import tuple  # noqa: A004
from autograd.core import primitive as deprecated_primitive
from autograd.differential_operators import make_jvp_reversemode, unary_to_nary
from autograd.extend import defjvp, defvjp, primitive
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.numpy.numpy_jvps import broadcast
from autograd.numpy.numpy_vjps import match_complex, repeat_to_match_shape, replace_zero
from autograd.scipy.integrate import odeint
from autograd.tracer import getval
from autograd.util import subvals
from autograd.wrap_util import wraps

X = np.array([0.3, -1.2, 2.0])
M = np.array([[2.0, 0.7, -0.4], [0.5, 1.0, 0.2], [0.1, -0.3, 3.0]])


@primitive  # type: ignore[untyped-decorator]
def doubled(x: Any) -> Any:
    """Read the argument through C's pointers, which ask for memory to write to."""
    (ctypes.c_double * 3).from_buffer(x)
    return 2 * x


def _through_memory(ans: Any, x: Any) -> Any:
    (ctypes.c_double * 3).from_buffer(getval(ans))

    def vjp(g: Any) -> Any:
        return 2 * np.sign(g) * np.sqrt(np.abs(g)) * np.array([0.0, 1.0, 1.0])  # not linear

    return vjp


defvjp(doubled, _through_memory)


@primitive  # type: ignore[untyped-decorator]
def cubed(x: Any) -> Any:
    return np.array([float(v) ** 3 for v in x])


defvjp(cubed, lambda ans, x: lambda g: 3 * g * x**2)


@primitive  # type: ignore[untyped-decorator]
def clipped(x: Any) -> Any:
    return np.sin(x)


defvjp(clipped, lambda ans, x: lambda g: (np.clip(g, -0.5, 0.5) + 0.1 * g**2) * np.cos(x))


@deprecated_primitive  # type: ignore[untyped-decorator]
def product(x: Any, y: Any, z: Any) -> Any:
    return x * y + 0 * z


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    product.defgrad(lambda ans, x, y, z: lambda g: y * g)
    product.defgrad(lambda ans, x, y, z: lambda g: x * g, argnum=1)
    defvjp(np.sin, lambda ans, x: lambda g: g * np.cos(x))
    defjvp(lambda x: x, lambda g, ans, x: g)


@primitive  # type: ignore[untyped-decorator]
def halved(x: Any) -> Any:
    return x / 2


defvjp(halved, lambda ans, x: lambda g: (g / 2).astype(np.float32))


@unary_to_nary  # type: ignore[untyped-decorator]
def at_ones(f: Any, x: Any) -> Any:
    return autograd.core.make_vjp(f, x)[0](np.ones(np.shape(x)))


def of_conversions() -> dict[str, Any]:
    return {
        "integers": grad(lambda x: np.sum(x**2 * 1.5))(np.arange(3)),
        "integers_jacobian": jacobian(lambda x: x**2 * 1.5)(np.arange(3)),
        "integers_value": value_and_grad(lambda x, y: np.sum(x * y), 1)(X, np.arange(3)),
        "integers_elementwise": elementwise_grad(np.cos)(np.arange(3)),
        "wide_vjp": make_vjp(np.exp)(X.astype(np.float32))[0](X.astype(np.float64)),
        "narrow_vjp": make_vjp(np.exp)(X)[0](X.astype(np.float32)),
        "complex_vjp": make_vjp(lambda x: x * X)(X)[0](X * (1 + 2j)),
        "wide_jvp": make_jvp(np.exp)(X.astype(np.float32))(X)[1],
        "rule": grad(lambda x: np.sum(halved(2 * x)))(X),
        "match_complex": match_complex(1.0, 2 + 1j),
        "as_integers": grad(lambda x: np.sum(x * np.int64(x)))(X),
    }


def of_triangles() -> dict[str, Any]:
    def values(a: Any, uplo: str) -> Any:
        return np.sum(np.linalg.eigh(a, uplo)[0] ** 3)

    def vectors(a: Any, uplo: str) -> Any:
        return np.sum(np.linalg.eigh(a, uplo)[1][:, 0] ** 4)

    return {
        f"{f.__name__}_{uplo}_{a.dtype}": grad(f)(a, uplo)
        for uplo in "LU"
        for f, a in ((values, M), (vectors, M), (values, M + 1j * M.T))
    }


def of_iterators() -> dict[str, Any]:
    makers = {
        "map": lambda x: map(np.atleast_1d, x),
        "generator": lambda x: (y[None] for y in x),
        "values": lambda x: {"a": x[:1], "b": 2 * x[1:2]}.values(),
    }
    joins = {"stack": np.stack, "hstack": np.hstack, "vstack": np.vstack, "col": np.column_stack}
    return {
        f"{name}_{kind}": grad(lambda x, make=make, join=join: np.sum(join(make(x)) ** 2))(X)
        for name, join in joins.items()
        for kind, make in makers.items()
    } | {"concatenate": grad(lambda x: np.sum(np.concatenate({0: x, 1: x[:2]}.values()) ** 2))(X)}


def of_rules() -> dict[str, Any]:
    def f(x: Any) -> Any:
        return np.sum(clipped(x * x) ** 2 * x)

    return {
        "hessian_of_nonlinear": hessian(f)(X),
        "third_of_nonlinear": jacobian(hessian(f))(X),
        "hvp_of_nonlinear": [make_hvp(f)(X)[0](3 * X), hessian_vector_product(f)(X, 3 * X)],
        "jacobian_by_rows": jacobian(doubled)(X),
        "jacobian_of_more": jacobian(lambda x: np.sum(doubled(x)) * x)(X),
        "hessian_by_rows": hessian(lambda x: np.sum(cubed(x) * x**2))(X),
        "deprecated": grad(lambda x: product(x, 3.0 * x, 1.0))(2.0),
        "sin": grad(np.sin)(0.5),
        "reverse_mode": make_jvp_reversemode(np.exp)(X)(np.ones(3)),
        "at_ones": at_ones(lambda a, b: a * b**2, 1)(2.0, X),
    }


def of_the_rest() -> dict[str, Any]:
    seen = []

    def look(x: Any) -> Any:
        if isinstance(x, ArrayBox):
            seen.append(x._value)
        return np.sum(x**2)

    @wraps(look, "{fun}_{op}", op="again")  # type: ignore[untyped-decorator]
    def again(x: Any) -> Any:
        return x

    def pendulum(y: Any, _t: Any, b: Any, c: Any) -> Any:
        return np.array([y[1], -b * y[1] - c * np.sin(y[0])])

    def swung(y: Any, b: Any, c: Any) -> Any:
        times = np.linspace(0.0, 4.0, 5)
        return np.sum(odeint(pendulum, y, times, tuple((b, c)), rtol=1e-10, atol=1e-10))

    return {
        "value": [grad(look)(X), seen[0]],
        "where": grad(lambda x: np.sum(np.where(condition=x > 0, x=x**2, y=-x)))(X),
        "where_of_numbers": [np.where(True, 1, 2), np.where([True, False], [1, 2], [3, 4])],
        "indices": np.where(np.array([False, True, True]))[0],
        "broadcast": broadcast(1.0, M),
        "repeated": repeat_to_match_shape(np.ones((3,)), (3, 2), float, 1, keepdims=False)[0],
        "replaced": replace_zero(np.array([0.0, 2.0]), 7.0),
        "subvals": subvals([1.0, 2.0, 3.0], [(1, 5.0)]),
        "named": len(again.__name__),
        "append": grad(lambda x: np.sum(np.append(x, x[0]) ** 2))(X),
        "odeint": grad(swung, (0, 1, 2))(np.array([3.0, 0.0]), 0.25, 5.0),
    }


def run(_steps: int = 1) -> dict[str, Any]:
    parts = {
        "conversions": of_conversions(),
        "triangles": of_triangles(),
        "iterators": of_iterators(),
        "rules": of_rules(),
        "rest": of_the_rest(),
    }
    return {f"{part}.{name}": y for part, found in parts.items() for name, y in found.items()}
