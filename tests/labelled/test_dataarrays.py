"""xarray: arrays with names for their axes, as data, arguments and results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import CotangentError, InputError, LostDerivativeError, OutputError
from funcdiff.pytree import flatten, unflatten
from tests.labelled.modes import check_all_modes, check_first_order
from tests.together import together

X: Any = xr  # half of its functions have no types
HERE = Path(__file__).name
RNG = np.random.default_rng(3)
TIMES = np.arange(6.0)
Q = xr.DataArray(
    RNG.uniform(0.5, 2.0, (6, 3)),
    dims=("t", "x"),
    coords={"t": TIMES, "x": ["a", "b", "c"], "season": ("t", [0, 0, 1, 1, 2, 2])},
    name="q",
    attrs={"units": "K"},
)
W = xr.DataArray([0.3, -0.7, 0.5], dims="x", coords={"x": ["a", "b", "c"]}, name="w")
B = W.to_numpy()
DAYS = np.datetime64("2000-01-01") + np.arange(6).astype("timedelta64[D]")


def field(b: Any) -> Any:
    """What the idioms begin with: traced numbers in a DataArray, and data that have labels."""
    return Q * xr.DataArray(b, dims="x", coords={"x": ["a", "b", "c"]})


def _in_place(b: Any) -> Any:
    y = field(b)
    y[0] = 1.0
    y.loc[{"x": "b"}] = 0.0
    return (y**2).sum()


def _dataset(b: Any) -> Any:
    ds = xr.Dataset({"u": field(b), "v": Q})
    ds["w"] = ds.u * ds.v
    return ds.mean()["w"]


IDIOMS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda b: field(b).sum(),
    "data": lambda b: (field(b).data ** 2).sum(),
    "a traced number": lambda b: (Q * b[0] + b[1] / Q).sum(),
    "a traced number first": lambda b: (b[0] * Q - Q).mean(),
    "mean over an axis": lambda b: (field(b).mean("t") ** 2).sum(),
    "std and max": lambda b: (field(b).std("t") * field(b).max("t")).sum(),
    "ufuncs": lambda b: np.exp(-field(b)).sum(),
    "where": lambda b: field(b).where(Q > 1.0, 0.0).sum(),
    "xr.where": lambda b: X.where(field(b) > 0, field(b), 0.1 * field(b)).sum(),
    "groupby": lambda b: (field(b).groupby("season").mean() ** 2).sum(),
    "rolling": lambda b: (field(b).rolling(t=3).mean().dropna("t") ** 2).sum(),
    "resample": lambda b: (
        field(b).assign_coords(t=DAYS).resample(t="2D").mean() ** 2
    ).sum(),
    "coarsen": lambda b: (field(b).coarsen(t=2).mean() ** 2).sum(),
    "isel and sel": lambda b: (field(b).isel(t=slice(1, 4)).sel(x=["a", "c"]) ** 2).sum(),
    "dot": lambda b: (xr.dot(field(b), Q, dim="t") ** 2).sum(),
    "concat": lambda b: (xr.concat([field(b), Q], dim="t") ** 2).sum(),
    "diff and shift": lambda b: (field(b).diff("t") * field(b).shift(t=1).fillna(0.5)).sum(),
    "differentiate": lambda b: (field(b).differentiate("t") ** 2).sum(),
    "integrate": lambda b: (field(b).integrate("t") ** 2).sum(),
    "weighted": lambda b: (field(b).weighted(xr.DataArray(TIMES, dims="t")).mean("t") ** 2).sum(),
    "apply_ufunc": lambda b: xr.apply_ufunc(
        lambda q, y: q @ y, Q, field(b)[0], input_core_dims=[["x"], ["x"]]
    ).sum(),
    "stack": lambda b: (field(b).stack(z=("t", "x")) ** 2).sum(),
    "quantile": lambda b: field(b).quantile(0.3, dim="t").sum(),
    "where the maximum is": lambda b: field(b).isel(field(b).argmax(dim=["t"])).sum(),
    "unstack": lambda b: (field(b).stack(z=("t", "x")).unstack("z") ** 2).sum(),
    "functions of arrays": lambda b: np.einsum("tx,x->", field(b), b) + np.dot(Q, b).sum(),
    "funcdiff's functions": lambda b: fnp.linalg.norm(fnp.where(field(b) > 0, field(b), 0)),
    "a Dataset": _dataset,
    "assignment": _in_place,
    "interp": lambda b: (field(b).interp(t=[0.5, 2.25]) ** 2).sum(),
    "interp to a field": lambda b: (
        field(b).interp(t=xr.DataArray([[0.4, 1.6], [0.1, 7.0]], dims=("k", "l"))).fillna(0) ** 2
    ).sum(),
}  # fmt: skip


@pytest.mark.slow
@together
@pytest.mark.parametrize("name", IDIOMS)
def test_idioms_are_differentiated_as_they_are(name: str) -> None:
    check_first_order(IDIOMS[name], B)


@pytest.mark.slow
@pytest.mark.parametrize("name", IDIOMS)
def test_idioms_have_every_mode_and_order(name: str) -> None:
    check_all_modes(IDIOMS[name], B)


def rows(w: Any) -> Any:
    """A function of arguments with labels."""
    return (Q * w).sum("x")


def loss(w: Any) -> Any:
    return (rows(w) ** 2).sum()


def test_gradients_have_the_labels_of_the_argument() -> None:
    expected = W.copy(data=fd.grad(lambda b: np.sum((Q.data @ b) ** 2))(B))
    gradient = fd.grad(loss)
    for _ in range(9):
        xr.testing.assert_allclose(gradient(W), expected)
    assert gradient(W).identical(fd.jit(gradient)(W))
    assert gradient(W).name == "w"
    xr.testing.assert_allclose(fd.grad(lambda w: (w**2).sum())(W.variable), 2 * W.variable)


def test_gradients_by_a_dataset_are_datasets() -> None:
    ds = xr.Dataset({"q": Q, "w": W, "site": ("x", ["p", "q", "r"])}, attrs={"source": "test"})
    gradient = fd.grad(lambda ds: (ds.q * ds.w).sum())(ds)
    xr.testing.assert_allclose(gradient["q"], xr.zeros_like(Q) + W)
    xr.testing.assert_allclose(gradient["w"], Q.sum("t").assign_coords(x=W.x))
    assert gradient["site"].identical(ds["site"])
    assert gradient.attrs == ds.attrs
    assert list(gradient.data_vars) == list(ds.data_vars)


def test_jacobians_have_the_axes_of_the_result_and_then_of_the_argument() -> None:
    jacobian = fd.jacobian(rows)(W)
    assert jacobian.dims == ("t", "x")
    np.testing.assert_allclose(jacobian, Q)
    assert jacobian.indexes["x"].equals(W.indexes["x"])
    hessian = fd.hessian(loss)(W)
    assert hessian.dims == ("x", "x_")
    assert list(hessian.coords["x_"].values) == ["a", "b", "c"]
    np.testing.assert_allclose(hessian, 2 * Q.data.T @ Q.data)
    assert fd.jacobian(lambda w: w.data**2)(W).dims == ("dim_0", "x")
    assert fd.jacobian(lambda b: rows(W * b[0] + b[1]))(B).dims == ("t", "dim_0")


def test_jacobians_of_datasets_and_by_datasets_are_datasets() -> None:
    ds = xr.Dataset({"q": Q, "w": W})
    found = fd.jacobian(lambda ds: (ds.q * ds.w).sum("x"))(ds)
    assert found["q"].dims == ("t", "t_", "x")
    assert found["w"].dims == ("t", "x")
    of_two = fd.jacobian(lambda w: xr.Dataset({"rows": rows(w), "square": w**2}))(W)
    assert of_two["rows"].dims == ("t", "x_")
    assert of_two["square"].dims == ("x", "x_")


def test_forward_and_reverse_mode_take_and_give_labels() -> None:
    y, t = fd.jvp(rows, (W,), (W,))
    xr.testing.assert_allclose(t, y)
    assert y.indexes["t"].equals(Q.indexes["t"])
    pulled = fd.vjp(rows, W)[1](y.rename("of another name"))[0]
    xr.testing.assert_allclose(pulled, (Q * y).sum("t").rename("w").reset_coords(drop=True))


def test_examples_along_an_axis_have_the_labels_that_are_left() -> None:
    each = fd.vmap(lambda row: (row * W).sum())(Q)
    np.testing.assert_allclose(each, Q.data @ B)
    seen = []

    def double(column: Any) -> Any:
        seen.append(column.dims)
        return 2 * column

    columns = fd.vmap(double, in_axes=1)(Q)
    assert seen == [("t",)]
    assert columns.dims == ("dim_0", "t")
    np.testing.assert_allclose(columns, 2 * Q.data.T)


CUBE = xr.DataArray(
    RNG.normal(size=(2, 2, 2)), dims=("x", "y", "z"), coords={"x": [1.0, 2.0], "z": ["p", "q"]}
)  # all axes of one length, so that only names tell them apart
AXES = st.permutations(["x", "y", "z"])


@pytest.mark.slow
@settings(max_examples=12)
@given(AXES, st.integers(1, 3), AXES, st.integers(0, 2))
def test_blocks_of_jacobians_stand_where_their_labels_say(
    of: list[str], count: int, result: list[str], summed: int
) -> None:
    w = CUBE.transpose(*of)[(0,) * (3 - count)].reset_coords(drop=True)
    gone = result[:summed]

    def f(w: Any) -> Any:  # linear in w
        return (CUBE * w).sum(gone).transpose(*result[summed:])

    jacobian = fd.jacobian(f)(w)
    assert set(jacobian.dims[: 3 - summed]) == {*result[summed:]}
    for place in np.ndindex(*w.shape):
        unit = xr.zeros_like(w)
        unit[place] = 1.0
        taken = {*result[summed:], *f(w).coords}
        names = {d: f"{d}_" if d in taken else d for d in w.dims}
        one = jacobian.isel({names[d]: k for d, k in zip(w.dims, place, strict=True)})
        assert one.dims == f(w).dims
        np.testing.assert_allclose(one, f(unit))


@settings(max_examples=8)
@given(AXES, st.integers(0, 2), AXES)
def test_examples_in_a_batch_are_those_of_a_loop(
    of: list[str], axis: int, result: list[str]
) -> None:
    w = CUBE.transpose(*of)
    order = [d for d in result if d != of[axis]]

    def f(one: Any) -> Any:
        return (one * np.arange(2.0)).transpose(*order)

    batch = fd.vmap(f, in_axes=axis)(w)
    for k in range(2):
        one = f(w.isel({of[axis]: k}, drop=True))
        xr.testing.assert_allclose(batch[k], one)


def test_other_coordinates_are_another_function_under_jit() -> None:
    compiled = fd.jit(lambda w: w * w.coords["height"].data)
    first = W.assign_coords(height=("x", [1.0, 2.0, 3.0]))
    second = W.assign_coords(height=("x", [1.0, 2.0, 4.0]))
    for w in (first, second, first):
        np.testing.assert_allclose(compiled(w), w * w.height)


def test_a_structure_keeps_no_array_of_the_callers() -> None:
    leaves, structure = flatten(Q)
    assert unflatten(structure, leaves).identical(Q)
    changed = Q.copy(deep=True)
    before = flatten(changed)[1]
    changed.coords["season"].data[0] = 7
    assert flatten(changed)[1] != before
    assert before == structure
    assert flatten(Q.assign_attrs(units="C"))[1] != structure


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "values": (
        lambda: fd.grad(lambda w: w.values.sum())(W),
        LostDerivativeError, r"w\.values met .*It is xarray .* x\.data, which is the traced",
    ),
    "a number of Python": (
        lambda: fd.grad(lambda w: float(w.sum()))(W), LostDerivativeError, r"float\(w\.sum\(\)\)",
    ),
    "no scalar": (lambda: fd.grad(rows)(W), OutputError, r"or use fd\.jacobian"),
    "integers": (
        lambda: fd.grad(lambda w: w.sum())(W.astype(int)), InputError, r"\.astype\(float\)",
    ),
    "an axis of results": (
        lambda: fd.vmap(lambda r: r * 2, out_axes=1)(Q), InputError, "Leave it out, and transpose",
    ),
    "axes of other names": (
        lambda: fd.vmap(lambda ds: ds.q)(xr.Dataset({"q": Q[:3], "w": W})),
        InputError, "different names there",
    ),
    "a cotangent with other labels": (
        lambda: fd.vjp(lambda w: 2 * w, W)[1](W.assign_coords(x=["c", "b", "a"])),
        CotangentError, "DataArray",
    ),
}  # fmt: skip


@together
@pytest.mark.parametrize("name", REFUSED)
def test_what_would_lose_derivatives_or_labels_is_refused_with_the_cure(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words) as caught:
        call()
    assert HERE in str(caught.value)
