"""Joining and splitting: NumPy's values, both modes of derivative, and clear errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.numpy.agreement import assert_derivatives, assert_value, each_of
from tests.together import together

A = np.random.default_rng(0).normal(size=(2, 3, 4))
B = np.random.default_rng(1).normal(size=(2, 3, 4))
C = np.random.default_rng(2).normal(size=(2, 1, 4))
V = np.random.default_rng(3).normal(size=5)
W = np.random.default_rng(4).normal(size=5)
S = np.float64(1.5)

CALLS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("concatenate", lambda x, y: np.concatenate((x, y, np.ones((1, 3, 4)))), (A, B)),
    ("concatenate along an axis", lambda x, y: np.concatenate([x, y], axis=-2), (A, C)),
    ("concatenate flat", lambda x, y: np.concatenate((x, y), axis=None), (A, V)),
    ("concatenate to a dtype", lambda x, y: np.concatenate((x, y), dtype=np.complex128), (A, B)),
    ("concatenate the rows of an array", lambda x: np.concatenate(x), (A,)),
    ("concat", lambda x, y: np.concat((x, y)), (V, W)),
    (
        "concatenate into a traced array",
        lambda x, y: np.concatenate((x, y), out=np.zeros_like(np.tile(x, 2))),
        (V, W),
    ),
    ("stack", lambda x, y: np.stack((x, y)), (A, B)),
    ("stack along the last axis", lambda x, y: np.stack([x, y, y], axis=-1), (A, B)),
    ("stack of scalars", lambda x, y: np.stack([x, y[0]]), (S, V)),
    ("vstack", lambda x, y: np.vstack((x, y)), (V, W)),
    ("vstack of arrays", lambda x, y: np.vstack((x, y)), (A, B)),
    ("hstack", lambda x, y: np.hstack((x, y)), (V, W)),
    ("hstack of arrays", lambda x, y: np.hstack((x, y)), (A, C)),
    ("dstack", lambda x, y: np.dstack((x, y)), (V, W)),
    ("dstack of arrays", lambda x, y: np.dstack((x, y)), (A, B)),
    ("column_stack", lambda x, y: np.column_stack((x, y, np.ones((5, 2)))), (V, W)),
    ("block", lambda x, y: np.block([[x, y], [np.ones((3, 4)), x]]), (A[0], B[0])),
    ("block of unequal depth of axes", lambda x, y: np.block([x, y, 1.0]), (V, W)),
    ("block of one array", lambda x: np.block(x), (A,)),
    ("append", lambda x, y: np.append(x, y), (A, V)),
    ("append along an axis", lambda x, y: np.append(x, y, axis=1), (A, C)),
    ("append of a number", lambda x: np.append(x, 1.0), (V,)),
    ("split", lambda x: np.split(x, 2, axis=2), (A,)),
    ("split at places", lambda x: np.split(x, [1, 4]), (V,)),
    ("split beyond the end", lambda x: np.split(x, [2, 7, 9]), (V,)),
    ("array_split", lambda x: np.array_split(x, 3), (V,)),
    ("array_split at negative places", lambda x: np.array_split(x, (1, -1), -1), (A,)),
    ("hsplit", lambda x: np.hsplit(x, 3), (A,)),
    ("hsplit of a vector", lambda x: np.hsplit(x, 5), (V,)),
    ("vsplit", lambda x: np.vsplit(x, 2), (A,)),
    ("dsplit", lambda x: np.dsplit(x, [1]), (A,)),
    ("unstack", lambda x: np.unstack(x, axis=1), (A,)),
    ("insert", lambda x: np.insert(x, 1, 5.0), (A,)),
    ("insert of traced values", lambda x, y: np.insert(x, [1, 3, 3, 0, 5], y), (V, W)),
    ("insert along an axis", lambda x, y: np.insert(x, 1, y, axis=2), (A, B[:, :, 0])),
    ("insert of several along an axis", lambda x, y: np.insert(x, [0, 2], y, axis=1), (A, C)),
    ("insert at a slice", lambda x, y: np.insert(x, slice(1, 4), y[:3]), (V, W)),
    (
        "insert at a mask",
        lambda x: np.insert(x, np.array([True, False, False, True, False]), 2),
        (V,),
    ),
    ("delete", lambda x: np.delete(x, 3), (A,)),
    ("delete of several", lambda x: np.delete(x, [0, -1], axis=1), (A,)),
    ("delete of a slice", lambda x: np.delete(x, slice(None, None, 2)), (V,)),
    ("delete at a mask from x", lambda x: np.delete(x, x > 0), (V,)),
]


@together
@each_of(CALLS)
def test_values_are_those_of_numpy(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert_value(f, *args)


@together
@each_of(CALLS)
def test_derivatives_agree_in_both_modes(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert_derivatives(f, *args, order=1)


@pytest.mark.parametrize(("f", "error", "message"), [
    (lambda x: np.concatenate((x, x[0])), ValueError, "must match exactly"),
    (lambda x: np.concatenate((x, x[:, :2]), axis=0), ValueError, "must match exactly"),
    (lambda x: np.concatenate((x[0, 0, 0], 1.0)), ValueError, "zero-dimensional"),
    (lambda x: np.concatenate((x, x), axis=3), np.exceptions.AxisError, "out of bounds"),
    (lambda x: np.concatenate((x, x), dtype=int), TypeError, "Cannot cast"),
    (lambda x: np.concatenate((x, x), out=np.ones((4, 3, 4))), UnsupportedNumPyError, "out="),
    (lambda x: np.stack((x, x[0])), ValueError, "same shape"),
    (lambda x: np.split(x, 2, axis=1), ValueError, "equal division"),
    (lambda x: np.array_split(x, 0), ValueError, "larger than 0"),
    (lambda x: np.vsplit(x[0, 0], 2), ValueError, "2 or more dimensions"),
    (lambda x: np.block([[x], x]), ValueError, "nested equally deep"),
    (lambda x: np.insert(x, 9, 1.0, axis=0), IndexError, "out of bounds"),
])  # fmt: skip
def test_what_does_not_fit_is_said(f: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fd.vjp(f, A)


def test_arrays_to_join_are_no_iterator() -> None:
    for join in (np.concatenate, np.stack, np.hstack):
        with pytest.raises(TypeError, match='passed as a "sequence" type'):
            fd.grad(lambda x, join=join: np.sum(join(y for y in x)))(np.ones((2, 2)))
