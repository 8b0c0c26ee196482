"""Errors leave public functions with the user's lines, and without the library's own."""

from __future__ import annotations

import io
import pdb
import sys
import traceback
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core import tracebacks
from funcdiff.errors import InternalError, is_ours
from funcdiff.testing import check_grads, check_jvp, check_vjp

FD: Any = fd  # without types, as calls here are wrong
X = np.ones(3)
ROWS = np.ones((4, 3))


def mismatched(x: Any, *_: Any) -> Any:
    return np.sum(x @ np.ones(7))


def raising(x: Any, *_: Any) -> Any:
    raise KeyError(x.shape)


def with_jvp(f: Any) -> Any:
    function = fd.custom_jvp(np.sum)
    function.defjvp(lambda primals, tangents: (f(*primals), f(*tangents)))
    return fd.grad(function)


def with_vjp(f: Any) -> Any:
    function = fd.custom_vjp(np.sum)
    function.defvjp(lambda x: (f(x), x), lambda x, v: v * x)
    return fd.grad(function)


F = Callable[..., Any]
CALLS: dict[str, Callable[[F], Any]] = {
    "adapt": lambda f: fd.grad(fd.adapt(f))(X),
    "associative_scan": lambda f: fd.associative_scan(lambda a, b: f(a) + f(b), ROWS),
    "checkpoint": lambda f: fd.grad(fd.checkpoint(f))(X),
    "confidence_intervals": lambda f: fd.confidence_intervals(f)(X),
    "cond": lambda f: fd.jit(lambda x: fd.cond(x[0] > 0, f, f, x))(X),
    "cost": lambda f: fd.cost(f)(X),
    "custom_jvp": lambda f: with_jvp(f)(X),
    "custom_linear_solve": lambda f: fd.custom_linear_solve(f, X, lambda matvec, b: matvec(b)),
    "custom_root": lambda f: fd.custom_root(lambda y: f(y), X, lambda g, y: g(y)),
    "custom_vjp": lambda f: with_vjp(f)(X),
    "density": lambda f: fd.density(f, X),
    "depends_on": lambda f: fd.depends_on(f)(X),
    "derivative": lambda f: fd.derivative(lambda x: f(x * X))(1.0),
    "directional_derivative": lambda f: fd.directional_derivative(f, (X,), (X,)),
    "design": lambda f: fd.design.criterion("D", lambda p, x: f(p), X)(X),
    "draw": lambda f: fd.draw(f)(X),
    "elementwise_grad": lambda f: fd.elementwise_grad(f)(X),
    "explain": lambda f: fd.explain(f)(X),
    "export": lambda f: fd.export(f, "numpy")(X),
    "fisher_information": lambda f: fd.fisher_information(f)(X),
    "fixed_point": lambda f: fd.fixed_point(lambda a, y: f(y), X, X),
    "fori_loop": lambda f: fd.jit(lambda x: fd.fori_loop(0, 3, lambda i, c: c + f(c), x))(X),
    "gauss_newton_product": lambda f: fd.gauss_newton_product(f, (X,), (X,)),
    "grad": lambda f: fd.grad(f)(X),
    "hessian": lambda f: fd.hessian(f)(X),
    "hvp": lambda f: fd.hvp(f, (X,), (X,)),
    "is_linear": lambda f: fd.is_linear(f)(X),
    "jacfwd": lambda f: fd.jacfwd(f)(X),
    "jacobian": lambda f: fd.jacobian(f, sparse=True)(X),
    "jacrev": lambda f: fd.jacrev(f)(X),
    "jit": lambda f: fd.jit(fd.vmap(fd.grad(f)))(ROWS),
    "jvp": lambda f: fd.jvp(f, (X,), (X,)),
    "linear_transpose": lambda f: fd.linear_transpose(f, X),
    "linearize": lambda f: fd.linearize(f, X),
    "lower": lambda f: fd.jit(f).lower(X),
    "map": lambda f: FD.map(f, ROWS),
    "nlp": lambda f: fd.nlp(f, None, X),
    "primitive": lambda f: FD.primitive(f, result=np.sin)(X),
    "propagate": lambda f: fd.propagate(f)(X, std=0.1),
    "scan": lambda f: fd.grad(lambda x: np.sum(fd.scan(lambda c, y: (f(c), y), x, ROWS)[0]))(X),
    "source": lambda f: fd.source(f)(X),
    "sparsity": lambda f: fd.sparsity(f)(X),
    "standard_errors": lambda f: fd.standard_errors(f)(X),
    "switch": lambda f: fd.jit(lambda k: fd.switch(k, [f, f], X))(0),
    "tap_grads": lambda f: fd.tap_grads(f)(X),
    "tap_values": lambda f: fd.tap_values(f)(X),
    "trace": lambda f: fd.trace(f)(X),
    "value_and_grad": lambda f: fd.value_and_grad(f)(X),
    "value_and_jacobian": lambda f: fd.value_and_jacobian(f)(X),
    "value_grad_and_hessian": lambda f: fd.value_grad_and_hessian(f)(X),
    "vhp": lambda f: fd.vhp(f, (X,), (X,)),
    "vjp": lambda f: fd.vjp(f, X),
    "vmap": lambda f: fd.vmap(f)(ROWS),
    "while_loop": lambda f: fd.jit(lambda x: fd.while_loop(lambda c: f(c) < 3, np.sin, x))(X),
    "check_grads": lambda f: check_grads(f, (X,)),
    "check_jvp": lambda f: check_jvp(f, lambda xs, ts: (X, X), (X,)),
    "check_vjp": lambda f: check_vjp(f, lambda x: (f(x), lambda v: (v,)), (X,)),
}
"""By public function: a call of it with a function that fails."""


def late(f: F) -> F:
    """Return a function that fails far out alone, so that what calls it is made before."""
    return lambda x, *args: -np.sum(x**2) if np.sum(x) < 100 else f(x, *args)


FAR = 1e3 * X
RETURNED: dict[str, Callable[[F], Any]] = {
    "a linear operator": lambda f: FD.scipy.sparse.linalg.LinearOperator((3, 3), matvec=f),
    "a solver's function": lambda f: FD.scipy.integrate.solve_ivp(lambda t, y: f(y), (0, 1), X),
    "for emcee": lambda f: fd.density(late(f), X).emcee()["log_prob_fn"](FAR),
    "for Mici": lambda f: fd.density(late(f), X).mici()["grad_neg_log_dens"](FAR),
    "of a density": lambda f: fd.density(late(f), X).value_and_grad(FAR),
    "for Ipopt, objective": lambda f: fd.nlp(late(f), None, X).problem().objective(FAR),
    "for Ipopt, constraints": lambda f: fd.nlp(
        np.sum, late(f), X, cbounds=(0, None)
    ).problem().constraints(FAR),
    "for Ipopt, Hessian": lambda f: fd.nlp(late(f), None, X).problem().hessian(FAR, [], 1.0),
    "for SciPy": lambda f: fd.nlp(late(f), None, X).scipy("SLSQP")["fun"](FAR),
    "for SciPy's barrier": lambda f: fd.nlp(late(f), None, X).scipy()["jac"](FAR),
}  # fmt: skip
"""By what public functions return: a call of it with a function that fails there."""

WITHOUT = {
    "cache_info", "clear_caches", "describe", "evaluate", "get_num_threads", "parse",
    "ravel_pytree", "set_num_threads", "stop_gradient", "tap",
}  # fmt: skip
"""Public functions that call none of the user's."""


def raised(call: Callable[[], Any]) -> BaseException:
    try:
        call()
    except BaseException as error:
        return error
    raise AssertionError("no error")


def frames(error: BaseException) -> list[types.FrameType]:
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def own(error: BaseException) -> list[str]:
    """Return the functions of ours in a traceback, and in those of errors before it."""
    before = error.__cause__ or error.__context__
    files = [(f.f_code.co_filename, f.f_code.co_name) for f in frames(error)]
    found = [name for file, name in files if is_ours(file) or file.startswith("<funcdiff")]
    return found + (own(before) if before is not None else [])


@pytest.mark.thinned(3)
@pytest.mark.parametrize("f", [mismatched, raising])
@pytest.mark.parametrize("name", [*CALLS, *RETURNED])
def test_an_error_in_the_users_function_ends_there(name: str, f: F) -> None:
    for _ in range(3):
        error = raised(lambda: {**CALLS, **RETURNED}[name](f))
        assert error.__context__ is None  # what was handled on the way
        users = [x for x in frames(error) if x.f_code.co_filename == __file__]
        assert users[-1].f_code.co_name == f.__name__
        assert len(own(error)) <= 1, own(error)  # of NumPy's errors, the function of ours


def test_all_public_functions_are_tried() -> None:
    functions = {n for n in fd.__all__ if isinstance(getattr(fd, n), types.FunctionType)}
    assert functions <= {*CALLS, *WITHOUT}


WRONG: list[Callable[[], Any]] = [
    lambda: FD.grad(np.sum)("text"),
    lambda: FD.grad(np.sin)(X),
    lambda: FD.vjp(np.sin, X)[1](ROWS),
    lambda: FD.linearize(np.sin, X)[1](ROWS),
    lambda: FD.vmap(np.sum, in_axes=3)(X),
    lambda: FD.jit(np.linalg.cholesky)(-np.eye(3)),
    lambda: FD.grad(lambda x: np.sum(np.linalg.inv(x * np.ones((2, 2)))))(1.0),
    lambda: FD.parse("no program"),
    lambda: FD.adapt("no_such_package.module"),
    lambda: FD.ravel_pytree({"a": X})[1](ROWS),
    lambda: FD.evaluate(FD.trace(np.linalg.inv)(np.eye(2)), np.zeros((2, 2))),
    lambda: check_grads(lambda x: FD.stop_gradient(x) ** 2, (X,)),
]


@pytest.mark.parametrize("k", range(len(WRONG)))
def test_a_wrong_call_is_shown_where_it_is_made(k: int) -> None:
    error = raised(WRONG[k])
    assert frames(error)[1].f_lineno == WRONG[k].__code__.co_firstlineno
    assert len(own(error)) <= 1, own(error)


def test_our_mistakes_are_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: Any) -> Any:
        raise InternalError("a mistake of ours")

    monkeypatch.setattr("funcdiff.api.derivatives.gradient.rebuild", mistaken, raising=False)
    monkeypatch.setattr("funcdiff.api.calls.tracing._outputs", mistaken)
    assert len(own(raised(lambda: fd.grad(np.sum)(X)))) > 4


def test_all_frames_are_shown_to_who_asks_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tracebacks.VARIABLE, "full")
    assert len(own(raised(lambda: fd.jit(fd.grad(mismatched))(X)))) > 10


def test_errors_before_and_in_groups_are_shortened_too() -> None:
    def f(x: Any) -> Any:
        try:
            return mismatched(x)
        except ValueError as error:
            raise ExceptionGroup("both", [error, KeyError("other")]) from error

    error = raised(lambda: fd.grad(f)(X))
    assert isinstance(error, ExceptionGroup)
    assert [own(e) for e in (error, error.__cause__, *error.exceptions) if e] == [[]] * 4


def test_an_error_keeps_its_notes_its_kind_and_its_line() -> None:
    def outer(x: Any) -> Any:
        return np.sum(fd.grad(mismatched)(x))  # a public function within another one

    error = raised(lambda: fd.grad(outer)(X))
    line = mismatched.__code__.co_firstlineno + 1
    assert isinstance(error, ValueError)
    assert any(f"line {line}, in mismatched" in note for note in error.__notes__)
    tail = traceback.extract_tb(error.__traceback__)[-1]
    assert (tail.name, tail.lineno) == ("mismatched", line)


def test_every_error_of_ours_names_a_line() -> None:
    opaque: Any = fd.primitive(lambda x: 2 * x)

    def solved(x: Any) -> Any:
        return np.sum(fd.custom_linear_solve(lambda y: 2 * y, x, lambda _, b: b / 2) ** 2)

    for f in (lambda x: np.sum(opaque(x)), solved):
        error = raised(lambda f=f: fd.grad(f)(X))  # type: ignore[misc]
        assert isinstance(error, fd.errors.NotDifferentiableError)
        (note,) = error.__notes__
        assert f"in a call at '{__file__}', line" in note


def test_so_it_is_in_threads() -> None:
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(fd.grad(f), X).exception() for f in (mismatched, raising)]
    for error, f in zip(found, (mismatched, raising), strict=True):
        assert error is not None
        assert frames(error)[-1].f_code is f.__code__
        assert own(error) == []


def test_pytest_shows_the_users_lines() -> None:
    with pytest.raises(ValueError, match="do not match") as info:
        fd.jit(fd.grad(mismatched))(X)
    shown = [entry.name for entry in info.traceback]
    assert shown == ["test_pytest_shows_the_users_lines", "mismatched"]
    assert "x @ np.ones(7)" in str(info.getrepr())


def test_a_debugger_stands_in_the_users_function() -> None:
    said = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("p x.shape\nup\np 'above'\nquit\n"), stdout=said)
    debugger.reset()
    error = raised(lambda: fd.grad(mismatched)(X))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(debugger, "use_rawinput", False, raising=False)
        debugger.interaction(None, error.__traceback__)
    assert "(3,)" in said.getvalue()
    assert "'above'" in said.getvalue()


def test_within_a_trace_it_is_known_who_raised() -> None:
    def f(x: Any) -> Any:
        try:
            np.asarray(x)
        except TypeError:  # and goes on in a way that fails
            return fd.vjp(mismatched, x)[0]
        return np.sum(x)

    error = raised(lambda: fd.grad(f)(X))
    assert isinstance(error, fd.errors.LostDerivativeError)  # not what came of it
    assert isinstance(error.__cause__, ValueError)
    assert own(error) == []


def test_a_compiled_function_names_the_line_that_fails_with_these_values() -> None:
    def f(x: Any) -> Any:
        y = x + 1.0
        return np.linalg.cholesky(np.eye(3) * np.sum(y))[0, 0]

    for g, x in ((f, X), (fd.vmap(f), ROWS), (fd.grad(f), X)):
        compiled = fd.jit(g)
        compiled(x)  # of values that do not fail
        for _ in range(3):
            error = raised(lambda compiled=compiled, x=x: compiled(-x - 2.0))  # type: ignore[misc]
            assert f"line {f.__code__.co_firstlineno + 2}, in f" in error.__notes__[-1]
            assert error.__context__ is None  # it is shown once


def test_a_module_that_cannot_be_imported_is_told_without_the_way_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(vars(FD.scipy), "optimize", raising=False)  # imported by another test
    monkeypatch.setitem(sys.modules, "funcdiff.scipy.optimize", None)
    assert len(own(raised(lambda: FD.scipy.optimize))) <= 1


def test_an_attribute_that_is_computed_leaves_no_frames_of_ours_but_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    drawing = fd.draw(np.sum)(np.ones(2))
    with pytest.raises(fd.errors.MissingDependencyError) as caught:
        _ = drawing.svg
    assert own(caught.value) == ["__get__"]
