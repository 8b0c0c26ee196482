"""Where a trace has no values, an error says that, and not that a derivative would be lost."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, LostDerivativeError
from tests.together import together

F: Any = fd  # types refuse some of what is tried here
X = np.array([1.0, 2.0])

WITHOUT_VALUES: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "vmap": lambda f: fd.vmap(f)(X),
    "jit": lambda f: fd.jit(f, guards=False)(X[0]),
    "scan": lambda f: F.scan(lambda c, row: (c, f(row)), 0.0, X),
    "vmap of grad": lambda f: F.vmap(fd.grad(f))(X),
    "grad of vmap": lambda f: fd.grad(lambda x: np.sum(fd.vmap(f)(x)))(X),
    "jit of grad": lambda f: F.jit(fd.grad(f), guards=False)(X[0]),
}
CONVERSIONS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "asarray": (lambda x: np.asarray(x), "np.asarray(x)", "array already"),
    "array": (lambda x: np.array([x, x]), "np.array([x, x])", "np.stack([x, y])"),
    "float": (lambda x: float(x), "float(x)", "Go on with x itself"),
    "int": (lambda x: int(x), "int(x)", "np.floor(x)"),
    "item": (lambda x: float(x.item()), "float(x.item())", "Go on with x itself"),
    "math": (lambda x: math.sin(x), "math.sin(x)", "np.sin(x), not math.sin(x)"),
    "store": (lambda x: _stored(x), "buffer[0] = ...", "np.zeros_like(x)"),
}
INTEGERS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "int of a position": (lambda x: int(np.argmax(x)), "int(np.argmax(x))", "fori_loop"),
    "range": (lambda x: list(range(np.argmax(x))), "range(n)", "fori_loop"),
    "list": (lambda x: [1.0, 2.0][np.argmax(x)], "an index of a list", "np.stack(list)[i]"),
    "index of an array": (
        lambda x: X[np.argmax(x)],
        "X[np.argmax(x)]",
        "funcdiff.numpy.take(a, i, axis=0)",
    ),
    "format": (lambda x: f"{x:.2f}", "the format '.2f'", "print(repr(x))"),
}


def _stored(x: Any) -> Any:
    buffer = np.zeros(1)
    buffer[0] = x
    return buffer


@together
@pytest.mark.parametrize("conversion", [*CONVERSIONS, *INTEGERS])
@pytest.mark.parametrize("trace", WITHOUT_VALUES)
def test_a_conversion_without_a_value_names_it_the_line_and_the_cure(
    trace: str, conversion: str
) -> None:
    if "vmap" in trace and conversion in INTEGERS and conversion != "format":
        return  # all examples agree
    convert, what, cure = (CONVERSIONS | INTEGERS)[conversion]
    with pytest.raises(ConcreteValueError) as caught:
        WITHOUT_VALUES[trace](lambda x: (convert(x), x)[1])
    message = str(caught.value)
    assert what in message.split(" needs ")[0]
    assert cure in message
    assert re.search(rf"needs the value of .*{__name__.split('.')[-1]}.py', line \d+", message)
    assert "traced without values" in message
    assert "derivative" not in message
    assert "stop_gradient" not in message


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_the_same_conversion_with_a_value_would_lose_the_derivative(conversion: str) -> None:
    convert, what, _ = CONVERSIONS[conversion]
    with pytest.raises(LostDerivativeError) as caught:
        fd.grad(lambda x: (convert(x), x)[1])(X[0])
    assert str(caught.value).startswith(what)


def test_a_value_from_outside_a_trace_without_values_has_a_derivative_to_lose() -> None:
    with pytest.raises(LostDerivativeError, match=re.escape("float(a)")):
        fd.grad(lambda a: np.sum(fd.vmap(lambda row: float(a) * row)(X)))(1.0)


@together
@pytest.mark.parametrize("trace", WITHOUT_VALUES)
def test_errors_may_have_text_of_what_has_no_value(trace: str) -> None:
    def fails(x: Any) -> Any:
        assert repr(x) == f"{x!r}" == "traced(f64[])"
        if x.shape == ():
            raise ValueError(f"not {x:5.2f}")
        return x

    def asserts(x: Any) -> Any:
        assert x is None, f"{x}"
        return x

    with pytest.raises(ValueError, match=r"^not traced\(f64\[\]\)"):
        WITHOUT_VALUES[trace](fails)
    with pytest.raises(AssertionError, match=r"^traced\(f64\[\]\)"):
        WITHOUT_VALUES[trace](asserts)


def _tells(text: str) -> int:
    try:
        raise ValueError(text)
    except ValueError as error:
        return len(str(error))


TEXTS: dict[str, Callable[[Any], str]] = {
    "str": str,
    "format": format,
    "f-string": lambda x: f"{x}",
    "spec": lambda x: f"{x:.1f}",
    "percent": lambda x: "%s" % x,  # noqa: UP031
    "join": lambda x: "".join(map(str, [x, x])),
    "print": lambda x: str(print(x)),
    "a message": lambda x: "a" * _tells(f"{x:.2f}"),
}


@together
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("trace", WITHOUT_VALUES)
def test_text_of_a_float_without_a_value_does_not_go_on(trace: str, text: str) -> None:
    with pytest.raises(ConcreteValueError, match=r"the (text|format).*print\(repr\(x\)\)"):
        WITHOUT_VALUES[trace](lambda x: x * len(TEXTS[text](x)))


@together
@pytest.mark.parametrize("raises", [lambda k: f"{k}", lambda k: f"{k:d}", lambda k: str([k])])
def test_the_message_of_an_error_has_the_value_of_an_integer(raises: Callable[[Any], str]) -> None:
    def f(x: Any) -> Any:
        try:
            raise ValueError(raises(np.argmax(x)))
        except ValueError as error:
            return x[0] * {"0": 2.0, "1": 3.0, "[0]": 4.0}.get(str(error), 5.0)

    jitted, mapped = fd.jit(f), fd.vmap(f)
    for x in (X, X[::-1], X * 2):
        assert jitted(x) == mapped(np.stack([x, x]))[0] == f(x)
