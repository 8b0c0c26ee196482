"""Shapes, indices, broadcasting and keywords: the derivative lands where the value came from."""

from __future__ import annotations

import numpy as np

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.claims import alike, refused
from tests.semantics.modes import slopes

MASK = np.array([True, False, True, True])
V = np.array([1.0, 2.0, 4.0, 3.0])
GRID = np.arange(12.0).reshape(3, 4)


test_what_is_computed_of_x_picks_elements = slopes({
    "repeated indices accumulate": (lambda x: np.sum(x[[1, 1, 1, 0]]), np.zeros(3), [1, 3, 0]),
    "a mask computed from x is a constant": (
        lambda x: np.sum(x[x > 1] ** 2), [1.0, 2, 3], [0, 4, 6]
    ),
    "an index computed from x is a constant": [
        (lambda x: x[np.argmax(x)] ** 2, [4.0, 9, 1], [0, 18, 0]),
        (lambda x: x[np.argsort(x)][0], [4.0, 9, 1], [0, 0, 1]),
    ],
    "an axis of length one is summed over": (
        lambda x: np.sum(x * GRID), np.ones((3, 1)), [[6], [22], [38]]
    ),
    "leading axes are summed over": (lambda x: np.sum(GRID * x), np.ones(4), [12, 15, 18, 21]),
    "a scalar is summed over everything": [
        (lambda x: np.sum(x + np.zeros((2, 0, 3))), 1.0, 0),
        (lambda x: np.sum(x * np.ones((2, 3))), 1.0, 6),
    ],
    "a 0-d array is an array without axes": (
        lambda x: np.sum(x) * x[()] + x.reshape(1)[0], np.array(3.0), 7
    ),
    "empty arrays have empty gradients": [
        (lambda x: np.sum(np.sin(x) * x), np.zeros(shape), np.zeros(shape))
        for shape in ((0,), (2, 0), (0, 3))
    ],
})  # fmt: skip

test_empty_arrays_have_empty_jacobians = alike({
    str(shape): (
        lambda shape=shape: fd.jacobian(lambda x: 2 * x)(np.zeros(shape)), np.zeros(shape * 2)
    )
    for shape in ((0,), (2, 0), (0, 3))
})  # fmt: skip


test_a_keyword_that_cannot_be_honoured_is_refused = refused({
    name: (UnsupportedNumPyError, None, lambda f=f: fd.grad(lambda x: np.sum(f(x)))(V))
    for name, f in {
        "sum(out=)": lambda x: np.sum(x, out=np.zeros(())),
        "sin(out=)": lambda x: np.sin(x, out=np.zeros(4)),
        "add(where=)": lambda x: np.add(x, 1, where=MASK),
        "sort(order=)": lambda x: np.sort(x, order="name"),
    }.items()
})  # fmt: skip
