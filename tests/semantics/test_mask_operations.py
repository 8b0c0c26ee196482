"""Masked values through every kind of linear and structural operation make true zeros.

An operation takes masked values, or values that are not masked before some results are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from funcdiff import nn
from tests.semantics.compositions import compositions, require_agreement
from tests.semantics.masked import KEPT, ROW, WEIGHTS, Function, weighted

UNSAFE: Final[dict[str, tuple[Function, list[float]]]] = {
    "sqrt": (np.sqrt, [0.0, 4.0, 0.0, 1.0]),
    "log": (np.log, [0.0, 2.0, 0.0, 3.0]),
    "1 / x": (lambda x: 1 / x, [0.0, 3.0, 0.0, 1.0]),
    "arcsin": (np.arcsin, [1.0, 0.5, 1.0, 0.25]),
}

A: Final = np.array([[4.0, 1, 0, 2], [-1, 5, 2, 0], [1, 2, 6, -1], [0, -2, 1, 3]])
POSITIVE: Final = A @ A.T
ORDER: Final = np.array([1, 3, 0, 2])
KERNEL: Final = np.array([[[3.0, 1.0]]])
WIDE: Final = np.array([[[[2.0, -1.0]]]])


def _stack(v: Any) -> Any:
    """Return one matrix for each value."""
    return POSITIVE + v[:, None, None] * A / 10


def _symmetric(v: Any) -> Any:
    return POSITIVE + v[:, None, None] * (A + A.T) / 10


def _cubed(v: Any) -> Any:
    w, q = np.linalg.eigh(_symmetric(v))
    return (q * np.exp(w / 30)[:, None, :]) @ np.swapaxes(q, 1, 2)


def _saturated(a: Any) -> Any:
    """Return U·f(s)·Vᴴ of a stack of matrices, f(s) = s/(1 + s)."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u * (s / (1 + s))[:, None, :]) @ vh


def _nuclear(a: Any) -> Any:
    return np.linalg.norm(a, "nuc", axis=(1, 2))


def _added_at(v: Any, x: Any) -> Any:
    z = x * 0.0
    np.add.at(z, [0, 1, 2, 1], v)
    return z[1] ** 2


def _assigned(y: Any, x: Any) -> Any:
    z = x * 1.0
    z[[3, 2, 0, 1]] = y
    return z**2


def _linear(a: Any, b: Any) -> Any:
    """Return the terms of a linear recurrence."""
    return fd.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b))[1]


def _by_matrix(matvec: Any, b: Any) -> Any:
    """Solve A·x = b for a dictionary of two vectors."""
    count = b["p"].size
    parts = [{"p": e[:count], "q": e[count:]} for e in np.eye(2 * count)]
    a = np.stack([np.concatenate([y["p"], y["q"]]) for y in map(matvec, parts)], axis=1)
    x = np.linalg.solve(a, np.concatenate([b["p"], b["q"]]))
    return {"p": x[:count], "q": x[count:]}


def _solved_by_user(s: Any, p: Any, q: Any) -> Any:
    """Return half of the solution of a symmetric equation that `s` couples."""

    def matvec(z: Any) -> Any:
        return {"p": POSITIVE @ z["p"] + s * z["q"], "q": POSITIVE @ z["q"] + s * z["p"]}

    b = {"p": p, "q": q}
    return fd.custom_linear_solve(matvec, b, _by_matrix, symmetric=True)["p"]


Operation = Callable[[Any, Any], Any]

MASKED: Final[dict[str, Operation]] = {
    "fft": lambda y, x: np.abs(np.fft.fft(y)) ** 2,
    "rfft": lambda y, x: np.fft.rfft(y * x).imag,
    "irfft": lambda y, x: np.fft.irfft(y * x),
    "fft2": lambda y, x: np.fft.fft2(np.outer(y, x)).real,
    "solve for": lambda y, x: np.linalg.solve(A, y) * x,
    "solve with": lambda y, x: np.linalg.solve(A + np.outer(y, y), x),
    "inv": lambda y, x: np.linalg.inv(A + np.diag(y)),
    "det": lambda y, x: np.linalg.det(np.diag(y) + np.ones((4, 4))),
    "slogdet": lambda y, x: np.linalg.slogdet(A + np.diag(y * y))[1],
    "cholesky": lambda y, x: np.linalg.cholesky(POSITIVE + np.diag(y * y)),
    "qr": lambda y, x: np.linalg.qr(A + np.diag(y))[1],
    "svd": lambda y, x: np.linalg.svd(A + np.diag(y))[1],
    "eigh": lambda y, x: np.linalg.eigh(A + A.T + np.diag(y))[1] ** 2,
    "pinv": lambda y, x: np.linalg.pinv(A + np.diag(y)),
    "sort": lambda y, x: np.sort(y + np.array([0.0, 20, 30, -40])) * x,
    "partition": lambda y, x: np.partition(y + np.array([0.0, 20, 30, -40]), 1)[:3],
    "gather": lambda y, x: y[[0, 1, 1, 3, 2, 2]] ** 2,
    "assign": _assigned,
    "cumsum": lambda y, x: np.cumsum(y * x),
    "cumprod": lambda y, x: np.cumprod(y) + np.cumprod(y[::-1] + 1),
    "maximum.accumulate": lambda y, x: np.maximum.accumulate(y + x),
    "recurrence, terms": lambda y, x: _linear(x + 1, y),
    "recurrence, factors": lambda y, x: _linear(y, x + 1),
    "prod": lambda y, x: np.prod(y + np.array([0, 0, 1, 0])) + np.prod(y),
    "max": lambda y, x: np.max(y) * x,
    "norm": lambda y, x: np.linalg.norm(y),
    "softmax": lambda y, x: nn.softmax(y),
    "convolve": lambda y, x: np.convolve(y, ROW) ** 2,
    "convolve with itself": lambda y, x: np.convolve(y, y),
    "convolve with x": lambda y, x: np.convolve(y, x),
    "correlate": lambda y, x: np.correlate(y, ROW, "same") ** 2,
    "custom_linear_solve": lambda y, x: _solved_by_user(1.0, y, x) + _solved_by_user(1.0, x, y),
    "conv": lambda y, x: nn.conv(y.reshape(1, 1, 4), KERNEL) ** 2,
    "conv, kernel": lambda y, x: nn.conv(np.ones((1, 1, 6)) * x[1], y.reshape(1, 1, 4)) ** 2,
    "max_pool": lambda y, x: nn.max_pool(y.reshape(1, 1, 4), 2) ** 2,
    "avg_pool": lambda y, x: nn.avg_pool(y.reshape(1, 1, 4), 2) ** 2,
    "einsum": lambda y, x: np.einsum("i,j,ij->j", y, x, A),
    "bincount": lambda y, x: np.bincount([0, 1, 1, 0], weights=y) ** 2,
    "reduceat": lambda y, x: np.add.reduceat(y, [0, 2]) ** 2,
    "join": lambda y, x: np.abs(np.convolve(y + 1j * x, ROW)) ** 2,
    "polyfit": lambda y, x: np.polyfit(np.arange(4.0), y, 2),
}
"""Of values that are zero where they are masked."""

DROPPED: Final[dict[str, Operation]] = {
    "fft of index": lambda v, x: np.fft.fft(v[KEPT]).real,
    "solve": lambda v, x: np.linalg.solve(_stack(v), x)[KEPT],
    "solve, columns": lambda v, x: np.linalg.solve(A, v * np.outer(x, x))[:, KEPT] ** 2,
    "inv": lambda v, x: np.linalg.inv(_stack(v))[KEPT] ** 2,
    "det": lambda v, x: np.linalg.det(_stack(v) / 10)[KEPT],
    "slogdet": lambda v, x: np.linalg.slogdet(_stack(v))[1][KEPT],
    "matrix_power": lambda v, x: np.linalg.matrix_power(_stack(v) / 10, 3)[KEPT],
    "sum(where=)": lambda v, x: np.sum(v, where=KEPT) ** 2,
    "prod(where=)": lambda v, x: np.prod(v, where=KEPT) ** 2,
    "max(where=)": lambda v, x: np.max(v, where=KEPT, initial=-9) ** 2,
    "std(where=)": lambda v, x: np.std(v * x, where=KEPT),
    "add.at": _added_at,
    "take_along_axis": lambda v, x: np.take_along_axis(v, np.array([1, 3, 1]), 0) ** 2,
    "cumsum": lambda v, x: np.cumsum(v[:, None] * ROW, axis=1)[KEPT] ** 2,
    "cumprod": lambda v, x: np.cumprod(v[ORDER])[:2] ** 2,
    "recurrence": lambda v, x: _linear((v[:, None] * ROW).T, np.stack([x, x * x, x]))[:, KEPT],
    "recurrence, cut": lambda v, x: _linear(v[ORDER], x + 1)[:2] ** 2,
    "convolve": lambda v, x: np.convolve(v[1:2], ROW) ** 2,
    "convolve, cut": lambda v, x: np.convolve(v[ORDER], x[ORDER])[:2] ** 2,
    "convolve with itself, cut": lambda v, x: np.convolve(v[ORDER], v[ORDER])[:2] ** 2,
    "conv": lambda v, x: nn.conv(v[:, None, None] * WEIGHTS, KERNEL)[KEPT] ** 2,
    "conv, kernels": lambda v, x: (
        nn.conv(np.arange(6.0).reshape(1, 1, 6) * x[1], v[:, None, None] * ROW)[:, KEPT] ** 2
    ),
    "conv, strided": lambda v, x: (
        nn.conv(v[[1, 0, 3, 2]].reshape(1, 1, 4), KERNEL[:, :, :1], stride=2) ** 2
    ),
    "conv, stopped": lambda v, x: nn.conv(v[ORDER].reshape(1, 1, 4), KERNEL, stride=3) ** 2,
    "conv, stopped, twice": lambda v, x: nn.conv(
        nn.conv(v[ORDER].reshape(1, 1, 4, 1) * x, KERNEL[..., None], stride=(3, 1)), WIDE
    ),
    "conv, dilated": lambda v, x: nn.conv(v[[1, 0, 3]].reshape(1, 1, 3), KERNEL, dilation=2) ** 2,
    "softmax": lambda v, x: nn.softmax(v[:, None] * ROW)[KEPT],
    "matmul": lambda v, x: ((v[:, None] * ROW) @ A[:3])[KEPT] ** 2,
    "matmul, columns": lambda v, x: (A @ (v[None, :] * WEIGHTS[:, None]))[:, KEPT] ** 2,
    "vmap of solve": lambda v, x: fd.vmap(lambda s: np.linalg.solve(A, s * x))(v)[KEPT] ** 2,
    "vmap of custom_linear_solve": lambda v, x: (
        fd.vmap(lambda s: _solved_by_user(1.0, s * x, x))(v)[KEPT] ** 2
    ),
    "vmap of custom_linear_solve, twice": lambda v, x: (
        fd.vmap(lambda s: fd.vmap(lambda r: _solved_by_user(r, s * x, x))(x))(v)[KEPT] ** 2
    ),
    "vmap of convolve": lambda v, x: fd.vmap(lambda s: np.convolve(s * x, ROW))(v)[KEPT] ** 2,
}
"""Of values of which some are unsafe, but dropped later."""

DECOMPOSED: Final[dict[str, Operation]] = {
    "custom_linear_solve": lambda v, x: (
        fd.vmap(lambda s: _solved_by_user(s, x + 1, s * x))(v)[KEPT] ** 2
    ),
    "cholesky": lambda v, x: np.linalg.cholesky(_symmetric(v))[KEPT],
    "qr": lambda v, x: np.linalg.qr(_stack(v))[0][KEPT] ** 2,
    "svd": lambda v, x: np.linalg.svd(_stack(v))[1][KEPT],
    "svd, vectors": lambda v, x: np.linalg.svd(_stack(v))[0][KEPT] ** 2,
    "svd, a function": lambda v, x: _saturated(_stack(v))[KEPT] ** 2,
    "svd, a function, chosen": lambda v, x: np.where(
        KEPT[:, None, None], _saturated(_stack(v)[:, :, :3]), 0
    ),
    "svd, a function of wide": lambda v, x: _saturated(_stack(v)[:, :3])[KEPT] ** 2,
    "svd, a sum": lambda v, x: np.sum(np.linalg.svd(_stack(v))[1] ** 3, axis=1)[KEPT],
    "nuclear norm": lambda v, x: _nuclear(_stack(v))[KEPT],
    "nuclear norm, chosen": lambda v, x: np.where(KEPT, _nuclear(_stack(v)[:, :, :3]), 0),
    "qr, raw": lambda v, x: np.linalg.qr(_stack(v)[:, :, :3], mode="raw")[0][KEPT] ** 2,
    "eigh": lambda v, x: np.linalg.eigh(_symmetric(v))[0][KEPT],
    "eigh, vectors": lambda v, x: np.linalg.eigh(_symmetric(v))[1][KEPT] ** 2,
    "eigh, a function": lambda v, x: _cubed(v)[KEPT] ** 2,
    "eig": lambda v, x: np.abs(np.linalg.eig(_stack(v) + 0j)[0][KEPT]),
    "pinv": lambda v, x: np.linalg.pinv(_stack(v)[:, :3])[KEPT] ** 2,
}
"""The same, but an infinite matrix is no operand: NumPy raises, or takes long."""


def _of_masked(operation: Operation) -> Callable[[Function], Function]:
    return lambda u: weighted(lambda u, x: operation(np.where(KEPT, u(x), 0), x), u)


def _of_values(operation: Operation) -> Callable[[Function], Function]:
    return lambda u: weighted(lambda u, x: operation(u(x), x), u)


CASES: Final = {
    **{f"{name} of masked": (_of_masked(f), list(UNSAFE)) for name, f in MASKED.items()},
    **{f"{name}, dropped": (_of_values(f), list(UNSAFE)) for name, f in DROPPED.items()},
    **{f"{name} of a stack": (_of_values(f), ["sqrt"]) for name, f in DECOMPOSED.items()},
}

AROUND: Final[dict[str, Callable[[Function], Function]]] = {
    "eagerly": lambda f: f,
    "in vmap": lambda f: lambda x: fd.vmap(f)(np.stack([x, x])),
    "in jit": fd.jit,
}


@pytest.mark.thinned(57)
@pytest.mark.parametrize("case", CASES)
def test_masked_values_make_true_zeros_in_second_derivatives(case: str) -> None:
    make, _ = CASES[case]
    u, x = UNSAFE["sqrt"]
    require_agreement(make, u, np.array(x), "rr")


@pytest.mark.slow
@pytest.mark.sampled(16)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(
    ("case", "name"), [(case, name) for case, (_, names) in CASES.items() for name in names]
)
def test_masked_values_make_true_zeros_in_every_composition(
    case: str, name: str, around: str
) -> None:
    make, _ = CASES[case]
    u, x = UNSAFE[name]
    for modes in compositions(2):
        require_agreement(make, u, np.array(x), modes, AROUND[around])
