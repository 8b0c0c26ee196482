"""Eigenvectors of equal eigenvalues: forward mode is right, or refuses, as reverse mode does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.scipy.linalg
from funcdiff.errors import NotDifferentiableError
from tests.together import together

Function = Callable[[Any], Any]

RANDOM = np.random.default_rng(31)
WEIGHTS = RANDOM.normal(size=(4, 4))
scipy_linalg: Any = funcdiff.scipy.linalg
SPECTRA = [
    [2.0], [1.0, 1.0], [0.0, 0.0], [1.0, 2.0], [1.0, 1.0, 1.0], [1.0, 1.0, 2.0], [0.0, 0.0, 1.0],
    [1.0, 2.0, 3.5], [1.0, 1.0, 2.0, 2.0], [-1.0, -1.0, -1.0, 1.0], [1.0, 1.0, 2.0, 3.5],
]  # fmt: skip


def _adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def _hermitian(n: int, *, real: bool) -> Any:
    x = RANDOM.normal(size=(n, n)) + (0 if real else 1j * RANDOM.normal(size=(n, n)))
    return (x + _adjoint(x)) / 2


def _matrices() -> Iterator[tuple[list[float], Any]]:
    """Yield diagonal and rotated matrices of each spectrum, real and complex."""
    for spectrum in SPECTRA:
        for real in (True, False):
            basis = np.linalg.qr(_hermitian(len(spectrum), real=real))[0]
            for v in (np.eye(len(spectrum), dtype=basis.dtype), basis):
                a = (v * spectrum) @ _adjoint(v)
                yield spectrum, (a + _adjoint(a)) / 2


MATRICES = [(s, a, _hermitian(len(a), real=a.dtype.kind == "f")) for s, a in _matrices()]


def _of_eigh(function: Callable[[Any, Any], Any]) -> Function:
    return lambda a: function(*np.linalg.eigh(a))


def _applied(w: Any, v: Any) -> Any:
    """Return V·(exp(w)·(Vᴴ·B)), which is not recognised."""
    return v @ (np.exp(w)[:, None] * (_adjoint(v) @ WEIGHTS[: v.shape[0], :1]))


OF_VECTORS: dict[str, Callable[[Any, Any], Any]] = {
    "vectors": lambda _w, v: v,
    "the first vector": lambda _w, v: v[:, 0],
    "the last vector": lambda _w, v: v[:, -1],
    "squares": lambda _w, v: np.abs(v) ** 2,
    "one number": lambda _w, v: np.sum(np.abs(v) ** 4 * WEIGHTS[: len(v), : len(v)]),
    "projector on one": lambda _w, v: v[:, :1] @ _adjoint(v[:, :1]),
    "projector on two": lambda _w, v: v[:, :2] @ _adjoint(v[:, :2]),
    "projector on the last": lambda w, v: w[-1] * (v[:, -1:] @ _adjoint(v[:, -1:])),
    "the unit matrix": lambda _w, v: v @ _adjoint(v),
    "truncated": lambda w, v: (v[:, -2:] * w[-2:]) @ _adjoint(v[:, -2:]),
    "reversed": lambda w, v: (v * w[::-1]) @ _adjoint(v),
    "exponential": lambda w, v: (v * np.exp(w)) @ _adjoint(v),
    "applied": _applied,
    "trace": lambda w, _v: np.sum(w),
    "squared norm": lambda w, _v: np.sum(w**2),
    "determinant": lambda w, _v: np.prod(w),
}
ALWAYS_SMOOTH = {"the unit matrix", "exponential", "trace", "squared norm", "determinant"}

MODES: dict[str, Callable[[Function, Any, Any], Any]] = {
    "jvp": lambda f, a, t: fd.jvp(f, (a,), (t,))[1],
    "linearize": lambda f, a, t: fd.linearize(f, a)[1](t),
    "derivative": lambda f, a, t: fd.derivative(lambda s: f(a + s * t))(0.0),
    "jit": lambda f, a, t: fd.jit(lambda x: fd.jvp(f, (x,), (t,))[1])(a),
    "jit outside": lambda f, a, t: fd.jvp(fd.jit(f), (a,), (t,))[1],
    "vmap of tangents": lambda f, a, t: fd.vmap(lambda s: fd.jvp(f, (a,), (s,))[1])(t[None])[0],
    "vmap of points": lambda f, a, t: fd.vmap(lambda x: fd.jvp(f, (x,), (t,))[1])(a[None])[0],
}

JACOBIANS: dict[str, Callable[[Function, Any, Any], Any]] = {
    "jacfwd": lambda f, a, _t: fd.jacfwd(f)(a),
    "jacrev": lambda f, a, _t: fd.jacrev(f)(a),
}


def _one_sided(f: Function, a: Any, t: Any) -> Any:
    """Return the derivative at the point along a direction, from values beyond it."""
    step = 1e-4
    first, second, third = (f(a + k * step * t) for k in (1, 2, 3))
    return (4 * second - 2.5 * first - 1.5 * third) / step


def _jumps_in_sign(f: Function, a: Any, t: Any) -> bool:
    """Whether LAPACK returns vectors of another sign beside the point."""
    return bool(np.abs(f(a + 1e-4 * t) - f(a)).max(initial=0) > 1e-2)


def _derivative(derive: Callable[[Function, Any, Any], Any], f: Function, a: Any, t: Any) -> Any:
    """Return a derivative, or None where it is refused."""
    try:
        return derive(f, a, t)
    except NotDifferentiableError:
        return None


@pytest.mark.slow
@together
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OF_VECTORS)
def test_forward_mode_gives_one_sided_differences_or_refuses(name: str, mode: str) -> None:
    f = _of_eigh(OF_VECTORS[name])
    for spectrum, a, t in MATRICES:
        found = _derivative(MODES[mode], f, a, t)
        has_ties, is_complex = len(set(spectrum)) < len(spectrum), a.dtype.kind == "c"
        if name in ALWAYS_SMOOTH or not (has_ties or is_complex):
            assert found is not None, (spectrum, a)
        if name == "vectors" and (has_ties or is_complex):
            assert found is None, (spectrum, a)
        if found is not None and not _jumps_in_sign(f, a, t):
            expected = _one_sided(f, a, t)
            np.testing.assert_allclose(found, expected, atol=1e-4 * (1 + np.abs(expected).max()))


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", OF_VECTORS)
def test_forward_mode_refuses_what_reverse_mode_refuses(name: str) -> None:
    f = _of_eigh(OF_VECTORS[name])
    for spectrum, a, t in MATRICES:
        if a.dtype.kind == "c":
            continue
        pulled = _derivative(JACOBIANS["jacrev"], f, a, t)
        pushed = _derivative(JACOBIANS["jacfwd"], f, a, t)
        along = _derivative(MODES["jvp"], f, a, t)
        assert (pulled is None) == (pushed is None) == (along is None), (spectrum, a)
        if pulled is not None:
            np.testing.assert_allclose(pulled, pushed, atol=1e-12)
            np.testing.assert_allclose(np.tensordot(pushed, t), along, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("values", [np.linalg.eigvalsh, lambda a: np.linalg.eigh(a)[0]])
def test_eigenvalues_share_their_slopes_in_every_mode(values: Function) -> None:
    for spectrum, a, t in MATRICES:
        v = np.linalg.eigh(a)[1]
        slopes = np.real(np.diagonal(_adjoint(v) @ t @ v))
        expected = [slopes[np.array(spectrum) == w].mean() for w in spectrum]
        for derive in MODES.values():
            np.testing.assert_allclose(derive(values, a, t), expected, atol=1e-12)
        (gradient,) = fd.vjp(values, a)[1](np.ones(len(a)))
        np.testing.assert_allclose(gradient, np.eye(len(a)), atol=1e-12)


# ---- derivatives of higher order -----------------------------------------------------------------


def _projector(a: Any) -> Any:
    """Return the projector on the vectors of two equal eigenvalues, seen as one of the matrix."""
    v = np.linalg.eigh(a)[1][:, :2]
    return v @ _adjoint(v)


def _by_vectors(a: Any) -> Any:
    """Return the same, which is not seen: the vectors turn."""
    v = np.linalg.eigh(a)[1][:, [0, 1]]
    return v @ _adjoint(v)


BOTH = pytest.mark.parametrize("projector", [_projector, _by_vectors])


def _by_contour(a: Any, *directions: Any) -> Any:
    """Return the derivative of the projector on eigenvalues within 1/2 of 1, by Cauchy's integral.

    That of the resolvent R along T is R·T·R.
    """
    circle = (0.5 * np.exp(2j * np.pi * np.arange(128) / 128))[:, None, None]
    resolvents = np.linalg.inv((1 + circle) * np.eye(len(a)) - a)
    total = np.zeros_like(resolvents)
    for order in permutations(directions):
        product = resolvents
        for t in order:
            product = product @ t @ resolvents
        total += product
    return np.mean(circle * total, axis=0)


def _along(derive: Any, f: Function, t: Any) -> Function:
    """Return the derivative along a direction, by any transform."""
    if derive is fd.jvp:
        return lambda a: fd.jvp(f, (a,), (t,))[1]
    if derive is fd.linearize:
        return lambda a: fd.linearize(f, a)[1](t)
    return lambda a: np.tensordot(derive(f)(a), t)


@pytest.mark.slow
@together
@pytest.mark.parametrize("inner", [fd.jvp, fd.linearize, fd.jacfwd, fd.jacrev])
@pytest.mark.parametrize("outer", [fd.jvp, fd.linearize, fd.jacfwd, fd.jacrev])
@BOTH
def test_projectors_have_second_derivatives_in_every_nesting(
    projector: Function, outer: Any, inner: Any
) -> None:
    for spectrum, a, first in MATRICES:
        if a.dtype.kind == "c" or spectrum[:2] != [1.0, 1.0] or spectrum[2:3] == [1.0]:
            continue
        second = WEIGHTS[: len(a), : len(a)] + WEIGHTS[: len(a), : len(a)].T
        found = _along(outer, _along(inner, projector, first), second)
        for derivative in (found, fd.jit(found)):
            np.testing.assert_allclose(
                derivative(a), _by_contour(a, first, second).real, rtol=1e-9, atol=1e-9
            )


@pytest.mark.slow
@pytest.mark.parametrize("outer", [fd.jvp, fd.linearize])
@BOTH
def test_projectors_have_second_and_third_derivatives_along_directions(
    projector: Function, outer: Any
) -> None:
    for spectrum, a, first in MATRICES:
        if spectrum[:2] != [1.0, 1.0] or spectrum[2:3] == [1.0]:
            continue
        real = a.dtype.kind == "f"
        second, third = (_hermitian(len(a), real=real) for _ in range(2))
        once = _along(fd.jvp, projector, first)
        twice = _along(outer, once, second)
        np.testing.assert_allclose(twice(a), _by_contour(a, first, second), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            _along(fd.jvp, twice, third)(a), _by_contour(a, first, second, third),
            rtol=1e-8, atol=1e-8,
        )  # fmt: skip


@pytest.mark.parametrize("inner", [fd.jacfwd, fd.jacrev])
@pytest.mark.parametrize("outer", [fd.jacfwd, fd.jacrev])
@BOTH
def test_complex_projectors_have_hessians_in_every_nesting(
    projector: Function, outer: Any, inner: Any
) -> None:
    a = np.diag([1.0, 1.0, 2.0, 3.5]).astype(complex)
    weights = WEIGHTS + 1j * WEIGHTS[::-1]
    directions = [_hermitian(4, real=False) for _ in range(2)]

    def f(x: Any) -> Any:
        moved = a + x[0] * directions[0] + x[1] * directions[1]
        return np.sum(np.real(projector(moved) * weights))

    expected = [
        [np.sum(np.real(_by_contour(a, s, t) * weights)) for t in directions] for s in directions
    ]
    np.testing.assert_allclose(outer(inner(f))(np.zeros(2)), expected, rtol=1e-9, atol=1e-9)


def test_the_vector_of_a_single_eigenvalue_has_second_derivatives_beside_equal_ones() -> None:
    a, t = np.diag([1.0, 1.0, 2.0]), _hermitian(3, real=True)

    def line(s: Any) -> Any:
        v = np.linalg.eigh(a + s * t)[1][:, 2]
        return v * np.sign(v[2])

    step = 1e-3
    expected = (line(step) - 2 * line(0.0) + line(-step)) / step**2
    for found in (
        fd.derivative(line, n=2)(0.0), fd.jacfwd(fd.jacrev(line))(0.0),
        fd.jacrev(fd.jacrev(line))(0.0), fd.jacrev(fd.jacfwd(line))(0.0),
    ):  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def _parting(a: Any) -> Any:
    w = np.linalg.eigvalsh(a)
    return w[0] + w[1] + (w[0] - 1) ** 2


def _parting_beside_vectors(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return w[0] + w[1] + (w[0] - 1) ** 2 + np.sum(v[:, 2:] @ v[:, 2:].T * WEIGHTS[:3, :3])


@pytest.mark.parametrize("f", [_parting, _parting_beside_vectors])
def test_equal_eigenvalues_that_are_used_alike_at_the_point_alone_are_refused_in_every_nesting(
    f: Function,
) -> None:
    a, t = np.diag([1.0, 1.0, 2.0]), _hermitian(3, real=True)

    def line(s: Any) -> Any:
        return f(a + s * t)

    assert np.isfinite(fd.grad(line)(0.0))
    for second in (
        fd.derivative(line, n=2), fd.grad(fd.grad(line)), fd.jit(fd.grad(fd.grad(line))),
        fd.jacfwd(fd.grad(line)), fd.jacrev(fd.jacfwd(line)), fd.hessian(line),
    ):  # fmt: skip
        with pytest.raises(NotDifferentiableError, match="different ways"):
            second(0.0)
    for second in (fd.jacrev(fd.grad(f)), fd.jacfwd(fd.grad(f)), fd.hessian(f)):
        with pytest.raises(NotDifferentiableError, match="different ways"):
            second(a)


@pytest.mark.parametrize("derive", [fd.grad, fd.jacrev, fd.jacfwd])
@pytest.mark.parametrize("outer", [lambda f: f, fd.jit], ids=["eager", "jit"])
def test_a_factor_of_one_of_two_equal_eigenvalues_is_refused(derive: Any, outer: Any) -> None:
    a, t = np.diag([1.0, 1.0, 2.0]), _hermitian(3, real=True)

    def slope(factor: Any) -> Any:
        def f(a: Any) -> Any:
            w, v = np.linalg.eigh(a)
            return w[0] * factor + w[1] + v[2, 2] ** 2

        return np.sum(fd.grad(f)(a) * t)

    assert np.isfinite(slope(1.0))
    with pytest.raises(NotDifferentiableError, match="different ways"):
        outer(derive(slope))(1.0)


# ---- where the point is not known, and other ways to get there -----------------------------------

TIED, APART = np.diag([1.0, 1.0, 2.0]), np.diag([1.0, 1.5, 2.0])
DIRECTION = _hermitian(3, real=True)


def _vectors(a: Any) -> Any:
    return np.linalg.eigh(a)[1]


def test_values_are_those_of_numpy() -> None:
    for a in (TIED, APART):
        for f in (_projector, lambda a: np.linalg.svd(a)[0] @ np.linalg.svd(a)[2]):
            assert np.array_equal(fd.jvp(f, (a,), (DIRECTION,))[0], f(a))


def test_one_matrix_of_a_batch_is_refused() -> None:
    batch = np.stack([APART, TIED])
    for derive in (fd.vmap(fd.jacfwd(_vectors)), fd.jit(fd.vmap(fd.jacfwd(_vectors)))):
        assert np.isfinite(derive(np.stack([APART, APART]))).all()
        with pytest.raises(NotDifferentiableError, match="which eigenvectors"):
            derive(batch)
    found = fd.vmap(fd.jacfwd(_projector))(batch)
    np.testing.assert_allclose(found[1], fd.jacrev(_projector)(TIED), atol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_ninth_call_is_as_the_first(compiled: bool) -> None:
    derive: Any = lambda a: fd.jvp(_vectors, (a,), (DIRECTION,))[1]
    derive = fd.jit(derive) if compiled else derive
    first = derive(APART)
    for _ in range(9):
        np.testing.assert_allclose(derive(APART), first, atol=1e-14)
        with pytest.raises(NotDifferentiableError, match="which eigenvectors"):
            derive(TIED)


@pytest.mark.parametrize("vectors", [
    _vectors, lambda a: np.linalg.eig(a)[1], lambda a: np.linalg.svd(a)[0],
])  # fmt: skip
def test_a_direction_of_zeros_does_not_hide_a_choice(vectors: Function) -> None:
    with pytest.raises(NotDifferentiableError):
        fd.jvp(lambda s: vectors(TIED + s**2 * DIRECTION), (0.0,), (1.0,))


def test_loops_and_branches_are_looked_into() -> None:
    def step(x: Any, _: Any) -> Any:
        return x * 0.5 + _vectors(x), None

    def looped(a: Any) -> Any:
        return fd.scan(step, a, np.arange(2.0))[0]

    def chosen(a: Any) -> Any:
        return fd.cond(a[0, 0] > 0, _vectors, np.sin, a)

    def projected(a: Any) -> Any:
        return fd.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] - 0.1 * _projector(c[1])), (0, a)
        )[1]

    for f in (looped, chosen):
        assert np.isfinite(fd.jvp(f, (APART,), (DIRECTION,))[1]).all()
        with pytest.raises(NotDifferentiableError, match="which eigenvectors"):
            fd.jvp(f, (TIED,), (DIRECTION,))
    expected = (projected(TIED + 1e-6 * DIRECTION) - projected(TIED - 1e-6 * DIRECTION)) / 2e-6
    found = fd.jvp(projected, (TIED,), (DIRECTION,))[1]
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_rule_of_the_users_on_values_is_traced_to_ask_for_its_cotangents() -> None:
    @fd.custom_jvp
    def sine(x: Any) -> Any:
        return np.sin(x)

    @sine.defjvp
    def _sine(primals: Any, tangents: Any) -> Any:
        return np.sin(primals[0]), np.cos(primals[0]) * tangents[0]

    expected = fd.jvp(lambda a: np.sin(_projector(a)), (TIED,), (DIRECTION,))[1]
    found = fd.jvp(lambda a: sine(_projector(a)), (TIED,), (DIRECTION,))[1]
    np.testing.assert_allclose(found, expected, atol=1e-14)
    with pytest.raises(NotDifferentiableError, match="which eigenvectors"):
        fd.jvp(lambda a: sine(_vectors(a)), (TIED,), (DIRECTION,))


def _with_rule(f: Function) -> Function:
    """Return the function with a backward rule that pulls back through it."""
    custom = fd.custom_vjp(lambda a: f(a))
    custom.defvjp(lambda a: (f(a), a), lambda a, ct: fd.vjp(f, a)[1](ct))
    return custom


def test_a_backward_rule_that_is_transposed_is_asked_for_its_cotangents() -> None:
    def parted(a: Any) -> Any:  # the vectors and values of a function, one by one
        w, v = np.linalg.eigh(a)
        return sum(np.exp(w[k]) * np.outer(v[:, k], v[:, k]) for k in range(3))

    expected = fd.jvp(_projector, (TIED,), (DIRECTION,))[1]
    found = fd.jvp(_with_rule(_projector), (TIED,), (DIRECTION,))[1]
    np.testing.assert_allclose(found, expected, atol=1e-14)
    for f in (_vectors, parted):
        for inner in (f, _with_rule(f)):
            for derive in (fd.jvp, lambda g, xs, ts: fd.linearize(g, *xs)[1](*ts)):
                assert np.isfinite(np.sum(derive(inner, (APART,), (DIRECTION,))[1]))
                with pytest.raises(NotDifferentiableError, match=r"equal|which eigenvectors"):
                    derive(inner, (TIED,), (DIRECTION,))


def test_the_error_names_a_line_of_the_users() -> None:
    with pytest.raises(NotDifferentiableError) as caught:
        fd.jvp(_vectors, (TIED,), (DIRECTION,))
    assert len([n for n in caught.value.__notes__ if "raised by the equation" in n]) == 1
    assert "test_equal_eigenvalues.py" in caught.value.__notes__[-1]


def test_results_are_asked_one_by_one() -> None:
    values, projector = fd.jvp(
        lambda a: (np.linalg.eigh(a)[0], _projector(a)), (TIED,), (DIRECTION,)
    )[1]
    np.testing.assert_allclose(projector, fd.jvp(_projector, (TIED,), (DIRECTION,))[1])
    np.testing.assert_allclose(values[0], values[1])


# ---- other factorizations ------------------------------------------------------------------------

CHOSEN: dict[str, tuple[Function, Any]] = {
    "left singular vectors": (lambda a: np.linalg.svd(a)[0], TIED),
    "right singular vectors": (lambda a: np.linalg.svd(a)[2], np.diag([2.0, 0.0, 0.0])),
    "vectors of a null space": (lambda a: np.linalg.svd(a)[0], APART[:, :1]),
    "general eigenvectors": (lambda a: np.linalg.eig(a)[1].real, TIED),
    "a complement": (lambda a: np.linalg.qr(a, mode="complete")[0], APART[:, :1]),
    "SciPy's eigenvectors": (lambda a: scipy_linalg.eigh(a, driver="evr")[1], TIED),
    "SciPy's singular vectors": (lambda a: scipy_linalg.svd(a)[0], TIED),
    "Schur vectors": (lambda a: scipy_linalg.schur(a)[1], TIED),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_other_vectors_are_refused_in_every_mode(name: str) -> None:
    f, a = CHOSEN[name]
    t = DIRECTION[: a.shape[0], : a.shape[1]]
    for derive in (MODES | JACOBIANS).values():
        with pytest.raises(NotDifferentiableError):
            derive(f, a, t)


def _of_svd(function: Callable[[Any, Any, Any], Any]) -> Function:
    return lambda a: function(*np.linalg.svd(a))


KEPT: dict[str, tuple[Function, Any]] = {
    "a polar factor": (_of_svd(lambda u, _s, vh: u @ vh), TIED),
    "a projector": (_of_svd(lambda u, _s, _vh: u[:, 1:] @ u[:, 1:].T), TIED),
    "vectors of two": (_of_svd(lambda u, _s, vh: u[:, 1:] @ vh[1:]), TIED),
    "a null space": (_of_svd(lambda u, _s, _vh: u[:, 2:] @ u[:, 2:].T), APART[:, :2] + 0.1),
    "a complement": (lambda a: _outer(np.linalg.qr(a, mode="complete")[0][:, 1:]), APART[:, :1]),
    "a sum of general eigenvalues": (lambda a: np.sum(np.linalg.eig(a)[0]).real, TIED),
}


def _outer(x: Any) -> Any:
    return x @ x.T


@pytest.mark.parametrize("name", KEPT)
def test_what_depends_on_no_choice_keeps_its_derivative(name: str) -> None:
    f, a = KEPT[name]
    t = DIRECTION[: a.shape[0], : a.shape[1]]
    expected = (f(a + 1e-6 * t) - f(a - 1e-6 * t)) / 2e-6
    for derive in MODES.values():
        np.testing.assert_allclose(derive(f, a, t), expected, atol=1e-7)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3), (0, 3), (3, 0)])
def test_of_empty_matrices_all_derivatives_are_empty(shape: tuple[int, ...]) -> None:
    def vectors(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        w, v = np.linalg.eigh(np.swapaxes(a, -1, -2) @ a)
        return np.sum(u**3) + np.sum(s) * np.sum(vh) + np.sum(v**3) * np.sum(w)

    for f in (vectors, lambda a: np.sum(np.linalg.pinv(a) ** 2)):
        assert fd.grad(f)(np.zeros(shape)).shape == shape
        assert fd.hessian(f)(np.zeros(shape)).shape == 2 * shape
