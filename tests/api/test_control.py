"""`cond`, `switch` and `scan`: what Python's own ``if`` and ``for`` would compute."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError

RANDOM = np.random.default_rng(8)
ROWS = RANDOM.normal(size=(5, 3))


def _choose(x: Any) -> Any:
    return fd.cond(np.sum(x) > 0, lambda x: np.sum(x**3), lambda x: 5 * np.sum(x), x)


# ---- cond ------------------------------------------------------------------------------------


def test_cond_of_plain_values_is_an_if() -> None:
    assert fd.cond(True, lambda x: x + 1, lambda x: x - 1, 3) == 4
    assert fd.cond(False, lambda x: x + 1, lambda x: x - 1, 3) == 2


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_gradient_of_cond_is_that_of_the_branch_taken(sign: float) -> None:
    x = sign * np.array([1.0, 2.0, 3.0])
    expected = 3 * x**2 if sign > 0 else np.full(3, 5.0)
    np.testing.assert_array_equal(fd.grad(_choose)(x), expected)
    np.testing.assert_array_equal(fd.jacfwd(_choose)(x), expected)
    np.testing.assert_array_equal(
        fd.hessian(_choose)(x), np.diag(6 * x) if sign > 0 else np.zeros((3, 3))
    )


def test_branches_that_return_different_things_are_an_error() -> None:
    def f(other: Any) -> Any:
        return fd.grad(lambda x: fd.cond(x > 0, lambda x: x, other, x))(1.0)

    with pytest.raises(OutputError, match="must return the same"):
        f(lambda x: (x, x))
    with pytest.raises(OutputError, match=r"f64\[2\]"):
        f(lambda x: x * np.ones(2))


def test_the_condition_is_a_scalar() -> None:
    with pytest.raises(InputError, match=r"scalar condition.*np\.where"):
        fd.grad(lambda x: np.sum(fd.cond(x > 0, np.sin, np.cos, x)))(np.ones(2))


# ---- switch ----------------------------------------------------------------------------------

BRANCHES = (np.sin, lambda x: x**3, lambda x: np.exp(-x))
SLOPES = (np.cos, lambda x: 3 * x**2, lambda x: -np.exp(-x))


@pytest.mark.parametrize(("index", "taken"), [(0, 0), (1, 1), (2, 2), (3, 2), (99, 2), (-1, 0)])
def test_switch_keeps_its_index_in_range(index: int, taken: int) -> None:
    x = 0.7
    assert fd.switch(index, BRANCHES, x) == BRANCHES[taken](x)
    assert fd.grad(lambda x: fd.switch(index, BRANCHES, x))(x) == SLOPES[taken](x)
    traced = fd.grad(lambda x: fd.switch((index + 0 * x).astype(int), BRANCHES, x))
    assert traced(x) == pytest.approx(SLOPES[taken](x), rel=1e-15)


def test_switch_under_vmap_selects_for_each_example() -> None:
    indices = np.array([2, 0, 1, -7, 8])
    x = np.linspace(-1.0, 1.0, 5)
    taken = [min(max(k, 0), 2) for k in indices]
    both: Any = fd.vmap(fd.value_and_grad(lambda x, k: fd.switch(k, BRANCHES, x)))(x, indices)
    np.testing.assert_allclose(both[0], [BRANCHES[k](v) for k, v in zip(taken, x, strict=True)])
    np.testing.assert_allclose(both[1], [SLOPES[k](v) for k, v in zip(taken, x, strict=True)])


def test_the_branches_of_switch_may_close_over_traced_arrays() -> None:
    def f(w: Any, k: Any) -> Any:
        branches = [lambda x: w * x, lambda x: x, lambda x: w**2 * x]
        return fd.switch(k, branches, 3.0)

    slopes = fd.vmap(fd.grad(f), in_axes=(None, 0))(2.0, np.arange(3))
    np.testing.assert_array_equal(slopes, [3, 0, 12])


def test_a_single_branch_is_called() -> None:
    result = fd.vmap(lambda k: fd.switch(k, [lambda: 4.0]))(np.arange(2))
    np.testing.assert_array_equal(result, [4, 4])


def test_an_index_that_is_no_integer_is_an_error() -> None:
    switch: Any = fd.switch
    for index in (1.0, True, np.arange(2)):
        with pytest.raises(InputError, match=r"integer scalar.*fd\.cond"):
            switch(index, BRANCHES, 1.0)
    with pytest.raises(InputError, match="at least one branch"):
        fd.switch(0, [], 1.0)
    with pytest.raises(OutputError, match=r"branches of switch.*f64\[2\]"):
        fd.vmap(lambda k: switch(k, [np.sum, lambda x: x, np.prod], np.ones(2)))(np.arange(2))


# ---- scan ------------------------------------------------------------------------------------


def _step(carry: Any, row: Any) -> tuple[Any, Any]:
    carry = np.tanh(carry * 0.5 + row)
    return carry, np.sum(carry**2)


def _by_hand(init: Any, rows: Any, *, reverse: bool = False) -> tuple[Any, Any]:
    order = range(len(rows))[::-1] if reverse else range(len(rows))
    carry, outputs = init, {}
    for k in order:
        carry, outputs[k] = _step(carry, rows[k])
    return carry, np.stack([outputs[k] for k in range(len(rows))])


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_is_a_loop(reverse: bool) -> None:
    carry, ys = fd.scan(_step, np.ones(3), ROWS, reverse=reverse)
    expected = _by_hand(np.ones(3), ROWS, reverse=reverse)
    np.testing.assert_allclose(carry, expected[0], rtol=1e-14)
    np.testing.assert_allclose(ys, expected[1], rtol=1e-14)


def test_scan_without_rows_needs_a_length() -> None:
    carry, ys = fd.scan(lambda c, _: (2 * c, c), 1.0, length=4)
    assert carry == 16
    np.testing.assert_array_equal(ys, [1, 2, 4, 8])
    with pytest.raises(InputError, match="length"):
        fd.scan(lambda c, _: (c, None), 1.0)
    with pytest.raises(InputError, match=r"length=-1.*fd\.fori_loop"):
        fd.scan(lambda c, _: (c, None), 1.0, length=-1)


def test_scan_over_nothing_returns_the_first_carry() -> None:
    carry, ys = fd.scan(_step, np.ones(3), np.zeros((0, 3)))
    np.testing.assert_array_equal(carry, np.ones(3))
    assert ys.shape == (0,)


def test_a_carry_that_changes_its_type_is_an_error() -> None:
    scan: Any = fd.scan  # types refuse this, too
    with pytest.raises(OutputError, match=r"carry.*f64\[\].*f64\[2\]"):
        scan(lambda c, _: (c * np.ones(2), None), 1.0, length=2)
    with pytest.raises(OutputError, match="carry"):
        scan(lambda c, _: ((c, c), None), 1.0, length=2)
    with pytest.raises(OutputError, match=r"carry\['n'\].*i64\[\].*f64\[\].*init\['n'\]"):
        scan(lambda c, _: ({"n": c["n"] * 0.5}, None), {"n": 1}, length=2)
    with pytest.raises(OutputError, match=r"carry\['b'\] is missing"):
        scan(lambda c, _: ({"a": c["a"]}, None), {"a": 1.0, "b": 2.0}, length=2)


def test_containers_that_change_are_named_where_they_differ() -> None:
    scan: Any = fd.scan
    carry = {"layers": [{"w": np.ones(2), "b": 0.0} for _ in range(30)], "rest": (1.0, 2.0)}

    def without_bias(c: Any, _: Any) -> Any:
        return {"layers": [*c["layers"][:29], {"w": np.ones(2)}], "rest": c["rest"]}, None

    def as_list(c: Any, _: Any) -> Any:
        return {"layers": c["layers"], "rest": list(c["rest"])}, None

    def reordered(c: Any, _: Any) -> Any:
        return {"rest": c["rest"], "layers": c["layers"]}, None

    def one(c: Any, _: Any) -> Any:
        return c["rest"][0], None

    for body, difference in (
        (without_bias, r"carry\['layers'\]\[29\]\['b'\] is missing, at"),
        (as_list, r"carry\['rest'\] was \(\*, \*\) and is \[\*, \*\], at"),
        (reordered, "its keys are in another order, at"),
        (one, r"carry was \{'layers': \[.* \.\.\. and is one value, at"),
    ):
        with pytest.raises(OutputError, match=f"other containers: {difference}") as caught:
            scan(body, carry, None, length=2)
        assert len(str(caught.value).replace(__file__, "")) < 330


def test_branches_that_differ_are_named_where_they_differ() -> None:
    def chosen(*branches: Any) -> Any:
        return fd.vmap(lambda k: fd.switch(k, branches, 1.0))(np.array([0, 1]))

    with pytest.raises(OutputError, match=r"other containers than .*: result\['b'\] is missing"):
        chosen(lambda x: {"a": x, "b": x}, lambda x: {"a": x})
    with pytest.raises(OutputError, match=r"'two' and .* returned 'one' as result\[1\]"):
        chosen(lambda x: (x, "one"), lambda x: (x, "two"))
    with pytest.raises(OutputError, match=r"f64\[\] and .* returned 'one' as result\[1\]"):
        chosen(lambda x: (x, "one"), lambda x: (x, x))


def test_the_body_must_return_a_pair() -> None:
    body: Any = lambda c, _: c
    with pytest.raises(OutputError, match=r"\(carry, y\)"):
        fd.scan(body, 1.0, length=2)


def test_lengths_that_disagree_are_an_error() -> None:
    with pytest.raises(InputError, match="length"):
        fd.scan(_step, np.ones(3), ROWS, length=4)
    with pytest.raises(InputError, match="length"):
        fd.scan(lambda c, r: (c, None), 1.0, (np.ones(3), np.ones(4)))


# ---- stop_gradient ---------------------------------------------------------------------------


def test_stop_gradient_is_a_constant_in_every_mode() -> None:
    def f(x: Any) -> Any:
        return x * fd.stop_gradient(x**2)

    assert fd.grad(f)(3.0) == 9
    assert fd.jvp(f, (3.0,), (1.0,)) == (27, 9)
    assert fd.grad(fd.grad(f))(3.0) == 0


def test_stop_gradient_takes_containers_and_leaves_plain_values_alone() -> None:
    assert fd.stop_gradient({"a": 1.0, "b": "text"}) == {"a": 1.0, "b": "text"}

    def f(p: Any) -> Any:
        q = fd.stop_gradient(p)
        return p["a"] * q["a"] + q["b"]

    assert fd.grad(f)({"a": 3.0, "b": 2.0}) == {"a": 3, "b": 0}


def test_stop_gradient_makes_a_conversion_legal() -> None:
    def f(x: Any) -> Any:
        return x * float(fd.stop_gradient(x))

    assert fd.grad(f)(3.0) == 3


# ---- arguments that a body changes -----------------------------------------------------------


def _raised(v: Any) -> Any:
    v += 1
    return v


def test_a_branch_that_changes_an_operand_in_place_is_refused() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        return fd.cond(x[0] > 0, lambda v: np.sum(_raised(v)), np.sum, y) * np.sum(y)

    message = r"branch of cond, but changes operands\[0\] in place, at .*test_control.* v = v \+ 1"
    with pytest.raises(InputError, match=message):
        fd.grad(f)(np.ones(3))


def test_a_branch_may_change_a_copy_and_return_it() -> None:
    def f(x: Any) -> Any:
        return np.sum(fd.cond(x[0] > 0, lambda v: _raised(v.copy()) ** 2, lambda v: v, x * 1.0))

    np.testing.assert_array_equal(fd.grad(f)(np.ones(3)), np.full(3, 4.0))


def test_a_condition_that_changes_the_carry_in_place_is_refused() -> None:
    def f(x: Any) -> Any:
        return fd.while_loop(lambda v: np.sum(_raised(v)) < 9, lambda v: 2 * v, x)

    with pytest.raises(InputError, match=r"the condition .* changes leaf 0 of the carry in place"):
        fd.jvp(f, (np.ones(2),), (np.ones(2),))


def _correlated(x: Any) -> Any:
    one = 1.0 + 0 * x
    return np.linalg.cholesky(np.stack([np.stack([one, x]), np.stack([x, one])]))[1, 1]


def _chosen(x: Any, k: Any) -> Any:
    def inverse(x: Any) -> Any:
        return np.linalg.inv(x[None, None])[0, 0] * 3 // round(x)

    return fd.switch(k, [_correlated, lambda x: x * 2.0, inverse], x)


def _looped(x: Any, n: Any) -> Any:
    def body(state: Any) -> Any:
        k, total = state
        z = x / k  # infinite for examples that have ended
        return k - 1, total + z * _correlated(np.minimum(z * 0.1, 0.9 * k))

    return fd.while_loop(lambda state: state[0] > 0, body, (n, 0.0 * x))[1]


X = np.array([0.5, 2.0, 0.0, 3.0, 0.3, 5.0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "ks"), [(_chosen, [0, 1, 1, 2, -3, 9]), (_looped, [3.0, 1.0, 0.0, 2.0, 5.0, 1.0])]
)
def test_what_an_example_does_not_run_raises_nothing_under_vmap(f: Any, ks: list[Any]) -> None:
    k = np.array(ks)
    orders: list[Any] = [f, fd.grad(f), fd.grad(fd.grad(f))]
    for g in orders:
        expected = [g(*pair) for pair in zip(X, k, strict=True)]
        for mapped in (fd.vmap(g), fd.jit(fd.vmap(g))):
            np.testing.assert_allclose(mapped(X, k), expected, rtol=1e-12)
    pairs = fd.vmap(fd.vmap(f))(X.reshape(2, 3), k.reshape(2, 3))
    np.testing.assert_allclose(pairs.ravel(), fd.vmap(f)(X, k))
    J = np.diag([fd.grad(f)(*pair) for pair in zip(X, k, strict=True)])
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(fd.jacobian(lambda x: fd.vmap(f)(x, k), mode=mode)(X), J)


def test_a_branch_that_nobody_chooses_raises_nothing() -> None:
    np.testing.assert_array_equal(fd.vmap(_chosen)(X, np.ones(6, int)), 2 * X)
