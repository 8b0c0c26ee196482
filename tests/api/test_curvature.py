"""Second derivatives: `hvp`, `vhp`, `gauss_newton_product`, `hessian`, `value_grad_and_hessian`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import CotangentError, InputError, OutputError
from tests.claims import alike, refused

FD: Any = fd  # types refuse some of what is tried here
X = np.array([0.3, -1.2, 2.0])
T = np.array([1.0, 0.5, -2.0])
A = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]])
COMPLEX = A + 1j * A[::-1]
H = np.diag(6 * X) + np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])
PRODUCTS = {"hvp": FD.hvp, "vhp": FD.vhp}
Z = 0.4 + 1.3j


def _f(x: Any) -> Any:
    return np.sum(x**3) + x[0] * x[2]


def _quartic_product() -> complex:
    """Return the Hessian of |z|⁴ = (x² + y²)² times a complex vector."""
    x, y, t = Z.real, Z.imag, -0.7 + 0.2j
    hessian = np.array([[12 * x**2 + 4 * y**2, 8 * x * y], [8 * x * y, 4 * x**2 + 12 * y**2]])
    real, imaginary = hessian @ [t.real, t.imag]
    return complex(real, imaginary)


def _by_products(name: str, product: Any) -> dict[str, Any]:
    return {
        f"{name} is the hessian times the vector": (lambda: product(_f, (X,), (T,)), H @ T),
        f"{name} of several arguments sums blocks": (
            lambda: product(lambda a, b: a**2 * b, (3.0, 5.0), (1.0, 2.0)),
            (2 * 5 * 1 + 2 * 3 * 2, 2 * 3 * 1),
        ),
        f"{name} returns containers as they went in": (
            lambda: product(
                lambda p: p["a"] ** 2 * p["b"][0],
                ({"a": 3.0, "b": [5.0]},), ({"a": 1.0, "b": [2.0]},),
            ),
            {"a": 22, "b": [6]},
        ),
        f"{name} composes with vmap and grad": [
            (lambda: fd.vmap(lambda t: product(_f, (X,), (t,)))(np.eye(3)), H),
            (lambda: fd.grad(lambda x: product(_f, (x,), (T,)) @ T)(X), 6 * T**2),
        ],
        f"{name} of a complex argument": (
            lambda: product(lambda z: np.abs(z * z) ** 2, (Z,), (-0.7 + 0.2j,)), _quartic_product()
        ),
    }  # fmt: skip


test_products_with_the_hessian_are_those_of_the_formula = alike(
    {
        k: row
        for name, product in PRODUCTS.items()
        for k, row in _by_products(name, product).items()
    },
    rtol=1e-13,
)
test_products_that_do_not_fit_are_refused = refused({
    name: [
        (OutputError, "real scalar", lambda p=p: p(lambda x: x, (X,), (T,))),
        (CotangentError, r"\(2,\).*\(3,\)", lambda p=p: p(_f, (X,), (T[:2],))),
        (InputError, "tuples", lambda p=p: p(_f, X, T)),
        ((InputError, CotangentError), None, lambda p=p: p(np.multiply, (1.0, 2.0), (1.0,))),
        ((InputError, CotangentError), None, lambda p=p: p(_f, (X,), (T, T))),
    ]
    for name, p in PRODUCTS.items()
})  # fmt: skip


@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_products_with_the_hessian_have_derivatives(product: Any) -> None:
    fd.testing.check_grads(lambda x: product(_f, (x,), (T,)), (X,))


# ---- gauss_newton_product --------------------------------------------------------------------


def _residuals(x: Any) -> Any:
    return np.tanh(A @ x)


def _of_two(a: Any, b: Any) -> Any:
    return np.stack([a * b, a]), "aux"


def _model(p: Any, *, x: Any) -> Any:
    return {"y": x @ p["w"] + p["b"]}


def _loss(out: Any) -> Any:
    return np.sum(np.log(1 + np.exp(out["y"])))


R = _residuals(X)
J = (1 - R**2)[:, None] * A
TWO = np.array([[3.0, 2.0], [1.0, 0.0]])
P: Any = {"w": np.array([0.1, -0.4, 0.3]), "b": 0.2}
TP: Any = {"w": T, "b": 3.0}

test_gauss_newton_products_are_those_of_the_formula = alike({
    "by default the jacobian is squared": (
        lambda: fd.gauss_newton_product(_residuals, (X,), (T,)), J.T @ (J @ T)
    ),
    "a loss puts its hessian in the middle": (
        lambda: fd.gauss_newton_product(
            _residuals, (X,), (T,), loss=lambda y: np.sum(np.exp(y)) + y[0] * y[1]
        ),
        J.T @ ((np.diag(np.exp(R)) + np.eye(2)[::-1]) @ (J @ T)),
    ),
    "of a linear model it is the hessian of the loss": (
        lambda: fd.gauss_newton_product(_model, (P,), (TP,), loss=_loss, x=A),
        lambda: fd.hvp(lambda p: _loss(_model(p, x=A)), (P,), (TP,)),
    ),
    "of complex residuals it is the adjoint times the jacobian": (
        lambda: fd.gauss_newton_product(lambda z: COMPLEX @ z, (X + 0.5j,), (T - 1j,)),
        COMPLEX.conj().T @ (COMPLEX @ (T - 1j)),
    ),
    "of several arguments it is a tuple, with an auxiliary result": [
        (lambda: fd.gauss_newton_product(_of_two, (2.0, 3.0), (1.0, -1.0), has_aux=True),
         (tuple(TWO.T @ TWO @ [1.0, -1.0]), "aux")),
        (lambda: fd.gauss_newton_product(_of_two, (2.0, 3.0), (5.0,), argnums=1, has_aux=True),
         (20, "aux")),
    ],
}, rtol=1e-13)  # fmt: skip


# ---- hessian and value_grad_and_hessian ------------------------------------------------------


def _scaled(p: Any, *, scale: Any) -> Any:
    return scale * p["a"] ** 2 * np.sum(p["b"] ** 3), {"aux": p["a"]}


Q = {"a": 2.0, "b": X}
BLOCKS = {
    "a": {"a": 20 * np.sum(X**3), "b": 120 * X**2},
    "b": {"a": 120 * X**2, "b": np.diag(240 * X)},
}
SLOPES = {"a": 40 * np.sum(X**3), "b": 120 * X**2}
THIRD = np.zeros((3, 3, 3))
THIRD[range(3), range(3), range(3)] = 6

test_hessians_are_those_of_the_formula = alike({
    "with value and gradient": (
        lambda: fd.value_grad_and_hessian(_f)(X), (_f(X), 3 * X**2 + [X[2], 0, X[0]], H)
    ),
    "in containers they are containers of containers": [
        (lambda: fd.value_grad_and_hessian(_scaled, has_aux=True)(Q, scale=10.0),
         ((40 * np.sum(X**3), {"aux": 2}), SLOPES, BLOCKS)),
        (lambda: fd.hessian(_scaled, has_aux=True)(Q, scale=10.0), (BLOCKS, {"aux": 2})),
    ],
    "of a holomorphic function they are its second derivative": [
        (lambda: fd.hessian(lambda z: np.exp(2 * z), holomorphic=True)(Z), 4 * np.exp(2 * Z)),
        (lambda: fd.value_grad_and_hessian(np.exp, holomorphic=True)(Z), (np.exp(Z),) * 3),
    ],
    "a third derivative is the jacobian of a hessian": (
        lambda: fd.jacobian(fd.hessian(lambda x: np.sum(x**3)))(X), THIRD
    ),
}, rtol=1e-13)  # fmt: skip

test_a_hessian_in_chunks_is_the_same = alike({
    f"of {size}": [
        (lambda size=size: fd.hessian(_f, chunk_size=size)(X), lambda: fd.hessian(_f)(X)),
        (lambda size=size: fd.value_grad_and_hessian(_f, chunk_size=size)(X)[2],
         lambda: fd.hessian(_f)(X)),
    ]
    for size in (1, 2, 3, 7)
})  # fmt: skip


def test_the_three_share_their_work() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.exp(np.sin(A @ x)))

    def ops(derived: Any) -> list[str]:
        return [eq.primitive.name for eq in fd.trace(derived)(X).equations]

    together, apart = ops(fd.value_grad_and_hessian(f)), ops(fd.hessian(f))
    for name in ("exp", "sin", "cos"):
        assert together.count(name) == apart.count(name) == 1
    assert len(together) <= len(apart) + 3


# ---- vectors of solvers ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
@pytest.mark.parametrize("product", [fd.hvp, fd.vhp, fd.gauss_newton_product])
def test_vectors_of_integers_are_taken_as_floats(product: Any, dtype: Any) -> None:
    t = np.array([1, 0, 2])
    for f, of in ((_f, lambda x: x), (lambda p: _f(p["x"]), lambda x: {"x": x})):
        found, expected = (product(f, (of(X),), (of(v),)) for v in (t.astype(dtype), 1.0 * t))
        for a, b in zip(fd.pytree.flatten(found)[0], fd.pytree.flatten(expected)[0], strict=True):
            assert a.dtype == np.float64
            np.testing.assert_array_equal(a, b)


def test_traced_vectors_of_integers_are_taken_as_floats() -> None:
    product = fd.jit(lambda t: fd.hvp(_f, (X,), (t,)))
    np.testing.assert_allclose(product(np.array([1, 0, 2])), H @ [1, 0, 2], rtol=1e-14)


def test_a_gauss_newton_product_has_the_dtype_of_the_primal() -> None:
    t = np.array([1.0, 0.5, -2.0], np.float32)
    found = fd.gauss_newton_product(lambda x: A @ x, (X,), (t,))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, A.T @ A @ t, rtol=1e-14)
    with pytest.raises(CotangentError, match=r"tangents\[0\] has dtype complex128, but the primal"):
        fd.gauss_newton_product(lambda x: A @ x, (X,), (1j * T,))
