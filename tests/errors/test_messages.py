"""Every error says what happened, where in the user's file, and what to write instead."""

import builtins
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff import errors
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import executable
from funcdiff.core.text.check import check
from funcdiff.core.text.parse import parse
from funcdiff.numpy.border import dispatch

HERE = Path(__file__)
X = np.array([1.0, 2.0, 3.0])
FAMILY: dict[str, type[Exception]] = {
    name: cls
    for name, cls in vars(errors).items()
    if inspect.isclass(cls) and issubclass(cls, errors.FuncdiffError)
}


def _raised(error: type[Exception], mistake: Callable[[], Any]) -> str:
    """Return the message of the error that a mistake raises."""
    with pytest.raises(error) as caught:
        mistake()
    assert type(caught.value) is error
    return str(caught.value)


def _lines_of(mistake: Callable[..., Any]) -> range:
    """Return the numbers of the lines of a function of this file."""
    lines, start = inspect.getsourcelines(mistake)
    return range(start, start + len(lines))


def _places(message: str) -> list[int]:
    """Return the line numbers of this file that a message names."""
    return [int(n) for n in re.findall(rf"{HERE.name}'?(?:, line |:)(\d+)", message)]


# ---- mistakes, each with what is said and how it is cured ------------------------------------


def _while_in_scan() -> Any:
    def body(c: Any, _: Any) -> Any:
        while c < 10:
            c = 2 * c
        return c, None

    return fd.scan(body, 1.0, length=2)


def _stored_into_array() -> Any:
    def f(x: Any) -> Any:
        out = np.zeros(2)
        out[1] = x
        return out.sum()

    return fd.grad(f)(1.0)


def _escaped_tracer() -> Any:
    kept: list[Any] = []

    def keeper(x: Any) -> Any:
        kept.append(x * 2)
        return x

    fd.grad(keeper)(1.0)
    return kept[0] + 1


def _unknown_function() -> Any:
    return fd.grad(lambda x: np.busday_count(x, x))(1.0)


def _integer_leaf() -> Any:
    return fd.grad(lambda p: p["x"])({"x": 1.0, "n": 3})


def _complex_output() -> Any:
    return fd.grad(lambda z: z * z)(1 + 1j)


def _no_pair_for_aux() -> Any:
    return fd.grad(lambda x: x, has_aux=True)(1.0)


def _branches_differ() -> Any:
    return fd.grad(lambda x: fd.cond(x > 0, lambda: x, lambda: (x, x)))(1.0)


def _tangent_shape() -> Any:
    return fd.jvp(np.sin, (X,), (np.ones(2),))


MISTAKES: list[tuple[type[Exception], Callable[[], Any], str, str]] = [
    (errors.ConcreteValueError, _while_in_scan, "asked for a concrete value", r"fd\.cond"),
    (errors.LostDerivativeError, _stored_into_array, "ordinary array", r"np\.stack"),
    (errors.EscapedTracerError, _escaped_tracer, "trace of keeper", "Return it from the traced"),
    (errors.UnsupportedNumPyError, _unknown_function, r"np\.busday_count", "pass numbers in"),
    (errors.InputError, _integer_leaf, r"argument p\['n'\] is the integer 3", "Make it a float"),
    (errors.OutputError, _complex_output, r"returned c128\[\]", "holomorphic=True"),
    (errors.OutputError, _no_pair_for_aux, "needs a pair", r"\(result, aux\)"),
    (errors.OutputError, _branches_differ, "must return the same", "Convert or reshape"),
    (errors.CotangentError, _tangent_shape, r"tangents\[0\] has shape \(2,\)", "must be equal"),
]  # fmt: skip

CASES = pytest.mark.parametrize(
    ("error", "mistake", "what", "cure"), MISTAKES, ids=[m[1].__name__[1:] for m in MISTAKES]
)


@CASES
def test_a_mistake_is_told_with_what_where_and_cure(
    error: type[Exception], mistake: Callable[[], Any], what: str, cure: str
) -> None:
    message = _raised(error, mistake)
    assert re.search(what, message), message
    assert re.search(cure, message), message
    assert any(line in _lines_of(mistake) for line in _places(message)), message


@CASES
def test_a_message_names_no_internals(
    error: type[Exception], mistake: Callable[[], Any], what: str, cure: str
) -> None:
    message = _raised(error, mistake)
    package = str(Path(fd.__file__).parent)
    assert package not in message
    assert "Tracer object" not in message
    assert "<class" not in message


# ---- errors that are not about a line of the user's function ---------------------------------


def test_a_text_that_is_no_program_is_told_by_line() -> None:
    message = _raised(
        errors.ParseError, lambda: parse("program(%0: f64[]) {\n  %1: f64[] = sine %0\n}")
    )
    assert "line 2" in message
    assert "sine" in message
    assert "sin" in message


def test_a_program_that_breaks_an_invariant_is_shown_with_its_line() -> None:
    good = fd.trace(np.sin)(1.0)
    bad = Program(good.inputs, (), good.outputs)
    message = _raised(errors.VerificationError, lambda: check(bad))
    assert "return %1" in message


def test_containers_that_do_not_match_are_told_by_path() -> None:
    message = _raised(
        errors.PytreeError, lambda: fd.pytree.map(lambda a, b: a, {"w": [1.0]}, {"w": [1.0, 2.0]})
    )
    assert "['w']" in message


def test_a_derivative_that_does_not_exist_is_refused_with_the_line_and_the_cure() -> None:
    def gauge_dependent() -> Any:
        return fd.grad(lambda x: np.linalg.eigh(x)[1][0, 0])(np.eye(2))

    with pytest.raises(errors.NotDifferentiableError) as caught:
        gauge_dependent()
    message = "\n".join([str(caught.value), *caught.value.__notes__])
    assert "depends on which eigenvectors eigh" in message
    assert "projectors" in message
    assert any(line in _lines_of(gauge_dependent) for line in _places(message)), message


def test_an_internal_error_says_that_it_is_a_bug_and_shows_the_program() -> None:
    program = fd.trace(np.sin)(1.0)
    message = _raised(errors.InternalError, lambda: executable(program)(1.0, 2.0))
    assert "a bug in funcdiff" in message
    assert str(program) in message


# ---- the family ------------------------------------------------------------------------------


def test_every_class_is_drawn_in_the_tree_and_documented() -> None:
    assert errors.__doc__ is not None
    for name, cls in FAMILY.items():
        assert re.search(rf"\b{name}\b", errors.__doc__), name
        assert cls.__doc__, name
        assert name.endswith("Error"), name


def test_the_tree_says_which_built_in_errors_the_classes_are() -> None:
    assert errors.__doc__ is not None
    drawn = re.findall(r"(\w+Error) \((\w+)\)", errors.__doc__)
    assert len(drawn) >= 10
    for name, built_in in drawn:
        assert issubclass(FAMILY[name], getattr(builtins, built_in))


@dataclass(frozen=True, order=True)
class Interval:
    """Whose methods `dataclasses` writes."""

    low: Any
    high: Any = 1.0


@pytest.mark.parametrize(
    "compare",
    [
        lambda x: hash(Interval(x)),
        lambda x: Interval(x) == Interval(0.0),
        lambda x: Interval(x) < Interval(0.0),
        lambda x: {Interval(x): 1.0},
    ],
)
def test_a_method_that_dataclasses_wrote_is_no_place_of_the_users(
    compare: Callable[[Any], Any],
) -> None:
    with pytest.raises(TypeError) as caught:
        fd.jit(lambda x: compare(x), guards=False)(0.5)
    line = compare.__code__.co_firstlineno
    assert f"test_messages.py', line {line}, in <lambda>" in str(caught.value)
    assert "<string>" not in str(caught.value)


def test_near_misses_are_suggested() -> None:
    error = dispatch.refusal_error("np.linalg.eigvalues")  # as a later NumPy may call it
    assert "similar: np.linalg.eigvals" in str(error)


def test_an_error_while_running_a_derivative_names_the_users_line() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.linalg.inv(x))

    with pytest.raises(np.linalg.LinAlgError) as caught:
        fd.grad(f)(np.zeros((2, 2)))
    assert any(line in _lines_of(f) for line in _places("".join(caught.value.__notes__)))


def test_an_error_is_itself_where_a_repetition_fails_in_another_way() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(x)
        if len(calls) > 1:
            raise KeyError("only in the repetition, which looks for the line")
        return np.linalg.cholesky(x)

    with pytest.raises(np.linalg.LinAlgError):
        fd.vmap(f)(-np.stack([np.eye(2), np.eye(2)]))
    assert len(calls) == 2
