"""Functions of matrices at equal values: every order and mode agrees with products of matrices.

A polynomial of a matrix is made of its eigenvalues and eigenvectors, or of products alone, whose
derivatives of any order are known; odd polynomials of singular values likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError

Function = Callable[[Any], Any]

RANDOM = np.random.default_rng(23)
WEIGHTS = RANDOM.normal(size=(3, 3))
WIDER = RANDOM.normal(size=(4, 4))
LEFT, RIGHT = (np.linalg.qr(RANDOM.normal(size=(n, n)))[0] for n in (4, 3))
PHASES = np.exp(1j * np.arange(3.0))

SYMMETRIC = {
    "zero": np.zeros((3, 3)),
    "unit": np.eye(3),
    "diagonal": np.diag([1.0, 1.0, 2.0]),
    "double": RIGHT @ np.diag([1.0, -2.0, 1.0]) @ RIGHT.T,
    "simple": RIGHT @ np.diag([0.3, -1.0, 2.0]) @ RIGHT.T,
}


def _symmetric(a: Any) -> Any:
    return (a + a.T) / 2


def _cube(a: Any) -> Any:
    w, v = np.linalg.eigh(_symmetric(a))
    return np.sum(((v * w**3) @ v.T) * WEIGHTS)


def _cube_by_products(a: Any) -> Any:
    a = _symmetric(a)
    return np.sum((a @ a @ a) * WEIGHTS)


def _trace(a: Any) -> Any:
    w = np.linalg.eigvalsh(_symmetric(a))
    return np.sum(w**3) + np.mean(w**2) * np.dot(w, w)


def _trace_by_products(a: Any) -> Any:
    a = _symmetric(a)
    return np.trace(a @ a @ a) + np.trace(a @ a) ** 2 / 3


def _density(a: Any) -> Any:
    """Return a function whose parameter depends on all eigenvalues."""
    w, v = np.linalg.eigh(_symmetric(a))
    p = w**2
    return np.sum(((v * (p / (1 + np.sum(p)))) @ v.T) * WEIGHTS)


def _density_by_products(a: Any) -> Any:
    a = _symmetric(a)
    return np.sum((a @ a / (1 + np.trace(a @ a))) * WEIGHTS)


def _orders(f: Function, direction: Any) -> dict[str, Function]:
    """Return second derivatives, as tables and along a direction, in each order of modes."""

    return {
        "hessian": fd.hessian(f),
        "reverse over reverse": fd.jacrev(fd.grad(f)),
        "forward over forward": fd.jacfwd(fd.jacfwd(f)),
        "reverse over forward": fd.grad(lambda a: fd.jvp(f, (a,), (direction,))[1]),
        "forward over reverse": lambda a: fd.hvp(f, (a,), (direction,)),
        "gradient of gradient": fd.grad(lambda a: np.sum(fd.grad(f)(a) * direction)),
    }


THIRD: list[Callable[[Function], Function]] = [
    lambda f: fd.jacfwd(fd.hessian(f)),
    lambda f: fd.jacrev(fd.jacrev(fd.grad(f))),
]
ORDERS = list(_orders(np.sum, WEIGHTS))
PAIRS = {
    "matrix": (_cube, _cube_by_products),
    "trace": (_trace, _trace_by_products),
    "density": (_density, _density_by_products),
}


@pytest.mark.thinned(10)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("point", SYMMETRIC)
@pytest.mark.parametrize("name", PAIRS)
def test_second_derivatives_at_equal_eigenvalues_are_those_of_the_polynomial(
    name: str, point: str, order: str
) -> None:
    f, by_products = PAIRS[name]
    direction = RANDOM.normal(size=(3, 3))
    result = _orders(f, direction)[order](SYMMETRIC[point])
    expected = _orders(by_products, direction)[order](SYMMETRIC[point])
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_parameters_of_the_function_have_mixed_derivatives_at_equal_eigenvalues() -> None:
    def power(c: Any, a: Any) -> Any:
        w, v = np.linalg.eigh(_symmetric(a))
        return np.sum(((v * (c[0] * w + c[1] * w**2)) @ v.T) * WEIGHTS) + np.sum(c[1] ** 2 * w**2)

    def by_products(c: Any, a: Any) -> Any:
        a = _symmetric(a)
        return np.sum((c[0] * a + c[1] * a @ a) * WEIGHTS) + c[1] ** 2 * np.trace(a @ a)

    c, a = np.array([0.7, -1.2]), np.diag([1.0, 1.0, 2.0])
    mixed: list[Callable[..., Any]] = [
        lambda f: fd.jacrev(fd.grad(f, 0), 1),
        lambda f: fd.jacrev(fd.grad(f, 1), 0),
        lambda f: fd.jacfwd(fd.grad(f, 0), 0),
        lambda f: fd.jacrev(fd.jacrev(fd.grad(f, 1), 0), 1),
    ]
    for derive in mixed:
        np.testing.assert_allclose(derive(power)(c, a), derive(by_products)(c, a), atol=1e-11)


def test_one_number_per_eigenvalue_may_not_differ_between_equal_ones() -> None:
    def scaled(a: Any, c: Any) -> Any:
        w, v = np.linalg.eigh(_symmetric(a))
        return np.sum(((v * (c * w**2)) @ v.T) * WEIGHTS)

    a, c = np.diag([1.0, 1.0, 2.0]), np.array([3.0, 3.0, 1.0])
    expected = fd.hessian(lambda a: scaled(a + 0 * c[0], c))(np.diag([1.0, 1.0 + 1e-4, 2.0]))
    np.testing.assert_allclose(fd.hessian(scaled)(a, c), expected, atol=1e-2)
    with pytest.raises(NotDifferentiableError, match="in different ways"):
        fd.grad(scaled)(a, np.array([3.0, 1.0, 1.0]))
    with pytest.raises(NotDifferentiableError, match="one number at a time"):
        fd.jacrev(fd.grad(scaled), 1)(a, c)


def test_hermitian_matrices_have_second_derivatives_at_equal_eigenvalues() -> None:
    def parts(f: Function) -> Function:
        return lambda x: f(x[0] + 1j * x[1])

    def cube(a: Any) -> Any:
        w, v = np.linalg.eigh((a + np.conj(a.T)) / 2)
        return np.sum(((v * w**3) @ np.conj(v.T)).imag * WEIGHTS) + np.sum(w**4)

    def by_products(a: Any) -> Any:
        a = (a + np.conj(a.T)) / 2
        return np.sum((a @ a @ a).imag * WEIGHTS) + np.trace(a @ a @ a @ a).real

    basis = RIGHT * PHASES[:, None]
    a = basis @ np.diag([1.0, 1.0, -2.0]) @ np.conj(basis.T)
    x = np.stack([a.real, a.imag])
    for hessian in (fd.hessian, lambda f: fd.jacrev(fd.grad(f))):
        result, expected = (hessian(parts(f))(x) for f in (cube, by_products))
        np.testing.assert_allclose(result, expected, atol=1e-12)


@pytest.mark.slow
def test_stacks_of_matrices_are_batches() -> None:
    stack = np.stack([SYMMETRIC["unit"], SYMMETRIC["double"]])

    def cubes(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return np.sum(((v * w[:, None] ** 3) @ np.swapaxes(v, -1, -2)) * WEIGHTS) + np.sum(w**3)

    def by_products(a: Any) -> Any:
        cube = a @ a @ a
        return np.sum(cube * WEIGHTS) + np.sum(np.einsum("kii->k", cube))

    def symmetrised(f: Function) -> Function:
        return lambda a: f((a + np.swapaxes(a, -1, -2)) / 2)

    result, expected = (fd.jacrev(fd.grad(symmetrised(f)))(stack) for f in (cubes, by_products))
    np.testing.assert_allclose(result, expected, atol=1e-12)
    mapped = fd.vmap(fd.hessian(_cube))(stack)
    np.testing.assert_allclose(mapped, [fd.hessian(_cube)(a) for a in stack], atol=1e-13)


def test_gauge_dependent_uses_raise_in_the_second_derivative_too() -> None:
    for f in (
        lambda a: np.sum(np.linalg.eigh(a)[1] ** 3),
        lambda a: np.sum(((np.linalg.eigh(a)[1] * WEIGHTS[0]) @ np.linalg.eigh(a)[1].T) ** 2),
    ):
        with pytest.raises(NotDifferentiableError):
            fd.jacrev(fd.grad(f))(np.eye(3))


@pytest.mark.parametrize("derive", [
    fd.hessian, lambda f: fd.jacrev(fd.grad(f)), lambda f: fd.jacrev(fd.jacfwd(f)),
])  # fmt: skip
def test_a_function_of_some_of_equal_eigenvalues_raises_and_is_never_wrong(derive: Any) -> None:
    for f in (
        lambda a: np.sum(np.linalg.eigvalsh(a)[:2] ** 2),
        lambda a: np.prod(np.linalg.eigvalsh(a)),
    ):
        with pytest.raises(NotDifferentiableError, match="in different ways"):
            derive(f)(SYMMETRIC["diagonal"])


# ---- singular values -----------------------------------------------------------------------------


def _with_values(shape: tuple[int, int], values: tuple[float, ...]) -> Any:
    left, right = ({4: LEFT, 3: RIGHT}[n] for n in shape)
    return left[:, :3] @ np.diag(values) @ right.T[:3]


def _odd(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.sum(((u * (s + s**3)) @ vh) * WIDER[: len(a), : len(a.T)])


def _odd_by_products(a: Any) -> Any:
    return np.sum((a + a @ a.T @ a) * WIDER[: len(a), : len(a.T)])


def _polar(a: Any) -> Any:
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.sum((u @ vh) * WIDER[: len(a), : len(a.T)])


def _polar_by_eigenvalues(a: Any) -> Any:
    w, v = np.linalg.eigh(a.T @ a)
    return np.sum((a @ ((v / np.sqrt(w)) @ v.T)) * WIDER[: len(a), : len(a.T)])


def _nuclear(a: Any) -> Any:
    return np.linalg.norm(a, "nuc") + np.sum(np.linalg.svdvals(a) ** 4)


def _nuclear_by_eigenvalues(a: Any) -> Any:
    square = a.T @ a
    return np.sum(np.sqrt(np.linalg.eigvalsh(square))) + np.trace(square @ square)


@pytest.mark.thinned(10)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("f", "oracle", "shape", "values"), [
    (_odd, _odd_by_products, (3, 3), (1.0, 1.0, 1.0)),
    (_odd, _odd_by_products, (4, 3), (2.0, 1.0, 1.0)),
    (_odd, _odd_by_products, (4, 3), (2.0, 0.0, 0.0)),
    (_odd, _odd_by_products, (4, 3), (0.0, 0.0, 0.0)),
    (_polar, _polar_by_eigenvalues, (3, 3), (1.0, 1.0, 1.0)),
    (_polar, _polar_by_eigenvalues, (4, 3), (2.0, 1.0, 1.0)),
    (_nuclear, _nuclear_by_eigenvalues, (3, 3), (1.0, 1.0, 1.0)),
    (_nuclear, _nuclear_by_eigenvalues, (4, 3), (2.0, 2.0, 1.0)),
])  # fmt: skip
def test_second_derivatives_at_equal_singular_values_are_those_of_products(
    f: Function, oracle: Function, shape: tuple[int, int], values: tuple[float, ...], order: str
) -> None:
    a, direction = _with_values(shape, values), RANDOM.normal(size=shape)
    result, expected = (_orders(g, direction)[order](a) for g in (f, oracle))
    np.testing.assert_allclose(result, expected, atol=1e-11)
    if f is _odd:
        result, expected = (_orders(g, direction.T)[order](a.T) for g in (f, oracle))
        np.testing.assert_allclose(result, expected, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (2.0, 0.0, 0.0)])
def test_third_derivatives_at_equal_singular_values_are_those_of_products(values: Any) -> None:
    for shape in ((3, 3), (4, 3), (3, 4)):
        a = _with_values(shape, values)
        for third in THIRD:
            np.testing.assert_allclose(third(_odd)(a), third(_odd_by_products)(a), atol=1e-10)


def test_a_tall_matrix_needs_no_square_of_its_length() -> None:
    a, t = RANDOM.normal(size=(2000, 2)), RANDOM.normal(size=(2000, 2))

    def cube(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(((u * s**3) @ vh) * t)

    result = fd.grad(lambda a: np.sum(fd.grad(cube)(a) * t))(a)
    expected = fd.hvp(lambda a: np.sum((a @ (a.T @ a)) * t), (a,), (t,))
    np.testing.assert_allclose(result, expected, rtol=1e-8, atol=1e-8)


def test_the_largest_of_singular_values_is_smooth_where_only_others_are_equal() -> None:
    a = _with_values((4, 3), (2.0, 1.0, 1.0))

    def largest(a: Any) -> Any:
        return np.linalg.norm(a, 2)

    h, units = 1e-5, np.eye(12).reshape(12, 4, 3)
    slopes = [fd.grad(largest)(a + h * e) - fd.grad(largest)(a - h * e) for e in units]
    expected = np.reshape(slopes, (4, 3, 4, 3)) / (2 * h)
    for hessian in (fd.hessian, lambda f: fd.jacrev(fd.grad(f))):
        np.testing.assert_allclose(hessian(largest)(a), expected, atol=1e-8)


@pytest.mark.parametrize("axes", [(1, 0, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_eigenvectors_of_a_stack_in_another_order_make_no_function_of_the_matrix(
    axes: tuple[int, ...],
) -> None:
    a, t, weights = np.random.default_rng(0).normal(size=(3, 3, 3, 3))
    a, t = a + a.transpose(0, 2, 1), t + t.transpose(0, 2, 1)

    def f(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return np.sum(weights * ((v * np.exp(w)[:, None, :]) @ np.transpose(v, axes)) ** 2)

    step = 1e-6
    quotient = (f(a + step * t) - f(a - step * t)) / (2 * step)
    np.testing.assert_allclose(np.sum(fd.grad(f)(a) * t), quotient, rtol=1e-6)
    np.testing.assert_allclose(fd.jvp(f, (a,), (t,))[1], quotient, rtol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 3), (2, 3, 1), (2, 1, 3)])
@pytest.mark.parametrize(
    "f",
    [
        lambda u, s, vh: (u * np.sinh(s)[..., None, :]) @ vh,
        lambda u, s, vh: u @ (np.sinh(s)[..., :, None] * vh),
        lambda u, s, vh: (u[..., :1] * np.sinh(s)[..., None, :1]) @ vh[..., :1, :],
    ],
)
def test_vectors_of_one_element_make_functions_of_the_matrix(
    f: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    zero = np.zeros(shape)
    weights = np.arange(1.0, 1 + zero.size).reshape(shape)
    derive = fd.grad(lambda a: np.sum(weights * f(*np.linalg.svd(a, full_matrices=False))))
    np.testing.assert_allclose(derive(zero), weights, rtol=1e-15)
    np.testing.assert_allclose(fd.jit(derive)(zero), weights, rtol=1e-15)
    curved = fd.jvp(derive, (zero,), (weights,))[1]
    np.testing.assert_allclose(curved, 0, atol=1e-14)


def test_a_polar_factor_of_one_number_has_no_derivative_at_zero() -> None:
    def polar(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a)
        return ((u / (1 + 0 * s)[None, :]) @ vh)[0, 0]

    with pytest.raises(NotDifferentiableError, match="different from 0"):
        fd.grad(polar)(np.zeros((1, 1)))


@pytest.mark.parametrize("values", [[2.0, 1.0, 0.5], [1.0, 1.0, 0.3], [2.0, 1.0, 0.0], [0.0] * 3])
def test_odd_polynomials_of_singular_values_are_those_of_the_matrix(values: list[float]) -> None:
    """U·(s + s³)·Vᴴ is A + A·Aᴴ·A, whatever is equal or zero, to the third order."""
    random = np.random.default_rng(1)

    def draw(*lengths: int, dtype: Any) -> Any:
        x = random.normal(size=lengths)
        return x if dtype is float else x + 1j * random.normal(size=lengths)

    for shape, dtype in (((6, 3), float), ((3, 5), float), ((3, 3), float), ((6, 3), complex)):
        u, v = (np.linalg.qr(draw(n, n, dtype=dtype))[0] for n in shape)
        a = (u[:, :3] * values) @ v[:3]
        _require_odd_polynomial(a, *(draw(*shape, dtype=dtype) for _ in range(2)))


def _require_odd_polynomial(a: Any, weights: Any, t: Any) -> None:
    def by_values(x: Any) -> Any:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        return np.sum(np.real(weights * ((u * (s + s**3)) @ vh)))

    def plain(x: Any) -> Any:
        return np.sum(np.real(weights * (x + x @ np.conj(x.T) @ x)))

    def derivatives(f: Function) -> list[Any]:
        def second(x: Any) -> Any:
            return fd.jvp(fd.grad(f), (x,), (t,))

        return [*second(a), fd.jvp(lambda x: second(x)[1], (a,), (t,))[1]]

    for found, expected in zip(derivatives(by_values), derivatives(plain), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


# ---- functions of some values --------------------------------------------------------------------


def _on_circle(a: Any, f: Function) -> Any:
    """Return the integral of f(z)·(z - A)⁻¹ over a circle around 3, by Cauchy: f of what is in it.

    The trapezoidal rule has all digits (L. Trefethen, J. Weideman, "The exponentially convergent
    trapezoidal rule", SIAM Review 56, 2014).
    """
    turns = np.exp(2j * np.pi * (np.arange(48) + 0.5) / 48)[:, None, None]
    return np.mean(f(3 + turns) * turns * np.linalg.inv((3 + turns) * np.eye(len(a)) - a), axis=0)


def _dilated(a: Any) -> Any:
    rows, columns = a.shape
    above = np.concatenate([np.zeros((rows, rows)), a], axis=1)
    return np.concatenate(
        [above, np.concatenate([np.conj(a.T), np.zeros((columns, columns))], axis=1)]
    )


def _up_to_third(f: Function, a: Any, t: Any) -> list[Any]:
    def slope(x: Any) -> Any:
        return fd.jvp(fd.grad(f), (x,), (t,))[1]

    return [fd.jvp(f, (a,), (t,))[1], fd.grad(f)(a), slope(a), fd.jvp(slope, (a,), (t,))[1]]


SOME = [
    (3.2, 3.0, 3.0), (3.1, 3.1 - 1e-9, 2.6),
    pytest.param((3.3, 3.1, 2.7), marks=pytest.mark.slow),
    pytest.param((3.0, 3.0, 3.0), marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.parametrize("values", SOME)
@pytest.mark.parametrize("phase", [0, 1j])
def test_functions_of_some_eigenvalues_are_cauchy_integrals(
    values: tuple[float, ...], phase: complex
) -> None:
    """Others than these are near each other, or equal, or zero."""
    random = np.random.default_rng(3)
    weights, t, vectors = (x + phase * y for x, y in random.normal(size=(3, 2, 7, 7)))
    q, _ = np.linalg.qr(vectors)
    a = (q * [1.0, 1.0, 1.0 - 1e-9, 0.0, *values[::-1]]) @ np.conj(q.T)
    kept = np.s_[:, :-4:-1]

    def by_vectors(x: Any) -> Any:
        w, v = np.linalg.eigh((x + np.conj(x.T)) / 2)
        return np.sum(np.real(weights * ((v[kept] * np.exp(w[:-4:-1])) @ np.conj(v[kept].T))))

    def by_circle(x: Any) -> Any:
        return np.sum(np.real(weights * _on_circle((x + np.conj(x.T)) / 2, np.exp)))

    for found, expected in zip(
        _up_to_third(by_vectors, a, t), _up_to_third(by_circle, a, t), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("values", SOME)
@pytest.mark.parametrize(("rows", "columns", "phase"), [
    (7, 4, 0), pytest.param(4, 6, 1j, marks=pytest.mark.slow),
    pytest.param(5, 5, 0, marks=pytest.mark.slow),
])  # fmt: skip
def test_functions_of_some_singular_values_are_cauchy_integrals(
    values: tuple[float, ...], rows: int, columns: int, phase: complex
) -> None:
    """They are what vectors (u, v)/√2 of s make of those of [[0, A], [Aᴴ, 0]]."""
    random = np.random.default_rng(4)
    count = min(rows, columns)
    a, t, weights = (x + phase * y for x, y in random.normal(size=(3, 2, rows, columns)))
    square = random.normal(size=(rows, rows))
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    a = (u * [*values, 1.0, 1.0][:count]) @ vh

    def by_vectors(x: Any) -> Any:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        both = (u[:, :3] * np.exp(s[:3])) @ vh[:3]
        one = (u[:, :3] * s[:3]) @ np.conj(u[:, :3].T)
        return np.sum(np.real(weights * both)) + np.sum(np.real(square * one))

    def by_circle(x: Any) -> Any:
        whole = _dilated(x)
        both, one = (2 * _on_circle(whole, f)[:rows] for f in (np.exp, lambda z: z))
        return np.sum(np.real(weights * both[:, rows:])) + np.sum(np.real(square * one[:, :rows]))

    for found, expected in zip(
        _up_to_third(by_vectors, a, t), _up_to_third(by_circle, a, t), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-8)
