"""Wrong arguments and results of transforms: each told with what, where, and the cure."""

from __future__ import annotations

import math
import re
import site
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import (
    ConcreteValueError,
    CotangentError,
    InputError,
    LostDerivativeError,
    OutputError,
    PytreeError,
)
from tests.claims import refused

FD: Any = fd  # a type checker refuses much of what is tried here
LIST: Any = [1]
X = np.array([1.0, 2.0, 3.0])
HERE = Path(__file__).name


def _total(x: Any) -> Any:
    return np.sum(x**2)


def _halved(x: Any) -> Any:
    x /= 2.0
    return x


# ---- a list is a container -----------------------------------------------------------------------

OF_LISTS: dict[str, Callable[[Any], Any]] = {
    "**": lambda x: x**2,
    "*": lambda x: x * 2.0,
    "-": lambda x: -x,
    "+": lambda x: x + 1,
    "@": lambda x: np.ones((2, 2)) @ x,
    "in place": _halved,
    "a method": lambda x: x.sum(),
    "a ufunc": lambda x: np.sin(x),
    "two arguments": lambda x: np.dot(x, x),
}


@pytest.mark.parametrize("transform", [FD.grad, FD.jacobian, FD.jit])
@pytest.mark.parametrize("values", [[1.0, 2.0], (1.0, 2.0), [[1.0, 2.0], [3.0, 4.0]]])
def test_a_list_that_is_used_as_an_array_is_told_to_be_a_container(
    transform: Any, values: Any
) -> None:
    for name, f in OF_LISTS.items():
        with pytest.raises((TypeError, AttributeError)) as caught:
            transform(f)(values)
        told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
        kind = type(values).__name__
        assert re.search(rf"{HERE}.*x is a {kind}.*give np\.array\(\[\.\.\.\]\)", told, re.S), name


def test_containers_in_containers_are_named_as_they_are_written() -> None:
    for f, told in (
        (lambda p: p["a"] ** 2, r"p\['a'\] is a list, .* funcdiff\.numpy\.array\(p\['a'\]\)"),
        (lambda p: p * 2, r"p is a dict: compute with its items, p\['a'\]"),
    ):  # fmt: skip
        with pytest.raises(TypeError) as caught:
            FD.grad(f)({"a": [1.0, 2.0]})
        (note,) = caught.value.__notes__
        assert re.search(told, note), note


def test_an_item_of_a_list_has_the_cure_of_what_is_called() -> None:
    with pytest.raises(LostDerivativeError, match=r"np\.sin\(x\), not math\.sin"):
        FD.grad(lambda x: math.sin(x[0]))([1.0, 2.0])
    with pytest.raises(TypeError) as caught:
        FD.grad(lambda x: x[0] * len(x) + LIST**2)([1.0, 2.0])  # not the argument
    assert not hasattr(caught.value, "__notes__")


test_a_list_is_no_batch = refused(
    {
        "of numbers": (
            InputError, r"args\[0\]\[0\] .*A list is a container, not a batch: give np\.array",
            lambda: FD.vmap(lambda x: x**2)([1.0, 2.0]),
        ),
        "of lists": (
            InputError, r"A list is a container, not a batch",
            lambda: FD.vmap(lambda x: x**2)([[1.0, 2.0], [3.0, 4.0]]),
        ),
        "of scan": (
            InputError, r"xs\[0\] is 0-d, .*A list is a container, not a batch",
            lambda: FD.scan(lambda c, x: (c + x, c), 0.0, [1.0, 2.0]),
        ),
        "nor is text": (
            InputError, r"none of them is an array", lambda: FD.vmap(lambda x: x)("text"),
        ),
        "but a number may be no array": (
            InputError, r"args\[0\] of shape \(\) has no axis 0, at [^.]*\.py', [^.]*\. Use None",
            lambda: FD.vmap(lambda x: x**2)(1.0),
        ),
    }
)  # fmt: skip


# ---- what has no derivative ----------------------------------------------------------------------

OF_ONE_ARGUMENT = (
    FD.grad, FD.value_and_grad, FD.jacobian, FD.hessian, FD.derivative, FD.elementwise_grad,
    lambda f: lambda x: FD.vjp(f, x), lambda f: lambda x: FD.jvp(f, (x,), (x,)),
)  # fmt: skip

test_nothing_is_differentiated_by_what_holds_no_numbers = refused(
    {
        f"{value!r}": [
            (
                InputError,
                rf"argument x is {re.escape(repr(value)[:9])}.* nothing can .*, at .*{HERE}.*Give",
                lambda value=value, t=t: t(_total)(value),
            )
            for t in OF_ONE_ARGUMENT
        ]
        for value in (None, "some text", True, np.sin, len, float)
    }
)


def test_options_beside_numbers_and_empty_containers_pass() -> None:
    assert FD.grad(lambda x, bias: x**2, argnums=(0, 1))(3.0, None) == (6.0, None)
    assert FD.grad(lambda p: 1.0)({}) == {}
    assert FD.vjp(lambda x, mode: x**2, 3.0, "fast")[1](1.0) == (6.0, "fast")


test_a_static_argument_is_not_differentiated = refused(
    {
        "by number": (
            InputError, r"argument 0 of .* is static, but .* traces it, at .*choose another",
            lambda: FD.grad(FD.jit(lambda x, y: x * y, static_argnums=0))(1.0, 2.0),
        ),
        "by name": (
            InputError, r"argument y of .* is static, but .* traces it",
            lambda: FD.grad(FD.jit(lambda x, y: x * y, static_argnames="y"), argnames="y")(
                1.0, y=2.0
            ),
        ),
        "inside a container": (
            InputError, r"argument 0 of .* is static, but",
            lambda: FD.grad(FD.jit(lambda x: x[0], static_argnums=0))((1.0, 2.0)),
        ),
    }
)  # fmt: skip


test_none_is_no_cotangent = refused(
    {
        "of an array": (
            CotangentError, r"None is no zero: np\.zeros_like\(y\) is\..* f_vjp\(\), without",
            lambda: FD.vjp(lambda x: 2 * x, X)[1](None),
        ),
        "nor a tangent": (
            CotangentError, r"None is no zero: np\.zeros_like\(y\) is\.$",
            lambda: FD.jvp(lambda x: 2 * x, (X,), (None,)),
        ),
    }
)  # fmt: skip


# ---- functions that were not called --------------------------------------------------------------


@pytest.mark.parametrize("transform", ["grad", "jit", "vmap", "hessian", "value_and_grad"])
def test_a_function_that_was_not_called_says_so_in_arithmetic(transform: str) -> None:
    g = getattr(FD, transform)(_total)
    uses: list[Callable[[], Any]] = [
        lambda: X - 0.1 * g, lambda: X - g, lambda: g + 1, lambda: -g, lambda: g @ X,
        lambda: np.sum(g), lambda: np.linalg.norm(g), lambda: g[0], lambda: g > 0,
        lambda: float(g), lambda: np.multiply(X, g), lambda: [*g], lambda: g.shape, lambda: g.sum(),
        lambda: FD.grad(lambda x: np.sum(x - g))(X),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises((InputError, AttributeError)) as caught:
            use()
        said = (
            rf"{transform}\(_total\) is a function, but .*{HERE}.* Call it: {transform}\(_total\)\("
        )
        assert re.search(said, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(("g", "called"), [
    (fd.vjp(_total, X)[1], r"the pullback of _total .* Call it: f_vjp\(x\)"),
    (fd.linearize(_total, X)[1], r"the derivative of _total .* Call it: f_jvp\(x\)"),
    (fd.propagate(_total), r"propagate\(_total\) .* Call it: propagate\(_total\)\(x\)"),
    (fd.standard_errors(_total), r"standard_errors\(_total\) is a function, but"),
])  # fmt: skip
def test_so_does_what_computes_products_and_uncertainties(g: Any, called: str) -> None:
    uses: list[Callable[[], Any]] = [lambda: X - g, lambda: 2 * g, lambda: g[0], lambda: g.sum()]
    for use in uses:
        with pytest.raises((InputError, AttributeError), match=called) as caught:
            use()
        assert HERE in str(caught.value)


def test_a_function_that_a_transform_returned_is_an_object_like_any_other() -> None:
    g = FD.grad(_total)
    functions = np.array([g, FD.jit(_total)])
    assert functions.dtype == object
    assert functions[0] is g
    assert not hasattr(g, "shape")
    assert not hasattr(g, "whatever")
    assert bool(g)
    with pytest.raises(AttributeError, match="'Transformed' object has no attribute 'whatever'"):
        g.whatever  # noqa: B018


# ---- functions that take other arguments ---------------------------------------------------------

OTHER_ARGUMENTS: dict[str, Callable[[], Any]] = {
    "fori_loop calls body_fun(i, val)": lambda: FD.fori_loop(0, 3, lambda x: 2 * x, X),
    "while_loop calls cond_fun(val)": lambda: FD.while_loop(lambda: True, np.sin, X),
    "scan calls f(carry, x)": lambda: FD.scan(lambda c: c, 1.0, X),
    "custom_root calls f(x)": lambda: FD.custom_root(lambda x, y: x, 1.0, lambda f, x: x),
    "custom_root calls solve(f, initial_guess)": lambda: FD.custom_root(np.sin, 1.0, lambda x: x),
    "fixed_point calls f(x, *args)": lambda: FD.fixed_point(lambda x, y: x, 1.0),
}


@pytest.mark.parametrize("said", OTHER_ARGUMENTS)
def test_a_function_that_takes_other_arguments_is_told_how_it_is_called(said: str) -> None:
    with pytest.raises(TypeError, match=r"lambda.*\(\) (missing|takes)") as caught:
        OTHER_ARGUMENTS[said]()
    (note,) = caught.value.__notes__
    assert re.match(rf"funcdiff: fd\.{re.escape(said)}, at '.*{HERE}', line \d+", note)


@pytest.mark.parametrize("values", [[1.0, 2.0], (1.0, 2.0)])
@pytest.mark.parametrize("call", [
    lambda x: FD.nlp(_total, None, x),
    lambda x: FD.nlp(lambda x: x[0], lambda x: x.sum(), x, cbounds=(0, 0)),
    lambda x: FD.density(lambda x: -x, x),
])  # fmt: skip
def test_so_it_is_for_parameters_of_programs_and_densities(call: Any, values: Any) -> None:
    with pytest.raises((TypeError, AttributeError)) as caught:
        call(values)
    (note,) = caught.value.__notes__
    assert re.search(rf"0 is a (list|tuple), at .*{HERE}.*give np\.array\(\[\.\.\.\]\)", note)


def test_a_note_is_added_once_by_traces_in_traces() -> None:
    with pytest.raises(TypeError) as caught:
        FD.hvp(_total, ([1.0, 2.0],), ([1.0, 2.0],))
    assert len(caught.value.__notes__) == 1


def test_a_point_that_is_a_list_has_uncertainties_in_a_list() -> None:
    with pytest.raises(InputError, match=r"A list is a container: .* np\.array\(\[\.\.\.\]\)"):
        FD.propagate(_total)([1.0, 2.0], std=0.1)


@fd.custom_vjp
def _with_one_cotangent(x: Any, y: Any) -> Any:
    return x * y


_with_one_cotangent.defvjp(lambda x, y: (x * y, (x, y)), lambda _, ct: (ct,))


# ---- what other functions of ours return ---------------------------------------------------------

LINE = FD.density(lambda p: -np.sum((p["a"] - 1.0) ** 2), {"a": X})
PROGRAM = FD.nlp(lambda x, a: np.sum((x - a) ** 2), None, X, args=(1.0,))
OTHER = FD.nlp(lambda x: np.sum(x**2), None, np.ones(2))

test_what_another_function_returned_is_told_by_its_name = refused(
    {
        "a function for a program": (
            InputError, rf"program is no Program, but a function, at .*{HERE}.* which `trace` or",
            lambda: FD.evaluate(_total, [X]),
        ),
        "vectors for draws": (
            InputError, rf"draws is no Draws, but a ndarray, at .*{HERE}.* Wanted: what `sample`",
            lambda: LINE.pointwise(_total, np.ones((1, 2, 3))),
        ),
        "a vector for a solution": (
            InputError, rf"solution is no Solution, but a ndarray, at .*{HERE}.* what `solve`",
            lambda: PROGRAM.sensitivity(X),
        ),
        "a solution of another program": (
            InputError, rf"has 3 variables, the solution 2, at .*{HERE}.* of this program returned",
            lambda: PROGRAM.sensitivity(OTHER.solve()),
        ),
        "a list of another length": (
            InputError, rf"a vector of shape \(3,\) is wanted, got \(2,\), at .*{HERE}.* an array;",
            lambda: LINE.value_and_grad([1.0, 2.0]),
        ),
        "parameters for a vector": [
            (
                InputError, rf"got a dict, at .*{HERE}.* d\.unconstrain\(params\) is the vector",
                lambda function=function: function({"a": X}),
            )
            for function in (LINE.value, LINE.hessian, LINE.constrain, LINE.laplace)
        ],
        "a container of other keys": (
            PytreeError, rf"density: params is .*'b'.*, not .*'a'.*, at .*{HERE}.* like params0",
            lambda: LINE.unconstrain({"b": X}),
        ),
        "a container for an array": (
            PytreeError, rf"nlp: x is .*'a'.*, not one value, at .*{HERE}.* like x0",
            lambda: PROGRAM.vector({"a": X}),
        ),
        "an array of another shape": (
            InputError, rf"nlp: x has the shape \(2,\), not \(3,\), at .*{HERE}.* like x0",
            lambda: PROGRAM.vector(np.ones(2)),
        ),
        "a flag for a function": (
            InputError, rf"no Callable or None, but a bool, at .*{HERE}.* Wanted: function that",
            lambda: LINE.sample(5, rng=0, progress=False),
        ),
        "text for a seed": (
            InputError, rf"sample: rng='a' cannot be the source .*, at .*{HERE}.* Give a seed, or",
            lambda: LINE.sample(5, rng="a"),
        ),
        "arguments for a target": (
            InputError, rf"the target array\(.*at .*{HERE}.*Give one of 'cupy', 'jax'",
            lambda: FD.export(_total, X),
        ),
        "the order of a derivative": (
            InputError, rf"no keyword order=, at .*{HERE}.* Did you mean n=\?",
            lambda: FD.derivative(np.sin, order=2),
        ),
        "a function for a list of branches": (
            InputError, rf"branches is no Sequence, but a ufunc, at .*{HERE}.*: functions of the",
            lambda: FD.switch(0, np.sin, np.cos, X),
        ),
        "the point for argnums": (
            InputError, rf"argnums must be an int .*{HERE}.* The point is given to what the ",
            lambda: FD.sparsity(np.sin, X),
        ),
        "a method for another library's": (
            InputError, rf"'ipopt' is not known, at .*{HERE}.* Ipopt takes what `problem\(\)`",
            lambda: PROGRAM.solve("ipopt"),
        ),
        "a per cent for a fraction": (
            InputError, rf"level=95, at .*{HERE}.* a fraction, such as level=0\.95",
            lambda: FD.confidence_intervals(lambda p: -_total(p))(X, level=95),
        ),
        "the third order": (
            InputError, rf"got order=3 .*{HERE}.* Write order=1 or 2",
            lambda: FD.propagate(_total)(X, std=X, order=3),
        ),
        "a kind of design": [
            (InputError, rf"kind='{kind}', at .*{HERE}.* Write 'I' with at=, or 'D', 'A' or 'E'",
             lambda kind=kind, at=at: FD.design.criterion(kind, np.multiply, X, at=at))
            for kind, at in (("Z", None), ("I", None), ("D", X))
        ],
        "three results of a scan": (
            OutputError, rf"returned a tuple, at .*{HERE}.* or \(carry, \(y, z\)\)\.",
            lambda: FD.scan(lambda c, x: (c, x, x), 0.0, X),
        ),
        "an array for a static argument": (
            InputError, rf"not hashable .*{HERE}.* leave it out of static_argnums",
            lambda: FD.jit(np.multiply, static_argnums=1)(X, X),
        ),
        "a layer": (
            AttributeError, r"'funcdiff.nn' has no attribute 'Linear'\. Write a function of p: x @",
            lambda: FD.nn.Linear,
        ),
        "a near name of an activation": (
            AttributeError, r"'funcdiff.nn' has no attribute 'sofmax'\. Did you mean softmax",
            lambda: FD.nn.sofmax,
        ),
        "an optimizer": (
            AttributeError, r"A step is p - rate \* g; scipy\.optimize\.minimize", lambda: FD.optim
        ),
        "a batch of integers": (
            InputError, rf"an array of dtype int64, .*{HERE}.* a float \(\.astype\(float\)\)",
            lambda: FD.vmap(FD.grad(lambda x: x**2))(np.arange(3)),
        ),
        "two cotangents in one": (
            OutputError, rf"2 in all, but returned 1 entries, at .*{HERE}.* \(ct, None\) of two",
            lambda: FD.grad(_with_one_cotangent)(1.0, 2.0),
        ),
        "another framework": (
            AttributeError, "has no attribute 'tensorflow': it has jax, pytensor, torch",
            lambda: FD.interop.tensorflow,
        ),
    }
)  # fmt: skip


def test_a_package_to_adapt_that_is_not_installed_is_told_with_the_line() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_package'") as caught:
        FD.adapt("no_such_package.models")
    (note,) = caught.value.__notes__
    assert re.search(rf"imports no_such_package, at .*{HERE}.* Install it, or give the name", note)


def test_an_argument_that_is_left_out_is_told_before_the_kind_of_another() -> None:
    with pytest.raises(TypeError, match="required positional argument: 'tangents'") as caught:
        FD.hvp(_total, X)
    (note,) = caught.value.__notes__
    assert re.search(rf"at .*{HERE}.*: hvp takes \(f, primals, tangents, ", note)


def test_a_method_that_lacks_arguments_is_told_without_the_object() -> None:
    with pytest.raises(TypeError, match="rng") as caught:
        LINE.sample(5)
    (note,) = caught.value.__notes__
    assert re.search(rf"at .*{HERE}.*: sample takes \(draws=1000, \*, rng, ", note)
    with pytest.raises(TypeError, match="orders") as caught:
        fd.propagate(np.sum)(np.ones(2), std=0.1, orders=2)
    (note,) = caught.value.__notes__
    assert re.search(rf"at .*{HERE}.*: fd\.propagate\(f\) takes \(\*args, cov=None, std=", note)


# ---- functions that are none of NumPy's ----------------------------------------------------------

test_functions_of_plain_numbers_are_told_by_their_names = refused(
    {
        "math": (
            LostDerivativeError, r"math\.sin\(x\) met .* Use np\.sin\(x\), not math\.sin",
            lambda: FD.grad(math.sin)(1.0),
        ),
        "without values": (
            ConcreteValueError, r"math\.sin\(x\) needs .* Use np\.sin\(x\), not math\.sin",
            lambda: FD.jit(math.sin)(1.0),
        ),
        "a type": (
            LostDerivativeError, r"float\(x\) met .*Go on with x itself",
            lambda: FD.grad(float)(1.0),
        ),
        "tests": (
            LostDerivativeError, r"Tests compare plain numbers: test what the function returns",
            lambda: FD.grad(lambda x: np.testing.assert_allclose(x, x) or _total(x))(X),
        ),
    }
)  # fmt: skip


def _generator(x: Any) -> Iterator[Any]:
    yield np.sum(x)


async def _coroutine(x: Any) -> Any:
    return np.sum(x)


@pytest.mark.parametrize("transform", [*OF_ONE_ARGUMENT, FD.jit, FD.vmap])
def test_a_result_that_is_computed_later_is_refused(transform: Any) -> None:
    x = 1.0 if transform is FD.derivative else X
    with pytest.raises(
        OutputError, match=rf"_generator .* returned a generator, at .*{HERE}.*no y"
    ):
        transform(_generator)(x)
    with pytest.raises(OutputError, match=r"_coroutine .* returned a coroutine.* not async def"):
        transform(_coroutine)(x)
    with pytest.raises(OutputError, match=r"returned a map, at .* Return a list"):
        transform(lambda x: map(np.sin, [x]))(x)


@pytest.mark.parametrize(("package", "cure"), [
    ("torch", r"np\.sin for torch\.sin.*fd\.interop\.torch\.use"),
    ("jax", r"np\.sin for jnp\.sin.*fd\.interop\.jax\.use"),
    ("numba", r"f\.py_func"),
    ("fast_things", r'fd\.adapt\("fast_things"\)'),
])  # fmt: skip
def test_compiled_code_of_a_package_is_told_by_its_name(
    package: str, cure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = ModuleType(package)
    module.__file__ = f"{site.getsitepackages()[0]}/{package}/__init__.py"
    module.compiled = bytes.fromhex
    monkeypatch.setitem(sys.modules, package, module)
    with pytest.raises(TypeError, match="must be") as caught:
        FD.grad(lambda x: module.compiled(x))(X)
    (note,) = caught.value.__notes__
    assert re.search(
        rf"{HERE}', line \d+.*module\.compiled\(x\) gives a traced array to {package}: .*{cure}",
        note,
    )
    with pytest.raises(TypeError, match="must be") as caught:
        FD.grad(lambda _: module.compiled(1))(X)  # which is the user's own mistake
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("transform", [FD.jit, FD.vmap])
def test_so_it_is_where_compiled_code_shows_what_it_refuses(
    transform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of JAX does."""
    module: Any = ModuleType("jax")
    module.__file__ = f"{site.getsitepackages()[0]}/jax/__init__.py"
    module.sin = "{0} {0!r:no such format}".format
    monkeypatch.setitem(sys.modules, "jax", module)
    with pytest.raises(ConcreteValueError) as caught:
        transform(lambda x: module.sin(x))(X)
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert HERE in told
    assert "np.sin for jnp.sin" in told


def test_the_text_of_a_traced_number_is_told_to_be_for_reading() -> None:
    with pytest.raises(ValueError, match="could not convert string") as caught:
        fd.grad(lambda x: float(f"{x:.3f}") * x)(1.234)
    assert any("np.round(x, 3)" in note for note in caught.value.__notes__)
