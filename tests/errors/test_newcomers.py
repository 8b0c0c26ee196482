"""What people write who know NumPy, PyTorch or JAX: told what it is, where, and the cure."""

import decimal
import fractions
import functools
import inspect
import json
import logging
import math
import re
import statistics
import struct
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, interpolate, linalg, optimize, sparse, special, stats
from scipy.sparse.linalg import splu

import funcdiff as fd
from docs import pages
from funcdiff.errors import (
    ConcreteValueError,
    CotangentError,
    InputError,
    LostDerivativeError,
    OutputError,
    PytreeError,
    UnsupportedNumPyError,
)
from funcdiff.scipy.integrate import odeint, solve_ivp
from tests.together import together

X = np.array([1.0, 2.0, 3.0])
A = np.diag(X)
HERE = Path(__file__).name


@fd.custom_jvp
def _with_tangent_alone(x: Any) -> Any:
    return x**2


_with_tangent_alone.defjvp(lambda primals, tangents: 2 * primals[0] * tangents[0])


def _nothing_returned(x: Any) -> Any:
    x.sum()


LOST: dict[str, tuple[Callable[[Any], Any], str]] = {
    "math by its own name": (lambda x: math.lgamma(x[0]), r"scipy\.special\.gammaln\(x\), not"),
    "math by another name": (lambda x: math.fsum(x), r"np\.sum\(x\), not math\.fsum\(x\)"),
    "math.dist": (lambda x: math.dist(x, X), r"np\.linalg\.norm\(x - y\), not math\.dist"),
    "math.hypot": (lambda x: math.hypot(*x), r"of a vector x is np\.linalg\.norm\(x\)"),
    "a permutation": (lambda x: np.random.default_rng(0).permutation(x),
                      r"x\[rng\.permutation\(len\(x\)\)\]"),
    "a choice": (lambda x: np.random.default_rng(0).choice(x),
                 r"x\[rng\.choice\(len\(x\), size=n\)\]"),
    "a random number": (lambda x: np.random.default_rng(0).normal(x),
                        r"mean \+ scale \* rng\.normal"),
    "statistics": (lambda x: statistics.fmean(x), r"np\.mean"),
    "a dtype": (lambda x: np.complex128(x[0]), r"x\.astype\(np\.complex128\)"),
    "a masked array": (lambda x: np.ma.masked_array(x, x > 1), r"np\.where"),
    "nested lists": (lambda x: np.stack([[x[0]], [x[1]]]), r"funcdiff\.numpy\.array"),
    "np.r_": (lambda x: np.r_[x, 1.0], r"function of that name in\s+funcdiff\.numpy"),
    "scipy.linalg": (lambda x: linalg.inv(x * A),
                     r"`from funcdiff\.scipy\.linalg import inv`, and inv\(x \* A\) as"),
    "a decorated function": (lambda x: linalg.cho_factor(x * A),
                             r"funcdiff\.scipy\.linalg import cho"),
    "scipy.integrate": (lambda x: integrate.trapezoid(x), r"funcdiff\.scipy\.integrate import"),
    "scipy.interpolate": (lambda x: interpolate.CubicSpline(X, X)(x),
                          r"funcdiff\.scipy\.interpolate import"),
    "scipy.sparse": (lambda x: sparse.csr_matrix(A).multiply(x),
                     r"operators take traced arrays: A @ x, and A \* x for A\.multiply\(x\)"),
    "scipy.special": (lambda x: special.softmax(x), r"funcdiff\.scipy\.special import"),
    "scipy.stats": (lambda x: stats.norm.logpdf(x), r"funcdiff\.scipy\.stats import norm"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", LOST)
def test_a_lost_derivative_is_told_with_what_would_keep_it(mistake: str) -> None:
    function, cure = LOST[mistake]
    with pytest.raises(LostDerivativeError, match=cure) as caught:
        fd.grad(lambda x: np.sum(function(x)))(X)
    assert HERE in str(caught.value)


OTHERS: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "no return": (OutputError, lambda: fd.grad(_nothing_returned)(X), "without a return statement"),
    "frompyfunc": (
        UnsupportedNumPyError,
        lambda: fd.grad(lambda x: np.sum(np.frompyfunc(abs, 1, 1)(x)))(X),
        r"np\.frompyfunc .* fd\.vmap",
    ),
    "a mask": (
        ConcreteValueError,
        lambda: fd.jit(lambda x: x[x > 1], guards=False)(X),
        r"np\.where\(mask, x, y",
    ),
    "an array of integers": (
        ConcreteValueError,
        lambda: fd.vmap(lambda k: np.array([k]))(np.arange(3)),
        r"funcdiff\.numpy\.array",
    ),
    "a list for a cotangent": (
        CotangentError,
        lambda: fd.vjp(np.sin, X)[1]([1.0, 0.0, 0.0]),  # type: ignore[arg-type]
        "Make it an array",
    ),
    "a tuple for a cotangent": (
        CotangentError,
        lambda: fd.vjp(np.sin, X)[1]((X,)),  # type: ignore[arg-type]
        "Give the array itself",
    ),
    "a list of small integers": (
        InputError,
        lambda: fd.grad(lambda p: p[0] * p[1])([1, 2.0]),
        r"such as 1\.0",
    ),
    "max of an array": (
        ValueError,
        lambda: fd.grad(lambda x: max(x, 0.0))(X),
        r"np\.maximum\(a, b\) for `max`",
    ),
    "a traced shape": (
        TypeError,
        lambda: fd.grad(lambda x: np.sum(np.zeros(x)))(3.0),
        r"a shape is made of integers",
    ),
    "arguments of a report": (
        InputError,
        lambda: fd.explain(np.sum, X),  # type: ignore[call-arg]
        r"Arguments are given to what it returns: fd\.explain\(f\)\(x\)",
    ),
    "a flag as a word": (
        InputError,
        lambda: fd.jacobian(np.sin, sparse="true"),  # type: ignore[call-overload]
        r"Write sparse=True or sparse=False",
    ),
    "a tangent alone": (
        OutputError,
        lambda: fd.jvp(_with_tangent_alone, (X,), (X,)),
        r"must return a pair \(out, tangent\), .* Return \(out, None\) if the tangent is zero",
    ),
    "rates of solve_ivp": (
        OutputError,
        lambda: fd.grad(lambda k: np.sum(solve_ivp(lambda t, y: k * X, (0, 1), [1.0, 2.0]).y))(1.0),
        r"fun\(t, y\) of solve_ivp has to return an array like y0, of size 2, .* shape \(3,\), at",
    ),
    "rates of odeint": (
        OutputError,
        lambda: fd.grad(lambda k: np.sum(odeint(lambda t, y: -k * y, [1.0, 2.0], X)))(1.0),
        r"func\(y, t\) of odeint has to .* returned shape \(\), at .* in this order",
    ),
    "a loss of arrays": (
        OutputError,
        lambda: fd.gauss_newton_product(np.sin, (X,), (X,), loss=np.cos),
        r"loss= of gauss_newton_product needs a function that returns a real scalar",
    ),
    "a function to stop": (
        InputError,
        lambda: fd.grad(lambda x: np.sum(fd.stop_gradient(np.sin)(x)))(X),
        r"function sin .* at .* Stop what it returns: fd\.stop_gradient\(f\(x\)\)",
    ),
    "constraints as SciPy has them": (
        InputError,
        lambda: fd.nlp(np.sum, {"type": "eq", "fun": np.sum}, X),  # type: ignore[arg-type]
        r"a function as c, but a dict was given, at .* Give a function, by its name",
    ),
    "a number without its deviation": (
        InputError,
        lambda: fd.propagate(lambda m: m["V"] / m["I"])({"V": 1.0, "I": 2.0}, std={"V": 0.1}),
        r"0\.0 for an exact number\.$",
    ),
    "trees that differ": (
        PytreeError,
        lambda: fd.pytree.map(lambda a, b: a + b, {"a": 1.0}, {"b": 1.0}),
        f"at .*{HERE}.* Give trees with the same",
    ),
    "a norm as a method": (AttributeError, lambda: fd.grad(lambda x: x.norm())(X), "linalg.norm"),
}


@pytest.mark.parametrize("mistake", OTHERS)
def test_a_mistake_of_a_newcomer_is_told_with_its_cure(mistake: str) -> None:
    error, wrong, cure = OTHERS[mistake]
    with pytest.raises(error, match=cure):
        wrong()


UNHASHABLE: dict[str, Callable[[Any], Any]] = {
    "a key": lambda x: {x: 1.0}[x],
    "a member": lambda x: x if x in {1.0, 2.0} else 2 * x,
    "an argument of a cached function": lambda x: functools.cache(np.sin)(x),
}


@pytest.mark.parametrize("use", UNHASHABLE)
@pytest.mark.parametrize("x", [2.0, np.array(2.0)], ids=["number", "array"])
def test_a_traced_array_is_unhashable_and_the_line_is_named(use: str, x: Any) -> None:
    with pytest.raises(TypeError, match="unhashable type: a traced array") as caught:
        fd.grad(UNHASHABLE[use])(x)
    assert HERE in str(caught.value)


def test_what_the_standard_library_asks_for_is_told_at_the_users_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = logging.Logger("newcomer")
    log.addHandler(logging.StreamHandler())

    def f(x: Any) -> Any:
        log.warning("sum %.2f", np.sum(x))
        return np.sum(x)

    np.testing.assert_array_equal(fd.grad(f)(X), np.ones(3))
    shown = capsys.readouterr().err
    assert 'log.warning("sum %.2f", np.sum(x)) met a traced array' in shown
    assert f"{HERE}'" in shown
    assert "Write an f-string" in shown


def test_an_installed_package_is_named_beside_the_users_line() -> None:
    """A package such as pandas, which makes plain arrays of what it is given."""
    file = Path(sysconfig.get_path("purelib")) / "tables" / "columns.py"
    package: dict[str, Any] = {"__name__": "tables.columns", "np": np}
    exec(compile("def column(x):\n    return np.asarray(x)", str(file), "exec"), package)
    column = package["column"]
    exec(compile("def strides(x):\n    return x.strides", str(file), "exec"), package)
    with pytest.raises(UnsupportedNumPyError) as refused:
        fd.grad(lambda x: np.sum(package["strides"](x)))(X)
    assert any(re.search(rf"tables was called at .*{HERE}", n) for n in refused.value.__notes__)
    with pytest.raises(LostDerivativeError) as caught:
        fd.grad(lambda x: np.sum(column(x)))(X)
    message = str(caught.value)
    assert message.startswith("column(x) met a traced array")
    assert f"{HERE}'" in message
    assert re.search(r"It is tables that makes a plain array, at '.*columns\.py', line 2", message)


def test_installed_ourselves_we_are_no_package_that_is_to_blame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("funcdiff.errors._INSTALLED", (str(Path(fd.__file__).parent),))
    declared: Any = fd.primitive(lambda x: x + 1.0)
    with pytest.raises(ConcreteValueError, match="result="):
        fd.vmap(declared)(X)


# ---- tables, sparse matrices, iterators, and code that knows nothing of traced arrays ------------


class Series:
    """Stands for a pandas one: what matters is what it offers."""

    def to_numpy(self) -> Any:
        return X


class DataFrame(Series):
    columns = ("a",)


class Dataset:
    data_vars: Any = None


FOREIGN: dict[str, tuple[Callable[[], Any], str]] = {
    "a column": (Series, r"is a Series, not a NumPy array, at .* Give x\.to_numpy\(\)\."),
    "a table": (DataFrame, r"x\.to_numpy\(\), or \{name: x\[name\]\.to_numpy\(\) for name in x\}"),
    "a set of arrays": (Dataset, r"for name, v in x\.data_vars\.items\(\)"),
    "a sparse matrix": (lambda: sparse.csr_array(A), r"a sparse matrix, at .* x\.toarray\(\)"),
    "a generator": (lambda: (v for v in X), r"a generator, which can be walked only once, at .*"),
    "a map": (lambda: map(float, X), r"Give list\(x\)"),
}


@together
@pytest.mark.parametrize("transform", [fd.grad, fd.jacobian, fd.jit, fd.vmap])
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_holds_numbers_but_is_no_array_is_refused_with_its_cure(
    kind: str, transform: Any
) -> None:
    make, cure = FOREIGN[kind]
    with pytest.raises(InputError, match=cure) as caught:
        transform(lambda x: x)(make())
    assert HERE in str(caught.value)
    assert "pytree.register" not in str(caught.value)


def test_tables_in_containers_are_named_by_path() -> None:
    with pytest.raises(InputError, match=r"d\['a'\] is a Series"):
        fd.grad(lambda d: np.sum(d["a"]))({"a": Series()})


@pytest.mark.parametrize("function", [np.matmul, np.multiply])
def test_functions_of_sparse_matrices_say_which_operators_to_use(function: Any) -> None:
    with pytest.raises(
        TypeError, match=r"operators, C @ x and C \* x, or C\.toarray\(\)"
    ) as caught:
        fd.grad(lambda x: np.sum(function(x, sparse.csr_array(A))))(X)
    assert "astype" not in str(caught.value)


def _flat(x: Any) -> Any:
    plain = np.zeros(3)
    plain.flat[0] = x[0]
    return plain


def _compiled(x: Any) -> Any:
    raise RuntimeError("Failed in nopython mode pipeline")


def _compiled_for_numbers(x: Any) -> Any:
    raise TypeError("bad argument type for built-in operation")


def _compiled_by_cython(x: Any) -> Any:
    raise TypeError(
        f"Argument 'M' has incorrect type (expected numpy.ndarray, got {type(x).__name__})"
    )


NOTED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "nditer": (lambda x: sum(v for v in np.nditer(x)), r"for v in x\.flat"),
    "flat": (_flat, r"np\.zeros_like\(x\)"),
    "statistics": (lambda x: statistics.mean(x), r"np\.mean\(x\)"),
    "json": (lambda x: json.dumps({"x": [x[0]]}), "has_aux=True"),
    "json of a number": (lambda x: json.dumps(x[0], indent=1), "has_aux=True"),
    "struct": (lambda x: struct.pack("d", x[0]), r"stop_gradient\(x\)\)\.item\(\)"),
    "SuperLU": (lambda x: splu(sparse.csc_array(np.eye(3))).solve(x), r"funcdiff\.scipy \("),
    "Cython": (_compiled_by_cython, r"plain arrays alone: .* fd\.primitive"),
    "a method of a class": (lambda x: list.__len__(x), r"plain arrays alone: .* fd\.primitive"),
    "a number for numba": (_compiled_for_numbers, r"f\.py_func"),
    "decimal": (lambda x: decimal.Decimal(x[0]), "go on with x itself"),
    "fractions": (lambda x: fractions.Fraction(x[0]), "go on with x itself"),
    "memory": (lambda x: memoryview(x), "no memory that could be read"),
    "numba": (_compiled, r"f\.py_func"),
    "dim": (lambda x: x.sum(dim=0), "says axis for dim"),
    "keepdim": (lambda x: x.mean(keepdim=True), "says keepdims for keepdim"),
    "unbiased": (lambda x: x.std(unbiased=False), "says ddof for unbiased"),
    "stack": (lambda x: np.stack([x, x], dim=0), "says axis for dim"),  # type: ignore[call-overload]
    "a condition": (lambda x: x if x > 0 else -x, r"np\.where\(mask, a, b\)"),
}


@together
@pytest.mark.parametrize("transform", [fd.grad, fd.jit, fd.vmap])
@pytest.mark.parametrize("call", NOTED)
def test_errors_of_code_that_knows_nothing_of_traced_arrays_are_noted_with_the_cure(
    call: str, transform: Any
) -> None:
    function, cure = NOTED[call]
    with pytest.raises((TypeError, ValueError, RuntimeError, struct.error)) as caught:
        transform(lambda x: np.sum(function(x)))(X if transform is not fd.vmap else A)
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert HERE in told
    if not isinstance(caught.value, ConcreteValueError):
        assert re.search(cure, told), told


def test_errors_of_the_users_own_code_are_not_touched() -> None:
    def wrong(x: Any) -> Any:
        def helper(axis: int) -> int:
            return axis

        return x * helper(dim=0)  # type: ignore[call-arg]

    for f in (wrong, lambda x: x[{}], lambda x: 1 // 0):
        with pytest.raises((TypeError, IndexError, ZeroDivisionError)) as caught:
            fd.grad(f)(2.0)
        assert not any("while traced" in n for n in getattr(caught.value, "__notes__", []))


SOLVERS: dict[str, Callable[[Any], Any]] = {
    "fsolve": lambda a: optimize.fsolve(lambda y: y**2 - a, 1.0)[0],
    "fsolve with args": lambda a: optimize.fsolve(lambda y, a: y**2 - a, 1.0, args=(a,))[0],
    "brentq": lambda a: optimize.brentq(lambda y: y**2 - a, 0.0, 3.0),
    "minimize": lambda a: optimize.minimize(lambda y: (y[0] - a) ** 2, [0.0]).x[0],
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_in_c_that_hides_our_error_is_told_with_the_cure(solver: str) -> None:
    name = solver.split()[0]
    with pytest.raises(LostDerivativeError) as caught:
        fd.grad(SOLVERS[solver])(2.0)
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert re.search(
        rf"optimize\.{name}\(.*{HERE}.*funcdiff\.scipy\.optimize import {name}", told
    ), told


def test_an_ordinary_array_for_out_is_refused_by_the_name_of_the_function() -> None:
    y = np.zeros(3)
    for clip in (lambda x: np.clip(x, 0, 1, out=y), lambda x: x.clip(0, 1, out=y)):
        with pytest.raises(UnsupportedNumPyError, match=r"np\.clip\(out=\) .* instead of out="):
            fd.grad(lambda x, clip=clip: np.sum(clip(x)))(X)


CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "argnum": (lambda t: t.grad(np.sum, argnum=0), r"fd\.grad has no .* mean argnums=\?"),
    "hasaux": (lambda t: t.value_and_grad(np.sum, hasaux=True), r"mean has_aux=\?"),
    "in_dims": (lambda t: t.vmap(np.sum, in_dims=0), r"fd\.vmap has no .* mean in_axes=\?"),
    "nothing like it": (lambda t: t.jit(np.sum, backend="gpu"), r"It takes \(f, \*, static_"),
    "a decorator's options": (lambda t: t.jit(static=1), r"fd\.jit has no .* mean static_arg"),
    "a flag": (lambda t: t.grad(np.sum, has_aux="yes"), r"has_aux='yes' is neither True nor Fals"),
    "a flag for an option": (
        lambda t: t.hessian(np.sum, sparse="csc"),
        r"Write sparse=True, format='csc'\.",
    ),
    "too much": (lambda t: t.jit(np.sum, 1), r"takes 1 positional.* takes \(f, \*, static"),
    "an option of the call": (
        lambda t: t.confidence_intervals(np.sum, level=0.95),
        r"no keyword level=.* what it returns: fd\.confidence_intervals\(f\)\(x, level=\.\.\.\)",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_of_a_transform_is_told_with_the_line_and_the_cure(call: str) -> None:
    wrong, cure = CALLS[call]
    with pytest.raises(InputError, match=cure) as caught:
        wrong(fd)
    assert HERE in str(caught.value)


@together
@pytest.mark.parametrize("name", sorted(pages.public_names()))
def test_a_call_that_does_not_fit_a_function_is_told_with_the_line_and_its_parameters(
    name: str,
) -> None:
    function = pages.find(name)
    if not inspect.isfunction(function) or name.startswith("pytree.") or "threads" in name:
        return
    required = [p.name for p in inspect.signature(function).parameters.values()]
    if not required or "kwargs" in required:  # which are of the user's function
        return
    with pytest.raises((TypeError, InputError)) as caught:
        function(zzz=1)
    told = str(caught.value) + "".join(getattr(caught.value, "__notes__", ""))
    assert HERE in told
    assert required[0] in told.partition(" takes ")[2] or "given to what it returns" in told


def test_a_cotangent_by_name_is_told_how_it_is_given() -> None:
    _, f_vjp = fd.vjp(np.sin, X)
    with pytest.raises(CotangentError, match=r"Write f_vjp\(v\) for y\.backward\(gradient=v\)"):
        f_vjp(gradient=X)  # type: ignore[call-arg]


METHODS = {
    "t": r"x\.T",
    "mm": "x @ y",
    "matmul": r"np\.matmul\(x, y\)",
    "exp": r"np\.exp\(x\)",
    "float": r"x\.astype",
    "relu": r"fd\.nn",
    "iloc": r"x\[i\]",
    "to_numpy": "Leave it out",
    "masked_fill": r"np\.where",
    "expand": r"np\.broadcast_to",
    "index_select": r"x\[indices\]",
    "block_until_ready": "Leave it out",
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_other_libraries_are_translated(name: str) -> None:
    with pytest.raises(AttributeError, match=METHODS[name]) as caught:
        fd.grad(lambda x: getattr(x, name)())(X)
    assert HERE in str(caught.value)


NAMES = {
    "relu": r"It is fd\.nn\.relu",
    "sin": r"Use np\.sin",
    "lax": r"fd\.scan",
    "no_grad": r"fd\.stop_gradient",
    "tensor": r"np\.array",
    "backward": r"fd\.grad\(f\)\(x\) returns the gradient",
    "tree_map": r"fd\.pytree\.map",
    "make_jaxpr": r"fd\.trace",
    "egrad": r"fd\.elementwise_grad",
    "jacobain": "Did you mean jacobian",
    "xyzzy": "has no attribute 'xyzzy'$",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_other_libraries_are_translated(name: str) -> None:
    with pytest.raises(AttributeError, match=NAMES[name]):
        getattr(fd, name)
    assert not hasattr(fd, name)
