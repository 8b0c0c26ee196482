"""Types are interned, immutable and written in a short form."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from funcdiff.core.types import DTYPE_NAMES, DTYPES, ArrayType

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


def test_every_dtype_has_a_name_of_its_own() -> None:
    assert {DTYPES[name] for name in DTYPE_NAMES.values()} == set(DTYPE_NAMES)
    assert np.dtype(np.longdouble) in DTYPE_NAMES
    assert np.dtype(np.clongdouble) in DTYPE_NAMES


def test_a_shape_of_numpys_integers_is_one_of_pythons() -> None:
    made = ArrayType((np.int8(101), np.int64(7)), np.dtype(np.float32))  # type: ignore[arg-type]
    assert made is ArrayType((101, 7), np.dtype(np.float32))
    assert [type(n) for n in made.shape] == [int, int]
