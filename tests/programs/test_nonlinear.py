"""Programs of containers: their functions of vectors, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError, PytreeError

X0 = {"u": np.array([1.0, 2.0, 3.0]), "v": np.float32(0.5)}


def energy(x: Any, a: Any) -> Any:
    """Return a function of all of x."""
    return np.sum(x["u"] ** 3) * a + x["v"] ** 2 * x["u"][0]


def links(x: Any, a: Any) -> Any:
    """Return a nonlinear, a linear and a kinked part."""
    u = x["u"]
    return {"steps": np.diff(u) + a, "pair": u[0] * u[1], "kink": np.abs(u[2])}


def program(**given: Any) -> Any:
    """Return the program of both."""
    options = {"cbounds": (0.0, None), "args": (2.0,), **given}
    return fd.nlp(energy, links, X0, **options)


def test_derivatives_are_those_of_functions_of_one_vector() -> None:
    p = program()
    z, unravel = p.start, fd.ravel_pytree({"u": np.zeros(3), "v": 0.0})[1]
    weights = np.array([1.0, -2.0, 3.0, 0.5])

    def c(z: Any) -> Any:
        return fd.ravel_pytree(links(unravel(z), 2.0))[0]

    for point in (z, z + 1.0, z):
        here = p.functions.at(point)
        value, gradient = fd.value_and_grad(lambda z: energy(unravel(z), 2.0))(point)
        np.testing.assert_allclose(here.value, value)
        np.testing.assert_allclose(here.gradient, gradient)
        np.testing.assert_allclose(here.constraints, c(point))
        np.testing.assert_allclose(here.jacobian.dense(), fd.jacobian(c)(point))
        H = fd.hessian(lambda z: 0.5 * energy(unravel(z), 2.0) + weights @ c(z))(point)
        np.testing.assert_allclose(p.functions.hessian(point, 0.5, weights).dense(), H)
        np.testing.assert_allclose(p.functions.values(point)[1], c(point))


def test_a_vector_that_a_solver_writes_into_is_another_point() -> None:
    p = program()
    z = p.start.copy()
    first = p.functions.at(z)
    assert p.functions.at(z.copy()) is first
    z[0] = 7.0
    assert p.functions.at(z).gradient[0] != first.gradient[0]


def test_value_and_derivatives_of_a_point_are_one_evaluation() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(x)
        return np.sum(x**2)

    p = fd.nlp(f, lambda x: np.sum(x), np.ones(2), cbounds=(0, 1))
    p.functions.at(p.start)
    traced = len(seen)
    for _ in range(3):
        p.functions.at(p.start)
        p.functions.at(p.start + 1)
    assert len(seen) == traced


def test_linear_constraints_are_found_and_kinks_are_none() -> None:
    # in the order of the keys: a mapping's children are in that of their insertion
    assert program().linear.tolist() == [True, True, False, False]
    mixed = fd.nlp(
        np.sum, lambda x: np.stack([x[0] * x[1], x[0] - 1, np.abs(x[1]), 2 * x[1]]), np.ones(2),
        cbounds=(0, 1),
    )  # fmt: skip
    linear = mixed.linear
    assert not linear[0]
    assert not linear[2]
    assert fd.nlp(np.sum, np.cumsum, np.ones(2), cbounds=(0, 1)).linear.tolist() == [True, True]


@pytest.mark.parametrize(
    "c",
    [
        lambda x: np.stack([2 * x[0] if x[0] > 0.5 else x[0] ** 3, x[1]]),
        lambda x: x * np.asarray(fd.stop_gradient(x[0])),
        lambda x: x * fd.stop_gradient(x[0]),
        lambda x: np.sign(x[0]) * x,
    ],
)
def test_what_values_decide_is_not_linear(c: Any) -> None:
    p = fd.nlp(np.sum, c, np.ones(2), cbounds=(0, 1))
    assert not p.linear[0]
    assert len(p.scipy()["constraints"]) <= 2


def test_bounds_are_numbers_containers_or_none() -> None:
    p = program(bounds=({"u": None, "v": 0}, {"u": np.array([2.0, 3.0, 4.0]), "v": 1.0}),
                cbounds=(None, {"steps": 5.0, "pair": 7.0, "kink": None}))  # fmt: skip
    assert p.bounds[0].tolist() == [-np.inf] * 3 + [0.0]
    assert p.bounds[1].tolist() == [2.0, 3.0, 4.0, 1.0]
    assert p.cbounds[1].tolist() == [5.0, 5.0, 7.0, np.inf]
    listed = fd.nlp(np.sum, None, np.ones(2), bounds=([0, -1.0], [2, 3]))
    assert listed.bounds[0].tolist() == [0.0, -1.0]
    empty = {"a": np.ones(2), "b": None}
    aside = fd.nlp(lambda x: np.sum(x["a"]), None, empty, bounds=({"a": 0.5, "b": None}, None))
    assert aside.bounds[0].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"bounds": 3}, InputError, "bounds is 3, at .*Give a pair"),
        ({"bounds": [(0, 1), (0, 5)]}, InputError, r"pair for each .* tuple\(np\.transpose"),
        (
            {"bounds": ({"u": np.ones(2), "v": 0}, None)},
            InputError,
            r"bounds of x\['u'\] has shape",
        ),
        ({"bounds": ({"u": "a", "v": 0}, None)}, InputError, "dtype <U1"),
        ({"bounds": ({"u": 0.0}, None)}, InputError, "bounds have the structure"),
        ({"bounds": (4.0, 1.0)}, InputError, r"bounds of x\['u'\]\[0\] are 4.0 and 1.0"),
        ({"bounds": (np.nan, 1.0)}, InputError, "no number is between"),
        ({"bounds": (None, 2.5)}, InputError, r"x\['u'\]\[2\] of x0 is 3.0, not between.*np.clip"),
        ({"cbounds": None}, InputError, "cbounds is None and c is given"),
        ({"cbounds": (1.0, 0.0)}, InputError, r"cbounds of c\['steps'\]\[0\] are 1.0 and 0.0"),
    ],
)
def test_bounds_that_do_not_fit_are_refused(given: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        program(**given)


def test_what_solvers_cannot_vary_or_bound_is_refused() -> None:
    with pytest.raises(InputError, match=r"x0\['n'\] is of dtype int64.*test_nonlinear"):
        fd.nlp(np.sum, None, {"n": np.arange(3)})
    with pytest.raises(InputError, match="x0 is of dtype complex128"):
        fd.nlp(np.sum, None, np.ones(2) * 1j)
    with pytest.raises(InputError, match="x0 has no numbers"):
        fd.nlp(np.sum, None, np.ones(0))
    with pytest.raises(OutputError, match=r"f returned an array of shape \(2,\).*np.sum"):
        fd.nlp(np.sin, None, np.ones(2))
    with pytest.raises(OutputError, match="c returned None, without numbers"):
        fd.nlp(np.sum, lambda x: None, np.ones(2), cbounds=(0, 0))
    with pytest.raises(OutputError, match=r"c\(x0\) is of dtype bool"):
        fd.nlp(np.sum, lambda x: x > 0, np.ones(2), cbounds=(0, 0))
    with pytest.raises(InputError, match=r"cbounds is .* and c is None"):
        fd.nlp(np.sum, None, np.ones(2), cbounds=(0, 0))
    with pytest.raises(InputError, match="nlp"):
        fd.nlp(3, None, np.ones(2))  # type: ignore[arg-type]


@pytest.mark.slow
def test_where_a_matrix_is_singular_everything_is_undefined() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.linalg.solve(np.reshape(x, (2, 2)), np.ones(2)))

    p = fd.nlp(f, lambda x: x[:2], np.array([2.0, 0.0, 0.0, 1.0]), cbounds=(0, None))
    for start in (p.start, np.zeros(4)):  # at the first point too, and of the program itself
        p = fd.nlp(f, lambda x: {"a": x[:2], "b": f(x)}, start, cbounds=(0, None))
        for _ in range(2):
            here, curved = (
                p.functions.at(np.zeros(4)),
                p.functions.hessian(np.zeros(4), 1, np.ones(3)),
            )
            assert here.gradient.shape == (4,)
            assert here.jacobian.pattern.shape == (3, 4)
            assert curved.pattern.shape == (4, 4)
            for part in (
                here.value,
                here.gradient,
                here.constraints,
                here.jacobian.data,
                curved.data,
            ):
                assert np.all(np.isnan(part))
            assert np.isfinite(p.functions.at(p.start + np.eye(2).ravel()).jacobian.data).all()
        q = p.problem()
        assert len(q.jacobian(np.eye(2).ravel())) == len(q.jacobianstructure()[0]) == 6
        assert len(q.hessian(np.eye(2).ravel(), np.ones(3), 1.0)) == 10
        assert np.isnan(q.objective(np.zeros(4)))
    for method, said in (("SLSQP", ""), ("trust-constr", "undefined at x0"), ("COBYQA", "")):
        found = p.solve(method, maxiter=20)
        assert not found.success
        assert said in found.message


def test_vectors_and_containers_are_one_another() -> None:
    p = program()
    assert p.vector(p.container(p.start)).tolist() == p.start.tolist()
    assert p.start.dtype == np.float64


def test_full_matrices_are_computed_without_a_warning() -> None:
    C = np.cov(np.random.default_rng(0).normal(size=(160, 300)))

    def f(x: Any) -> Any:
        return x @ C @ x

    p = fd.nlp(f, np.cumsum, np.full(160, 1 / 160), cbounds=(0.0, 1.0))
    np.testing.assert_allclose(p.functions.at(p.start).jacobian.dense(), np.tri(160))
    H = p.functions.hessian(p.start, 1.0, np.zeros(160)).dense()
    np.testing.assert_allclose(H, C + C.T)
    assert np.all(p.linear)


def test_a_program_that_has_run_and_its_callbacks_are_pickled() -> None:
    p, z = program(), np.array([1.0, 2.0, 3.0, 0.5])
    callbacks = p.problem()
    expected = callbacks.jacobian(z), callbacks.hessian(z, np.ones(4), 1.0)
    for copy in (pickle.loads(pickle.dumps(p)).problem(), pickle.loads(pickle.dumps(callbacks))):
        found = copy.jacobian(z), copy.hessian(z, np.ones(4), 1.0)
        np.testing.assert_array_equal(np.concatenate(found), np.concatenate(expected))


def test_places_are_one_object_whatever_asks_for_them() -> None:
    def c(x: Any) -> Any:
        return x[1:] * x[:-1] if x[0] > 0 else x[1:] ** 2

    p = fd.nlp(lambda x: np.sum(x**3), c, np.ones(8), cbounds=(0, None))
    first, again = p.functions.at(p.start).jacobian, p.functions.at(2 * p.start).jacobian
    assert first.pattern is again.pattern
    assert p.functions.at(-p.start).jacobian.pattern is not first.pattern
    assert p.functions.at(3 * p.start).jacobian.pattern is first.pattern
    q = fd.nlp(lambda x: np.sum(x**3), lambda x: x[1:] * x[:-1], np.ones(8), cbounds=(0, None))
    assert q.functions.at(q.start).jacobian.pattern is q.functions.places("Jacobian")
    curved = q.functions.hessian(q.start, 1.0, np.ones(7))
    assert curved.pattern is q.functions.places("Hessian")


def test_what_callbacks_return_may_be_written_into() -> None:
    callbacks = program().problem()
    z, weights = np.array([1.0, 2.0, 3.0, 0.5]), np.ones(4)

    def all_of_them() -> list[Any]:
        parts = callbacks.gradient(z), callbacks.constraints(z), callbacks.jacobian(z)
        return [*parts, callbacks.hessian(z, weights, 1.0)]

    first = all_of_them()
    kept = [x.copy() for x in first]
    for x in (*first, *callbacks.jacobianstructure(), *callbacks.hessianstructure()):
        x[...] = 7
    for one, other in zip(all_of_them(), kept, strict=True):
        np.testing.assert_array_equal(one, other)
    assert callbacks.jacobianstructure()[0].tolist() == [0, 0, 1, 1, 2, 2, 3]
    here = program().functions.at(z).jacobian
    for name, part in (("data", 7.0), ("indices", 0), ("indptr", 0)):
        getattr(here.sparse(), name)[...] = part
    np.testing.assert_array_equal(here.sparse().toarray(), here.dense())


def test_an_engine_is_chosen() -> None:
    p, z = program(), np.array([1.0, 2.0, 3.0, 0.5])
    for engine in ("numpy", "llvm"):
        chosen = program(engine=engine)
        for one, other in zip(p.functions.at(z), chosen.functions.at(z), strict=True):
            a, b = (x.data if hasattr(x, "pattern") else x for x in (one, other))
            np.testing.assert_allclose(a, b, rtol=1e-12)
        assert chosen.functions.engine == engine
    with pytest.raises(InputError, match="engine='fast' is neither"):
        program(engine="fast")


def test_keys_may_stand_in_another_order() -> None:
    def c(x: Any) -> Any:
        parts = {"low": x["a"] - 1.0, "high": x["a"] * x["b"]}
        return parts if x["a"] > 0 else dict(reversed(parts.items()))

    x0: Any = {"a": 1.0, "b": 2.0}
    bounds = {"b": 0.0, "a": -5.0}, {"b": 9.0, "a": None}
    p = fd.nlp(lambda x: x["a"] ** 2 + x["b"], c, x0, bounds, ({"high": -9.0, "low": None}, None))
    assert p.bounds[0].tolist() == [-5.0, 0.0]
    assert p.bounds[1].tolist() == [np.inf, 9.0]
    assert p.cbounds[0].tolist() == [-np.inf, -9.0]
    assert p.vector({"b": 3.0, "a": 4.0}).tolist() == [4.0, 3.0]
    assert p.functions.at(np.array([-1.0, 2.0])).constraints.tolist() == [-2.0, -2.0]
    with pytest.raises(PytreeError, match=r"nlp: x is \{'a': \*\}, not \{'a': \*, 'b': \*\}"):
        p.vector({"a": 4.0})
    with pytest.raises(InputError, match=r"nlp: x\['a'\] has the shape \(2,\), not \(\)"):
        p.vector({"a": np.ones(2), "b": 1.0})


def test_any_solution_is_asked_for_by_a_constant() -> None:
    p = fd.nlp(lambda x: 0, lambda x: np.sum(x**2), np.ones(2), cbounds=(4.0, 4.0))
    for method in ("SLSQP", "trust-constr", "COBYQA"):
        found = p.solve(method)
        assert found.success
        assert abs(np.sum(found.x**2) - 4) < 1e-5
    with pytest.raises(OutputError, match="dtype int64"):
        fd.nlp(lambda x: np.argmax(x), None, np.ones(2))


def test_arguments_that_solvers_cannot_use_are_refused_in_words() -> None:
    p = fd.nlp(lambda x, a: np.sum((x - a) ** 2), lambda x, a: x, np.zeros(2), None, (None, 3.0),
               args=(1.0,))  # fmt: skip
    with pytest.raises(InputError, match=r"x\[0\] of x0 is inf"):
        fd.nlp(np.sum, None, np.array([np.inf, 1.0]))
    with pytest.raises(InputError, match=r"multipliers have shape \(3,\), not \(2,\)"):
        p.problem().hessian(np.zeros(2), np.ones(3), 1.0)
    solution = p.solve()
    numbers: list[Any] = [np.int64(0), 1, -2, 0.5, "a"]
    first, *wrong = numbers
    np.testing.assert_allclose(p.sensitivity(solution, first)(), np.ones(2), atol=1e-6)
    for number in wrong:
        with pytest.raises(InputError, match="argnums="):
            p.sensitivity(solution, number)


@pytest.mark.parametrize(
    "of",
    [
        lambda a: fd.nlp(lambda x: np.sum((x - a) ** 2), None, np.zeros(2)).solve().value,
        lambda a: fd.nlp(np.sum, lambda x: x - a, np.zeros(2), cbounds=(0, 1)).solve().value,
        lambda a: fd.nlp(np.sum, None, a).solve().value,
        lambda a: fd.nlp(lambda x, a: np.sum(x - a), None, np.zeros(2), args=(a,)).solve().value,
        lambda a: fd.nlp(np.sum, None, np.zeros(2), (a, None)).solve().value,
    ],
)
def test_what_is_differentiated_by_goes_into_arguments(of: Any) -> None:
    for transform in (fd.grad, fd.jit):
        with pytest.raises(InputError, match=r"fd\.nlp needs values.*program\.sens"):
            transform(of)(-np.ones(2))


def test_programs_and_solutions_show_what_they_are_and_not_all_that_a_solver_says() -> None:
    program = fd.nlp(np.sum, lambda x: x[:1], np.ones(3), cbounds=(0, 1), bounds=(0, None))
    assert repr(program) == "<NonlinearProgram of 3 variables, 1 constraints>"
    shown = repr(program.solve())
    assert shown.startswith("Solution(x=array([0., 0., 0.]), value=0.0,")
    assert "raw=" not in shown
    assert "vector=" not in shown
