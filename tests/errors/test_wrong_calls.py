"""Wrong calls of NumPy in a traced function: NumPy's error, with the call, the line and a cure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.together import together

HERE = Path(__file__)
X = np.array([1.0, 2.0, 3.0])
A = np.ones((2, 3))
HALF: Any = 1.5

CALLS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda x: x + np.ones(4), ValueError, r"shapes \(3,\) \(4,\), at .*insert an axis"),
    (lambda x: x + A[0, 1:].tolist(), ValueError,
     r"shapes \(3,\) \(2,\), at .*reshape one of them"),
    (lambda x: np.maximum(x, np.ones(2)), ValueError, r"shapes \(3,\) \(2,\), at"),
    (lambda x: np.where(x > 0, x, np.ones(2)), ValueError, r"shapes \(3,\) \(2,\), at"),
    (lambda x: np.clip(x, np.zeros(2), 1), ValueError, r"shapes \(3,\) \(2,\), at"),
    (lambda x: x @ A, ValueError, r"do not match: 3 is not 2.*in np.matmul.*, at"),
    (lambda x: np.sum(x, axis=1), IndexError, r"axis 1 .*in np.sum\(f64\[3\], axis=1\), at"),
    (lambda x: x.sum(axis=1), IndexError, r"axis 1 .*in np.sum\(f64\[3\], axis=1\), at"),
    (lambda x: np.sum(x, axis=HALF), TypeError, r"in np.sum\(f64\[3\], axis=1.5\), at"),
    (lambda x: np.add.reduce(x, axis=1), IndexError, r"in np.add.reduce\(f64\[3\], axis=1\), at"),
    (lambda x: np.transpose(x, (1, 0)), ValueError, r"in np.transpose\(f64\[3\], \(1, 0\)\), at"),
    (lambda x: np.concatenate([x, x], axis=1), ValueError,
     r"axis 1 .*in np.concatenate\(\[f64\[3\], f64\[3\]\], axis=1\), at"),
    (lambda x: np.moveaxis(x, 0, 2), ValueError, r"in np.moveaxis\(f64\[3\], 0, 2\), at"),
    (lambda x: np.roll(x, 1, axis=2), ValueError, r"in np.roll\(f64\[3\], 1, axis=2\), at"),
    (lambda x: np.reshape(x, (2, 2)), ValueError, r"shape \(2, 2\).*in np.reshape.*, at"),
    (lambda x: np.linalg.inv(x), np.linalg.LinAlgError, r"in np.linalg.inv\(f64\[3\]\), at"),
    (lambda x: np.linalg.solve(A, x), np.linalg.LinAlgError,
     r"in np.linalg.solve\(f64\[2,3\], f64\[3\]\), at"),
    (lambda x: np.linalg.norm(x, "fro"), ValueError, r"in np.linalg.norm\(f64\[3\], 'fro'\), at"),
    (lambda x: np.pad(x, ((1, 1), (1, 1))), ValueError, r"in np.pad\(f64\[3\], .*\), at"),
    (lambda x: np.insert(x, 9, 1.0), IndexError, r"in np.insert\(f64\[3\], 9, 1.0\), at"),
    (lambda x: np.average(x, weights=np.ones(2)), TypeError, r"in np.average\(f64\[3\], .*\), at"),
    (lambda x: np.fft.fft(x, axis=2), IndexError, r"in np.fft.fft\(f64\[3\], axis=2\), at"),
    (lambda x: fd.nn.softmax(x, axis=3), IndexError, r"axis 3 .*f64\[3\].*, at"),
    (lambda x: x & x, TypeError, r"bitwise_and does not take float64 .*, at .*np.logical_and"),
    (lambda x: ~x, TypeError, r"invert does not take float64, at .*np.logical_not"),
    (lambda x: x << 1, TypeError, r"left_shift does not take float64 and int64, at .*\.astype"),
    (lambda x: x + None, TypeError, r"a NoneType met a traced array at"),
    (lambda x: x ** "a", TypeError, r"a str met a traced array at"),
    (lambda x: x[7], IndexError, r"index 7 is out of bounds .*, at"),
    (lambda x: len(x[0]), TypeError, r"a 0-d array has no len\(\), at .*np.size"),
    (lambda x: list(x[0]), TypeError, r"0-d array cannot be iterated over, at .*np.atleast_1d"),
    (lambda x: range(x[0]), TypeError, r"scalar index, not f64\[\], at .*astype"),
    (lambda x: x.astype("foo"), TypeError, r"'foo' .*in x.astype\('foo'\), at"),
    (lambda x: np.apply_along_axis(np.sum, 3, x), IndexError,
     r"in np.apply_along_axis\(sum, 3, f64\[3\]\), at"),
    (lambda x: x.foo, AttributeError, r"no attribute 'foo', at"),
]  # fmt: skip


def _said(error: BaseException) -> str:
    return " ".join([str(error), *getattr(error, "__notes__", ())])


@together
@pytest.mark.parametrize(("f", "kind", "said"), CALLS)
def test_a_wrong_call_is_named_with_its_line(
    f: Callable[[Any], Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind) as caught:
        fd.jvp(f, (X,), (X,))
    message = _said(caught.value)
    assert re.search(said, message), message
    lines, start = inspect.getsourcelines(f)
    found = re.search(rf"{HERE.name}', line (\d+), in", message)
    assert found is not None, message
    assert int(found[1]) in range(start, start + len(lines))


def test_the_call_that_the_user_wrote_is_named_once() -> None:
    with pytest.raises(ValueError, match="out of bounds") as caught:
        fd.grad(lambda x: np.sum(np.var(x, axis=2)))(X)
    (note,) = caught.value.__notes__
    assert note.startswith("funcdiff: in np.var(f64[3], axis=2), at ")


def test_errors_of_the_users_own_code_are_left_alone() -> None:
    def row(x: Any) -> Any:
        raise ValueError("my own")

    with pytest.raises(ValueError, match="my own") as caught:
        fd.grad(lambda x: np.sum(np.apply_along_axis(row, 0, x)))(X)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("transform", [fd.jit, fd.vmap, fd.trace, fd.jacobian])
def test_wrong_calls_are_named_in_every_trace(transform: Callable[..., Any]) -> None:
    with pytest.raises(np.exceptions.AxisError) as caught:
        transform(lambda x: np.sum(x, axis=5))(A)
    assert re.search(r"in np.sum\(f64\[.*\], axis=5\), at .*test_wrong_calls", _said(caught.value))
