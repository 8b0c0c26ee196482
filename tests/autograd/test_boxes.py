"""What packages ask of boxes."""

from typing import Any

import numpy as np

from funcdiff.autograd import builtins, grad

X = np.array([0.5, -1.0, 2.0])


def test_containers_of_traced_values_are_boxes_for_who_asks() -> None:
    seen: list[bool] = []

    def f(p: Any) -> Any:
        for x in (p, p["a"], p["a"][0]):
            seen.append(isinstance(x, builtins.DictBox))
            seen.append(isinstance(x, builtins.SequenceBox))
        return p["a"][0]

    grad(f)({"a": [1.0, 2.0]})
    assert seen == [True, False, False, True, False, False]
    assert not isinstance({"a": 1.0}, builtins.DictBox)


def test_the_value_of_a_box_is_plain() -> None:
    def f(x: Any) -> Any:
        assert type(x._value) is np.ndarray
        return np.sum(x * x._value)

    assert grad(f)(X).tolist() == X.tolist()
