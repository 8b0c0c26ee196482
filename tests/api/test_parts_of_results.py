"""What opaque functions and solvers return beside arrays may differ from call to call."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, OutputError
from tests.together import together

Function = Callable[[Any], Any]

RESULTS: Final[dict[str, tuple[Callable[[Any, bool], Any], Function]]] = {
    "text": (lambda y, big: (y, "big" if big else "small"), lambda r: r[0] * len(r[1])),
    "a flag": (lambda y, big: (big, y), lambda r: r[1] * 2 if r[0] else r[1]),
    "a function": (lambda y, big: (y, np.sin if big else np.cos), lambda r: r[1](r[0])),
    "a key": (lambda y, big: {"big" if big else "small": y}, lambda r: r.get("big", 0.0) * 2 + 1),
    "the number of arrays": (lambda y, big: [y] * (2 if big else 1), sum),
    "a length": (lambda y, big: y * np.ones(3 if big else 2), np.sum),
    "a dtype": (lambda y, big: y.astype(np.float32) if big else y, lambda y: y + np.float32(0.1)),
}
"""What is returned of a value and of whether it is big, and what is made of that."""

TRANSFORMS: Final[dict[str, Callable[[Function], Function]]] = {
    "grad": fd.grad,
    "jvp": lambda f: lambda x: fd.jvp(f, (x,), (1.0,)),
    "vjp": lambda f: lambda x: fd.vjp(f, x)[1](1.0),
    "linearize": lambda f: lambda x: (fd.linearize(f, x)[0], fd.linearize(f, x)[1](1.0)),
    "hessian": fd.hessian,
    "grad of grad": lambda f: fd.grad(fd.grad(f)),
    "grad of jit": lambda f: fd.grad(fd.jit(f)),
    "jvp of grad": lambda f: lambda x: fd.jvp(fd.grad(f), (x,), (1.0,)),
}


def root_of(made: Callable[[Any, bool], Any]) -> Any:
    """Return the square root as an opaque function with a rule, which returns more than that."""
    function: Any = fd.primitive(lambda x: made(np.sqrt(x), bool(x > 4.0)))

    def pulled(x: Any, cts: Any) -> Any:
        leaves = [ct for ct in fd.pytree.flatten(cts)[0] if ct is not None and not callable(ct)]
        return (sum(np.sum(ct) for ct in leaves) / (2 * np.sqrt(x)),)

    function.defvjp(lambda x: (function(x), x), pulled)
    return function


@pytest.mark.slow
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@together
@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_a_result_whose_parts_change_with_the_value_is_what_the_function_returns(
    transform: Callable[[Function], Function], result: tuple[Callable[[Any, bool], Any], Function]
) -> None:
    made, used = result
    opaque = root_of(made)
    derived = transform(lambda x: used(opaque(x)) * x)
    plain = transform(lambda x: used(made(np.sqrt(x), bool(x > 4.0))) * x)
    for x in (3.0, 5.0, 3.0, 5.0, 6.0, 2.0):
        np.testing.assert_allclose(derived(x), plain(x), rtol=1e-6)


@together
@pytest.mark.parametrize("transform", [fd.jit, fd.vmap, lambda f: fd.vmap(fd.grad(f))])
@pytest.mark.parametrize("declared", [False, True])
def test_without_values_parts_that_are_no_arrays_are_refused(
    transform: Callable[[Function], Function], declared: bool
) -> None:
    result = (lambda x: (np.empty(()), "small")) if declared else None
    f: Any = fd.primitive(lambda x: (np.sqrt(x), "big" if x > 4 else "small"), result=result)
    f.defjvp(lambda xs, ts: (f(*xs), (ts[0] / (2 * np.sqrt(xs[0])), None)))
    if not declared:
        for x in (3.0, np.float64(3.0)):  # from which it may be known what comes
            fd.linearize(lambda x: f(x)[0], x)
    cure = r"result\[1\], such as 'small', is no array.*np.bool_\(flag\)"
    with pytest.raises(ConcreteValueError, match=cure):
        transform(lambda x: f(x)[0])(np.array([3.0, 5.0]) if transform is not fd.jit else 3.0)
    assert fd.linearize(lambda x: f(x)[0] * len(f(x)[1]), 9.0)[0] == 9.0


def test_without_values_a_function_that_has_changed_its_result_has_to_be_declared() -> None:
    f: Any = fd.primitive(lambda x: np.ones(int(x)) * x)
    for x in (2.0, 3.0):
        y: Any = fd.linearize(lambda x: x * f(fd.stop_gradient(x)), x)[0]
        assert y.shape == (int(x),)
    with pytest.raises(ConcreteValueError, match=r"different kinds. Declare it"):
        fd.jit(f)(2.0)


def test_without_values_another_container_than_was_taken_for_granted_raises() -> None:
    f: Any = fd.primitive(lambda x: {"big" if x > 4 else "small": x})
    fd.linearize(lambda x: x * f(fd.stop_gradient(x))["small"], 3.0)
    g = fd.jit(lambda x: f(x)["small"])
    assert g(3.0) == 3.0
    with pytest.raises(OutputError, match=r"returned .*big.* where it had returned.*small"):
        g(5.0)


def newton(f: Any, x: Any) -> Any:
    """Return a root, and the residuals under a name that says how many there were."""
    residuals: list[float] = []
    while not residuals or residuals[-1] > 1e-10:
        x = x - f(x) / fd.grad(f)(x)
        residuals.append(abs(float(f(x))))
    return x, {"few" if len(residuals) < 8 else "many": np.array(residuals)}


@together
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_what_a_solver_returns_beside_the_solution_is_that_of_this_call(
    transform: Callable[[Function], Function],
) -> None:
    def weighted(a: Any, root: Any, aux: Any) -> Any:
        return root * a * (2 if "many" in aux else 1)

    def solved(a: Any) -> Any:
        return weighted(a, *fd.custom_root(lambda x: x * x - a, 1.0, newton, has_aux=True))

    for a in (1.5, 1e4, 1.5, 1e4):
        plain = transform(lambda a: weighted(a, np.sqrt(a), ["many"] if a > 100 else []))
        np.testing.assert_allclose(transform(solved)(a), plain(a), rtol=1e-9)


@together
@pytest.mark.parametrize("transform", [fd.grad, fd.linearize, fd.jvp])
def test_a_solver_with_something_beside_the_solution_runs_once(transform: Any) -> None:
    calls = []

    def solve(f: Any, x: Any) -> Any:
        calls.append(x)
        return newton(f, x)

    def root(a: Any) -> Any:
        return fd.custom_root(lambda x: x * x - a, 1.0, solve, has_aux=True)[0]

    for _ in range(3):
        calls.clear()
        if transform is fd.grad:
            fd.grad(root)(2.0)
        elif transform is fd.linearize:
            fd.linearize(root, 2.0)
        else:
            fd.jvp(root, (2.0,), (1.0,))
        assert len(calls) == 1


# ---- numbers of other libraries -----------------------------------------------------------------


class Tensor:
    """A number of another library, which NumPy can convert."""

    def __init__(self, value: Any) -> None:
        self.value = float(value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.value, dtype)

    def __mul__(self, other: Any) -> Any:
        return self.value * other


NUMBERS: Final[dict[str, Function]] = {
    "Fraction": lambda x: Fraction(float(x)),
    "Decimal": lambda x: Decimal(float(x)),
    "Tensor": Tensor,
    "object": lambda x: np.array(Fraction(float(x)), dtype=object),
}


def squares(number: Function) -> dict[str, Any]:
    """Return the square as each kind of function with rules, in another kind of number."""
    by_jvp: Any = fd.custom_jvp(lambda x: number(x**2))
    by_vjp: Any = fd.custom_vjp(lambda x: number(x**2))
    opaque: Any = fd.primitive(lambda x: number(x**2))
    declared: Any = fd.primitive(lambda x: number(x**2), result=lambda x: x)
    for f in (by_jvp, opaque, declared):
        f.defjvp(lambda xs, ts: (number(xs[0] ** 2), 2 * xs[0] * ts[0]))
    for f in (by_vjp, opaque, declared):
        f.defvjp(lambda x: (number(x**2), x), lambda x, ct: (2 * x * ct,))
    return {"custom_jvp": by_jvp, "custom_vjp": by_vjp, "primitive": opaque, "declared": declared}


@together
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp", "primitive", "declared"])
@pytest.mark.parametrize("in_container", [False, True])
@pytest.mark.parametrize("transform", [fd.grad, lambda f: lambda x: fd.jvp(f, (x,), (1.0,))])
def test_a_result_that_is_another_librarys_number_is_refused(
    number: Function, kind: str, in_container: bool, transform: Callable[[Function], Function]
) -> None:
    square = squares((lambda x: [number(x)]) if in_container else number)[kind]
    with pytest.raises(OutputError, match=r"is a.* Convert it with"):
        transform(lambda x: (square(x)[0] if in_container else square(x)) * x)(3.0)


@together
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("transform", [fd.jit, fd.vmap])
def test_where_it_was_declared_as_an_array_it_is_refused_when_it_comes(
    number: Function, transform: Callable[[Function], Function]
) -> None:
    square = squares(number)["declared"]
    x = np.array([3.0]) if transform is fd.vmap else 3.0
    with pytest.raises(OutputError, match=r"is a.* Convert it with"):
        transform(lambda x: square(x) * x)(x)
