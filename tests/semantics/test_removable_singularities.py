"""Smooth functions of norms, roots and sizes: derivatives at 0, in every mode and order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd

Function = Callable[..., Any]
transforms: Any = fd

RADII: Final[dict[str, Function]] = {
    "norm": np.linalg.norm,
    "norm axis": lambda x: np.linalg.norm(x, axis=-1),
    "norm keepdims": lambda x: np.linalg.norm(x, axis=0, keepdims=True)[0],
    "vector_norm": np.linalg.vector_norm,
    "matrix_norm": lambda x: np.linalg.matrix_norm(x[None]),
    "norm of sizes": lambda x: np.linalg.norm(np.abs(x)),
    "sqrt sum": lambda x: np.sqrt(np.sum(x * x)),
    "sqrt sum square": lambda x: np.sqrt((x**2).sum()),
    "sqrt dot": lambda x: np.sqrt(x @ x),
    "power dot": lambda x: (x @ x) ** 0.5,
    "np.power": lambda x: np.power(np.sum(x * x), 0.5),
    "einsum": lambda x: np.sqrt(np.einsum("i,i", x, x)),
    "hypot": lambda x: np.hypot(x[0], x[1]),
    "complex abs": lambda x: np.abs(x[0] + 1j * x[1]),
    "complex dot": lambda x: np.sqrt(np.real(np.vdot(x * (0.6 + 0.8j), x * (0.6 + 0.8j)))),
    "rms": lambda x: np.sqrt(np.mean(2 * x**2)),
    "std": lambda x: np.std(np.append(x, -x)) * np.sqrt(2.0),
    "root of variance": lambda x: np.sqrt(2 * np.var(np.append(x, -x))),
}
"""Ways to write the Euclidean norm of two numbers."""

FUNCTIONS: Final[dict[str, tuple[Function, float]]] = {
    "r**2": (lambda r: r**2, 1),
    "cos": (np.cos, -1 / 2),
    "matern": (
        lambda r: (1 + 1.7 * r + 1.7**2 / 3 * r**2) * np.exp(-1.7 * r), -(1.7**2) / 6
    ),
}  # fmt: skip
"""Functions of a radius, with the coefficient of r²; others in `tests/properties/test_radii.py`."""

ZERO: Final = np.zeros(2)


def _seconds(f: Function, x: Any) -> dict[str, Any]:
    """Return the second derivative of a function of two numbers, however it may be asked for."""
    eye = np.eye(len(x), dtype=x.dtype)

    def pushed(x: Any, v: Any) -> Any:
        return transforms.jvp(f, (x,), (v,))[1]

    def along(v: Any, w: Any) -> Any:
        return transforms.jvp(lambda y: pushed(y, v), (x,), (w,))[1]

    gradient = transforms.grad(f)
    return {
        "hessian": fd.hessian(f)(x),
        "forward over reverse": np.stack([transforms.jvp(gradient, (x,), (v,))[1] for v in eye]),
        "reverse over forward": np.stack([transforms.grad(lambda y, v=v: pushed(y, v))(x)
                                          for v in eye]),
        "reverse over reverse": np.stack([transforms.grad(lambda y, v=v: gradient(y) @ v)(x)
                                          for v in eye]),
        "forward over forward": np.array([[along(v, w) for v in eye] for w in eye]),
        "along a line": np.array([fd.derivative(lambda t, v=v: f(x + t * v), n=2)(0.0)
                                  for v in eye]),
        "hvp": np.stack([transforms.hvp(f, (x,), (v,)) if hasattr(fd, "hvp")
                         else fd.hessian(f)(x) @ v for v in eye]),
        "jit": fd.jit(fd.hessian(f))(x),
        "vmap": fd.vmap(fd.hessian(f))(np.stack([x, x + 1]))[0],
        "linearize": np.stack([transforms.linearize(gradient, x)[1](v) for v in eye]),
    }  # fmt: skip


@pytest.mark.thinned(10)
@pytest.mark.parametrize("radius", RADII)
def test_a_smooth_function_of_a_radius_has_its_second_derivative_in_every_mode(radius: str) -> None:
    for g, (function, curvature) in FUNCTIONS.items():
        found = _seconds(lambda x, g=function: g(RADII[radius](x)), ZERO)
        for mode, value in found.items():
            wanted = 2 * curvature * (np.ones(2) if mode == "along a line" else np.eye(2))
            np.testing.assert_allclose(value, wanted, rtol=1e-14, atol=1e-14, err_msg=f"{g} {mode}")


@pytest.mark.parametrize("f", [
    lambda x: np.abs(x) ** 2,
    lambda x: np.fabs(x) * np.fabs(x),
    lambda x: np.abs(x) ** 2.0,
    lambda x: np.sqrt(x * x) ** 2,
    lambda x: 2 * np.cosh(np.abs(x)),
    lambda x: 2 * (1 - np.cos(np.abs(x))),
    lambda x: -2 * (1 + np.abs(x)) * np.exp(-np.abs(x)),
])  # fmt: skip
def test_smooth_functions_of_absolute_values_have_second_derivatives(f: Function) -> None:
    x = np.array([0.0, 0.7, -0.0])
    found = np.diagonal(fd.hessian(lambda x: np.sum(f(x)))(x))
    np.testing.assert_allclose(found[::2], 2, rtol=1e-14)
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(f(x)))(x)[::2], 0)


@pytest.mark.parametrize("f", [
    lambda z: np.abs(z) ** 2,
    lambda z: np.abs(z) * np.abs(z),
    lambda z: np.hypot(z.real, z.imag) ** 2,
    lambda z: 2 * np.cosh(np.abs(z)),
    lambda z: np.sqrt((z * z.conj()).real) ** 2,
    lambda z: np.sqrt(z.real**2 + z.imag**2) ** 2,
])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_smooth_functions_of_complex_moduli_have_second_derivatives(
    f: Function, dtype: Any
) -> None:
    z = np.array([0, 3e-9 + 4e-9j], dtype)
    for call in (fd.grad, lambda f: fd.jit(fd.grad(f))):
        for v in (np.array([1, 1j], dtype), np.array([1j, 1], dtype)):
            _, t = transforms.jvp(call(lambda z: np.sum(f(z))), (z,), (v,))
            assert t.dtype == dtype
            np.testing.assert_allclose(t, 2 * v, rtol=1e-5 if dtype is np.complex64 else 1e-13)


def test_rows_of_zeros_among_others_have_their_own_hessian() -> None:
    x = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, -2.0]])

    def f(x: Any) -> Any:
        distances = np.linalg.norm(x[:, None] - x[None], axis=-1)
        return np.sum((1 + 1.7 * distances) * np.exp(-1.7 * distances))

    def smooth(x: Any) -> Any:
        total = 0.0
        for i in range(3):
            for j in range(3):
                if i != j:
                    r = np.sqrt(np.sum((x[i] - x[j]) ** 2))
                    total = total + (1 + 1.7 * r) * np.exp(-1.7 * r)
        return total

    np.testing.assert_allclose(fd.grad(f)(x), fd.grad(smooth)(x), rtol=1e-12)
    np.testing.assert_allclose(fd.hessian(f)(x), fd.hessian(smooth)(x), rtol=1e-11, atol=1e-12)


def test_a_kernel_of_two_points_that_meet_has_its_mixed_derivative() -> None:
    def kernel(x: Any, y: Any, scale: Any) -> Any:
        r = np.linalg.norm(x - y) / scale
        return (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)

    x = np.array([0.3, -0.7])
    for wrap in (lambda f: f, fd.jit):
        mixed = wrap(transforms.jacobian(transforms.grad(kernel, argnums=1), argnums=0))
        np.testing.assert_allclose(mixed(x, x, 1.3), 3 / 1.3**2 * np.eye(2), rtol=1e-14)
        by_scale = wrap(transforms.grad(lambda s, mixed=mixed: mixed(x, x, s)[0, 0]))
        np.testing.assert_allclose(by_scale(1.3), -6 / 1.3**3, rtol=1e-14)


def test_two_radii_in_one_function_are_both_smooth() -> None:
    def f(x: Any, y: Any) -> Any:
        return (np.linalg.norm(x) * np.linalg.norm(y)) ** 2

    y = np.array([3.0, 4.0])
    np.testing.assert_allclose(fd.hessian(f)(ZERO, y), 50 * np.eye(2), rtol=1e-14)
    np.testing.assert_allclose(fd.hessian(f, argnums=1)(y, ZERO), 50 * np.eye(2), rtol=1e-14)


COINCIDENCES: Final[dict[str, tuple[Function, float]]] = {
    "square": (lambda r, a: (r - a) ** 2, 2.0),
    "square, computed": (lambda r, a: (r - np.sin(2 * a)) ** 2, 2.0),
    "cosine": (lambda r, a: np.cos(r + np.expm1(a)), -1.0),
    "product": (lambda r, a: (a + r) * (np.tan(a) + r), 2.0),
    "sum": (lambda r, a: np.exp(r * np.cos(a)) - r, 1.0),
}
"""Functions of a radius that are flat at 0 if a = 0, and their second derivative."""


@pytest.mark.parametrize("name", COINCIDENCES)
@pytest.mark.parametrize("radius", [np.linalg.norm, lambda x: np.sqrt(np.sum(x * x))])
def test_what_is_flat_at_one_value_of_a_parameter_is_smooth_there(
    name: str, radius: Function
) -> None:
    g, second = COINCIDENCES[name]
    for wrap in (lambda f: f, fd.jit):
        hessian = wrap(transforms.hessian(lambda x, p: g(radius(x), p[0])))
        for _ in range(2):
            found = hessian(ZERO, np.zeros(1))
            np.testing.assert_allclose(found, second * np.eye(2), rtol=1e-14)


def test_functions_with_a_kink_keep_the_symmetric_derivative() -> None:
    for g in (lambda r: r, np.sin, np.tanh, lambda r: np.exp(-r), lambda r: (1 + r) ** 2):
        np.testing.assert_array_equal(fd.grad(lambda x, g=g: g(np.linalg.norm(x)))(ZERO), ZERO)
        assert fd.grad(lambda x, g=g: g(np.abs(x)))(0.0) == 0


def test_a_power_of_a_norm_that_is_smooth_to_second_order_has_the_hessian_zero() -> None:
    functions: list[Function] = [
        lambda x: np.linalg.norm(x) ** 3, lambda x: (x @ x) ** 1.5, lambda x: np.abs(x[0]) ** 3,
    ]  # fmt: skip
    for f in functions:
        for value in _seconds(f, ZERO).values():
            np.testing.assert_array_equal(value, np.zeros_like(value))


@pytest.mark.parametrize(("f", "slope", "curvature"), [
    (lambda u: np.sqrt(u) ** 2, 1, 0),
    (lambda u: np.sqrt(u) * np.sqrt(u), 1, 0),
    (lambda u: u**0.5 * np.sqrt(u), 1, 0),
    (lambda u: np.sqrt(u) ** 4, 0, 2),
    (lambda u: np.cos(np.sqrt(u)), -1 / 2, 1 / 12),
    (lambda u: np.sqrt(u) * np.sin(np.sqrt(u)), 1, -1 / 3),
    (lambda u: np.cosh(3 * np.sqrt(u)), 9 / 2, 81 / 12),
])  # fmt: skip
def test_smooth_functions_of_a_root_have_derivatives_at_zero(
    f: Function, slope: float, curvature: float
) -> None:
    for g in (fd.grad(f), fd.jit(fd.grad(f)), fd.derivative(f)):
        np.testing.assert_allclose(g(0.0), slope, rtol=1e-14)
    np.testing.assert_allclose(fd.vmap(fd.grad(f))(np.zeros(2)), np.full(2, slope), rtol=1e-14)
    np.testing.assert_allclose(fd.derivative(f, n=2)(0.0), curvature, rtol=1e-14)
    np.testing.assert_allclose(fd.grad(fd.grad(f))(0.0), curvature, rtol=1e-14)


@pytest.mark.filterwarnings("ignore:invalid value encountered in sqrt")
def test_other_functions_of_a_root_keep_their_vertical_tangent() -> None:
    for f in (np.sqrt, lambda u: np.sin(np.sqrt(u)), lambda u: np.exp(np.sqrt(u))):
        assert fd.grad(f)(0.0) == np.inf
    assert np.isnan(fd.grad(lambda u: np.cos(np.sqrt(u)))(-1.0))


STEEP: Final[dict[str, tuple[Function, float, float, float]]] = {
    "arccosh": (np.arccosh, 1.0, np.inf, -np.inf),
    "arcsin": (np.arcsin, 1.0, np.inf, np.inf),
    "arcsin of -1": (np.arcsin, -1.0, np.inf, -np.inf),
    "arccos": (np.arccos, 1.0, -np.inf, -np.inf),
    "arctanh": (np.arctanh, 1.0, np.inf, np.inf),
    "log": (np.log, 0.0, np.inf, -np.inf),
    "log1p": (np.log1p, -1.0, np.inf, -np.inf),
    "sqrt": (np.sqrt, 0.0, np.inf, -np.inf),
    "power": (lambda x: x**0.3, 0.0, np.inf, -np.inf),
}
"""Functions at the end of their domain, with the limits of two derivatives."""


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", STEEP)
@pytest.mark.filterwarnings("ignore:divide by zero encountered")
def test_infinite_derivatives_are_the_same_however_they_are_asked_for(name: str) -> None:
    f, x, first, second = STEEP[name]
    with np.errstate(all="ignore"):
        for g in (fd.grad(f), fd.derivative(f), fd.jit(fd.grad(f))):
            assert g(x) == first
        found = _seconds(lambda x: np.sum(f(x)), np.array([x]))
        for mode, value in found.items():
            np.testing.assert_array_equal(value.ravel(), [second], err_msg=mode)


def test_arccosh_has_its_branch_cut() -> None:
    for z in (0.3 + 0.4j, -2.0 - 0.1j, 0.3 - 2j):
        wanted = 1 / (np.sqrt(z - 1) * np.sqrt(z + 1))
        np.testing.assert_allclose(
            transforms.grad(np.arccosh, holomorphic=True)(z), wanted, rtol=1e-14
        )


INFINITE: Final = [
    (np.arctan2, 1.7, np.inf, 0, 0),
    (np.arctan2, -1.7, -np.inf, 0, 0),
    (np.arctan2, np.inf, 1.7, 0, 0),
    (np.arctan2, -np.inf, 0.0, 0, 0),
    (np.arctan2, np.inf, np.inf, 0, 0),
    (np.arctan2, -np.inf, np.inf, 0, 0),
    (np.hypot, 1.7, np.inf, 0, 1),
    (np.hypot, -np.inf, 1.7, -1, 0),
    (np.hypot, np.inf, 0.0, 1, 0),
    (np.logaddexp, 1.7, np.inf, 0, 1),
]


@pytest.mark.parametrize(("f", "x", "y", "by_x", "by_y"), INFINITE)
def test_at_infinity_slopes_are_their_limits(
    f: Function, x: float, y: float, by_x: float, by_y: float
) -> None:
    for call in (fd.grad(f, (0, 1)), fd.jit(fd.grad(f, (0, 1)))):
        np.testing.assert_array_equal(call(x, y), [by_x, by_y])
    for v, wanted in (((1.0, 0.0), by_x), ((0.0, 1.0), by_y)):
        assert transforms.jvp(f, (x, y), v)[1] == wanted
        assert fd.vmap(lambda x, y, v=v: transforms.jvp(f, (x, y), v)[1])(
            np.array([x, x]), np.array([y, y])
        ).tolist() == [wanted, wanted]
    for second in fd.hessian(f, (0, 1))(x, y):
        np.testing.assert_array_equal(second, [0, 0])


# ---- roots of products ---------------------------------------------------------------------------


U = np.array([1j, 2j, 1 + 1j])

NORMS: dict[str, Callable[[Any], Any]] = {
    "conjugate first": lambda z: np.conj(z) * z,
    "conjugate last": lambda z: z * np.conj(z),
    "turned twice": lambda z: (z * 1j) * np.conj(z * 1j),
}
PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "conjugate first": lambda z: np.conj(z) * U,
    "conjugate last": lambda z: U * np.conj(z),
    "of two products": lambda z: np.conj(z * 2.0) * (U * 3.0),
}


@pytest.mark.parametrize("f", NORMS.values(), ids=list(NORMS))
def test_the_root_of_a_squared_modulus_has_no_slope_at_zero(f: Callable[[Any], Any]) -> None:
    def norm(x: Any) -> Any:
        return np.sqrt(np.sum(np.real(f(x * U))))

    x = np.zeros(3)
    np.testing.assert_array_equal(fd.grad(norm)(x), 0)
    assert fd.jvp(norm, (x,), (x + 1,))[1] == 0


@pytest.mark.parametrize("f", PRODUCTS.values(), ids=list(PRODUCTS))
def test_the_root_of_a_product_of_different_numbers_is_no_norm(f: Callable[[Any], Any]) -> None:
    def root(x: Any) -> Any:
        return np.sqrt(np.sum(np.real(f(x * U))))

    x = np.zeros(3)
    assert fd.jvp(root, (x,), (x + 1,))[1] == np.inf
