"""Transforms as letters: each turns a map of vectors into another, in funcdiff and in plain NumPy.

The plain one does the same with loops, branches and central differences: an oracle that knows
nothing of funcdiff.  A `Form` says in what the transforms of funcdiff see the vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

import funcdiff as fd

Vector: TypeAlias = Any
Map: TypeAlias = Callable[[Vector], Vector]
Weighted: TypeAlias = Callable[[Any, Any], Any]
"""A map with weights as the first argument, which most letters close over."""

TANGENT = np.array([0.7, -0.4, 0.9])
COTANGENT = np.array([-0.6, 0.8, 0.5])
SCALES = np.array([0.9, -0.7])
SHIFTS = np.array([[0.1, -0.2, 0.0], [0.5, 0.3, -0.1]])
MIX = np.array([0.6, -1.1])
ROWS = np.array([[0.3, -0.1, 0.2], [-0.2, 0.4, 0.1]])

LIMIT = 1.15
"""Of the difference that decides how often `while` runs; no word comes near it."""


def innermost(w: Any, x: Vector) -> Vector:
    """Apply an asymmetric map of vectors."""
    return np.sin(w[0] * x) + w[1] * x[::-1] * x[0]


def trips(x: Vector) -> Any:
    """Return how often a loop runs, by its input: once or twice."""
    return np.where(x[0] - x[1] > LIMIT, 1.5, 0.5)


# ---- in what transforms see vectors ------------------------------------------------------------


class Form(NamedTuple):
    """How a vector, the last axis of an array, becomes what a transform is given, and back."""

    pack: Callable[[Vector], Any]
    unpack: Callable[[Any], Vector]


@dataclass(frozen=True)
class State:
    """A container with a complex leaf, one in a tuple beside None, and a static field."""

    z: Any
    rest: tuple[Any, None]
    unit: str = field(default="m", metadata={"static": True})


def packed(x: Vector) -> State:
    """Take a vector of three apart; the first two are a complex number."""
    return State(x[..., 0] + 1j * x[..., 1], (x[..., 2:], None))


def unpacked(state: State) -> Vector:
    """Put the vector together."""
    assert state.unit == "m"
    z = np.stack([state.z.real, state.z.imag], axis=-1)
    return np.concatenate([z, state.rest[0]], axis=-1)


FORMS: Final = {"vectors": Form(lambda x: x, lambda x: x), "containers": Form(packed, unpacked)}


# ---- the letters in funcdiff -------------------------------------------------------------------


def by_jvp(f: Weighted, form: Form) -> Weighted:
    def pushed(w: Any, x: Vector) -> Vector:
        _, t = fd.jvp(partial(f, w), (form.pack(x),), (form.pack(TANGENT),))
        return form.unpack(t)

    return pushed


def by_linearize(f: Weighted, form: Form) -> Weighted:
    def pushed(w: Any, x: Vector) -> Vector:
        _, push = fd.linearize(partial(f, w), form.pack(x))
        return form.unpack(push(form.pack(TANGENT)))

    return pushed


def by_vjp(f: Weighted, form: Form) -> Weighted:
    def pulled(w: Any, x: Vector) -> Vector:
        _, pull = fd.vjp(partial(f, w), form.pack(x))
        return form.unpack(pull(form.pack(COTANGENT))[0])

    return pulled


def by_vmap(f: Weighted, form: Form) -> Weighted:
    def mapped(w: Any, x: Vector) -> Vector:
        examples = SCALES[:, None] * x + SHIFTS
        return MIX @ form.unpack(fd.vmap(f, in_axes=(None, 0))(w, form.pack(examples)))

    return mapped


def by_jit(f: Weighted, form: Form) -> Weighted:
    compiled = fd.jit(f)
    return lambda w, x: form.unpack(compiled(w, form.pack(x)))


def by_checkpoint(f: Weighted, form: Form) -> Weighted:
    return lambda w, x: form.unpack(fd.checkpoint(partial(f, w))(form.pack(x)))


def by_custom(f: Weighted, form: Form) -> Weighted:
    """Hide the function from differentiation: only the rules know the derivative."""
    hidden: Any = fd.custom_jvp(lambda w, t: fd.stop_gradient(f(w, t)))
    hidden.defjvp(lambda primals, tangents: fd.jvp(f, primals, tangents))
    hidden.defvjp(
        lambda w, t: (f(w, t), (w, t)), lambda residuals, ct: fd.vjp(f, *residuals)[1](ct)
    )
    return lambda w, x: form.unpack(hidden(w, form.pack(x)))


def by_cond(f: Weighted, form: Form) -> Weighted:
    def chosen(w: Any, x: Vector) -> Vector:
        def otherwise(t: Any) -> Any:
            z = form.unpack(t)
            return form.pack(0.5 * form.unpack(f(w, form.pack(z[::-1]))) - z)

        return form.unpack(fd.cond(x[0] + x[1] + x[2] > 0, partial(f, w), otherwise, form.pack(x)))

    return chosen


def by_scan(f: Weighted, form: Form) -> Weighted:
    def folded(w: Any, x: Vector) -> Vector:
        def step(carry: Any, row: Vector) -> tuple[Any, Any]:
            after = 0.5 * form.unpack(f(w, carry)) + row * x
            return form.pack(after), form.pack(after * form.unpack(carry))

        last, stacked = fd.scan(step, form.pack(x), ROWS)
        return form.unpack(last) + MIX @ form.unpack(stacked)

    return folded


def by_while(f: Weighted, form: Form) -> Weighted:
    def repeated(w: Any, x: Vector) -> Vector:
        def step(carry: Any) -> Any:
            count, y, total = carry
            after = 0.5 * form.unpack(f(w, y)) + 0.3 * x
            return count + 1.0, form.pack(after), total + after * form.unpack(y)

        def goes_on(carry: Any) -> Any:
            return carry[0] < trips(x)

        _, last, total = fd.while_loop(goes_on, step, (0.0, form.pack(x), 0.0 * x))
        return form.unpack(last) + total

    return repeated


# ---- the letters in plain NumPy ----------------------------------------------------------------


def derivative(f: Callable[[Any], Any], x: Any, t: Any) -> Any:
    """Return the directional derivative by central differences of order six."""
    h = 1e-2
    quotients = [(f(x + k * h * t) - f(x - k * h * t)) / (2 * k * h) for k in (1, 2, 3)]
    return 1.5 * quotients[0] - 0.6 * quotients[1] + 0.1 * quotients[2]


def plain_jvp(f: Map) -> Map:
    return lambda x: derivative(f, x, TANGENT)


def plain_vjp(f: Map) -> Map:
    return lambda x: np.array([COTANGENT @ derivative(f, x, unit) for unit in np.eye(3)])


def plain_call(f: Map) -> Map:
    return f


def plain_vmap(f: Map) -> Map:
    def mapped(x: Vector) -> Vector:
        rows = [f(scale * x + shift) for scale, shift in zip(SCALES, SHIFTS, strict=True)]
        return MIX[0] * rows[0] + MIX[1] * rows[1]

    return mapped


def plain_cond(f: Map) -> Map:
    return lambda x: f(x) if x.sum() > 0 else 0.5 * f(x[::-1]) - x


def plain_scan(f: Map) -> Map:
    def folded(x: Vector) -> Vector:
        carry, total = x, np.zeros(3)
        for weight, row in zip(MIX, ROWS, strict=True):
            after = 0.5 * f(carry) + row * x
            total = total + weight * (after * carry)
            carry = after
        return carry + total

    return folded


def plain_while(f: Map) -> Map:
    def repeated(x: Vector) -> Vector:
        y, total = x, np.zeros(3)
        for _ in range(int(np.ceil(trips(x)))):
            after = 0.5 * f(y) + 0.3 * x
            total = total + after * y
            y = after
        return y + total

    return repeated


# ---- words -------------------------------------------------------------------------------------


class Letter(NamedTuple):
    """A transform, and what it means."""

    traced: Callable[[Weighted, Form], Weighted]
    plain: Callable[[Map], Map]


LETTERS: Final = {
    "jvp": Letter(by_jvp, plain_jvp),
    "vjp": Letter(by_vjp, plain_vjp),
    "vmap": Letter(by_vmap, plain_vmap),
    "cond": Letter(by_cond, plain_cond),
    "scan": Letter(by_scan, plain_scan),
    "while": Letter(by_while, plain_while),
    "jit": Letter(by_jit, plain_call),
    "checkpoint": Letter(by_checkpoint, plain_call),
    "custom": Letter(by_custom, plain_call),
    "linearize": Letter(by_linearize, plain_jvp),
}


def spelled(word: tuple[str, ...], form: Form) -> Weighted:
    """Apply the letters of funcdiff to `innermost`, the last one first."""

    def seen(f: Weighted) -> Weighted:
        return lambda w, t: form.pack(f(w, form.unpack(t)))

    f: Weighted = innermost
    for letter in reversed(word):
        f = LETTERS[letter].traced(seen(f), form)
    return f


def meant(word: tuple[str, ...], w: Any) -> Map:
    """Apply the letters of plain NumPy to `innermost`, the last one first."""
    f: Map = partial(innermost, w)
    for letter in reversed(word):
        f = LETTERS[letter].plain(f)
    return f
