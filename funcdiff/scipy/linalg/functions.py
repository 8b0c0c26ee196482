"""Functions of square matrices: exponential, logarithm, roots, powers, circular functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from funcdiff.adapting.conditions import is_known_to_hold, may_hold
from funcdiff.core.recording.entries import operands_needed
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, complex_dtype
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.ops.linalg import general_eigen
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.passes.spectra import Scale, function_of
from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import covers, unsupported
from funcdiff.scipy.linalg.matrix_stacks import inexact, squares
from funcdiff.scipy.primitives.linalg.general_functions import (
    Diagonalized,
    diagonalized,
    general_function,
)

# ---- one function --------------------------------------------------------------------------------


def _function(name: str, a: Traced, *numbers: float) -> Any:
    """Return a function of matrices, complex where that of a real one is.

    Where the values are not known, that of a real matrix is taken to be real.
    """
    if a.size == 0:
        return a
    pair: Any = general_function(name, a, numbers=numbers)
    y, is_complex = pair
    if a.dtype.kind == "c" or name == "expm":
        return y
    if is_known_to_hold(lambda: np.any(is_complex)):
        return _beside_the_cut(name, a, numbers)
    known = is_known_to_hold(lambda: not np.any(is_complex))
    return y if known else general_function(name, a, numbers=numbers, strict=True)[0]


def _beside_the_cut(name: str, a: Traced, numbers: tuple[float, ...]) -> Any:
    """Return a root, power or logarithm of real matrices with negative eigenvalues.

    These are on the cut of the function, where rounding errors decide on a branch: the matrices are
    turned in the complex plane, half as far as no other eigenvalue comes to the cut.
    """
    w: Any = stop_gradient(general_eigen.eigvals(a))
    rounding = 1e3 * np.finfo(w.real.dtype).eps * np.max(np.abs(w), axis=-1, keepdims=True)
    distance = np.where(w.imag < -rounding, np.pi + np.angle(w), np.pi)
    turn = np.min(distance, axis=-1)[..., None, None] / 2
    y = general_function(name, np.exp(-1j * turn) * a, numbers=numbers)[0]
    if name == "logm":
        return y + 1j * turn * np.eye(a.shape[-1], dtype=a.dtype)
    (power,) = numbers or (0.5,)
    return np.exp(1j * power * turn) * y


def _matrices(A: Any) -> Traced:
    """Return a stack of square matrices, a number as a matrix of one element.

    Raises
    ------
    numpy.linalg.LinAlgError
        For other arrays.
    """
    a = inexact(A)
    if a.size == 1 and a.ndim < 2:
        return a.reshape(1, 1)
    if a.ndim < 2:
        raise LinAlgError("The input array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return a


def _wide(a: Traced) -> Traced:
    """Return matrices in double precision, which logarithms and powers have of single ones."""
    return a.astype(complex_dtype(FLOAT) if a.dtype.kind == "c" else FLOAT)


_REAL = (
    "Inside vmap, where values are not known, the result for a real matrix has to be real: "
    "pass a complex one otherwise."
)


_NO_ERROR = "It returns no estimate of the error: leave this keyword out."


@covers("scipy.linalg")
def expm(A: Any) -> Any:
    """Return the exponential; derivatives of every order are blocks of larger ones.

    L(A, E) is the block beside the diagonal of exp([[A, E], [0, A]]) (N. Higham, "Functions of
    Matrices", SIAM 2008, section 3.2).
    """
    return _function("expm", _matrices(A))


@covers("scipy.linalg", note=_REAL)
def sqrtm(A: Any, **deprecated: Any) -> Any:
    """Return the principal square root, which a singular matrix may not have.

    Its derivative solves X·dX + dX·X = dA.
    """
    if deprecated:
        raise unsupported(f"scipy.linalg.sqrtm({', '.join(deprecated)})", _NO_ERROR)
    return _function("sqrtm", _matrices(A))


@covers("scipy.linalg", note=_REAL)
def logm(A: Any, **deprecated: Any) -> Any:
    """Return the principal logarithm; derivatives are blocks of those of larger matrices."""
    if deprecated:
        raise unsupported(f"scipy.linalg.logm({', '.join(deprecated)})", _NO_ERROR)
    (a,) = squares(A)
    return _function("logm", _wide(a))


@covers("scipy.linalg", note=_REAL)
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """Return Aᵗ; the derivative by a traced exponent is log(A)·Aᵗ."""
    (a,) = squares(A)
    if isinstance(t, Tracer) and t.type.differentiable:
        return expm(t * logm(a))
    if t == int(t):
        return np.linalg.matrix_power(a, int(t))
    return _function("fractional_matrix_power", _wide(a), float(t))


@covers("scipy.linalg", note="A matrix with an eigenvalue on the imaginary axis has no derivative.")
def signm(A: Any, **deprecated: Any) -> Any:
    """Return the sign of a matrix, A·(A²)^(-1/2), with its derivative.

    N. Higham, "Functions of Matrices", SIAM 2008, chapter 5.
    """
    if deprecated:
        raise unsupported(f"scipy.linalg.signm({', '.join(deprecated)})", _NO_ERROR)
    (a,) = squares(A)
    return np.linalg.solve(sqrtm(a @ a), a)


@covers("scipy.linalg", closures=True, note="The derivative needs a basis of eigenvectors.")
def funm(A: Any, func: Any, disp: bool = True) -> Any:
    """Return V·f(w)·V⁻¹ by eigenvalues and eigenvectors, with the derivatives of the whole.

    The function takes and returns arrays of complex numbers, and is elementwise in these.
    """
    (a,) = squares(A)
    if not disp:
        raise unsupported("scipy.linalg.funm(disp=False)", _NO_ERROR)
    a = array(a)
    wide: Any = a.astype(complex_dtype(a.dtype))
    factors: list[Any] = [*map(stop_gradient, general_eigen.eig(wide))]
    w, v = factors
    values = array(func(w)) + 0 * w
    found = np.linalg.solve(np.swapaxes(v, -1, -2), np.swapaxes(v * values[..., None, :], -1, -2))
    body = function_of(w, [Scale(values, range(w.shape[-1]))], values.dtype)
    if body is None or any(_needs(x, w) for x in body.parameters):
        raise unsupported(
            "scipy.linalg.funm(a, func) with a func that is not elementwise",
            "What func does to one eigenvalue must not depend on the others.",
        )
    program = body.builder.program([body.result])
    value = stop_gradient(array(np.swapaxes(found, -1, -2)))
    known: Any = diagonalized(Diagonalized(program, ()), [value, wide, *body.parameters])
    return _real_if_close(a, known)


def _needs(x: Any, w: Any) -> bool:
    """Whether a value is computed from another."""
    if x.builder is not w.builder or x.builder is None:
        return False
    return w.atom in operands_needed(x.builder.entries, x.atom, lambda _: False)


def _real_if_close(a: Traced, found: Traced) -> Any:
    """Return a function of real matrices, real if its imaginary part is a rounding error."""
    if a.dtype.kind == "c":
        return found
    tolerance = np.finfo(a.dtype).eps * (1e3 if a.dtype == np.float32 else 1e6)
    return found.real if may_hold(lambda: np.all(np.abs(found.imag) <= tolerance)) else found


borrow_functions("scipy.linalg", "cosm sinm tanm coshm sinhm tanhm")


# ---- derivatives of the exponential --------------------------------------------------------------


@covers("scipy.linalg")
def expm_frechet(
    A: Any, E: Any, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """Return the exponential and its derivative along E, linear in E, which have derivatives.

    Both methods are one here: a block of the exponential of a larger matrix.
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method}")
    a, e = map(_wide, squares(A, E))
    if a.shape != e.shape:
        raise ValueError("expected A and E to be the same shape")
    along = general_function("expm", a, e)[0]
    return (expm(a), along) if compute_expm else along


@covers("scipy.linalg")
def expm_cond(A: Any, check_finite: bool = True) -> Any:
    """Return the relative condition number of the exponential in the Frobenius norm."""
    (a,) = squares(A)
    a = _wide(a)
    n = a.shape[-1]
    units = np.eye(n * n).reshape(n, n, n, n)
    columns: list[Any] = [
        general_function("expm", a, array(np.broadcast_to(unit, a.shape).astype(a.dtype)))[0]
        for row in units
        for unit in row
    ]
    kronecker: Any = np.stack(columns, axis=-1).reshape(*a.shape[:-2], n * n, n * n)
    norm = np.linalg.norm
    ratio = norm(a, axis=(-2, -1)) / norm(expm(a), axis=(-2, -1))
    return norm(kronecker, 2, axis=(-2, -1)) * ratio
