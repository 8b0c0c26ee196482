"""`funcdiff.numpy`: every covered name is there, lists of traced numbers become arrays."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import ConcreteValueError, LostDerivativeError, UnsupportedNumPyError
from funcdiff.numpy.border import dispatch
from tests.numpy.agreement import assert_derivatives, assert_value
from tests.together import together

X = np.random.default_rng(0).normal(size=4)
Y = np.random.default_rng(1).normal(size=4)


def test_every_covered_function_is_there_under_its_name() -> None:
    names = set(dir(fnp)) | {f"linalg.{n}" for n in dir(fnp.linalg)}
    names |= {f"fft.{n}" for n in dir(fnp.fft)}
    names |= {f"lib.stride_tricks.{n}" for n in dir(fnp.lib.stride_tricks)}
    names |= {f"lib.scimath.{n}" for n in dir(fnp.lib.scimath)}
    for function in dispatch.functions():
        name = dispatch.numpy_name(function).removeprefix("np.")
        if not name.startswith("_"):
            assert name in names, name


@pytest.mark.slow
def test_rare_functions_are_imported_when_one_is_called() -> None:
    code = """
import sys, numpy as np, funcdiff as fd
rare = {"funcdiff.numpy.linalg.decompositions", "funcdiff.ops.linalg.singular"}
assert not rare & sys.modules.keys()
x = np.diag([3.0, 2.0])
np.testing.assert_allclose(fd.jit(fd.grad(lambda x: np.linalg.norm(x, "nuc")))(x), np.eye(2))
assert rare <= sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_name_that_is_listed_can_be_had() -> None:
    for name in dir(fnp):
        getattr(fnp, name)
    for name in dir(fnp.linalg):
        if name != "linalg":  # a module of NumPy's
            assert callable(getattr(fnp.linalg, name))


def test_without_a_tracer_the_answer_is_plain_numpys() -> None:
    assert fnp.pi is np.pi
    assert fnp.newaxis is None
    assert fnp.float32 is np.float32
    assert fnp.sin is np.sin
    for plain, ours in [
        (np.array([[1, 2], [3, 4]], float), fnp.array([[1, 2], [3, 4]], float)),
        (np.array([1, 2], ndmin=2), fnp.array([1, 2], ndmin=2)),
        (np.asarray(X), fnp.asarray(X)),
        (np.arange(2.0, 5.0, 0.5), fnp.arange(2.0, 5.0, 0.5)),
        (np.arange(1, 3), fnp.arange(1, stop=3)),
        (np.arange(3, dtype="f4"), fnp.arange(3, dtype="f4")),
        (np.full((2, 3), 4), fnp.full((2, 3), 4)),
        (np.linspace(0, 1, 5), fnp.linspace(0, 1, 5)),
        (np.eye(3, k=1), fnp.eye(3, k=1)),
        (np.r_[1:4, 0, X], fnp.r_[1:4, 0, X]),
        (np.c_[X, Y], fnp.c_[X, Y]),
        (np.r_["0,2", X, Y], fnp.r_["0,2", X, Y]),
        (np.fromiter(range(9), int, 4), fnp.fromiter(range(9), int, 4)),
        (np.stack([X, Y], axis=1), fnp.stack([X, Y], axis=1)),
        (np.sum([[1.0, 2.0]], axis=1), fnp.sum([[1.0, 2.0]], axis=1)),
        (np.linalg.norm(X), fnp.linalg.norm(X)),
    ]:
        assert isinstance(ours, np.ndarray | np.generic)
        assert ours.dtype == plain.dtype
        np.testing.assert_array_equal(ours, plain)


def test_too_few_numbers_are_refused_as_numpy_does() -> None:
    def f(x: Any) -> Any:
        return fnp.fromiter([x, x], float, 3).sum()

    for function in (f, fd.grad(f)):
        with pytest.raises(ValueError, match="iterator too short: Expected 3"):
            function(1.0)


@pytest.mark.parametrize("f", [
    lambda xp, x: xp.array([x[0], 2 * x[1], 3.0]),
    lambda xp, x: xp.array([[x, x * x], [x, x]]),
    lambda xp, x: xp.array(((x[0],), (1,)), dtype=complex),
    lambda xp, x: xp.array(x, ndmin=3),
    lambda xp, x: xp.array([[1, 2], [x[0], 4]]),
    lambda xp, x: xp.asarray([x, x]),
    lambda xp, x: xp.asarray(x, np.complex128),
    lambda xp, x: xp.full((2, 4), x * x),
    lambda xp, x: xp.full(3, x[0]),
    lambda xp, x: xp.arange(x[0], 3.0, 0.25),
    lambda xp, x: xp.arange(0, 1.05, 0.1 + x[1] ** 2),
    lambda xp, x: xp.arange(x[0] - x[0], dtype="f8"),
    lambda xp, x: xp.r_[x, 1:3, x[0] * x[1], [2.0, 1.0]],
    lambda xp, x: xp.c_[x, x * x, np.ones((4, 2))],
    lambda xp, x: xp.fromiter((v * v for v in x), "f8", 3),
    lambda xp, x: xp.sum([x[0], x[1] ** 2]),
    lambda xp, x: xp.dot([x[0], x[1]], [x[2], 1.0]),
    lambda xp, x: xp.stack([x, [x[0], 1.0, 2.0, 3.0]]),
    lambda xp, x: xp.take(np.arange(4.0), xp.argsort(x)),
    lambda xp, x: xp.pad(np.ones(2), 1, constant_values=x[0]),
    lambda xp, x: xp.zeros_like(x) + xp.ones(4) * x,
    lambda xp, x: xp.linalg.norm([x[0], x[1]]),
    lambda xp, x: xp.average(np.arange(2.0), weights=[x[0], x[1]]),
    lambda xp, x: xp.polyint(x, m=2, k=[x[0], x[1]]),
    lambda xp, x: xp.pad(x, 1, constant_values=((x[0], 2 * x[1]),)),
    lambda xp, x: xp.histogramdd((x, 2 * x), bins=2, weights=[x[0], x[1], 1.0, 2.0])[0],
    lambda xp, x: xp.histogram2d(x, x, [np.arange(3.0), np.arange(4.0)], weights=x)[0],
    lambda xp, x: xp.poly1d(x[:3])(x),
    lambda xp, x: xp.hanning(4) * x,
])  # fmt: skip
def test_arrays_of_traced_numbers_are_numpys(f: Any) -> None:
    plain = f(np, X)
    result = fd.vjp(lambda x: (x.sum(), f(fnp, x)), X, has_aux=True)[2]
    np.testing.assert_array_equal(result, plain)
    assert result.dtype == plain.dtype
    if result.size > 1:
        assert_derivatives(lambda x: f(fnp, x) * fnp.sum(x), X)


@pytest.mark.parametrize("f", [
    lambda x: fnp.zeros(2, like=x) + x[0],
    lambda x: fnp.array([x[0], 1.0], like=x),
    lambda x: fnp.array([1.0, 2.0], like=x) * x[0],
    lambda x: fnp.asarray([x[0], x[1]], like=x),
    lambda x: fnp.full((2,), x[0], like=x),
    lambda x: fnp.arange(3, like=x) * x[0],
    lambda x: fnp.arange(x[0], 3.0, like=x),
    lambda x: fnp.eye(2, like=x) * x[0],
    lambda x: fnp.fromiter([1.0, 2.0], float, like=x) * x[0],
])  # fmt: skip
def test_like_is_taken_and_what_is_made_can_hold_traced_numbers(f: Any) -> None:
    def stored(x: Any) -> Any:
        y = f(x)
        y[...] = y * 2
        return y

    np.testing.assert_array_equal(fd.vjp(stored, X)[0], 2 * f(X))


@pytest.mark.parametrize("f", [
    lambda xp, x: xp.r_[x, 1.5],
    lambda xp, x: xp.r_[x[0], 0, 0],
    lambda xp, x: xp.r_[x, 1j],
    lambda xp, x: xp.r_[x, np.float64(2)],
    lambda xp, x: xp.r_[x, 1:3],
    lambda xp, x: xp.c_[x, [1, 2, 3, 4]],
])  # fmt: skip
def test_python_numbers_are_weak_in_a_concatenator(f: Any) -> None:
    x = X.astype("f4")
    plain, result = f(np, x), fd.vjp(lambda x: f(fnp, x), x)[0]
    np.testing.assert_array_equal(result, plain)
    assert result.dtype == plain.dtype


def test_functions_that_cannot_see_their_traced_argument_say_what_can() -> None:
    with pytest.raises(LostDerivativeError, match=r"funcdiff\.numpy\.array"):
        fd.grad(lambda x: np.array([x, x]).sum())(1.0)


def test_what_is_not_covered_is_numpys_own() -> None:
    for name in ("packbits", "save", "vectorize", "nditer", "testing", "random", "memmap", "ma"):
        assert getattr(fnp, name) is getattr(np, name)
    assert fnp.__version__ == np.__version__
    assert {name for name in dir(np) if not name.startswith("_")} == set(dir(fnp))
    for namespace in (np, fnp):
        with pytest.raises(UnsupportedNumPyError, match=r"np\.packbits of a traced array"):
            fd.grad(lambda x: x[0] * namespace.packbits(x > 0)[0])(X)  # noqa: B023


def test_a_name_that_numpy_does_not_have_raises_with_near_misses() -> None:
    with pytest.raises(AttributeError, match=r"Did you mean .*concatenate"):
        getattr(fnp, "concatenat")  # noqa: B009
    with pytest.raises(AttributeError, match=r"Did you mean .*norm"):
        getattr(fnp.linalg, "norn")  # noqa: B009
    assert not hasattr(fnp, "__wrapped__")


def test_parts_of_different_shape_make_no_array() -> None:
    with pytest.raises(ValueError, match="shapes"):
        fd.vjp(lambda x: fnp.array([x, x[0]]), X)


def test_a_string_in_a_concatenator_is_refused_for_traced_parts() -> None:
    with pytest.raises(UnsupportedNumPyError, match=r"fnp\.concatenate"):
        fd.vjp(lambda x: fnp.r_["0,2", x, x], X)
    with pytest.raises(UnsupportedNumPyError, match=r"fnp\.arange"):
        fd.vjp(lambda x: fnp.r_[0 : x[0] : 0.1], X)


def test_the_length_of_a_range_decides_under_jit() -> None:
    def f(x: Any, n: Any, step: Any) -> Any:
        table = np.sum(fnp.tri(n, n + 1)) + np.sum(fnp.indices((n, 2)))
        of_integers = fnp.arange(n, dtype=float) * fnp.arange(1, 2 * n, step=2)
        return x * np.sum(of_integers) + np.sum(fnp.arange(x, 4.0, step)) + table

    jitted, gradient = fd.jit(f), fd.jit(fd.grad(f))
    for arguments in ((1.5, 3, 0.7), (1.5, 2, 0.7), (1.5, 3, 0.4), (1.5, 3, -1.0), (0.2, 3, 0.7)):
        plain: Any = f(*arguments)
        np.testing.assert_allclose(jitted(*arguments), plain)
        np.testing.assert_allclose(fd.value_and_grad(f)(*arguments)[0], plain)
        np.testing.assert_allclose(gradient(*arguments), fd.grad(f)(*arguments))
    peak = fd.jit(fd.grad(lambda x: np.sum(x[0] * fnp.arange(np.argmax(x)))))
    np.testing.assert_array_equal(peak(np.array([1.0, 2.0, 5.0])), [1.0, 0.0, 0.0])
    with pytest.raises((ValueError, OverflowError)):
        jitted(1.5, 3, 0.0)


def test_the_length_of_a_range_needs_values() -> None:
    with pytest.raises(ConcreteValueError, match=r"length of fnp\.arange.*fnp\.linspace"):
        fd.vmap(lambda stop: fnp.arange(0.0, stop))(X)


CALLS: list[Any] = [
    lambda x: x.clip(-0.5, 0.5),
    lambda x: x.clip(min=0),
    lambda x: x.clip(max=0.5),
    lambda x: x.astype(dtype=complex, casting="safe"),
    lambda x: x.reshape(-1) + x.reshape((9,), copy=True),
    lambda x: x.mT,
    lambda x: (x.sort(0), x * 1)[1],
    lambda x: (x.partition(1, axis=1), x[:, 1])[1],
    lambda x: (x[1:].fill(3), x * 1)[1],
    lambda x: x.__array_namespace__().sin(x),
    lambda x: x.argpartition(1, axis=0)[1],
    lambda x: np.sort(x[0]).searchsorted(x[1]),
    lambda x: (x > 0).any(axis=1, keepdims=True),
]
"""Beside those that call patterns have."""


@together
@pytest.mark.parametrize("f", CALLS)
def test_methods_take_the_arguments_of_numpys(f: Any) -> None:
    assert_value(lambda x: f(+x), np.random.default_rng(5).normal(size=(3, 3)))


def test_astype_honours_its_casting_rule() -> None:
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        fd.vjp(lambda x: x.astype("f4", casting="safe"), X)


def test_in_place_methods_return_nothing_and_have_derivatives() -> None:
    def f(x: Any) -> Any:
        y = x * x
        assert y.sort() is None
        z = y[1:]
        assert z.fill(x[0]) is None
        return y

    assert_derivatives(f, X)


def test_questions_about_types_are_answered_without_values() -> None:
    def f(x: Any) -> Any:
        assert np.result_type(x, np.float32(1)) == np.float64
        assert np.can_cast(x, np.float64)
        assert not np.can_cast(x, np.float32)
        assert np.common_type(x) is np.float64
        matrix = np.outer(x, x)
        return matrix[np.tril_indices_from(matrix, -1)].sum()

    np.testing.assert_allclose(fd.vmap(fd.grad(f))(np.stack([X, Y]))[1], Y.sum() - Y)


def test_python_numbers_are_weak_where_a_common_type_is_asked_for() -> None:
    single = np.ones(2, np.float32)

    def f(t: Any, n: Any) -> Any:
        assert np.result_type(t, single) == np.result_type(np.float32, t * 2) == np.float32
        assert np.result_type(n, np.int8) == np.int8
        assert np.result_type(t, n) == np.float64
        return t * single.astype(np.result_type(t, single))

    for way in (f, fd.jit(f)):
        assert fd.vjp(way, 2.0, 3, argnums=0)[0].dtype == np.float32


def test_arange_takes_its_arguments_as_numpys_does() -> None:
    def check(bounds: Any, **keywords: Any) -> None:
        plain = np.arange(*bounds, **keywords)
        for result in (
            fnp.arange(*bounds, **keywords),
            fd.vjp(lambda x: (x, fnp.arange(*bounds, **keywords)), 1.0, has_aux=True)[2],
            fd.vjp(lambda x: fnp.arange(bounds[0] + 0 * x, *bounds[1:], **keywords), 1.0)[0],
        ):
            np.testing.assert_array_equal(result, plain)
            assert result.dtype == plain.dtype

    check((0.0, 1.0, 0.5, "f4"))
    check((1.0,), stop=3.0)
    check((1.0, 3.0), dtype=complex)
    check((3.0,))
