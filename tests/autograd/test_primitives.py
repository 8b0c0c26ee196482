"""What functions that are not traced may get and call."""

from typing import Any

import numpy as np

from funcdiff.autograd import builtins, grad, hessian, make_jvp
from funcdiff.autograd.extend import defjvp, defvjp, primitive

X = np.array([0.5, -1.0, 2.0])


def test_comparisons_of_traced_values_are_no_boxes_to_rules() -> None:
    @primitive
    def cleared(x: Any, where: Any) -> Any:
        x[where] = 0
        return x

    defvjp(cleared, lambda ans, x, where: lambda g: cleared(g, where))

    def f(x: Any) -> Any:
        return np.sum(cleared(x, x < 1) ** 2)

    assert grad(f)(X).tolist() == [0, 0, 4]
    assert hessian(f)(X).tolist() == np.diag([0, 0, 2]).tolist()


def test_options_of_a_primitive_may_be_any_objects() -> None:
    class Table:
        __hash__ = None  # type: ignore[assignment]
        power = 3.0

    @primitive
    def f(x: Any, table: Any, *, names: Any) -> Any:
        return x**table.power * len(names)

    defvjp(f, lambda ans, x, table, names: lambda g: g * table.power * x**2 * len(names), None)
    defjvp(f, lambda g, ans, x, table, names: g * table.power * x**2 * len(names), None)
    names = [{"a"}, {"b"}]
    assert grad(lambda x: f(x, Table(), names=names))(2.0) == 24
    assert make_jvp(lambda x: f(x, Table(), names=names))(2.0)(1.0) == (16, 24)


def test_a_rule_that_calls_another_primitive_is_differentiated_again() -> None:
    @primitive
    def inverse(a: Any) -> Any:
        return np.linalg.inv(a) if np.any(a) else None  # is not defined at zeros

    @primitive
    def gain(g: Any, y: Any) -> Any:
        return -y.T @ g @ y.T

    defvjp(inverse, lambda ans, a: lambda g: gain(g, inverse(a)))
    defvjp(
        gain,
        lambda ans, g, y: lambda h: -y @ h @ y,
        lambda ans, g, y: lambda h: -(h @ y @ g.T + g.T @ y @ h).T,
    )
    a = np.array([[2.0, 0.5], [0.3, 1.0]])
    ours, exact = (hessian(lambda a, f=f: np.sum(f(a) ** 2))(a) for f in (inverse, np.linalg.inv))
    np.testing.assert_allclose(ours, exact, rtol=1e-12)
    for mine, theirs in zip(*(make_jvp(f)(a)(a.T) for f in (inverse, np.linalg.inv)), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


# ---- boxes ---------------------------------------------------------------------------------------


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
