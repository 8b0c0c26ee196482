"""Rotations of traced arrays: SciPy's values, and all derivatives, also of no rotation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import transform as plain_transform
from scipy.spatial.transform import Rotation

import funcdiff as fd
from funcdiff.scipy.spatial import transform
from funcdiff.testing import check_grads
from tests.scipy.agreement import assert_agrees

_rng = np.random.default_rng(5)
V = _rng.normal(size=(4, 3))
v = V[0]
Z = np.zeros(3)
Q = _rng.normal(size=(4, 4))
A = _rng.uniform(-1, 1, size=3)
M = Rotation.from_rotvec([0.3, -1.0, 0.7]).as_matrix()
T = np.array([0.0, 1.0, 2.5, 3.0])
W = _rng.uniform(0.5, 2, size=4)
E6 = _rng.normal(size=6)
AXES = np.eye(3)[[1, 2, 0]]
P = _rng.normal(size=(5, 3))
P2 = P @ M.T + 0.1 * _rng.normal(size=(5, 3))
W5 = _rng.uniform(0.5, 2, size=5)


CASES: dict[str, tuple[Any, ...]] = {
    "rotvec-matrix": (lambda s, v: s.Rotation.from_rotvec(v).as_matrix(), V),
    "rotvec0": (lambda s, v: s.Rotation.from_rotvec(v).as_matrix(), Z),
    "rotvec0q": (lambda s, v: s.Rotation.from_rotvec(v).as_quat(), Z),
    "rotvecdeg": (
        lambda s, v: s.Rotation.from_rotvec(90 * v, degrees=True).as_rotvec(degrees=True), V,
    ),
    "roundtrip0": (lambda s, v: s.Rotation.from_rotvec(v).as_rotvec(), Z),
    "roundtripsmall": (lambda s, v: s.Rotation.from_rotvec(v).as_rotvec(), v * 1e-2),
    "quat": (lambda s, q: s.Rotation.from_quat(q).as_quat(canonical=True, scalar_first=True), Q),
    "quat1": (lambda s, q: s.Rotation.from_quat(q[0], scalar_first=True).as_matrix(), Q),
    "matrix": (lambda s, m: s.Rotation.from_matrix(m).as_quat(), M),
    "matrixN": (lambda s, m: s.Rotation.from_matrix(np.stack([m, m.T])).as_matrix(), M),
    "matrixI": (lambda s, m: s.Rotation.from_matrix(m).as_rotvec(), np.eye(3)),
    "matrixnear": (lambda s, m: s.Rotation.from_matrix(m).as_matrix(), M + 0.05 * P[:3]),
    "euler": (lambda s, a: s.Rotation.from_euler("xyz", a).as_matrix(), A),
    "euler2": (lambda s, a: s.Rotation.from_euler("ZXZ", a, degrees=True).as_quat(), A),
    "eulers": (lambda s, a: s.Rotation.from_euler("z", a[0]).as_matrix(), A),
    "aseuler": (lambda s, v: s.Rotation.from_rotvec(v).as_euler("xyz"), V),
    "aseulerI": (lambda s, v: s.Rotation.from_rotvec(v).as_euler("zyx"), Z),
    "aseulerS": (lambda s, v: s.Rotation.from_rotvec(v).as_euler("ZXZ", degrees=True), V),
    "davenport": (
        lambda s, a: s.Rotation.from_davenport(AXES, "extrinsic", a).as_davenport(
            AXES, "extrinsic"
        ),
        A,
    ),
    "mrp": (lambda s, v: s.Rotation.from_mrp(v).as_mrp(), V),
    "mrp0": (lambda s, v: s.Rotation.from_mrp(v).as_rotvec(), Z),
    "apply": (lambda s, v, p: s.Rotation.from_rotvec(v).apply(p), v, P),
    "applyN": (lambda s, v, p: s.Rotation.from_rotvec(v).apply(p[0], inverse=True), V, P),
    "apply0": (lambda s, v, p: s.Rotation.from_rotvec(v).apply(p), Z, P),
    "mul": (
        lambda s, v, u: (s.Rotation.from_rotvec(v) * s.Rotation.from_rotvec(u)).as_quat(), v, V,
    ),
    "mulplain": (
        lambda s, v: (
            s.Rotation.from_rotvec(v) * s.Rotation.from_rotvec([0.1, 0.2, 0.3])
        ).as_matrix(),
        v,
    ),
    "inv": (lambda s, v: s.Rotation.from_rotvec(v).inv().as_rotvec(), V),
    "mag": (lambda s, v: s.Rotation.from_rotvec(v).magnitude(), V),
    "mag1": (lambda s, v: s.Rotation.from_rotvec(v).magnitude(), v),
    "pow": (lambda s, v: (s.Rotation.from_rotvec(v) ** 0.5).as_matrix(), v),
    "pown": (lambda s, v, n: (s.Rotation.from_rotvec(v) ** n).as_matrix(), v, 0.7),
    "pown0": (lambda s, v, n: (s.Rotation.from_rotvec(v) ** n).as_matrix(), v, 0.0),
    "mean": (lambda s, v, w: s.Rotation.from_rotvec(v).mean(w).as_matrix(), V, W),
    "concat": (
        lambda s, v, u: s.Rotation.concatenate(
            [s.Rotation.from_rotvec(v), s.Rotation.from_rotvec(u)]
        ).as_matrix(),
        V,
        v,
    ),
    "index": (lambda s, v: s.Rotation.from_rotvec(v)[1:].as_matrix(), V),
    "index1": (lambda s, v: s.Rotation.from_rotvec(v)[2].as_matrix(), V),
    "slerp": (
        lambda s, v: s.Slerp(T, s.Rotation.from_rotvec(v))(np.array([0.3, 2.7, 1.0])).as_matrix(),
        V,
    ),
    "slerpT": (lambda s, v, t: s.Slerp(t, s.Rotation.from_rotvec(v))([0.3, 2.0]).as_quat(), V, T),
    "align": (
        lambda s, a, b, w: [
            s.Rotation.align_vectors(a, b, w)[0].as_matrix(),
            s.Rotation.align_vectors(a, b, w)[1],
        ],
        P,
        P2,
        W5,
    ),
    "align1": (lambda s, a, b: s.Rotation.align_vectors(a, b)[0].as_matrix(), P[0], P[1]),
    "sens": (lambda s, a, b: s.Rotation.align_vectors(a, b, return_sensitivity=True)[2], P, P2),
    "reduce": (
        lambda s, v: s.Rotation.from_rotvec(v).reduce(s.Rotation.create_group("C3")).as_matrix(), V,
    ),
    "rigid": (
        lambda s, v, t, p: s.RigidTransform.from_components(t, s.Rotation.from_rotvec(v)).apply(p),
        v, V[1], P,
    ),
    "rigidexp": (lambda s, e: s.RigidTransform.from_exp_coords(e).as_matrix(), E6),
    "rigidexp0": (lambda s, e: s.RigidTransform.from_exp_coords(e).as_matrix(), np.zeros(6)),
    "rigidlog": (lambda s, e: s.RigidTransform.from_exp_coords(e).as_exp_coords(), E6),
    "rigiddq": (lambda s, e: (s.RigidTransform.from_exp_coords(e).inv() ** 0.5).as_dual_quat(), E6),
    "rigidmat": (
        lambda s, m: (
            s.RigidTransform.from_matrix(
                np.block([[m, np.ones((3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]])
            )
            .as_components()[1]
            .as_quat()
        ),
        M,
    ),
}  # fmt: skip


@pytest.mark.thinned(114)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CASES)
def test_rotations_agree(name: str) -> None:
    call, *arrays = CASES[name]
    batched = name not in ("reduce",)
    assert_agrees("scipy.spatial.transform", call, *arrays, batched=batched)


def test_no_rotation_has_the_derivatives_of_the_exponential_map() -> None:
    matrix = fd.jacobian(lambda r: transform.Rotation.from_rotvec(r).as_matrix())(Z)
    cross = np.array(
        [
            [[0, 0, 0], [0, 0, -1], [0, 1, 0]],
            [[0, 0, 1], [0, 0, 0], [-1, 0, 0]],
            [[0, -1, 0], [1, 0, 0], [0, 0, 0]],
        ]
    )
    np.testing.assert_allclose(matrix, np.moveaxis(cross, 0, -1), atol=1e-15)
    trace = fd.hessian(lambda r: np.trace(transform.Rotation.from_rotvec(r).as_matrix()))(Z)
    np.testing.assert_allclose(trace, -2 * np.eye(3), atol=1e-15)
    angle = fd.grad(lambda r: transform.Rotation.from_rotvec(r).magnitude())(Z)
    np.testing.assert_array_equal(angle, Z)
    for step in (1e-9, 1e-3, 1e-2, 0.3, 0.5):
        there_and_back = fd.jacobian(lambda r: transform.Rotation.from_rotvec(r).as_rotvec())
        np.testing.assert_allclose(there_and_back(step * v), np.eye(3), atol=1e-13)


def test_a_matrix_that_is_no_rotation_is_answered_with_scipys_error() -> None:
    with pytest.raises(ValueError, match="Non-positive determinant"):
        fd.vjp(lambda m: transform.Rotation.from_matrix(m).as_quat(), -np.eye(3))


def test_plain_rotations_are_scipys_own() -> None:
    found = transform.Rotation.from_rotvec(V)
    assert isinstance(found, Rotation)
    np.testing.assert_array_equal(found.as_quat(), Rotation.from_rotvec(V).as_quat())
    assert len(transform.Rotation.create_group("O")) == 24
    assert transform.Rotation.identity(2).as_matrix().shape == (2, 3, 3)
    turned = fd.vjp(lambda r: (transform.Rotation.from_rotvec(r) * found).as_matrix(), v)[0]
    np.testing.assert_allclose(turned, (Rotation.from_rotvec(v) * found).as_matrix(), rtol=1e-12)
    equal = fd.vjp(
        lambda r: np.sum(r) * transform.Rotation.from_rotvec(r).approx_equal(found[0], atol=1), v
    )[0]
    assert equal == np.sum(v)


@pytest.mark.slow
def test_interpolated_rotations_move_with_the_times() -> None:
    def turned(t: Any) -> Any:
        return transform.Slerp(T, transform.Rotation.from_rotvec(V))(t).as_matrix()

    t = np.array([1.2, 1.7, 1.4])
    check_grads(turned, (t,), order=1)
    batch = fd.jit(fd.vmap(fd.jacobian(turned)))(np.stack([t, t + 0.1]))
    np.testing.assert_allclose(batch[1], fd.jacobian(turned)(t + 0.1), atol=1e-13)


@pytest.mark.slow
def test_the_square_of_an_angle_has_its_second_derivative_for_no_rotation() -> None:
    def square(v: Any) -> Any:
        return transform.Rotation.from_rotvec(v).magnitude() ** 2

    np.testing.assert_allclose(fd.hessian(square)(np.zeros(3)), 2 * np.eye(3), atol=1e-14)
    v = np.array([0.0, 2.0, 3.2])
    found = fd.grad(lambda v: transform.Rotation.from_rotvec(v).magnitude())(v)
    np.testing.assert_allclose(found, -v / np.linalg.norm(v), rtol=1e-12)


PLAIN = Rotation.from_rotvec([0.1, 0.2, 0.3])
MOTION = plain_transform.RigidTransform.from_components([1.0, 2.0, 3.0], PLAIN)


def _around(v: Any, motion: Any) -> Any:
    moved = transform.RigidTransform.from_components(v, transform.Rotation.from_rotvec(v))
    return (motion * moved * motion).as_matrix()


MIXED: dict[str, Any] = {
    "from the left": lambda v, p, _: (p * transform.Rotation.from_rotvec(v)).as_quat(),
    "from the right": lambda v, p, _: (transform.Rotation.from_rotvec(v) * p).as_quat(),
    "motions": lambda v, _, motion: _around(v, motion),
    "part": lambda v, p, _: transform.RigidTransform.from_components(v, p).as_matrix(),
    "together": lambda v, p, _: transform.Slerp(
        [0.0, 1.0], transform.Rotation.concatenate([p, transform.Rotation.from_rotvec(v)])
    )(0.3).as_matrix(),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [x if x == "together" else pytest.param(x, marks=pytest.mark.slow) for x in MIXED]
)
def test_plain_rotations_may_stand_beside_traced_ones(name: str) -> None:
    def traced_alone(v: Any) -> Any:
        given = transform.Rotation.from_rotvec(np.array([0.1, 0.2, 0.3]) + 0 * v)
        motion = transform.RigidTransform.from_components(np.array([1.0, 2, 3]) + 0 * v, given)
        return MIXED[name](v, given, motion)

    v = np.array([0.3, -0.2, 0.4])

    def f(v: Any) -> Any:
        return MIXED[name](v, PLAIN, MOTION)

    np.testing.assert_allclose(fd.vjp(f, v)[0], f(v), rtol=1e-13, atol=1e-15)
    expected = fd.jacfwd(traced_alone)(v)
    for derivative in (fd.jacobian(f), fd.jit(fd.jacfwd(f))):
        np.testing.assert_allclose(derivative(v), expected, rtol=1e-12, atol=1e-13)
    expected = fd.hvp(lambda v: np.sum(traced_alone(v) ** 3), (v,), (v**2,))
    found = fd.hvp(lambda v: np.sum(f(v) ** 3), (v,), (v**2,))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


def test_what_is_no_rotation_is_still_no_factor() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        fd.grad(lambda v: transform.Rotation.from_rotvec(v) * 3)(np.ones(3))
    assert isinstance(PLAIN, transform.Rotation)
    assert not isinstance(np.ones(3), transform.Rotation)
