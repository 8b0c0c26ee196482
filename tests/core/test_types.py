"""Types are interned, immutable and written in a short form."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from funcdiff.core.types import DTYPE_NAMES, DTYPES, ArrayType, complex_dtype, real_dtype

F64 = np.dtype(float)


def test_equal_types_are_one_object() -> None:
    assert ArrayType((2, 3), F64) is ArrayType((2, 3), np.dtype("f8"))
    assert ArrayType((2, 3), F64) is not ArrayType((3, 2), F64)
    assert ArrayType((2,), F64) is not ArrayType((2,), np.dtype("f4"))


def test_two_c_names_of_one_dtype_give_one_type() -> None:
    name = "q" if np.dtype("q") == np.dtype(np.int64) else "l"
    assert ArrayType((5,), np.dtype(name)) is ArrayType((5,), np.dtype(np.int64))


def test_threads_intern_one_object() -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: ArrayType((7, 11, 13), F64), range(200)))
    assert all(t is made[0] for t in made)


def test_a_copy_and_a_pickle_of_a_type_are_the_type_itself() -> None:
    t = ArrayType((4,), np.dtype("c8"))
    assert pickle.loads(pickle.dumps(t)) is t
    assert copy.deepcopy(t) is t
    assert copy.copy(t) is t


def test_a_type_cannot_be_changed() -> None:
    t = ArrayType((4,), F64)
    with pytest.raises(AttributeError, match="immutable"):
        t.shape = (5,)


@pytest.mark.parametrize(
    ("shape", "dtype", "text"),
    [
        ((), "f8", "f64[]"),
        ((3,), "f4", "f32[3]"),
        ((2, 0), "c16", "c128[2,0]"),
        ((1,), "?", "bool[1]"),
        ((1,), "u1", "u8[1]"),
    ],
)
def test_a_type_is_written_as_dtype_and_shape(
    shape: tuple[int, ...], dtype: str, text: str
) -> None:
    assert repr(ArrayType(shape, np.dtype(dtype))) == text


def test_every_dtype_has_a_name_of_its_own() -> None:
    assert {DTYPES[name] for name in DTYPE_NAMES.values()} == set(DTYPE_NAMES)
    assert np.dtype(np.longdouble) in DTYPE_NAMES
    assert np.dtype(np.clongdouble) in DTYPE_NAMES


def test_sizes_are_those_of_numpy() -> None:
    t = ArrayType((2, 0, 3), F64)
    assert (t.ndim, t.size) == (3, 0)
    assert ArrayType((), F64).size == 1
    assert t.with_shape((5,)) is ArrayType((5,), F64)
    assert t.with_dtype(np.dtype(int)) is ArrayType((2, 0, 3), np.dtype(int))


@pytest.mark.parametrize("dtype", list(DTYPE_NAMES), ids=list(DTYPE_NAMES.values()))
def test_floating_and_complex_types_are_differentiable(dtype: np.dtype[Any]) -> None:
    assert ArrayType((), dtype).differentiable == np.issubdtype(dtype, np.inexact)


@pytest.mark.parametrize(
    ("part", "whole"), [("f4", "c8"), ("f8", "c16"), (np.longdouble, np.clongdouble)]
)
def test_complex_dtypes_have_parts_of_their_own_precision(part: Any, whole: Any) -> None:
    assert real_dtype(np.dtype(whole)) == part
    assert real_dtype(np.dtype(part)) == part
    assert complex_dtype(np.dtype(part)) == whole


def test_a_shape_of_numpys_integers_is_one_of_pythons() -> None:
    made = ArrayType((np.int8(101), np.int64(7)), np.dtype(np.float32))  # type: ignore[arg-type]
    assert made is ArrayType((101, 7), np.dtype(np.float32))
    assert [type(n) for n in made.shape] == [int, int]
