"""Every public name of the installed NumPy is covered, or refused with a reason, or needs no rule.

A covered function takes what NumPy's takes: the same names, in the same order, of the same kinds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import LostDerivativeError, UnsupportedNumPyError
from funcdiff.numpy.border import dispatch
from funcdiff.numpy.messages import refusals
from funcdiff.numpy.traced.array import Array
from funcdiff.ops.families import by_ufunc
from tests.together import together

X = np.array([0.5, 2.0, 1.5])

MODULES: dict[str, ModuleType] = {
    "": np,
    "linalg.": np.linalg,
    "fft.": np.fft,
    "emath.": np.emath,
    "lib.": np.lib,
    "lib.stride_tricks.": np.lib.stride_tricks,
    "lib.array_utils.": np.lib.array_utils,
    "lib.introspect.": np.lib.introspect,
    "lib.mixins.": np.lib.mixins,
}
WHOLE_MODULES = "char ctypeslib lib.format lib.npyio ma polynomial random rec strings"
OTHER_MODULES = (
    "core dtypes exceptions f2py fft lib lib.array_utils lib.introspect lib.mixins "
    "lib.scimath lib.stride_tricks emath linalg testing typing"
)


def public_names() -> Iterator[tuple[str, Any]]:
    for prefix, module in MODULES.items():
        for name in sorted(set(dir(module)) | set(getattr(module, "__all__", ()))):
            value = getattr(module, name, None)
            if not name.startswith("_") and value is not None:
                yield f"{prefix}{name}", value


def is_covered(name: str, value: Any) -> bool:
    if isinstance(value, np.ufunc):
        return value in by_ufunc or value in dispatch.ufuncs
    if isinstance(value, type | float | ModuleType) or not callable(value):
        return name in ("c_", "r_")
    return dispatch.implementation(value) is not None


def needs_no_rule(name: str, value: Any) -> bool:
    if isinstance(value, type) and issubclass(value, np.generic | bool | Exception):
        return True
    return type(value) is float or name in refusals.untouched


PUBLIC = [(name, value) for name, value in public_names() if not isinstance(value, ModuleType)]


def test_every_public_name_is_covered_or_refused_with_a_reason_or_needs_no_rule() -> None:
    missing = [
        name
        for name, value in PUBLIC
        if not is_covered(name, value)
        and refusals.refusal_of(f"np.{name}") is None
        and not needs_no_rule(name, value)
    ]
    assert missing == []


def test_no_name_is_both_covered_and_refused() -> None:
    for name, value in PUBLIC:
        said = {
            "covered": is_covered(name, value),
            "refused": refusals.refusal_of(f"np.{name}") is not None,
            "untouched": name in refusals.untouched,
        }
        assert sum(said.values()) <= 1, (name, said)


def test_every_module_is_looked_through_or_refused_or_takes_no_arrays() -> None:
    for prefix, module in (("", np), ("lib.", np.lib)):
        for name in module.__all__:
            if isinstance(getattr(module, name), ModuleType):
                known = refusals.refusal_of(f"np.{prefix}{name}.x") is not None
                assert known == (f"{prefix}{name}" in WHOLE_MODULES.split()), name
                assert known or f"{prefix}{name}" in OTHER_MODULES.split(), name


def test_every_refusal_has_a_reason_and_a_cure_in_sentences() -> None:
    seen: set[str] = set()
    for refusal in (*refusals.functions, *refusals.attributes):
        assert refusal.reason.endswith("."), refusal
        assert refusal.cure.endswith("."), refusal
        assert refusal.reason[0].isupper()
        assert seen.isdisjoint(refusal.names), refusal
        seen.update(refusal.names)


# ---- attributes and methods --------------------------------------------------------------------


def test_every_attribute_of_ndarray_is_there_or_refused_with_a_reason() -> None:
    for name in dir(np.ndarray):
        if not name.startswith("_"):
            refused = refusals.refusal_of(f"ndarray.{name}") is not None
            assert hasattr(Array, name) != refused, name


def test_asking_for_a_refused_attribute_says_why_and_what_to_write() -> None:
    def f(x: Any) -> Any:
        with pytest.raises(UnsupportedNumPyError, match=r"about the memory .* x\.astype"):
            x.view("i8")
        return np.sum(x)

    fd.grad(f)(X)


# ---- what is refused says so -------------------------------------------------------------------


@pytest.mark.parametrize(("call", "words"), [
    (lambda x: np.save("never", x), "writes to a file"),
    (lambda x: np.array2string(x), "print"),
    (lambda x: np.packbits(x > 1), "no derivative"),
    (lambda x: np.isnat(x), "dates"),
])  # fmt: skip
def test_the_error_of_a_refused_function_gives_the_reason_and_the_cure(
    call: Callable[[Any], Any], words: str
) -> None:
    def f(x: Any) -> Any:
        with pytest.raises(UnsupportedNumPyError, match=words) as caught:
            call(x)
        assert "test_public_names.py" in str(caught.value)
        return np.sum(x)

    fd.grad(f)(X)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 2)])
def test_an_array_of_finite_values_is_one_where_values_are_traced(shape: tuple[int, ...]) -> None:
    def f(x: Any) -> Any:
        return np.sum(fnp.asarray_chkfinite(x, np.float64, "C") ** 2)

    x = np.full(shape, 1.5)
    assert np.array_equal(fd.grad(f)(x), 2 * x)
    assert np.array_equal(fd.jit(fd.grad(f))(x), 2 * x)
    assert np.array_equal(fd.vmap(fd.grad(f))(np.stack([x, x])), [2 * x, 2 * x])
    with pytest.raises(ValueError, match="infs or NaNs"):
        fnp.asarray_chkfinite([np.inf])


@pytest.mark.parametrize("call", [
    lambda x: np.asarray_chkfinite(x),
    lambda x: np.asfortranarray(x),
    lambda x: np.kaiser(5, x[0]),
    lambda x: np.ndenumerate(x),
    lambda x: np.broadcast(x, x),
    lambda x: np.vectorize(lambda v: v)(x),
    lambda x: np.ma.sum(x),
    lambda x: np.random.default_rng(0).normal(x),
    lambda x: np.polynomial.polynomial.polyval(1.0, x),
])  # fmt: skip
def test_what_numpy_cannot_dispatch_never_drops_a_derivative(call: Callable[[Any], Any]) -> None:
    with pytest.raises(LostDerivativeError):
        fd.grad(lambda x: (call(x), np.sum(x))[1])(X)


def test_the_windows_and_kaisers_cure_work_while_tracing() -> None:
    u = np.linspace(-1, 1, 5)

    def window(beta: Any) -> Any:
        return np.i0(beta * np.sqrt(1 - u**2)) / np.i0(beta)

    np.testing.assert_allclose(window(3.0), np.kaiser(5, 3.0), rtol=1e-14)
    fd.testing.check_grads(window, (3.0,), order=2)
    assert fd.grad(lambda x: np.sum(np.hanning(3) * x))(X).tolist() == np.hanning(3).tolist()


def test_polynomial_objects_call_covered_functions() -> None:
    def f(c: Any) -> Any:
        return np.poly1d(c)(3.0)

    np.testing.assert_array_equal(fd.grad(f)(X), [9, 3, 1])


# ---- ufunc methods -----------------------------------------------------------------------------

UFUNCS = sorted({u for u in vars(np).values() if isinstance(u, np.ufunc)}, key=lambda u: u.__name__)


def _method_calls(ufunc: np.ufunc, x: Any) -> dict[str, Callable[[], Any]]:
    return {
        "reduce": lambda: ufunc.reduce(x),
        "accumulate": lambda: ufunc.accumulate(x),
        "reduceat": lambda: ufunc.reduceat(x, [0, 2]),
        "outer": lambda: ufunc.outer(x, x),
    }


def _plain_value(ufunc: np.ufunc, method: str) -> Any:
    """Return NumPy's value; `reduce` as the last of `accumulate`.

    Vectorised loops of NumPy (power, arctan2) give another value in `reduce` on some processors.
    """
    if method == "reduce":
        return ufunc.accumulate(X)[-1]
    return _method_calls(ufunc, X)[method]()


@together
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_a_ufunc_method_works_or_is_refused_by_name(ufunc: np.ufunc) -> None:
    for method in _method_calls(ufunc, X):
        try:
            plain = _plain_value(ufunc, method)
        except (TypeError, ValueError, RuntimeError):
            continue  # NumPy has no such method of this ufunc, or none for floats

        def f(x: Any, method: str = method, plain: Any = plain) -> Any:
            try:
                value = _method_calls(ufunc, x)[method]()
            except UnsupportedNumPyError as error:
                assert f"np.{ufunc.__name__}" in str(error)  # noqa: PT017
            else:
                np.testing.assert_allclose(fd.stop_gradient(value), plain, rtol=1e-14)
            return np.sum(x)

        with np.errstate(all="ignore"):
            fd.grad(f)(X)


# ---- signatures --------------------------------------------------------------------------------

LATEST = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4)

NOT_PASSED_ON = frozenset({"like"})
"""What NumPy takes for itself before it asks the traced array."""

RETIRED = {
    "np.reshape": {"newshape", "a"},
    "np.corrcoef": {"bias", "ddof"},
    "np.quantile": {"interpolation"},
    "np.percentile": {"interpolation"},
    "np.nanquantile": {"interpolation"},
    "np.nanpercentile": {"interpolation"},
}
"""Deprecated parameters of older NumPy, which newer has removed."""

DIFFERENT = {
    "np.where": "(condition, *branches)",  # NumPy tells a branch of None from none at all
    "np.einsum": "(*operands, out=None, optimize=False, dtype=None, order='K', casting='safe')",
}
"""Signatures that say more than NumPy's."""


def _plain(signature: inspect.Signature) -> str:
    """Return a signature without annotations."""
    parameters = [
        p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()
    ]
    return str(inspect.Signature(parameters))


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:  # a C function of an older NumPy
        return None


Described = list[tuple[str, str]]


def _described(signature: inspect.Signature) -> Described:
    """Return name and kind of each parameter; what collects the rest has any name."""
    return [
        (p.name if "VAR" not in p.kind.name else "", p.kind.name)
        for p in signature.parameters.values()
        if p.name not in NOT_PASSED_ON
    ]


SIGNATURES = {
    dispatch.numpy_name(function): (theirs, inspect.signature(ours))
    for function, ours in dispatch.functions().items()
    if (theirs := _signature(function)) is not None
}


@together
@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_a_covered_function_has_numpys_signature(name: str) -> None:
    theirs, ours = SIGNATURES[name]
    if name in DIFFERENT:
        assert _plain(ours) == DIFFERENT[name]
    elif LATEST:
        assert _described(ours) == _described(theirs)
    else:
        known = _described(ours)
        for place, (parameter, kind) in enumerate(_described(theirs)):
            if parameter not in RETIRED.get(name, ()):
                assert (parameter, kind) in known, parameter
                by_place = kind.startswith("POSITIONAL")
                assert not by_place or known.index((parameter, kind)) == place, parameter


@together
@pytest.mark.parametrize("name", sorted(SIGNATURES.keys() - DIFFERENT.keys()))
def test_a_covered_function_has_numpys_defaults(name: str) -> None:
    theirs, ours = SIGNATURES[name]
    for parameter in theirs.parameters.keys() & ours.parameters.keys():
        wanted = theirs.parameters[parameter].default
        default = ours.parameters[parameter].default
        if inspect.Parameter.empty not in (wanted, default) and default is not dispatch.default:
            assert repr(default) == repr(wanted), parameter
