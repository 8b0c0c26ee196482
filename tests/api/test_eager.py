"""Plain Python inside a differentiated function: values can be looked at, none is lost silently."""

import copy
import math
import operator
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import LostDerivativeError, UnsupportedNumPyError

HERE = Path(__file__).name


# ---- control flow ----------------------------------------------------------------------------


def test_if_takes_the_branch_of_the_value() -> None:
    def f(x: Any) -> Any:
        if x > 0:
            return x**2
        if x == 0:
            return 5 * x
        return -x

    assert [fd.grad(f)(x) for x in (3.0, 0.0, -2.0)] == [6, 5, -1]


def test_while_runs_until_the_value_says_stop() -> None:
    def f(x: Any) -> Any:
        y = x
        while np.linalg.norm(y) < 1000:
            y = y * 2
        return np.sum(y)

    x = np.array([0.3, -0.8, 1.1])
    doublings = 1 + math.floor(math.log2(1000 / np.linalg.norm(x)))
    np.testing.assert_array_equal(fd.grad(f)(x), np.full(3, 2.0**doublings))


def test_for_unrolls_over_elements_and_rows() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for k, row in enumerate(x):
            for value in row:
                total = total + (k + 1) * value**2
        return total

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(fd.grad(f)(x), 2 * x * np.array([[1], [2]]))


def test_comparison_chains_and_boolean_operators_work() -> None:
    def f(x: Any) -> Any:
        return x**2 if 0 < x < 2 and not (x == 1 or np.isnan(x)) else x

    assert fd.grad(f)(1.5) == 3
    assert fd.grad(f)(1.0) == 1


def test_newton_iterations_until_converged_are_differentiated() -> None:
    def root(a: Any) -> Any:
        x, step = a, a
        while abs(step) > 1e-14:
            step = (x * x - a) / (2 * x)
            x = x - step
        return x

    np.testing.assert_allclose(fd.grad(root)(2.0), 0.5 / np.sqrt(2.0), rtol=1e-12)
    np.testing.assert_allclose(fd.jvp(root, (2.0,), (1.0,))[1], 0.5 / np.sqrt(2.0), rtol=1e-12)


def test_recursion_works() -> None:
    def power(x: Any, n: int) -> Any:
        if n == 0:
            return 1.0
        half = power(x, n // 2)
        return half * half * (x if n % 2 else 1.0)

    assert fd.grad(power)(2.0, 10) == 10 * 2**9


def test_recursion_that_depends_on_the_value_works() -> None:
    def halve(x: Any) -> Any:
        return x if x < 1 else halve(x / 2)

    assert fd.grad(halve)(5.0) == 1 / 8


def test_closures_and_default_arguments_work() -> None:
    def outer(x: Any) -> Any:
        scale = np.exp(x)

        def inner(y: Any, shift: Any = scale) -> Any:
            return scale * y + shift

        return inner(x)

    np.testing.assert_allclose(fd.grad(outer)(1.0), np.e * 3, rtol=1e-15)


def test_generators_and_comprehensions_work() -> None:
    def powers(x: Any) -> Iterator[Any]:
        y = 1.0
        while True:
            y = y * x
            yield y

    def f(x: Any) -> Any:
        stream = powers(x)
        return sum(next(stream) for _ in range(3)) + sum([x * k for k in range(3)])

    assert fd.grad(f)(2.0) == 1 + 4 + 12 + 3


def test_try_and_except_work() -> None:
    def f(x: Any) -> Any:
        try:
            if x > 1:
                raise OverflowError
            return x * 2
        except OverflowError:
            return x * 3

    assert (fd.grad(f)(0.5), fd.grad(f)(2.0)) == (2, 3)


def test_context_managers_and_errstate_work() -> None:
    def f(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.sum(np.where(x == 0, 0.0, 1 / x))

    np.testing.assert_array_equal(fd.grad(f)(np.array([0.0, 2.0])), [0, -0.25])


def test_sorting_a_list_of_scalars_with_python_works() -> None:
    def f(x: Any) -> Any:
        low, middle, high = sorted(x)
        return low * 1 + middle * 10 + max(x) * 100 + min([high, low]) * 1000

    np.testing.assert_array_equal(fd.grad(f)(np.array([3.0, 1.0, 2.0])), [100, 1001, 10])


def test_match_and_tuples_unpack() -> None:
    def f(x: Any) -> Any:
        a, *rest = x
        match rest:
            case [b, c]:
                return a * b * c
            case _:
                return a

    np.testing.assert_array_equal(fd.grad(f)(np.array([2.0, 3.0, 5.0])), [15, 10, 6])


# ---- looking at values -----------------------------------------------------------------------


def test_print_and_f_strings_show_values(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        y = x * 2
        print(y)
        print(f"{y[0]:.3f} {y[1]}", y.shape, y.dtype, len(y))
        return np.sum(y)

    fd.grad(f)(np.array([1.0, 2.5]))
    assert capsys.readouterr().out.splitlines() == ["~[2. 5.]", "~2.000 ~5.0 (2,) float64 2"]


def test_repr_says_that_the_array_is_traced() -> None:
    shown: list[str] = []
    fd.grad(lambda x: shown.append(repr(x)) or x)(1.5)  # type: ignore[func-returns-value]
    assert shown[0].startswith("traced(1.5")


def test_what_numpy_says_about_an_array_is_plain() -> None:
    def f(x: Any) -> Any:
        assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3), 2, 6, np.float64)
        assert np.shape(x) == (2, 3)
        assert np.ndim(x) == 2
        assert np.size(x) == 6
        assert (x.itemsize, x.nbytes) == (8, 48)
        assert not np.iscomplexobj(x)
        return np.sum(x)

    fd.grad(f)(np.zeros((2, 3)))


def test_an_integer_result_converts_to_an_int() -> None:
    def f(x: Any) -> Any:
        k = int(np.argmax(x))
        assert isinstance(k, int)
        table = ["a", "b", "c"]
        assert table[np.argmax(x)] == "b"
        assert operator.index(np.argmax(x)) == 1
        return x[k] ** 2

    np.testing.assert_array_equal(fd.grad(f)(np.array([1.0, 5.0, 2.0])), [0, 10, 0])


def test_boolean_and_integer_arrays_convert_to_arrays() -> None:
    def f(x: Any) -> Any:
        order = np.asarray(np.argsort(x))
        assert type(order) is np.ndarray
        assert np.asarray(x > 1).tolist() == [True, False]
        return x[order][0]

    np.testing.assert_array_equal(fd.grad(f)(np.array([2.0, 1.0])), [0, 1])


def test_a_stopped_value_converts_to_a_float() -> None:
    def f(x: Any) -> Any:
        step = float(fd.stop_gradient(x[0]))
        return step * x[1]

    np.testing.assert_array_equal(fd.grad(f)(np.array([3.0, 1.0])), [0, 3])


def test_what_is_computed_of_stopped_values_and_plain_arrays_converts() -> None:
    running = np.zeros(2)
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])

    def f(w: Any) -> Any:
        h = rows * w
        running[:] = 0.9 * running + 0.1 * fd.stop_gradient(h).mean(axis=0)
        return np.sum(h) / float(np.max(np.abs(fd.stop_gradient(h))))

    assert fd.grad(f)(2.0) == 10 / 8
    np.testing.assert_allclose(running, [0.4, 0.6])


@pytest.mark.parametrize(
    "lose",
    [
        lambda x: float(fd.stop_gradient(x[0]) * x[1]),
        lambda x: float(np.where(x > 1, x, 0.3)[0]),
        lambda x: float(np.linalg.eigvalsh(np.outer(x, fd.stop_gradient(x)))[0]),
        lambda x: fd.grad(lambda y: y * float(np.sin(0.3 * x[0])))(1.0),
    ],
    ids=["a product", "a selection", "eigenvalues", "within another derivative"],
)
def test_one_operand_with_a_derivative_is_enough_to_lose_it(lose: Any) -> None:
    with pytest.raises(LostDerivativeError, match="drop its derivative"):
        fd.grad(lambda x: lose(x) * x[0])(X)


# ---- what would lose a derivative ------------------------------------------------------------


X = np.array([0.5, 1.5])


@pytest.mark.parametrize(
    "lose",
    [
        lambda x: math.sin(x[0]),
        lambda x: math.exp(x[0]),
        lambda x: float(x[0]),
        lambda x: int(x[0]),
        lambda x: complex(x[0]),
        lambda x: float(x[0].item()),
        lambda x: math.sin(x.item(0)),
        lambda x: np.array(x.tolist()),
        lambda x: np.asarray(x),
        lambda x: np.array(x),
        lambda x: np.array([x[0], x[1]]),
        lambda x: np.float64(x[0]),
        lambda x: pickle.dumps(x),
    ],
)
def test_a_conversion_that_would_drop_the_derivative_raises(lose: Any) -> None:
    with pytest.raises(LostDerivativeError, match=HERE):
        fd.grad(lambda x: lose(x) or np.sum(x))(X)


def _line_of(text: str) -> int:
    """Return the number of the line of this file that ends with `text`."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (number,) = [k for k, line in enumerate(lines, 1) if line.rstrip().endswith(text)]
    return number


def test_a_lost_derivative_names_the_line_and_the_cure() -> None:
    def f(x: Any) -> Any:
        return math.sin(x)  # lost here

    with pytest.raises(LostDerivativeError) as caught:
        fd.grad(f)(1.0)
    message = str(caught.value)
    assert f"{HERE}', line {_line_of('# lost here')}, in f" in message
    assert "np.sin(x), not math.sin(x)" in message
    assert "stop_gradient" in message


def test_the_cure_for_a_list_of_scalars_is_named_and_works() -> None:
    with pytest.raises(LostDerivativeError, match=r"funcdiff\.numpy\.array\(\[x, y\]\)"):
        fd.grad(lambda x: np.sum(np.array([x, 2 * x])))(1.0)
    assert fd.grad(lambda x: np.sum(fd.numpy.array([x, 2 * x])))(1.0) == 3
    assert fd.grad(lambda x: np.sum(np.stack([x, 2 * x])))(1.0) == 3


def test_storing_into_an_ordinary_array_raises_with_the_line_and_the_cure() -> None:
    def f(x: Any) -> Any:
        table = np.zeros(2)
        table[0] = x  # stored here
        return np.sum(table)

    with pytest.raises(LostDerivativeError) as caught:
        fd.grad(f)(1.0)
    assert f"line {_line_of('# stored here')}" in str(caught.value)


def test_assigning_into_an_array_made_inside_is_what_numpy_does() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y[0] = 1.0
        return np.sum(y)

    np.testing.assert_array_equal(fd.grad(f)(X), np.where(np.arange(X.size) == 0, 0.0, 2.0))


def test_an_array_is_no_truth_value() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        fd.grad(lambda x: np.sum(x) if x > 0 else x)(X)


def test_a_traced_array_cannot_be_hashed() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        fd.grad(lambda x: {x: 1.0}[x])(1.0)


def test_an_attribute_that_ndarray_does_not_have_is_numpys_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        fd.grad(lambda x: x.nonsense)(1.0)


def test_an_uncovered_method_of_ndarray_is_named() -> None:
    with pytest.raises(UnsupportedNumPyError, match=r"ndarray\.tofile"):
        fd.grad(lambda x: x.tofile("nowhere"))(X)


def test_copies_are_copies() -> None:
    def f(x: Any) -> Any:
        a, b = copy.copy(x), copy.deepcopy(x)
        a *= 2
        return np.sum(a) + np.sum(b * x)

    np.testing.assert_array_equal(fd.grad(f)(X), 2 + 2 * X)
