"""Derivative rules and custom functions that would give wrong numbers silently, and are refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, NotDifferentiableError, OutputError

FD: Any = fd  # a type checker refuses much of what is tried here

X = np.array([0.3, 0.7])

# ---- arguments changed in place --------------------------------------------------------------


def _raised_sum(v: Any) -> Any:
    v += 1
    return np.sum(v)


def test_a_custom_function_that_changes_an_argument_in_place_is_refused() -> None:
    c = fd.custom_jvp(_raised_sum)
    c.defjvp(lambda primals, tangents: (np.sum(primals[0] + 1), np.sum(tangents[0])))

    def f(x: Any) -> Any:
        y = x * 1.0
        return c(y) * np.sum(y)

    with pytest.raises(InputError, match=r"changes an input in place, at .* v = v \+ 1"):
        fd.grad(f)(np.ones(2))


def test_a_rule_that_changes_an_argument_in_place_is_refused() -> None:
    c: Any = fd.custom_vjp(np.sum)
    c.defvjp(lambda v: (_raised_sum(v), None), lambda _, ct: (np.ones(2) * ct,))
    with pytest.raises(InputError, match=r"the forward rule .* of sum changes an input in place"):
        fd.grad(c)(np.ones(2))
    with pytest.raises(InputError, match=r"forward rule .* of sum changes its input 0 in place"):
        fd.jit(fd.grad(c))(np.ones(2))


def test_finding_the_types_of_an_opaque_result_leaves_the_arguments_alone() -> None:
    p = fd.primitive(_raised_sum)
    p.defjvp(lambda primals, tangents: (p(*primals), np.sum(tangents[0])))
    x = np.ones(2)
    fd.grad(p)(x)
    np.testing.assert_array_equal(x, np.ones(2))


# ---- rules that are not linear ---------------------------------------------------------------


def _with_jvp(rule: Any) -> Any:
    c = fd.custom_jvp(lambda x: 2 * x)
    c.defjvp(lambda primals, tangents: (2 * primals[0], rule(primals[0], tangents[0])))
    return c


def _with_vjp(backward: Any) -> Any:
    c = fd.custom_vjp(lambda x: 2 * x)
    c.defvjp(lambda x: (2 * x, x), lambda x, ct: (backward(x, ct),))
    return c


NONLINEAR: list[Any] = [
    lambda x, t: np.sign(t),
    lambda x, t: np.floor(t),
    lambda x, t: np.square(t),
    lambda x, t: np.tanh(t),
    lambda x, t: np.abs(t),
    lambda x, _t: np.ones_like(x),
    lambda x, t: t + 1,
    lambda x, t: x * t + x,
    lambda x, t: np.where(x > 0, t, 1.0),
    lambda x, t: np.concatenate([t[:1], np.ones(1)]),
    lambda x, t: fd.cond(x[0] < 0, lambda t: t, lambda t: t + 1, t),
    lambda x, t: fd.scan(lambda c, r: (c + 1, c + r), 0.0, t)[1],
]
VANISHING: list[Any] = [
    lambda x, t: 2 * x * x * t / x,
    lambda x, t: np.mean(np.stack([t, t])) * 2 * x,
    lambda x, _t: None,
    lambda x, _t: np.zeros_like(x),
    lambda x, _t: np.zeros(2),
    lambda x, t: t + np.zeros(2),
    lambda x, t: np.where(x > 0.5, 2 * t, 0),
    lambda x, t: np.concatenate([t[:1], np.zeros(1)]),
    lambda x, t: fd.cond(x[0] > 0, lambda t: t, lambda t: 2 * t, t),
    lambda x, t: fd.scan(lambda c, r: (c + r, c), 0.0, t)[1],
    lambda x, t: fd.jvp(lambda x: fd.scan(lambda c, r: (c * r, c + r), x[0], x)[1], (x,), (t,))[1],
    lambda x, t: np.linalg.solve(np.eye(2) + np.outer(x, x), t),
]


@pytest.mark.parametrize("rule", NONLINEAR)
def test_a_rule_that_is_not_linear_is_not_turned_around(rule: Any) -> None:
    with pytest.raises(NotDifferentiableError, match=r"is not linear in its tangents"):
        fd.jacrev(_with_jvp(rule))(X)
    with pytest.raises(NotDifferentiableError, match=r"is not linear in its cotangent"):
        fd.jvp(_with_vjp(rule), (X,), (X,))
    with pytest.raises(NotDifferentiableError, match=r"is not linear in its tangents"):
        fd.vjp(_with_jvp(rule), X)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("rule", VANISHING)
def test_a_rule_whose_constant_part_is_zero_gives_every_mode(rule: Any) -> None:
    f, g = _with_jvp(rule), _with_vjp(rule)
    np.testing.assert_allclose(fd.jacfwd(f)(X), fd.jacrev(f)(X), rtol=1e-14)
    np.testing.assert_allclose(fd.jacfwd(g)(X), fd.jacrev(g)(X), rtol=1e-14)
    for c in (f, g):  # on values
        matrix = fd.jacrev(c)(X)
        np.testing.assert_allclose(fd.vjp(c, X)[1](X)[0], X @ matrix, rtol=1e-14)
        np.testing.assert_allclose(fd.jvp(c, (X,), (X,))[1], matrix @ X, rtol=1e-14)
    rows = np.stack([X, -X])
    expected = np.stack([fd.jacrev(f)(x) for x in rows])
    np.testing.assert_allclose(fd.vmap(fd.jacrev(f))(rows), expected, rtol=1e-14)


# ---- what a backward rule takes and returns ------------------------------------------------------


def _product(backward: Any, forward: Any = lambda a, x: (a @ x, (a, x))) -> Any:
    product = FD.custom_vjp(lambda a, x: a @ x)
    product.defvjp(forward, backward)
    return product


def _of_both(product: Any) -> Any:
    return FD.grad(lambda a, x: np.sum(product(a, x)), argnums=(0, 1))


@pytest.mark.parametrize("transform", [lambda f: f, FD.jit])
@pytest.mark.parametrize(("backward", "said"), [
    (lambda res, ct: (1.0, ct @ res[0]), r"entry 0 .* It is smaller: np\.broadcast_to\(v, \(2, 3"),
    (lambda res, ct: (np.outer(ct, res[1]), res[0] * ct[:, None]),
     r"entry 1 .* It is larger: sum over the axes"),
    (lambda res, ct: (res[0].T, ct @ res[0]), r"entry 0 .* Reshape or transpose it\.$"),
    (lambda res, ct: (ct @ res[0], np.outer(ct, res[1])), r"fit the arguments in another order"),
])  # fmt: skip
def test_an_entry_of_another_shape_is_told_with_the_way_back(
    transform: Any, backward: Any, said: str
) -> None:
    with pytest.raises(OutputError, match=said) as caught:
        transform(_of_both(_product(backward)))(np.ones((2, 3)), np.ones(3))
    assert re.search(r", at '[^<']*test_custom_refusals\.py', line", str(caught.value))


class _Rules:
    def backward(self, g: Any, saved: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("backward", [
    lambda ct, res: (ct, res), lambda ct, x: (np.cos(x) * ct,), lambda g, res: (g, res),
    lambda dy, saved, scale=1.0: (dy,), _Rules().backward,
])  # fmt: skip
def test_a_backward_rule_with_its_parameters_swapped_is_refused(backward: Any) -> None:
    with pytest.raises(InputError, match=r"is called with \(residuals, cotangent\)\. Write \("):
        _product(backward)


def test_other_names_of_a_backward_rule_tell_nothing() -> None:
    for backward in (
        lambda g, x: (g, x), lambda dy, v: (v * dy,), lambda ct, cts: (ct, cts), lambda x: x,
        lambda *args: args, np.dot, lambda res, ct, cache=None: (res, ct),
    ):  # fmt: skip
        _product(backward)
    fixed = FD.custom_vjp(lambda n, x: x**n, nondiff_argnums=0)
    fixed.defvjp(lambda n, x: (x**n, x), lambda ct, res, g: (ct * res * g,))


@pytest.mark.parametrize("transform", [lambda f: f, FD.jit])
def test_an_error_in_a_rule_says_what_the_rule_takes(transform: Any) -> None:
    with pytest.raises(TypeError, match="positional argument") as caught:
        transform(_of_both(_product(lambda ct: ct)))(np.ones((2, 3)), np.ones(3))
    assert "(residuals, cotangent), in this order" in "".join(caught.value.__notes__)
