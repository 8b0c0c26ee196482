"""Rotations of space: SciPy's classes, whose code for any array library runs on traced arrays.

Plain quaternions are those of SciPy's compiled code.  Where that code is 0/0 for no rotation, or
takes a branch for it, functions that are smooth there stand for it.
"""

from __future__ import annotations

import copy
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.array_api import is_lazy_array
from funcdiff.scipy.borrowed import borrow, borrow_classes, copy_of, define, method_of
from funcdiff.scipy.covered import cover, holds_traced, load
from funcdiff.scipy.places import Private

_TERMS: Final = 9
_ROUNDS: Final = 8
_PACKAGE: Final = "scipy.spatial.transform"
_plain: Any = Private(f"{_PACKAGE}._rotation_xp")


class _Backend:
    """Functions of quaternions: SciPy's for plain arrays, and ours where one is traced."""

    def __init__(self, plain: Any, module: str) -> None:
        self._plain = plain
        self._ours = borrow(load(module))

    def __getattr__(self, name: str) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            traced = holds_traced(args) or holds_traced(kwargs)
            return getattr(self._ours if traced else self._plain, name)(*args, **kwargs)

        return wrapper


def _selection(module: str) -> Any:
    """Return SciPy's choice between its compiled code and that for any array library."""
    plain: Any = Private(f"{_PACKAGE}.{module}")

    def select(_xp: Any, cython_compatible: bool) -> _Backend:
        chosen = plain.cython_backend if cython_compatible else plain.xp_backend
        return _Backend(chosen, f"{_PACKAGE}.{module}_xp")

    return select


# ---- what is smooth for no rotation --------------------------------------------------------------


def _from_rotvec(rotvec: Any, degrees: bool = False) -> Any:
    """Return (r·sin(|r|/2)/|r|, cos(|r|/2)), which are even functions of |r|."""
    if rotvec.shape[-1] != 3:
        raise ValueError(f"Expected `rot_vec` to have shape (..., 3), got {rotvec.shape}")
    r = np.deg2rad(rotvec) if degrees else rotvec
    half = np.linalg.norm(r, axis=-1, keepdims=True) / 2
    return np.concatenate([r * (np.sinc(half / np.pi) / 2), np.cos(half)], axis=-1)


def _as_rotvec(quat: Any, degrees: bool = False) -> Any:
    """Return 2·v·arctan2(|v|, w)/|v|, near 0 by the series of arctan in |v|²/w²."""
    quat = copy_of(_plain._quat_canonical)(quat)
    v, w = quat[..., :3], quat[..., 3:]
    squares = np.sum(v * v, axis=-1, keepdims=True)
    is_small = squares < 0.01 * w * w
    z = np.where(is_small, squares / np.where(is_small, w * w, 1), 0)
    series = sum((-z) ** k / (2 * k + 1) for k in range(_TERMS)) / np.where(is_small, w, 1)
    length = np.sqrt(np.where(is_small, 1, squares))
    scale = 2 * np.where(is_small, series, np.arctan2(length, w) / length)
    return v * (np.rad2deg(scale) if degrees else scale)


def _magnitude(quat: Any) -> Any:
    """Return the length of the rotation vector, whose square is smooth for no rotation."""
    return np.linalg.norm(_as_rotvec(quat), axis=-1)


def _from_matrix(matrix: Any, assume_valid: bool = False) -> Any:
    """Return the quaternions of the rotations next to matrices."""
    if not assume_valid:
        invalid = np.linalg.det(matrix) <= 0
        _check(invalid, matrix)
        matrix = np.where(invalid[..., None, None], np.nan, _polar_factor(matrix))
    return copy_of(_plain._from_matrix_orthogonal)(matrix)


def _polar_factor(x: Any) -> Any:
    """Return the orthogonal factor by Newton's iteration, which has no singular values to part.

    N. Higham, "Functions of Matrices", SIAM 2008, sections 8.3 and 8.6.
    """
    for _ in range(_ROUNDS):
        inverse = np.linalg.inv(np.swapaxes(x, -1, -2))
        ratio = np.sum(inverse * inverse, axis=(-2, -1)) / np.sum(x * x, axis=(-2, -1))
        scale = (ratio**0.25)[..., None, None]
        x = (scale * x + inverse / scale) / 2
    return x


def _check(invalid: Any, matrix: Any) -> None:
    """Raise SciPy's error for a matrix that is no rotation, if that is known."""
    if not is_lazy_array(invalid) and np.any(invalid):
        index = int(np.argmax(invalid))
        shown = matrix[index, ...] if matrix.ndim > 2 else matrix
        raise ValueError(
            "Non-positive determinant (left-handed or null coordinate frame) in "
            f"rotation matrix {index}: {shown}."
        )


def _pow(quat: Any, n: Any) -> Any:
    """Return the power by the rotation vector; a traced exponent is never a special case."""
    if not isinstance(n, Tracer):
        return copy_of(_plain.pow)(quat, n)
    exponent: Any = n
    return _from_rotvec(exponent.reshape(()) * _as_rotvec(quat))


def _reduce(quat: Any, left: Any = None, right: Any = None) -> Any:
    """Return what SciPy does, whose code for any array library takes ones for no rotation."""
    if left is None and right is None:
        return quat, None, None
    nothing = np.array([[0.0, 0.0, 0.0, 1.0]])
    given = (array(nothing if group is None else group) for group in (left, right))
    return copy_of(_plain.reduce)(quat, *given)


for _name, _ours in {
    "from_rotvec": _from_rotvec,
    "as_rotvec": _as_rotvec,
    "magnitude": _magnitude,
    "from_matrix": _from_matrix,
    "pow": _pow,
    "reduce": _reduce,
}.items():
    cover(f"{_PACKAGE}._rotation_xp", _name, _ours)
define(f"{_PACKAGE}._rotation", select_backend=_selection("_rotation"))
define(f"{_PACKAGE}._rigid_transform", select_backend=_selection("_rigid_transform"))
borrow_classes(_PACKAGE, "Rotation Slerp RigidTransform")


_interpolate: Any = copy_of(load(_PACKAGE).Slerp).__call__


@method_of(_PACKAGE, "Slerp")
def __call__(self: Any, times: Any) -> Any:  # noqa: N807
    """Interpolate, between numbers of times that may not be known, too."""
    found = copy.copy(self)
    for name in ("times", "timedelta", "rotvecs"):
        setattr(found, name, array(getattr(self, name)))
    rotation: Any = copy_of(load(_PACKAGE).Rotation)
    found.rotations = rotation.from_quat(array(self.rotations.as_quat()))
    return _interpolate(found, times)


# ---- products with plain ones --------------------------------------------------------------------


def _multiply_plain_ones(name: str) -> None:
    """Let transforms be multiplied from the left by plain ones of SciPy's class."""
    kind: Any = copy_of(getattr(load(_PACKAGE), name))
    multiply = kind.__mul__

    def multiply_from_the_left(self: Any, other: Any) -> Any:
        return multiply(other, self)

    kind.__rmul__ = multiply_from_the_left


for _name in ("Rotation", "RigidTransform"):
    _multiply_plain_ones(_name)
