"""Covariances of results, against closed forms and each other."""

import pickle
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import aslinearoperator

import funcdiff as fd
from funcdiff import errors

X = {"a": np.array([1.0, 2.0]), "b": 3.0}
A = np.random.default_rng(0).standard_normal((3, 3))
C = A @ A.T / 100


def f(m: Any) -> Any:
    return {"product": m["a"] * m["b"], "ratio": m["a"][0] / m["b"]}


J = np.array([[3.0, 0, 1], [0, 3.0, 2], [1 / 3, 0, -1 / 9]])


def _dense(cov: Any) -> Any:
    product, ratio = cov["product"], cov["ratio"]
    return np.block(
        [[product["product"], product["ratio"][:, None]], [ratio["product"], ratio["ratio"]]]
    )


BLOCKS = {"a": {"a": C[:2, :2], "b": C[:2, 2]}, "b": {"a": C[2, :2], "b": C[2, 2]}}


FORMS = {"matrix": C, "blocks": BLOCKS, "operator": aslinearoperator(C), "sparse": csr_array(C)}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_of_a_covariance_give_the_same(form: Any) -> None:
    found = fd.propagate(f)(X, cov=form, check=False)
    np.testing.assert_allclose(_dense(found.cov), J @ C @ J.T, rtol=1e-13)
    budget = found.budget
    total = sum(np.asarray(part["product"]) for part in budget.values())
    np.testing.assert_allclose(total, np.diagonal(J @ C @ J.T)[:2], rtol=1e-13)
    assert list(budget) == ["['a']", "['b']", "correlations"]


def test_leaves_have_variances_deviations_or_matrices_of_their_own() -> None:
    u = np.array([0.1, 0.2, 0.3])
    wanted = J @ np.diag(u**2) @ J.T
    deviations = {"a": u[:2], "b": 0.3}
    forms: list[dict[str, Any]] = [
        {"std": deviations},
        {"cov": {"a": u[:2] ** 2, "b": 0.3**2}},
        {"cov": {"a": np.diag(u[:2] ** 2), "b": 0.3**2}},
        {"cov": np.diag(u**2)},
    ]
    for form in forms:
        found = fd.propagate(f)(X, **form, check=False)
        np.testing.assert_allclose(_dense(found.cov), wanted, rtol=1e-13, atol=1e-16)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0.5, 2), min_size=3, max_size=3), st.floats(0.01, 0.2))
def test_propagation_in_two_steps_is_that_of_the_composition(x: list[float], u: float) -> None:
    g: Any = lambda x: np.array([1.0, 2, 3]) * np.sin(x)
    h: Any = lambda y: y**2 - y[::-1]
    y, cov = fd.propagate(g)(np.array(x), std=u, check=False)
    _, stepwise = fd.propagate(h)(y, cov=cov, check=False)
    _, whole = fd.propagate(lambda x: h(g(x)))(np.array(x), std=u, check=False)
    np.testing.assert_allclose(stepwise, whole, rtol=1e-10, atol=1e-13)


def test_a_covariance_is_judged_as_a_correlation_whatever_the_units() -> None:
    units = np.array([1.0, 1e-9, 1e9])
    singular = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]]) * np.outer(units, units)
    for cov in (singular, singular.astype(np.float32), aslinearoperator(singular)):
        found = fd.propagate(lambda x: x * 1.0)(np.zeros(3), cov=cov, samples=4000, rng=0)
        assert found.sampled is not None
        np.testing.assert_allclose(np.sqrt(np.diagonal(found.sampled[1])), units, rtol=0.1)
    for wrong in ([[1, 1e-4], [1e-4, 1e-9]], [[1, 0], [0, -1e-9]]):
        with pytest.raises(errors.InputError, match="not a covariance"):
            fd.propagate(np.sum)(np.zeros(2), cov=np.array(wrong))
    # what is left where terms of size 1 cancel is no error
    rest = np.array([[-2e-19, -6e-19, 8e-19], [-6e-19, -2e-18, 2e-18], [8e-19, 2e-18, 2e-3]])
    np.testing.assert_allclose(fd.propagate(np.sum)(np.zeros(3), cov=rest).std ** 2, 2e-3)


UNREAL = [{"std": 0.1j}, {"std": "0.1"}, {"cov": np.eye(4) * 1j}, {"cov": np.diag([np.inf] * 4)}]


@pytest.mark.parametrize("uncertain", UNREAL)
def test_uncertainties_are_real(uncertain: Any) -> None:
    with pytest.raises(errors.InputError, match="real"):
        fd.propagate(np.sum)(np.zeros(4), **uncertain)


def test_a_matrix_is_not_taken_for_the_variances_of_a_leaf_of_its_size() -> None:
    cov = {"a": np.array([[1.0, 0.5], [0.5, 1.0]]), "b": np.array([[1.0, 0.9], [0.9, 1.0]])}
    with pytest.raises(errors.InputError, match="cov= has the shape"):
        fd.propagate(f)({"a": np.ones(4), "b": np.ones(2)}, cov=cov)


def test_results_are_pickled_with_all_that_they_tell() -> None:
    found = fd.propagate(f)(X, cov=C, check=False)
    copy = pickle.loads(pickle.dumps(found))
    for name in ("value", "std", "cov", "budget", "lines"):
        np.testing.assert_equal(getattr(copy, name), getattr(found, name))


def test_several_arguments_are_a_tuple() -> None:
    _, variance = fd.propagate(lambda x, y: x * y)(2.0, 3.0, std=(0.1, 0.2), check=False)
    assert np.isclose(variance, 0.3**2 + 0.4**2, rtol=1e-14)


def test_second_order_is_exact_for_products_and_squares_of_normal_numbers() -> None:
    # var(xy) = x²v + y²u + uv; of x², 4x²u + 2u², with the mean x² + u
    found = fd.propagate(lambda x: np.stack([x[0] * x[1], x[0] ** 2]))(
        np.array([2.0, 3.0]), cov=np.array([0.04, 0.25]), order=2, check=False
    )
    variances = [4 * 0.25 + 9 * 0.04 + 0.04 * 0.25, 16 * 0.04 + 2 * 0.04**2]
    np.testing.assert_allclose(np.diagonal(found.cov), variances, rtol=1e-14)
    np.testing.assert_allclose(found.shift, [0.0, 0.04], rtol=1e-14, atol=1e-16)


def test_samples_agree_with_second_order() -> None:
    g: Any = lambda x: x[0] * x[1] if x[0] > -100 else x[0]  # decides by values
    found = fd.propagate(g)(
        np.array([2.0, 3.0]), std=0.2, order=2, samples=2000, rng=np.random.default_rng(0),
        check=False,
    )  # fmt: skip
    assert found.sampled is not None
    mean, variance = found.sampled
    assert abs(mean - 6) < 4 * found.std / np.sqrt(2000)
    assert abs(variance / found.cov - 1) < 4 * np.sqrt(2 / 2000)


def test_samples_of_arguments_with_degrees_of_freedom_are_those_of_students_t() -> None:
    # JCGM 101, 6.4.9: the variance of t is that of a normal number times dof / (dof - 2)
    found = fd.propagate(lambda x: x * 1.0)(
        np.zeros(3), std=2.0, dof=np.array([5.0, 40.0, np.inf]), samples=100_000, rng=0
    )
    assert found.sampled is not None
    variances = np.diagonal(found.sampled[1])
    np.testing.assert_allclose(variances, 4 * np.array([5 / 3, 40 / 38, 1.0]), rtol=0.05)
    assert np.array_equal(found.std, [2.0, 2.0, 2.0])
    fixed = fd.propagate(np.sum)(np.ones(2), std=np.array([0.0, 1.0]), dof=9.0, samples=99, rng=0)
    assert np.isfinite(np.asarray(fixed.sampled)).all()


def test_degrees_of_freedom_of_correlated_arguments_are_those_of_estimated_covariances() -> None:
    S = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 3.0]])
    J, nu = (
        np.array([[2.0, -1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        np.array([4.0, 4.0, 9.0]),
    )
    found = fd.propagate(lambda x: J @ x)(np.ones(3), cov=S, dof=nu, samples=100_000, rng=0)
    # twice the squared mean over the variance of u², for covariances of joint observations
    random = np.random.default_rng(1)
    Z = random.standard_normal((100_000, 4, 2)) @ np.linalg.cholesky(S[:2, :2]).T
    squares = np.mean((Z @ J[0, :2]) ** 2, axis=1) + 3 * random.chisquare(9, 100_000) / 9
    wanted = 2 * np.mean(squares) ** 2 / np.var(squares)
    np.testing.assert_allclose(found.dof, [wanted, 4.0, 9.0], rtol=0.02)
    # JCGM 102, 5.3.2: the covariance of joint t is that of normal numbers times dof / (dof - 2)
    assert found.sampled is not None
    np.testing.assert_allclose(
        found.sampled[1], J @ (S * np.sqrt(np.outer(nu, nu) / np.outer(nu - 2, nu - 2))) @ J.T,
        rtol=0.1, atol=0.1,
    )  # fmt: skip


def test_a_matrix_without_correlations_has_the_degrees_of_freedom_of_variances() -> None:
    x, variances, nu = np.ones(3), np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 9.0])
    whole = fd.propagate(np.sin)(x, cov=np.diag(variances), dof=nu, check=False)
    alone = fd.propagate(np.sin)(x, cov=variances, dof=nu, check=False)
    np.testing.assert_allclose(whole.dof, alone.dof, rtol=1e-13)


def _volume(m: Any) -> Any:
    sides = m["a"] * np.array([1.0, 2.0, 3.0])
    total = np.sin(m["b"])
    for k in range(3):
        total = total + sides[k] * m["a"]
    return np.stack([total, m["b"] - total])


@pytest.mark.parametrize("cov", [np.diag([0.01, 0.04]), np.array([[0.01, 0.01], [0.01, 0.04]])])
def test_the_variance_comes_through_the_lines_that_use_the_arguments(cov: Any) -> None:
    x = {"a": 2.0, "b": 1.0}
    found = fd.propagate(_volume)(x, cov=cov, check=False)
    c = np.cos(1.0)
    J = np.array([[24.0, c], [-24, 1 - c]])
    # sin(b) + 6a²: 6a comes through the sides, and 6a through the loop
    through = {
        "sides = ": [[12.0, 0], [-12, 0]], "total = np": [[0.0, c], [0, -c]],
        "total = total": [[12.0, 0], [-12, 0]], "return": [[0.0, 0], [0, 1]],
    }  # fmt: skip
    for (name, share), (start, part) in zip(found.lines.items(), through.items(), strict=True):
        assert "test_propagate.py" in name
        assert name.partition(": ")[2].startswith(start)
        np.testing.assert_allclose(share, np.sum(part @ cov * J, axis=1), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(sum(found.lines.values()), found.std**2, rtol=1e-13)


def test_the_second_order_has_a_share_of_its_own() -> None:
    found = fd.propagate(lambda x: x**2)(1.0, std=0.5, order=2, check=False)
    assert found.budget == {"": 1.0, "second order": 0.125}
    assert sum(found.budget.values()) == found.cov


def test_many_elements_have_the_covariance_of_few() -> None:
    x = np.linspace(0.1, 1, 400)
    found = fd.propagate(lambda x: np.sin(x) * x[::-1])(x, std=0.01, check=False)
    J = np.diag(np.cos(x) * x[::-1]) + np.fliplr(np.diag(np.sin(x)))
    np.testing.assert_allclose(found.cov, 1e-4 * J @ J.T, rtol=1e-12, atol=1e-20)


def test_deviations_of_many_elements_do_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)  # it takes long to import
    x, u = np.linspace(1, 2, 400), np.linspace(0.01, 0.02, 400)
    found = fd.propagate(lambda x: x[1:] * x[:-1])(x, std=u, dof=np.full(400, 7.0))
    variances = (x[:-1] * u[1:]) ** 2 + (x[1:] * u[:-1]) ** 2
    np.testing.assert_allclose(found.std, np.sqrt(variances), rtol=1e-14)
    fourths = (x[:-1] * u[1:]) ** 4 + (x[1:] * u[:-1]) ** 4
    np.testing.assert_allclose(found.dof, 7 * variances**2 / fourths, rtol=1e-13)
    np.testing.assert_allclose(sum(found.lines.values()), variances, rtol=1e-13)


def test_what_is_no_covariance_is_refused() -> None:
    run = fd.propagate(f)
    for form, said in (
        ({"cov": -C}, "eigenvalue .* mostly along x"),
        ({"cov": C + np.triu(C)}, "not symmetric"),
        ({"cov": np.eye(4)}, "cov= has the shape"),
        ({"cov": aslinearoperator(np.eye(2))}, r"shape \(3, 3\)"),
        ({"cov": aslinearoperator(C + np.triu(C, 1))}, r"operator cov= is not symmetric"),
        ({"std": {"a": -0.1, "b": 0.0}}, r"deviation of x\['a'\]\[0\] is -0.1"),
        ({"std": {"a": np.ones(3), "b": 0.0}}, r"x\['a'\] has shape \(3,\)"),
        ({"std": [1.0]}, "but the point is"),
        ({"std": {"a": np.inf, "b": 0.0}}, r"variance of x\['a'\]\[0\] is inf.*finite"),
        ({"std": {"a": 0.1, "b": 1e200}}, r"variance of x\['b'\] is inf"),
        ({"cov": {"a": 0.1, "b": np.inf}}, r"variance of x\['b'\] is inf"),
        ({"cov": np.diag([1.0, np.inf, 1.0])}, "not symmetric, finite and real"),
        ({}, "one of cov= and std="),
        ({"cov": C, "dof": {"a": 1, "b": 2}}, r"x\['a'\]\[0\] is 1 and of x\['b'\] 2, but these"),
        ({"cov": csr_array(C), "dof": {"a": 1, "b": 1}}, "an operator cov= does not tell"),
        ({"cov": C, "order": 3}, "Write order=1 or 2"),
        ({"std": {"a": 0.1, "b": 0.0}, "dof": {"a": 0, "b": 1}}, r"dof= of x\['a'\]\[0\] is 0"),
    ):
        with pytest.raises(errors.InputError, match=said):
            run(X, check=False, **form)
    with pytest.raises(errors.InputError, match="eigenvalue -"):
        run(X, cov=aslinearoperator(C - np.eye(3)), order=2, check=False)
    wide: Any = 0.01 * eye_array(100_000)
    with pytest.raises(errors.InputError, match=r"operator of 100000 numbers.*check=False"):
        fd.propagate(np.sum)(np.ones(100_000), cov=wide)
    assert abs(fd.propagate(np.sum)(np.ones(100_000), cov=wide, check=False).std ** 2 - 1e3) < 1e-9
    with pytest.raises(errors.InputError, match=r"needs 64000000 second derivatives"):
        fd.propagate(np.sin)(np.ones(400), std=0.1, order=2, check=False)
    with pytest.raises(errors.InputError, match="real floating"):
        fd.propagate(lambda z: z)(1j, std=0.1)
    for transform in (fd.jit, fd.grad, fd.vmap):
        with pytest.raises(errors.InputError, match="call it outside of jit"):
            transform(lambda x: fd.propagate(np.sin)(x, std=0.1).std)(np.ones(2))
    with pytest.raises(errors.InputError, match="without a point"):
        fd.propagate(lambda z: z)(std=0.1)
    with pytest.raises(errors.OutputError, match="dtype"):
        fd.propagate(lambda x: {"n": 3, "x": x})(1.0, std=0.1)


@pytest.mark.parametrize("samples", [1, -1])
def test_moments_need_samples(samples: int) -> None:
    with pytest.raises(errors.InputError, match="samples=0 or more than 1"):
        fd.propagate(np.sin)(1.0, std=0.1, samples=samples)


def test_keys_of_uncertainties_may_stand_in_another_order() -> None:
    def power(m: Any) -> Any:
        return m["V"] ** 2 / m["R"]

    x = {"V": 10.0, "R": 5.0}
    blocks = {"V": {"V": 0.09, "R": 0.01}, "R": {"V": 0.01, "R": 0.04}}
    turned = {key: dict(reversed(row.items())) for key, row in reversed(blocks.items())}
    for form, other in (
        ({"std": {"V": 0.3, "R": 0.2}}, {"std": {"R": 0.2, "V": 0.3}}),
        ({"cov": {"V": 0.09, "R": 0.04}}, {"cov": {"R": 0.04, "V": 0.09}}),
        ({"cov": blocks}, {"cov": turned}),
        ({"cov": blocks}, {"cov": [[0.09, 0.01], [0.01, 0.04]]}),
    ):
        one, two = (fd.propagate(power)(x, **given, check=False) for given in (form, other))
        assert one.std == two.std
        assert one.budget == two.budget
    with pytest.raises(errors.InputError, match=r"cov= is .*, but the point is"):
        fd.propagate(power)(x, cov={"V": {"V": 0.09, "I": 0.0}, "I": {"V": 0.0, "I": 0.01}})


WRONG: Any = ["0.9", 0.5]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fd.propagate(np.sum)(np.ones(2), std=0.1, samples=10.5), "samples=10.5"),
        (lambda: fd.propagate(np.sum)(np.ones(2), std=0.1, samples=True), "samples=True"),
        (lambda: fd.propagate(np.sin)(1.0, std=0.1).half_width(WRONG), "level must lie"),
        (lambda: fd.propagate(np.sin)(1.0, std=0.1).half_width(WRONG[:1]), "level must lie"),
        (
            lambda: fd.propagate(lambda m: m["a"])({"a": 1.0, "unit": "V"}, std=0.1),
            r"x\['unit'\] is of dtype <U1",
        ),
        (
            lambda: fd.propagate(lambda m: m["a"])({"a": 1.0, "n": [3]}, std=0.1),
            r"x\['n'\]\[0\] is of dtype int64.*real floating numbers",
        ),
        (
            lambda: fd.grad(lambda a: fd.propagate(lambda x: a * x)(1.0, std=0.1).std)(2.0),
            "needs values, but is traced .*f closes over",
        ),
    ],
)
def test_what_cannot_be_propagated_is_told(call: Any, message: str) -> None:
    with pytest.raises(errors.InputError, match=message):
        call()


def test_units_far_apart_do_not_overflow() -> None:
    C = np.array([[1e-300, 0.0], [0.0, 1e300]])
    found = fd.propagate(lambda x: x)(np.array([1e-150, 1e150]), cov=C, check=False)
    np.testing.assert_allclose(found.std, [1e-150, 1e150])


def test_branches_may_return_keys_in_another_order() -> None:
    def f(x: Any) -> Any:
        parts = {"a": x, "b": 10.0 + x}
        return parts if x > 0 else dict(reversed(parts.items()))

    found = fd.propagate(f)(0.01, std=1.0, samples=1000, rng=0, check=False)
    mean, _ = found.sampled or ({}, {})
    np.testing.assert_allclose(mean["b"] - mean["a"], 10.0)
    other = fd.propagate(lambda x: {"a": x} if x < 1 else {"b": x})
    with pytest.raises(errors.PytreeError, match=r"another branch is \{'a': \*\}, not"):
        other(1.0, std=1.0, samples=9, rng=0, check=False)
    for wrong in (np.ones(3), np.ones(2) + 0.0j):
        with pytest.raises(errors.OutputError, match="branches return arrays of shapes"):
            fd.propagate(lambda x, w=wrong: x * w if x < 0.1 else x * np.ones(2))(
                0.1, std=1.0, samples=9, rng=0, check=False
            )
