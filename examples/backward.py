"""PyTorch's ``backward(gradient=v)``, number for number, with ``fd.vjp``.

For y = f(x) with Jacobian J = dy/dx, ``y.backward(gradient=v)`` leaves Jᵀ v in ``x.grad``: the
rows of J, weighted by v and summed. J itself is never built. Here the same thing reads

    y, f_vjp = fd.vjp(f, x)
    (x_grad,) = f_vjp(v)

and nothing accumulates, needs zeroing or is freed: ``f_vjp`` is a function, called as often as
one likes. Run it with ``python examples/backward.py``; ``backward_pictures.py`` draws it.
"""

from itertools import zip_longest
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

import funcdiff as fd
from funcdiff.errors import CotangentError

Array: TypeAlias = NDArray[np.float64]
Number = TypeVar("Number", float, Array)

GRADIENT = np.array([0.1, 1.0, 0.0001])


def double(x: Array) -> Array:
    """Return 2x, whose Jacobian is twice the identity."""
    return 2 * x


def rows_of_the_jacobian() -> list[Array]:
    """Feed one-hot cotangents: each picks one row of the Jacobian.

    The articles call ``y.backward(gradient=v, retain_graph=True)`` for y = 2x at
    x = [[1, 2, 3, 4]] with v = [[1, 0, 0, 0]], [[0, 1, 0, 0]], ... and zero ``x.grad`` in between.
    ``f_vjp`` needs neither.
    """
    _y, f_vjp = fd.vjp(double, np.array([[1.0, 2.0, 3.0, 4.0]]))
    return [f_vjp(one_hot[np.newaxis])[0] for one_hot in np.eye(4)]


def sum_of_the_rows() -> Array:
    """Feed ones: the sum of all rows, which is the gradient of ``y.sum()``.

    The articles call ``y.backward(gradient=torch.ones_like(y))``.
    """
    y, f_vjp = fd.vjp(double, np.array([[1.0, 2.0, 3.0, 4.0]]))
    return f_vjp(np.ones_like(y))[0]


def three_inputs(a: Number, b: Number, c: Number) -> Number:
    """Return 3a + 2b² + log(c), with the partial derivatives 3, 4b and 1/c."""
    y: Number = 3 * a + 2 * b * b + np.log(c)
    return y


def gradients_of_three_inputs(c: Array) -> tuple[Array, Array, Array]:
    """Weigh the three elements of y = 3a + 2b² + log(c) with [0.1, 1.0, 0.0001].

    The articles call ``y.backward(gradient=torch.tensor([0.1, 1.0, 0.0001]))`` at a = [1, 2, 3],
    b = [3, 4, 5] and c = [6, 7, 8], and read ``a.grad``, ``b.grad``, ``c.grad``. At c = 0 the slope
    of the logarithm is infinite, and so is the gradient: a value, not an exception.
    """
    a, b = np.array([1.0, 2.0, 3.0]), np.array([3.0, 4.0, 5.0])
    with np.errstate(divide="ignore"):  # NumPy itself warns of log(0)
        _y, f_vjp = fd.vjp(three_inputs, a, b, c)
        return f_vjp(GRADIENT)


def gradients_of_three_scalars() -> tuple[float, float, float]:
    """Leave the cotangent out: a scalar output needs none.

    The articles call ``y.backward()`` at a = 0.1, b = 1.0, c = 0.1, which means a gradient of 1.
    """
    slopes: tuple[float, float, float] = fd.grad(three_inputs, argnums=(0, 1, 2))(0.1, 1.0, 0.1)
    return slopes


def double_until_long(x: Array) -> Array:
    """Return 2ᵏ x for the first k > 0 at which its norm reaches 1000."""
    y = 2 * x
    while np.linalg.norm(y) < 1000:
        y = 2 * y
    return y


def gradient_through_a_loop(x: Array) -> tuple[Array, Array]:
    """Return y and the gradient of a loop whose length depends on the data.

    The articles seed ``y.backward(gradient=torch.tensor([0.1, 1.0, 0.0001]))`` and read
    ``x.grad`` = 2ᵏ [0.1, 1.0, 0.0001]. Python runs the loop here, too: no special loop is needed.
    """
    y, f_vjp = fd.vjp(double_until_long, x)
    return y, f_vjp(GRADIENT)[0]


def inner_map(x: Array) -> Array:
    """Return y = (x₀ x₁, x₀ + x₁²)."""
    return np.stack([x[0] * x[1], x[0] + x[1] ** 2])


def outer_map(y: Array) -> Array:
    """Return z = (y₀², y₀ y₁)."""
    return np.stack([y[0] ** 2, y[0] * y[1]])


def chain_rule_by_cotangents(weights: Array) -> tuple[Array, Array, Array]:
    """Feed dz/dy as the cotangent of y: the chain rule is one ``f_vjp`` after the other.

    The articles compute v = dz/dy first, then call ``y.backward(gradient=v)`` and read dz/dx,
    although y's graph never heard of z. Returned are, for z ∘ y at x = (2, 3): dz/dx from one-hot
    rows of dz/dy, the row ``weights @ dz/dx`` from that one pass, and ``fd.jacobian`` to compare.
    """
    x = np.array([2.0, 3.0])
    y, inner_vjp = fd.vjp(inner_map, x)
    _z, outer_vjp = fd.vjp(outer_map, y)
    rows = [inner_vjp(outer_vjp(one_hot)[0])[0] for one_hot in np.eye(2)]
    weighted = inner_vjp(outer_vjp(weights)[0])[0]
    return np.stack(rows), weighted, fd.jacobian(lambda x: outer_map(inner_map(x)))(x)


def sum_times(a: float, b: float, d: float) -> float:
    """Return e = (a + b) d."""
    return (a + b) * d


def forward_and_backward_programs() -> tuple[str, str]:
    """Return the program of e = (a + b) d, and that of its backward pass.

    The articles walk ``e.grad_fn.next_functions``: from MulBackward to AddBackward to the leaves.
    A derivative is a function like any other here, so its program can be traced and printed.
    """

    def backward(a: float, b: float, d: float, ct: float) -> tuple[float, ...]:
        _y, f_vjp = fd.vjp(sum_times, a, b, d)
        return f_vjp(ct)

    forward_program = fd.trace(sum_times)(2.0, 3.0, 4.0)
    backward_program = fd.trace(backward)(2.0, 3.0, 4.0, 1.0)
    return str(forward_program), str(backward_program)


def gradient_of_a_target() -> tuple[Array, Array]:
    """Feed a target: the gradient of ``sum(y * target)``, which is the other way to write it.

    The articles compare ``y.backward(gradient=target)`` with ``(y * target).sum().backward()``.
    """
    x, target = np.array([0.5, -1.0, 2.0]), np.array([3.0, 0.25, -1.0])
    _y, f_vjp = fd.vjp(np.tanh, x)
    return f_vjp(target)[0], fd.grad(lambda x: np.sum(np.tanh(x) * target))(x)


def message_of_a_shape_mismatch() -> str:
    """Return what a cotangent of the wrong shape is answered with.

    PyTorch says ``Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0]
    has a shape of torch.Size([1, 4])``. A cotangent is never broadcast silently.
    """
    _y, f_vjp = fd.vjp(double, np.array([[1.0, 2.0, 3.0, 4.0]]))
    try:
        f_vjp(GRADIENT)
    except CotangentError as error:
        return str(error)
    raise AssertionError("a cotangent of shape (3,) was accepted for an output of shape (1, 4)")


def side_by_side(left: str, right: str) -> str:
    """Return two texts as columns."""
    left_lines, right_lines = left.splitlines(), right.splitlines()
    width = max(map(len, left_lines))
    pairs = zip_longest(left_lines, right_lines, fillvalue="")
    return "\n".join(f"{one:{width}}   |   {other}".rstrip() for one, other in pairs)


def main() -> None:
    """Print every number next to the call that gives it in the articles."""
    print("y = 2x at x = [[1, 2, 3, 4]]: y.backward(gradient=v)")
    for one_hot, row in zip(np.eye(4), rows_of_the_jacobian(), strict=True):
        print(f"  v = [{one_hot}]   x.grad = {row}")
    print(f"  v = [{np.ones(4)}]   x.grad = {sum_of_the_rows()}")

    print("\ny = 3a + 2b² + log(c): y.backward(gradient=[0.1, 1.0, 0.0001])")
    for c in (np.array([6.0, 7.0, 8.0]), np.array([0.0, 7.0, 8.0])):
        print(f"  at a = [1. 2. 3.], b = [3. 4. 5.], c = {c}")
        for name, gradient in zip("abc", gradients_of_three_inputs(c), strict=True):
            print(f"    {name}.grad = [{'  '.join(f'{entry:.4e}' for entry in gradient)}]")
    print("  at the scalars a = 0.1, b = 1.0, c = 0.1: y.backward()")
    for name, slope in zip("abc", gradients_of_three_scalars(), strict=True):
        print(f"    {name}.grad = {slope:g}")

    x = np.array([0.5, -1.0, 0.25])
    y, gradient = gradient_through_a_loop(x)
    print("\ny = 2x; while norm(y) < 1000: y = 2y; y.backward(gradient=[0.1, 1.0, 0.0001])")
    print(f"  x = {x}   y = {y}   x.grad = [{' '.join(f'{g:g}' for g in gradient)}]")

    jacobian, weighted, expected = chain_rule_by_cotangents(np.array([0.2, 0.8]))
    print("\ny = (x₀ x₁, x₀ + x₁²), z = (y₀², y₀ y₁) at x = (2, 3): y.backward(gradient=dz/dy)")
    print(f"  dz/dx = {jacobian.tolist()}   fd.jacobian: {expected.tolist()}")
    print(f"  weights [0.2, 0.8]: x.grad = {weighted}")

    print("\ne = (a + b) d: forward (left), and backward as e.grad_fn.next_functions walks it")
    print(side_by_side(*forward_and_backward_programs()))

    from_target, from_sum = gradient_of_a_target()
    print("\ny = tanh(x): y.backward(gradient=target) and (y * target).sum().backward()")
    print(f"  {from_target}\n  {from_sum}")

    print(f"\nA gradient of the wrong shape:\n{message_of_a_shape_mismatch()}")


if __name__ == "__main__":
    main()
