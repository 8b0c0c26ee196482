"""Rules of autograd's form, boxes and vector spaces."""

import gc
import math
import operator
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.autograd import builtins, core, extend, grad, hessian, jacobian, make_jvp, tracer
from funcdiff.autograd.extend import (
    Box,
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    vspace,
)
from funcdiff.autograd.numpy import linalg
from funcdiff.autograd.numpy.numpy_boxes import ArrayBox
from funcdiff.autograd.numpy.numpy_vjps import unbroadcast, unbroadcast_f
from funcdiff.autograd.test_util import check_equivalent, check_grads, combo_check, scalar_close
from funcdiff.autograd.tracer import getval, isbox
from funcdiff.errors import InputError, NotDifferentiableError, OutputError

X = np.array([0.5, -1.0, 2.0])


@primitive
def scaled(x: Any, factor: Any = 1.0, *, power: int = 1) -> Any:
    return np.array([float(v) ** power for v in x]) * float(factor)


defvjp(
    scaled,
    lambda ans, x, factor=1.0, power=1: lambda g: g * factor * power * x ** (power - 1),
    lambda ans, x, factor=1.0, power=1: lambda g: np.sum(g * x**power),
)


def test_rules_serve_the_arguments_that_are_traced() -> None:
    def f(x: Any, factor: Any) -> Any:
        return np.sum(scaled(x, factor, power=3))

    np.testing.assert_allclose(grad(f)(X, 2.0), 6 * X**2)
    np.testing.assert_allclose(grad(f, 1)(X, 2.0), np.sum(X**3))
    check_grads(f, (0, 1))(X, 2.0)
    assert scaled(X, 2.0)[0] == 1
    assert scaled.__name__ == "scaled"


def test_a_rule_serves_forward_mode_and_second_derivatives() -> None:
    def f(x: Any) -> Any:
        return np.sum(scaled(x, 1.0, power=3))

    np.testing.assert_allclose(make_jvp(f)(X)(X)[1], np.sum(3 * X**3))
    np.testing.assert_allclose(hessian(f)(X), np.diag(6 * X))


def test_an_argument_without_a_rule_is_an_error_and_none_is_zero() -> None:
    @primitive
    def f(a: Any, b: Any, c: Any) -> Any:
        return a * b * c

    defvjp(f, lambda ans, a, b, c: lambda g: g * b * c, None)
    assert grad(f)(2.0, 3.0, 5.0) == 15
    assert grad(f, 1)(2.0, 3.0, 5.0) == 0
    with pytest.raises(NotDifferentiableError, match="VJP of f by argument 2 is not defined"):
        grad(f, 2)(2.0, 3.0, 5.0)


def test_rules_for_sets_of_arguments_and_for_each_are_taken() -> None:
    @primitive
    def f(a: Any, b: Any) -> Any:
        return a * b

    defvjp_argnums(f, lambda argnums, ans, args, kw: lambda g: [g * args[1 - k] for k in argnums])
    assert grad(f, (0, 1))(2.0, 3.0) == (3, 2)
    defvjp_argnum(f, lambda argnum, ans, args, kw: lambda g: g * 10.0)
    assert grad(f, (0, 1))(2.0, 3.0) == (10, 10)
    defjvp_argnums(f, lambda argnums, gs, ans, args, kw: sum(gs) + 0 * ans)
    assert make_jvp(f, (0, 1))(2.0, 3.0)((1.0, 5.0)) == (6, 6)


def test_forward_rules_are_added_and_linear_functions_are_their_own() -> None:
    @primitive
    def f(a: Any, b: Any, c: Any) -> Any:
        return 2.0 * a + b**2 + c

    defjvp(f, lambda g, ans, a, b, c: 2 * g, lambda g, ans, a, b, c: 2 * b * g, None)
    assert make_jvp(f, (0, 1, 2))(1.0, 3.0, 0.0)((1.0, 1.0, 1.0))[1] == 8
    assert grad(f, 1)(1.0, 3.0, 0.0) == 6

    @primitive
    def twice(x: Any) -> Any:
        return 2 * np.asarray(x)

    def_linear(twice)
    np.testing.assert_array_equal(make_jvp(twice)(X)(X)[1], 2 * X)
    defjvp(f, "same", argnums=[2])
    assert make_jvp(f, 2)(0.0, 0.0, 1.0)(4.0)[1] == 4


def test_complex_rules_take_covectors_as_autograd_has_them() -> None:
    @primitive
    def square(z: Any) -> Any:
        return z * z

    defvjp(square, lambda ans, z: lambda g: g * 2 * z)
    assert grad(lambda z: np.real(square(z)))(1 + 2j) == 2 + 4j


def test_results_in_containers_and_methods_have_rules() -> None:
    class Scale:
        @primitive
        def both(self, x: Any) -> Any:
            return x, 2 * x

    defvjp(Scale.both, lambda ans, self, x: lambda g: g[0] + 2 * g[1], argnums=[1])
    scale = Scale()
    assert grad(lambda x: scale.both(x)[0] * scale.both(x)[1])(3.0) == 12


def test_only_functions_of_ones_own_take_rules() -> None:
    with pytest.warns(UserWarning, match=r"rule for sin, given at .*test_extend\.py.* not used"):
        defvjp(np.sin, lambda ans, x: lambda g: g)
    with pytest.warns(UserWarning, match="rule for <lambda>"):
        defjvp(lambda x: x, "same")
    assert grad(np.sin)(0.0) == 1
    assert np.sin not in core.primitive_vjps
    with pytest.raises(InputError, match="3 is no rule of scaled"):
        defvjp(scaled, 3)  # type: ignore[arg-type]


def test_what_is_not_traced_gets_plain_values() -> None:
    floor = notrace_primitive(lambda x, by: math.floor(x) + by["a"][0])
    assert grad(lambda x: x * floor(x, {"a": [x]}))(2.5) == 4.5


def test_boxes_are_traced_values_and_know_what_they_stand_for() -> None:
    seen: list[Any] = []

    def f(x: Any, y: Any) -> Any:
        seen.extend([isbox(x), isinstance(y, ArrayBox), isinstance(x, Box), isbox(1.0)])
        seen.extend([builtins.type(x), builtins.type(y), getval(x), type(getval(y))])
        return x * np.sum(y)

    grad(f, (0, 1))(3.0, X)
    assert seen == [True, True, True, False, float, np.ndarray, 3.0, np.ndarray]
    assert getval("x") == "x"
    assert fd.jit(fd.grad(lambda x: x * getval(x)))(3.0) == 3


def test_a_value_that_was_asked_for_can_be_written_to() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        getval(y)[:] = 0
        return np.sum(y * x)

    np.testing.assert_array_equal(grad(f)(X), 4 * X)


def test_vector_spaces_hold_containers() -> None:
    space = vspace({"a": X, "b": 1j})
    assert (space.size, space.iscomplex, space.shape) == (5, True, [(3,), ()])
    assert space == vspace({"a": 2 * X, "b": 0j}) != vspace({"a": X, "b": 0.0})
    assert len({space, vspace({"a": 2 * X, "b": 0j})}) == 1
    units = [*space.standard_basis()]
    assert [u["b"] for u in units] == [0, 0, 0, 1, 1j]
    assert units[1]["a"].tolist() == [0, 1, 0]
    assert space.ones()["b"] == 1 + 1j
    assert space.zeros()["a"].tolist() == [0, 0, 0]
    total = space.mut_add(None, space.scalar_mul(space.covector(space.ones()), 2.0))
    assert space.inner_prod(total, space.ones()) == 6
    assert total["b"] == 2 - 2j
    assert vspace(space.randn()) == space
    assert vspace(X).shape == (3,)
    assert "float64" in repr(vspace(np.float64(1)))


@pytest.mark.parametrize("register", [VSpace.register, Box.register])
def test_classes_are_registered_elsewhere(register: Any) -> None:
    with pytest.raises(InputError, match=r"fd\.pytree\.register"):
        register(int)


@pytest.mark.parametrize(
    ("module", "name", "cure"),
    [
        (extend, "JVPNode", "fd.trace"),
        (core, "add_outgrads", "Cotangents are added"),
        (tracer, "new_box", "no boxes"),
    ],
)
def test_a_name_without_a_place_can_be_imported_and_says_what_to_write_when_it_is_used(
    module: Any, name: str, cure: str
) -> None:
    absent = getattr(module, name)
    assert name in repr(absent)
    assert not hasattr(absent, "__path__")
    message = rf"autograd\.\w+\.{name} of autograd has no meaning .*test_extend\.py.*{cure}"
    uses: list[Callable[[], Any]] = [
        lambda: absent(1), lambda: absent[0], lambda: absent.register(int), lambda: [*absent],
        lambda: isinstance(1, absent), lambda: types.new_class("Own", (absent,)),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(InputError, match=message):
            use()


def test_a_name_that_nobody_knows_is_no_attribute() -> None:
    unknown = operator.attrgetter("something")
    with pytest.raises(AttributeError, match=r"tracer has no attribute 'something'"):
        unknown(tracer)
    with pytest.raises(AttributeError, match="linalg"):
        unknown(linalg)


def test_rules_are_kept_with_their_functions() -> None:
    @primitive
    def f(x: Any) -> Any:
        return 2 * x

    with pytest.raises(NotImplementedError, match="VJP of f by argument 0 is not defined"):
        grad(f)(1.0)
    defvjp(f, lambda ans, x: lambda g: 2 * g)
    assert grad(f)(1.0) == 2
    assert f in core.primitive_vjps
    maker = core.primitive_vjps.pop(f)
    assert f not in [*core.primitive_vjps]
    with pytest.raises(NotImplementedError):
        grad(f)(1.0)
    core.primitive_vjps[f] = maker
    assert grad(f)(1.0) == 2
    assert len(core.primitive_vjps) > 0
    gone = weakref.ref(f)
    del f, maker
    gc.collect()
    assert gone() is None


def test_a_real_argument_takes_the_real_part_of_what_a_rule_returns() -> None:
    f = primitive(np.sum)
    defvjp(f, lambda ans, x: lambda g: g * np.ones(x.shape, np.complex64))
    assert grad(lambda x: f(3 * x))(X).tolist() == [3, 3, 3]
    assert grad(f)(X.astype(np.float32)).dtype == np.float32


def test_a_function_and_its_rules_get_memory_that_they_may_write_to() -> None:
    written = []

    def write(last: Any, *arrays: Any) -> Any:
        for x in (last, *arrays):
            x[0] = 7.0
            written.append(x.shape)
        return last

    @primitive
    def f(x: Any, y: Any) -> Any:
        write(x, y)
        return x + y

    def vjp(ans: Any, x: Any, y: Any) -> Any:
        write(ans, x, y)
        return lambda g: write(g) * 2

    defvjp(f, vjp, None)
    x = X.copy()
    assert grad(lambda x: np.sum(f(x, 2 * x) * x))(x).tolist()[1:] == ((3 + 2) * X[1:]).tolist()
    assert len(written) == 6
    defjvp(f, lambda g, ans, x, y: write(g, ans, x, y) * 2, None)
    make_jvp(lambda x: f(x, 2 * x))(x)(X)
    assert x.tolist() == X.tolist()


def test_a_jacobian_comes_by_rows_where_a_primitive_has_only_a_vjp_rule() -> None:
    calls: list[bool] = []

    @primitive
    def f(x: Any) -> Any:
        return np.array([float(v) ** 2 for v in x])

    def vjp(ans: Any, x: Any) -> Any:
        def not_linear(g: Any) -> Any:
            calls.append(isbox(g))
            return np.maximum(g, 0) * 2 * x

        return not_linear

    defvjp(f, vjp)

    def swallows(x: Any) -> Any:
        try:
            return f(x)
        except Exception:  # as users' code does
            return x

    assert jacobian(swallows)(X).tolist() == np.diag(2 * X).tolist()
    assert calls == [False] * 3
    two = jacobian(lambda x, y: f(x) * y, (0, 1))(X, 2.0)
    assert [j.tolist() for j in two] == [np.diag(4 * X).tolist(), (X**2).tolist()]
    with pytest.raises(OutputError, match="complex function"):
        jacobian(lambda x: f(x) * 1j)(X)
    defjvp(f, lambda g, ans, x: 2 * g * x)
    assert jacobian(swallows)(X).tolist() == np.diag(2 * X).tolist()


def test_sums_undo_broadcasting() -> None:
    assert unbroadcast(np.ones((2, 3)), ((1, 3), 2)).tolist() == [[2, 2, 2]]
    assert unbroadcast_f(2.0, lambda g: g * 1j + 1)(np.ones(3)) == 3
    assert unbroadcast_f(2j, lambda g: g * 1j)(np.ones(3)) == 3j


def test_vectors_are_compared_by_space_and_value() -> None:
    check_equivalent({"a": X}, {"a": X * (1 + 1e-15)})
    assert scalar_close(1e9, 1e9 + 1)
    assert not scalar_close(1.0, 1.1)
    with pytest.raises(AssertionError, match="spaces differ"):
        check_equivalent(X, X[:2])
    with pytest.raises(AssertionError, match="values differ"):
        check_equivalent(X, X + 1)


def test_checks_find_a_wrong_rule_and_know_their_modes() -> None:
    @primitive
    def wrong(x: Any) -> Any:
        return x**2

    defvjp(wrong, lambda ans, x: lambda g: g * x)
    with pytest.raises(AssertionError):
        check_grads(wrong, modes=["rev"], order=1)(3.0)
    with pytest.raises(InputError, match="no mode 'reverse'"):
        check_grads(np.sin, modes=["reverse"])(3.0)
    combo_check(np.sum, modes=["fwd"], order=1)([X, X[:, None]], axis=[None, 0])
