"""pandas: tables as data of a function, as its arguments and as its results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import CotangentError, InputError, LostDerivativeError, UnsupportedNumPyError
from funcdiff.pytree import flatten, unflatten
from tests.labelled.modes import check_all_modes, check_first_order
from tests.together import together

HERE = Path(__file__).name
RNG = np.random.default_rng(5)
ROWS = pd.Index([f"r{k}" for k in range(12)], name="id")
DF = pd.DataFrame(
    {
        "a": RNG.normal(size=12),
        "b": RNG.normal(size=12),
        "group": np.repeat([0, 1, 2], 4),
        "T": RNG.uniform(1.0, 5.0, 12),
        "E": np.tile([1, 0, 1], 4),
        "sex": np.tile(["f", "m"], 6),
    },
    index=ROWS,
)
X = DF[["a", "b"]]
Y = pd.Series(RNG.normal(size=12), index=ROWS, name="y")
B = np.array([0.3, -0.7])


def residuals(b: Any) -> Any:
    return Y - b[0] * DF["a"] - b[1] * DF["b"]


def _weibull(b: Any) -> Any:
    lam, rho = np.exp(b)
    T, E = DF["T"], DF["E"]
    return -(E * (np.log(rho / lam) + (rho - 1) * np.log(T / lam)) - (T / lam) ** rho).sum()


def _cox(b: Any) -> Any:
    ordered = DF.sort_values("T", ascending=False)
    eta = ordered[["a", "b"]] @ b
    return (eta - np.log(np.exp(eta).cumsum()))[ordered["E"] == 1].sum()


def _logit(b: Any) -> Any:
    p = 1 / (1 + np.exp(-(X @ b)))
    return -(DF["E"] * np.log(p) + (1 - DF["E"]) * np.log(1 - p)).sum()


def _garch(b: Any) -> Any:
    h, total = Y.var(), 0.0
    for r in Y:
        h = 0.1 + b[0] ** 2 * r**2 + b[1] ** 2 * h
        total = total - 0.5 * (np.log(h) + r**2 / h)
    return total


def _new_column(b: Any) -> Any:
    df = DF.copy()
    df["eta"] = X @ b
    df["mu"] = np.exp(X.to_numpy() @ b)
    return (df["eta"] * df["mu"] * df["T"]).mean()


def _in_place(b: Any) -> Any:
    r = residuals(b)
    r += DF["b"]
    r["r1"] = 0.0
    return (r**2).sum()


def _frames(b: Any) -> Any:
    scaled = X * b
    shares = scaled.div(scaled.sum(axis=1), axis=0)
    joined = scaled.join(DF[["T"]]).rename(columns={"a": "c"})
    scaled["c"] = scaled["a"] * joined["T"]
    sums = scaled.groupby(DF["group"]).agg({"a": "sum", "c": "max"})
    return (
        (shares**2).sum().sum() + (sums**2).sum().sum() + (scaled.T @ Y).sum()
        + joined["c"].loc["r1":"r4"].sum() + scaled.cumsum().iloc[-1].std()
        + scaled.apply(lambda column: (column**2).sum()).max() + scaled.melt()["value"].mean()
    )  # fmt: skip


IDIOMS: dict[str, Callable[[Any], Any]] = {
    "ordinary least squares": lambda b: ((Y - X @ b) ** 2).sum(),
    "columns": lambda b: (residuals(b) ** 2).mean(),
    "np.sum": lambda b: np.sum((Y - X.dot(b)) ** 2),
    "normal equations": lambda b: np.linalg.norm(X.T @ (Y - X @ b)),
    "standard deviation": lambda b: residuals(b).std() + residuals(b).var(ddof=0),
    "np.std": lambda b: np.std(residuals(b)),
    "standardised": lambda b: (((X - X.mean()) / b).sum(axis=1) ** 2).sum(),
    "a number from the left": lambda b: (b[0] / DF["T"] + (b[1] - Y) ** 2).sum(),
    "powers": lambda b: (DF["T"] ** b[0]).mean(),
    "weibull": _weibull,
    "cox": _cox,
    "logit": _logit,
    "poisson": lambda b: (np.exp(X @ b) - DF["E"] * (X @ b)).sum(),
    "garch": _garch,
    "an autoregression": lambda b: ((Y - b[0] * Y.shift(1) - b[1])[1:] ** 2).sum(),
    "missing values": lambda b: ((Y - b[0] * Y.shift(1) - b[1]) ** 2).sum(),
    "differences": lambda b: (residuals(b).diff() ** 2).sum(),
    "random effects": lambda b: ((Y - np.append(b, 0.1)[DF["group"]]) ** 2).sum(),
    "groupby": lambda b: (residuals(b).groupby(DF["group"]).mean() ** 2).sum(),
    "spread in groups": lambda b: residuals(b).groupby(DF["group"]).std().sum(),
    "reindexed": lambda b: (residuals(b).reindex(["r1", "none", "r0"]).fillna(2.0) ** 2).sum(),
    "a Series of traced numbers where": lambda b: fnp.where(
        pd.Series(X.to_numpy() @ b) > 0, pd.Series(X.to_numpy() @ b), Y
    ).sum(),
    "joined": lambda b: (np.concatenate([residuals(b), Y]) ** 2).sum(),
    "transform": lambda b: (
        (residuals(b) - residuals(b).groupby(DF["group"]).transform("mean")) ** 2
    ).sum(),
    "a mask": lambda b: (residuals(b)[DF["T"] > 2] ** 2).sum(),
    "a traced mask": lambda b: residuals(b)[residuals(b) > 0].sum(),
    "where": lambda b: np.where(DF["a"] > b[0], DF["a"] * b[1], b[0]).sum(),
    "huber": lambda b: residuals(b).where(residuals(b).abs() < 0.5, 0.5).sum(),
    "clip by traced bounds": lambda b: residuals(b).clip(b[1], upper=b[0]).sum(),
    "clip": lambda b: residuals(b).clip(-0.5, 0.8).sum() + np.clip(DF["a"], b[1], b[0]).sum(),
    "maximum": lambda b: np.maximum(DF["a"], b[0]).sum() + np.minimum(b[1], DF["b"]).sum(),
    "loc and iloc": lambda b: residuals(b).loc[["r1", "r3"]].sum() * residuals(b).iloc[4],
    "a design matrix": lambda b: (
        (Y - np.column_stack([np.ones(12), X]) @ np.append(b, 1.0)) ** 2
    ).sum(),
    "np.dot": lambda b: (np.dot(X, b) ** 2).sum(),
    "rows and columns": lambda b: ((X - b) ** 2).sum().sum(),
    "mul": lambda b: X.mul(X @ b, axis=0).sum().sum() + Y.mul(b[0]).sum(),
    "frames": _frames,
    "dates": lambda b: np.sum(
        np.exp(-b[0] * (pd.date_range("2020", periods=12) - pd.Timestamp("2020")).days)
    ),
    "assign": lambda b: DF.assign(eta=X @ b).groupby("sex")["eta"].mean().prod(),
    "a new column": _new_column,
    "in place": _in_place,
    "sorted": lambda b: (residuals(b).sort_values() * np.arange(12)).sum(),
    "concat": lambda b: (pd.concat([residuals(b), Y]) ** 2).sum(),
    "a Series of traced numbers": lambda b: (Y - pd.Series(X.to_numpy() @ b, ROWS)).std(),
    "elements": lambda b: sum(v * b[0] for v in DF["a"]) + residuals(b).apply(np.sin).sum(),
    "einsum": lambda b: np.einsum("ij,j->", X, b) + residuals(b).to_numpy().sum(),
}  # fmt: skip


@together
@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", IDIOMS)
def test_idioms_are_differentiated_as_they_are(name: str) -> None:
    check_first_order(IDIOMS[name], B)


@pytest.mark.slow
@pytest.mark.parametrize("name", IDIOMS)
def test_idioms_have_every_mode_and_order(name: str) -> None:
    check_all_modes(IDIOMS[name], B)


def test_results_have_the_labels_of_the_tables() -> None:
    predicted = fd.jit(lambda b: X @ b)(B)
    assert type(predicted) is pd.Series
    pd.testing.assert_series_equal(predicted, X @ B)
    pd.testing.assert_frame_equal(fd.jit(lambda b: X * b)(B), X * B)
    pd.testing.assert_series_equal(fd.jit(lambda b: b[0] * Y)(B), B[0] * Y)
    pd.testing.assert_series_equal(fd.jit(lambda b: b[0] > Y)(B), B[0] > Y)


def test_gradients_by_a_series_keep_its_index_and_name() -> None:
    gradient = fd.grad(lambda s: ((s - DF["a"]) ** 2).sum())
    for _ in range(9):
        pd.testing.assert_series_equal(gradient(Y), (2 * (Y - DF["a"])).rename("y"))
    pd.testing.assert_series_equal(fd.jit(gradient)(Y), gradient(Y))
    spread = fd.grad(lambda s: s.std())(Y)
    pd.testing.assert_series_equal(spread, (Y - Y.mean()) / (11 * Y.std()))


def test_gradients_by_a_frame_are_frames_and_texts_stay() -> None:
    df = DF[["a", "sex", "b"]]
    gradient = fd.grad(lambda d: (d["a"] * d["b"] ** 2)[d["sex"] == "f"].sum())(df)
    women = df["sex"] == "f"
    expected = pd.DataFrame(
        {"a": df["b"] ** 2 * women, "sex": df["sex"], "b": 2 * df["a"] * df["b"] * women}
    )
    pd.testing.assert_frame_equal(gradient, expected)


def test_jacobians_have_the_labels_of_result_and_argument() -> None:
    of_rows = fd.jacobian(lambda b: X @ b)(B)
    np.testing.assert_allclose(of_rows, X)
    assert of_rows.index.equals(ROWS)
    hessian = fd.hessian(lambda s: (s**3).sum())(Y)
    np.testing.assert_allclose(hessian, np.diag(6 * Y))
    assert hessian.index.equals(ROWS)
    assert hessian.columns.equals(ROWS)
    by_series = fd.jacobian(lambda s: s.to_numpy()[:2] * 2)(Y)
    assert by_series.shape == (2, 12)
    assert by_series.columns.equals(ROWS)
    by_frame = fd.jacobian(lambda d: d["a"] * d["b"])(X)
    np.testing.assert_allclose(by_frame["b"], np.diag(X["a"]))
    assert by_frame["b"].index.equals(ROWS)


def test_forward_and_reverse_mode_take_and_give_tables() -> None:
    np.testing.assert_allclose(fd.vjp(lambda b: X @ b, B)[1](Y)[0], X.T @ Y)
    y, t = fd.jvp(lambda s: s**2, (Y,), (Y,))
    pd.testing.assert_series_equal(t, 2 * y)


def test_examples_of_a_series_are_its_numbers_and_series_of_examples_a_frame() -> None:
    np.testing.assert_allclose(fd.vmap(lambda v: v**2)(Y), Y**2)
    each = fd.vmap(lambda b: X @ b)(np.eye(2))
    assert each.columns.equals(ROWS)
    np.testing.assert_allclose(each, X.T)


def test_choices_and_missing_values_ask_for_no_values() -> None:
    rows = pd.Series(RNG.normal(size=100))

    def f(b: Any) -> Any:
        r = rows - b[0]
        r = r.where(r > b[1], b[0]) + r.mask(r > 0, r**2).shift(1).fillna(b[1]) + r.clip(-1, 1)
        return (r * r.isna().sum() + r).sum()

    expected = fd.grad(f)(B)
    np.testing.assert_allclose(fd.jit(fd.grad(f), guards=False)(B), expected)
    np.testing.assert_allclose(fd.vmap(fd.grad(f))(np.stack([B, 3 * B]))[0], expected)


def test_loops_walk_along_a_series() -> None:
    total, sums = fd.scan(lambda c, v: (c + v, c), 0.0, Y)
    np.testing.assert_allclose(total, Y.sum())
    np.testing.assert_allclose(sums, Y.cumsum().shift(fill_value=0.0))


def test_sparse_jacobians_by_a_series_are_matrices() -> None:
    np.testing.assert_allclose(fd.jacobian(lambda s: s**2, sparse=True)(Y).diagonal(), 2 * Y)


def test_another_index_is_another_structure() -> None:
    leaves, structure = flatten(Y)
    pd.testing.assert_series_equal(unflatten(structure, leaves), Y)
    assert flatten(Y.iloc[::-1])[1] != structure
    assert flatten(Y.rename("z"))[1] != structure
    assert flatten(Y.copy())[1] == structure
    compiled = fd.jit(lambda s: s * np.arange(12.0) + s["r1"])
    turned = Y.iloc[::-1]
    for s in (Y, turned, Y):
        pd.testing.assert_series_equal(compiled(s), s * np.arange(12.0) + s["r1"])


@settings(max_examples=15)
@given(st.permutations(list(ROWS)), st.booleans())
def test_tables_meet_only_where_their_labels_are_the_same(order: Any, alike: bool) -> None:
    other = DF["b"].loc[list(ROWS) if alike else order]

    def f(b: Any) -> Any:
        return ((Y - b[0] * DF["a"]) * other).sum()

    if other.index.equals(ROWS):
        np.testing.assert_allclose(fd.grad(f)(B)[0], -(DF["a"] * other).sum())
    else:
        with pytest.raises(InputError, match=r"differ, 'r.* at place .*b\.reindex\(a\.index\)"):
            fd.grad(f)(B)


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "rows of another length": (
        lambda b: (residuals(b) * DF["b"].iloc[1:]).sum(), InputError, r"a\.align\(b",
    ),
    "rolling": (
        lambda b: residuals(b).rolling(3).mean().sum(), UnsupportedNumPyError,
        r"a rolling window .*sliding_window_view\(x, n\) of x\.to_numpy\(\)",
    ),
    "quantile": (
        lambda b: residuals(b).quantile(0.3), LostDerivativeError,
        r"residuals\(b\)\.quantile\(0\.3\) met .* NumPy's functions of x\.to_numpy\(\)",
    ),
    "skew": (lambda b: residuals(b).skew(), UnsupportedNumPyError, r"skew .* x\.to_numpy\(\)"),
    "a cumulative sum of groups": (
        lambda b: residuals(b).groupby(DF["group"]).cumsum().sum(), UnsupportedNumPyError,
        r"groupby\(\)\.cumsum",
    ),
    "a number of Python": (lambda b: float(residuals(b).sum()), LostDerivativeError, r"float\("),
    "texts": (lambda b: (DF["sex"] * b[0]).sum(), UnsupportedNumPyError, "object"),
    "a point in time": (
        lambda b: pd.Timestamp("2020") * b[0], UnsupportedNumPyError, "a Timestamp met",
    ),
}  # fmt: skip


@together
@pytest.mark.parametrize("name", REFUSED)
def test_what_pandas_computes_in_compiled_code_is_refused_with_the_cure(name: str) -> None:
    f, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words) as caught:
        fd.grad(f)(B)
    assert HERE in " ".join((str(caught.value), *getattr(caught.value, "__notes__", ())))


def test_other_labels_and_rows_of_frames_are_refused_as_arguments() -> None:
    with pytest.raises(CotangentError, match=r"'r11' to 'r0'"):
        fd.vjp(lambda b: X @ b, B)[1](Y.iloc[::-1])
    with pytest.raises(InputError, match=r"df\.to_numpy\(\)"):
        fd.vmap(lambda row: row)(X)
    with pytest.raises(InputError, match=r"d\['group'\] is an array of dtype int64"):
        fd.grad(lambda d: d["a"].sum())(DF)


def test_a_table_beside_no_traced_array_is_computed_by_pandas() -> None:
    def f(b: Any) -> Any:
        plain = Y * DF["a"].iloc[::-1]  # aligned by pandas
        return (plain * b[0]).sum() + Y.rolling(3).mean().sum() + Y.dot(DF["a"])

    np.testing.assert_allclose(fd.grad(f)(B)[0], (Y * DF["a"]).sum())
