"""Programs with autograd's names that a strict type checker accepts."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, assert_type

import funcdiff.autograd.numpy as np
from funcdiff.autograd import grad, hessian, make_vjp, multigrad_dict, value_and_grad
from funcdiff.autograd.extend import defvjp, primitive


@primitive
def cube(x: Any) -> Any:
    return x**3


defvjp(cube, lambda ans, x: lambda g: 3 * g * x**2)


def results_have_types() -> None:
    x = np.array([1.0, 2.0])
    vjp, _ = make_vjp(np.square)(x)
    assert_type(vjp, Callable[[Any], Any])
    assert_type(value_and_grad(lambda x: np.sum(x**2))(x), tuple[Any, Any])
    assert_type(multigrad_dict(cube)(2.0), OrderedDict[str, Any])


def functions_with_rules_are_differentiated() -> None:
    np.testing.assert_array_equal(grad(cube)(2.0) + hessian(cube)(1.0), 18)


PROGRAMS = [results_have_types, functions_with_rules_are_differentiated]
