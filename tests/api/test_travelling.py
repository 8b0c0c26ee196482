"""What transforms return are values: they pickle, print and compare by what they are made of."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import funcdiff as fd
from tests.api import travelling
from tests.api.travelling import DERIVED, Model, X, loss, vector
from tests.together import together

ROOT = Path(__file__).parents[2]
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


def assert_same(found: Any, expected: Any) -> None:
    for ours, theirs in zip(
        fd.pytree.flatten(found)[0], fd.pytree.flatten(expected)[0], strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


@together
@pytest.mark.parametrize("name", DERIVED)
def test_a_derived_function_is_pickled_and_copied(name: str) -> None:
    f = DERIVED[name]
    expected = f(X)
    again = [pickle.loads(pickle.dumps(f, protocol)) for protocol in (2, 4, 5)]
    for g in (*again, copy.copy(f), copy.deepcopy(f), cloudpickle.loads(cloudpickle.dumps(f))):
        assert_same(g(X), expected)
        assert type(g) is type(f)
        assert repr(g) == repr(f) or name == "a bound method"


def test_functions_that_a_transform_decorates_are_pickled_by_name() -> None:
    for f in (travelling.compiled, travelling.slope, travelling.clipped):
        assert pickle.loads(pickle.dumps(f)) is f


def test_functions_made_on_the_spot_go_with_cloudpickle() -> None:
    a = np.array([1.0, 2.0, 3.0])
    cubic = fd.custom_vjp(lambda x: x**3)
    cubic.defvjp(lambda x: (cubic(x), x), lambda x, ct: (3 * ct * x**2,))
    for f in (fd.grad(lambda x: np.sum(a * x**2)), fd.jit(fd.elementwise_grad(cubic))):
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(f)
        for _ in range(2):
            assert_same(cloudpickle.loads(cloudpickle.dumps(f))(X), f(X))


def test_a_jitted_function_travels_without_what_it_has_compiled() -> None:
    f = fd.jit(loss)
    before = len(pickle.dumps(f))
    f(X)
    assert f.cache_info().kinds == 1
    assert len(pickle.dumps(f)) == before < 400
    assert pickle.loads(pickle.dumps(f)).cache_info().kinds == 0


def _apply(f: Any) -> Any:
    return f(X)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_take_derived_functions(method: str) -> None:
    names = ["grad", "jit of grad", "hessian", "decorated by jit", "grad of custom_vjp", "vmap"]
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        for name, found in zip(names, pool.map(_apply, [DERIVED[n] for n in names]), strict=True):
            assert_same(found, DERIVED[name](X))


def test_a_derived_function_says_what_it_is() -> None:
    f = fd.grad(loss, argnums=0)
    assert repr(f) == "grad(loss, argnums=0)"
    assert repr(fd.jit(f)) == "jit(grad(loss, argnums=0))"
    assert repr(fd.grad(fd.jit(loss))) == "grad(jit(loss))"
    assert repr(fd.hessian(travelling.clipped)) == "hessian(custom_vjp(clipped))"
    assert repr(fd.vmap(fd.grad(fd.jit(loss)))).startswith("vmap(grad(")
    assert inspect.signature(f) == inspect.signature(loss)
    assert inspect.unwrap(f) is loss
    assert f.__doc__ == f"Gradient of loss, argnums=0.\n\n{loss.__doc__}"
    assert f.__name__ == "loss"
    assert f.__module__ == loss.__module__
    assert callable(f)


def test_derived_functions_are_equal_by_their_parts() -> None:
    assert fd.grad(loss) == fd.grad(loss)
    assert hash(fd.grad(loss)) == hash(fd.grad(loss))
    assert fd.jit(fd.grad(loss)) == fd.jit(fd.grad(loss))
    assert fd.grad(loss) != fd.value_and_grad(loss)
    assert fd.grad(loss) != fd.grad(vector)
    assert fd.grad(loss) != fd.grad(loss, argnums=0)
    assert fd.jit(loss) != fd.jit(loss, guards=False)
    assert fd.jit(loss) != loss
    assert travelling.other != fd.custom_vjp(travelling.other.__wrapped__)
    assert len({fd.grad(loss), fd.grad(loss), fd.hessian(loss)}) == 2


def test_methods_that_are_derived_functions_bind() -> None:
    model = Model()
    assert_same(model.force(X), 6 * X)
    assert_same(Model.force(model, X), 6 * X)
    assert_same(model.quick(X), model.energy(X))
    assert_same(pickle.loads(pickle.dumps(Model.force))(model, X), 6 * X)


def test_what_the_user_has_attached_stays() -> None:
    def f(x: Any) -> Any:
        return x * x

    f.unit = "m"  # type: ignore[attr-defined]
    slope: Any = fd.grad(fd.grad(f))
    assert slope.unit == "m"
    assert repr(slope).startswith("grad(grad(")


def test_linear_maps_travel_with_their_residuals_and_without_the_function() -> None:
    x = X.copy()
    _, f_vjp = fd.vjp(lambda x: {"a": vector(x), "b": np.sum(x)}, x)
    _, f_jvp = fd.linearize(lambda x: vector(x) * x, x)
    texts = pickle.dumps(f_vjp), pickle.dumps(f_jvp)
    expected = f_vjp({"a": X, "b": 2.0}), f_jvp(X)
    x[:] = 0.0
    for text in (*texts, *(pickle.dumps(pickle.loads(t)) for t in texts)):
        again = pickle.loads(text)
        found = again({"a": X, "b": 2.0}) if "pullback" in repr(again) else again(X)
        assert_same(found, expected["pullback" not in repr(again)])
    _, of_a_number = fd.vjp(loss, 2.0)
    assert pickle.loads(pickle.dumps(of_a_number))() == of_a_number()
    assert "lambda" in repr(f_vjp)
    with pytest.raises(fd.errors.CotangentError, match="shape"):
        pickle.loads(texts[0])({"a": X[:2], "b": 2.0})


def test_ways_back_and_transposes_travel() -> None:
    tree = {"w": X, "name": "w", "b": 2.0}
    vector_of_tree, unravel = fd.ravel_pytree(tree)
    assert len(pickle.dumps(fd.ravel_pytree(np.zeros(10**6))[1])) < 400
    transposed = fd.linear_transpose(lambda x: {"y": x[::-1] * 3, "sum": np.sum(x)}, X)
    for _ in range(2):
        assert unravel(2 * vector_of_tree)["name"] == "w"
        assert_same(unravel(2 * vector_of_tree)["w"], 2 * X)
        assert_same(transposed({"y": X, "sum": 1.0}), (3 * X[::-1] + 1,))
        unravel, transposed = pickle.loads(pickle.dumps((unravel, transposed)))
    assert repr(transposed).startswith("the transpose of")
    with pytest.raises(fd.errors.CotangentError, match=r"Write f_transpose\(v\)\."):
        transposed(v=X)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["trace", "source", "cost", "explain", "draw"])
def test_what_shows_a_call_travels(name: str) -> None:
    look = getattr(fd, name)(fd.grad(loss))
    again = pickle.loads(pickle.dumps(look))
    assert repr(again) == repr(look) == f"{name}(grad(loss))"
    assert again == look
    assert type(again(X)) is type(look(X))
    assert inspect.signature(look) == inspect.signature(loss)


_LIBRARIES = """
import dask, joblib, numpy as np
import funcdiff as fd

f = fd.jit(fd.value_and_grad(lambda x: np.sum(np.sin(x) ** 2)))
points = [np.array([0.3, -0.7, 1.1]) * k for k in range(4)]
lazy = [dask.delayed(f)(x) for x in points]
for found in (
    joblib.Parallel(2)(joblib.delayed(f)(x) for x in points),
    dask.compute(*lazy, scheduler="processes", num_workers=2),
):
    for x, (value, slope) in zip(points, found, strict=True):
        np.testing.assert_allclose(value, np.sum(np.sin(x) ** 2))
        np.testing.assert_allclose(slope, np.sin(2 * x))
"""


@pytest.mark.slow
def test_joblib_and_dask_take_derived_functions(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    body = "\n    ".join(_LIBRARIES.splitlines())
    script.write_text(f"if __name__ == '__main__':\n    {body}\n", encoding="utf-8")
    subprocess.run([sys.executable, "-W", "ignore", str(script)], check=True, cwd=ROOT, env=ENV)
