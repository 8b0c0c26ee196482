"""Where a trace has no values, an error says that, and not that a derivative would be lost."""

import math
import re
import warnings
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
    "format": (lambda x: f"{x:.2f}", "the format '.2f'", "print(x)"),
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


@pytest.mark.parametrize("trace", WITHOUT_VALUES)
def test_where_there_are_no_values_text_that_is_only_shown_has_the_type(
    trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def show(x: Any) -> Any:
        assert [print(x, f"{x} and {x:.3f}", [x])] == [None]
        with pytest.raises(ValueError, match=r"^not traced\(f64\[\]\)$"):
            raise ValueError(f"not {x:5.2f}")
        with pytest.raises(AssertionError, match=r"traced\(f64"):
            assert x is None, f"{x}"
        with pytest.warns(UserWarning, match=r"^traced\(f64"):
            warnings.warn(str(x), stacklevel=2)
        assert repr(x) == "traced(f64[])"
        return x

    WITHOUT_VALUES[trace](show)
    shown = "traced(f64[])"
    assert f"{shown} {shown} and {shown} [{shown}]" in capsys.readouterr().out


TEXTS: dict[str, Callable[[Any], str]] = {
    "str": str,
    "format": format,
    "f-string": lambda x: f"{x}",
    "spec": lambda x: f"{x:.1f}",
    "percent": lambda x: "%s" % x,  # noqa: UP031
    "join": lambda x: "".join(map(str, [x, x])),
}


@together
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("trace", WITHOUT_VALUES)
def test_text_of_a_float_without_a_value_does_not_go_on(trace: str, text: str) -> None:
    with pytest.raises(ConcreteValueError, match=r"the (text|format).*print\(x\)"):
        WITHOUT_VALUES[trace](lambda x: x * len(TEXTS[text](x)))
