"""`vjp`, `jvp` and `linearize`: products with the Jacobian; for Hessians see curvature."""

from __future__ import annotations

from typing import Any

import numpy as np

import funcdiff as fd
from funcdiff.errors import CotangentError, InputError
from tests.claims import alike, refused

FD: Any = fd  # types refuse some of what is tried here
X = np.array([0.3, -1.2, 2.0])
T = np.array([1.0, 0.5, -2.0])
V = np.array([2.0, -1.0])
J = np.array([[np.cos(X[0]) * X[1], np.sin(X[0]), 0], [0, X[2] ** 2, 2 * X[1] * X[2]]])
TREE = {"a": 2.0, "b": [3.0, 4.0]}
PUSHED = {"a": 1.0, "b": [0.0, 5.0]}
NAMED = {"x": 3.0, "name": "n"}


def _f(x: Any) -> Any:
    return np.stack([np.sin(x[0]) * x[1], x[1] * x[2] ** 2])


def _of_a_tree(p: Any) -> Any:
    return {"y": p["a"] * p["b"][0], "z": (p["b"][1],)}


def _product(a: Any, b: Any) -> Any:
    return a * b


def _with_aux(x: Any) -> Any:
    return x**2, ("half", x / 2)


def _with_a_name(p: Any) -> Any:
    return {"y": p["x"] * 2, "name": p["name"]}


def _and_position(x: Any) -> Any:
    return x[0] * x[1], np.argmax(x)


test_products_are_those_with_the_jacobian = alike({
    "jvp is the jacobian times the tangent": (lambda: fd.jvp(_f, (X,), (T,)), (_f(X), J @ T)),
    "vjp is the transposed jacobian times the cotangent": (
        lambda: (fd.vjp(_f, X)[0], *fd.vjp(_f, X)[1](V)), (_f(X), V @ J)
    ),
    "linearize is jvp at a fixed point": [
        (lambda t=t: (fd.linearize(_f, X)[0], fd.linearize(_f, X)[1](t)), (_f(X), J @ t))
        for t in (T, -T, np.eye(3)[1])
    ],
    "several primals are summed forward and listed backward": [
        (lambda: fd.jvp(_product, (2.0, 3.0), (10.0, 1.0)), (6, 32)),
        (lambda: fd.vjp(_product, 2.0, 3.0)[1](1.0), (3, 2)),
        (lambda: fd.linearize(_product, 2.0, 3.0)[1](10.0, 1.0), 32),
    ],
    "containers go in and out": [
        (lambda: fd.jvp(_of_a_tree, (TREE,), (PUSHED,)),
         ({"y": 6, "z": (4,)}, {"y": 3, "z": (5,)})),
        (lambda: fd.linearize(_of_a_tree, TREE)[1](PUSHED), {"y": 3, "z": (5,)}),
        (lambda: fd.vjp(_of_a_tree, TREE)[1]({"y": 1.0, "z": (7.0,)}), ({"a": 3, "b": [2, 7]},)),
    ],
    "the auxiliary result comes third": [
        (lambda: fd.jvp(_with_aux, (3.0,), (1.0,), has_aux=True), (9, 6, ("half", 1.5))),
        (lambda: fd.vjp(_with_aux, 3.0, has_aux=True)[::2], (9, ("half", 1.5))),
        (lambda: fd.vjp(_with_aux, 3.0, has_aux=True)[1](1.0), (6,)),
    ],
    "leaves that are not numbers pass through": [
        (lambda: fd.jvp(_with_a_name, (NAMED,), ({"x": 1.0, "name": "n"},))[0],
         {"y": 6, "name": "n"}),
        (lambda: fd.jvp(_with_a_name, (NAMED,), ({"x": 1.0, "name": "n"},))[1]["y"], 2),
        (lambda: FD.vjp(_with_a_name, NAMED)[1]({"y": 1.0, "name": "n"})[0]["x"], 2),
    ],
    "integer outputs take part without a derivative": [
        (lambda: fd.vjp(_and_position, X)[0], (X[0] * X[1], 2)),
        (lambda: FD.vjp(_and_position, X)[1]((1.0, 0)), (np.array([X[1], X[0], 0]),)),
    ],
    "a cotangent may be what is no number": (
        lambda: fd.vjp(lambda x: (x * 2.0, "name"), 3.0)[1]((1.0, "name")), (2.0,)
    ),
}, rtol=1e-14)  # fmt: skip

test_what_does_not_fit_is_refused = refused({
    "a tangent of a wrong shape names both shapes": [
        (CotangentError, r"\(2,\).*\(3,\)", lambda: fd.jvp(_f, (X,), (np.ones(2),))),
        (CotangentError, r"\(2,\).*\(3,\)", lambda: fd.linearize(_f, X)[1](np.ones(2))),
    ],
    "an integer tangent": (
        CotangentError, "float", lambda: fd.jvp(_f, (X,), (np.array([1, 0, 0]),))
    ),
    "a tangent of a wrong structure": (
        CotangentError, "have to be alike", lambda: fd.jvp(lambda p: p[0], ([1.0, 2.0],), ([1.0],))
    ),
    "primals and tangents are tuples of one length": [
        (InputError, r"fd\.jvp\(f, \(x,\), \(t,\)\)", lambda: FD.jvp(_f, X, X)),
        (InputError, "differentiated arguments is 1, but 2 tangents",
         lambda: FD.jvp(_f, (X,), (T, T))),
        (InputError, None, lambda: FD.linearize(_f, X)[1](T, T)),
    ],
    "an integer primal, with its place": [
        (InputError, r"argument b .*int64",
         lambda: fd.jvp(lambda a, b: a, (1.0, np.arange(2)), (1.0, np.arange(2)))),
        (InputError, r"argument b .*int64", lambda: fd.vjp(lambda a, b: a, 1.0, np.arange(2))),
    ],
    "a number for what is no number": [
        (CotangentError, r"the cotangent\[1\] is a number",
         lambda: FD.vjp(lambda x: (x * 2.0, "name"), 3.0)[1]((1.0, 1.0))),
        (CotangentError, "is a number", lambda: FD.vjp(lambda x: (x, len), 2.0)[1]((1.0, 1.0))),
    ],
})  # fmt: skip


def test_a_linearized_function_does_not_change_with_its_point() -> None:
    x = X.copy()
    y, f_jvp = fd.linearize(lambda x: np.exp(x) * x, x)
    expected = f_jvp(T)
    x[:], y[:] = 0, 0
    np.testing.assert_array_equal(f_jvp(T), expected)


def test_the_tangent_of_an_identity_is_a_copy() -> None:
    t = T.copy()
    assert not np.shares_memory(fd.jvp(lambda x: x, (X,), (t,))[1], t)
    assert not np.shares_memory(fd.linearize(lambda x: x, X)[1](t), t)
