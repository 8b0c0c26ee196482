"""The pictures of the page on ``backward(gradient=v)``: what a cotangent is, and where it goes.

Each function draws one picture and returns it; the page of the documentation shows them. Run

    python -m pip install -e ".[examples]"
    python examples/backward_pictures.py

to have them written into ``examples/output``.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import matplotlib.pyplot as plt
import numpy as np
from backward import Array, inner_map, outer_map
from digits_model import initial_network, saliency, train
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import load_digits

import funcdiff as fd
from funcdiff.errors import CotangentError

Picture: TypeAlias = Callable[[], Figure]

POSITIVE_AND_NEGATIVE = "RdBu_r"


def show_numbers(axes: Axes, numbers: Array, title: str, *, largest: float) -> None:
    """Draw a matrix as colored cells with its numbers in them."""
    # not an image, which would keep its colours where the site darkens the numbers
    axes.pcolormesh(numbers, cmap=POSITIVE_AND_NEGATIVE, vmin=-largest, vmax=largest)
    axes.set(aspect="equal")
    axes.invert_yaxis()
    for (row, column), number in np.ndenumerate(numbers):
        color = "w" if abs(number) > 0.6 * largest else "k"
        place = column + 0.5, row + 0.5
        axes.text(*place, f"{number:.2g}", ha="center", va="center", color=color)
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=10)


WEIGHTS = np.array([[1.0, -0.5, 0.0, 0.5], [0.5, 1.5, -1.0, 0.0], [0.0, -1.0, 0.5, 1.0]])
POINT = np.array([0.3, -0.2, 0.4, 0.1])
SUBSCRIPTS = "₁₂₃₄"


def three_of_four(x: Array) -> Array:
    """Return three results of four arguments."""
    y: Array = np.tanh(WEIGHTS @ x)
    return y


def draw_gradients_of_results() -> Figure:
    """Draw arguments and results as dots: each result has a gradient, a row of the Jacobian."""
    jacobian = fd.jacobian(three_of_four)(POINT)
    left, right = np.linspace(0.0, 3.0, 4), np.linspace(0.5, 2.5, 3)
    figure, panels = plt.subplots(1, 3, figsize=(9.5, 2.8), layout="constrained")
    for result, axes in enumerate(panels):
        for (row, column), slope in np.ndenumerate(jacobian):
            is_shown = row == result and slope != 0
            color = ("tab:red" if slope > 0 else "tab:blue") if is_shown else "0.85"
            width = 1 + 3 * abs(slope) if is_shown else 1
            axes.plot([0, 1], [left[column], right[row]], color=color, lw=width, zorder=is_shown)
            if is_shown:
                height = left[column] + 0.25 * (right[row] - left[column])
                box = {"facecolor": "w", "edgecolor": "none", "pad": 1}
                axes.text(0.25, height, f"{slope:.2g}", ha="center", va="center", bbox=box)
        axes.plot(np.zeros(4), left, "o", color="k", ms=7)
        axes.plot(np.ones(3), right, "o", color="0.6", ms=7)
        axes.plot(1, right[result], "o", color="k", ms=9)
        for column, height in enumerate(left):
            axes.text(-0.08, height, f"x{SUBSCRIPTS[column]}", ha="right", va="center")
        for row, height in enumerate(right):
            axes.text(1.08, height, f"y{SUBSCRIPTS[row]}", va="center")
        axes.set(xlim=(-0.3, 1.3), ylim=(3.4, -0.4), title=f"dy{SUBSCRIPTS[result]}/dx")
        axes.axis("off")
    return figure


def draw_shapes() -> Figure:
    """Draw cotangents of several shapes for a result of three numbers: one of them fits."""
    _y, f_vjp = fd.vjp(lambda x: x**2, np.array([1.0, 2.0, 3.0]))
    figure, panels = plt.subplots(1, 4, figsize=(9.5, 1.9), layout="constrained")
    for axes, shape in zip(panels, ((3,), (1, 3), (3, 1), (2,)), strict=True):
        try:
            f_vjp(np.ones(shape))
            color, verdict = "tab:green", "fits"
        except CotangentError:
            color, verdict = "tab:red", "CotangentError"
        rows, columns = shape if len(shape) == 2 else (1, *shape)
        for row, column in np.ndindex(rows, columns):
            cell = Rectangle((column, row), 1, 1, facecolor=color, edgecolor="w", alpha=0.6)
            axes.add_patch(cell)
        axes.set(xlim=(-0.2, 3.2), ylim=(3.2, -0.2), aspect="equal")
        axes.set_title(f"v of shape {shape}\n{verdict}", fontsize=10)
        axes.axis("off")
    return figure


def draw_weighted_rows() -> Figure:
    """Draw Jᵀv as a sum of J's rows: for a one-hot v, for ones, and for weights."""
    y, f_vjp = fd.vjp(three_of_four, POINT)
    jacobian = fd.jacobian(three_of_four)(POINT)
    cotangents = {
        "one-hot: a row": np.array([0.0, 1.0, 0.0]),
        "ones: the sum of the rows": np.ones_like(y),
        "weights: a weighted sum": np.array([0.1, 1.0, -0.5]),
    }
    figure = plt.figure(figsize=(9.5, 3.4), layout="constrained")
    columns = figure.add_gridspec(1, 3)
    for column, (name, v) in enumerate(cotangents.items()):
        part = figure.add_subfigure(columns[0, column])
        part.suptitle(name, fontsize=11)
        grid = part.subplots(2, 2, width_ratios=(1, 4), height_ratios=(3, 1))
        show_numbers(grid[0, 0], v[:, None], "v", largest=1.5)
        show_numbers(grid[0, 1], jacobian, "J = dy/dx", largest=1.5)
        grid[1, 0].axis("off")
        show_numbers(grid[1, 1], f_vjp(v)[0][None, :], "Jᵀv", largest=1.5)
    return figure


def draw_three_calls() -> Figure:
    """Draw what three calls leave behind: ``x.grad`` grows, the result of ``f_vjp`` does not."""
    x = np.array([1.0, 2.0, 3.0])
    _y, f_vjp = fd.vjp(lambda x: x**2, x)
    results = np.stack([f_vjp(np.ones(3))[0] for _call in range(3)])
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.8), sharey=True, layout="constrained")
    places, width = np.arange(3), 0.25
    for call, (accumulated, returned) in enumerate(
        zip(results.cumsum(axis=0), results, strict=True)
    ):
        left.bar(places + (call - 1) * width, accumulated, width, label=f"call {call + 1}")
        right.bar(places + (call - 1) * width, returned, width)
    left.set_title("y.backward(gradient=ones); x.grad", family="monospace", fontsize=10)
    right.set_title("f_vjp(ones)", family="monospace", fontsize=10)
    left.set_ylabel("gradient of sum(x²)")
    left.legend()
    for axes in (left, right):
        axes.set_xticks(places, [f"x = {number:g}" for number in x])
    return figure


def over_the_plane(f: Callable[[Array], Any], width: Array, height: Array) -> Array:
    """Return f at each point of a grid of the plane."""
    points = np.stack(np.meshgrid(width, height), axis=-1)
    values: Array = fd.vmap(fd.vmap(f))(points)
    return values


def draw_planes() -> Figure:
    """Draw a loss behind two maps of the plane, and its cotangent in each of the three planes.

    The lines are those of equal loss. The cotangent is the loss's gradient in the plane it is drawn
    in: normal to its line, and pulled from plane to plane by the map in between.
    """
    weights, x = np.array([0.2, 0.8]), np.array([1.1, 0.7])
    y, inner_vjp = fd.vjp(inner_map, x)
    z, outer_vjp = fd.vjp(outer_map, y)
    (y_bar,) = outer_vjp(weights)
    (x_bar,) = inner_vjp(y_bar)
    planes = [
        ("x", x, x_bar, lambda x: weights @ outer_map(inner_map(x))),
        ("y = inner(x)", y, y_bar, lambda y: weights @ outer_map(y)),
        ("z = outer(y)", z, weights, lambda z: weights @ z),
    ]
    figure, row = plt.subplots(1, 3, figsize=(9.5, 3.4), layout="constrained")
    for axes, (name, point, cotangent, loss) in zip(row, planes, strict=True):
        reach = np.linspace(-1.2, 1.2, 61)
        losses = over_the_plane(loss, point[0] + reach, point[1] + reach)
        axes.contour(point[0] + reach, point[1] + reach, losses, 14, cmap="viridis", linewidths=1)
        arrow = cotangent / np.linalg.norm(cotangent) * 0.8
        axes.annotate(
            "", point + arrow, point, arrowprops={"arrowstyle": "-|>", "color": "crimson", "lw": 2}
        )
        axes.plot(*point, "o", color="crimson")
        axes.set(aspect="equal", title=name)
        axes.set_xlabel(f"cotangent = [{cotangent[0]:.3g}, {cotangent[1]:.3g}]")
    return figure


def draw_logarithm() -> Figure:
    """Draw log and its slope near 0, and where the slope is a number."""
    c = np.linspace(0.0, 1.0, 101)
    with np.errstate(divide="ignore"):
        values, (slopes,) = np.log(c), fd.vjp(np.log, c)[1](np.ones_like(c))
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
    left.plot(c, np.where(np.isfinite(values), values, np.nan))
    left.set(title="log(c)", xlabel="c", xlim=(-0.05, 1))
    right.plot(c, np.where(np.isfinite(slopes), slopes, np.nan))
    right.set(title="f_vjp(ones)", xlabel="c", xlim=(-0.05, 1), ylim=(0, 60))
    for axes, number in ((left, values[0]), (right, slopes[0])):
        axes.axvline(0, color="crimson", linestyle=":")
        axes.text(0.12, 0.92, f"{number} at c = 0", color="crimson", transform=axes.transAxes)
    return figure


def deep_network(weights: Array, x: Array) -> np.float64:
    """Return the sum of squares of a network's last layer, whose layers have names."""
    for depth, layer in enumerate(weights):
        x = fd.tap(f"layer {depth + 1}", np.tanh(layer @ x))
    total: np.float64 = np.sum(x**2)
    return total


def draw_intermediate_gradients() -> Figure:
    """Draw the gradients that reach the layers of a network, for three sizes of its weights."""
    rng = np.random.default_rng(0)
    weights, x = rng.normal(size=(12, 16, 16)) / 4, rng.normal(size=16)
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    for scale in (0.5, 1.0, 2.0):
        gradients = fd.tap_grads(deep_network)(scale * weights, x)
        sizes = [np.linalg.norm(gradient) for gradient in gradients.values()]
        axes.semilogy(np.arange(1, 13), sizes, "o-", label=f"weights times {scale:g}")
    axes.set(xlabel="layer", ylabel="norm of its gradient")
    axes.legend()
    return figure


def draw_saliency() -> Figure:
    """Draw digits, and the slope of the score of each one's own class with respect to pixels."""
    digits = load_digits()
    images, labels = digits.data / 16, digits.target
    rng = np.random.default_rng(0)
    start = initial_network(64, 32, 10, rng)
    steps = train(start, images, labels, epochs=4, batch_size=64, rate=5e-3, rng=rng)
    *_, (network, _loss) = steps
    slopes = saliency(network, images[:8], labels[:8])
    figure, rows = plt.subplots(2, 8, figsize=(9, 2.6), layout="constrained")
    for column in range(8):
        largest = np.abs(slopes[column]).max()
        rows[0, column].imshow(images[column].reshape(8, 8), cmap="gray_r")
        rows[1, column].imshow(
            slopes[column].reshape(8, 8), cmap=POSITIVE_AND_NEGATIVE, vmin=-largest, vmax=largest
        )
    for axes in rows.flat:
        axes.set(xticks=[], yticks=[])
    rows[0, 0].set_ylabel("image")
    rows[1, 0].set_ylabel("gradient")
    return figure


def blurred(image: Array, layers: int) -> Array:
    """Return the image after layers of tanh and a 3 x 3 filter."""
    kernel = np.array([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]])[None, None] / 8
    values: Any = image[None, None]
    for _layer in range(layers):
        values = np.tanh(fd.nn.conv(values, kernel, padding=1))
    result: Array = values[0, 0]
    return result


def draw_receptive_fields() -> Figure:
    """Draw which pixels one pixel of the result depends on: a one-hot cotangent, pulled back."""
    image = np.random.default_rng(0).normal(size=(15, 15)) / 4
    one_hot = np.zeros((15, 15))
    one_hot[7, 7] = 1.0
    figure, row = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained")
    for layers, axes in enumerate(row):
        _result, f_vjp = fd.vjp(partial(blurred, layers=layers), image)
        field = np.abs(f_vjp(one_hot)[0])
        axes.imshow(np.where(field > 0, field, np.nan), cmap="magma_r", vmin=0)
        axes.set(xticks=[], yticks=[])
        axes.set_title(f"layers: {layers}, pixels: {np.count_nonzero(field)}", fontsize=10)
    return figure


PICTURES: dict[str, Picture] = {
    "gradients-of-results": draw_gradients_of_results,
    "shapes": draw_shapes,
    "weighted-rows": draw_weighted_rows,
    "three-calls": draw_three_calls,
    "planes": draw_planes,
    "logarithm": draw_logarithm,
    "intermediate-gradients": draw_intermediate_gradients,
    "saliency": draw_saliency,
    "receptive-fields": draw_receptive_fields,
}


def main() -> None:
    """Write every picture as a file."""
    output = Path(__file__).resolve().parent / "output"
    output.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        path = output / f"{name}.png"
        draw().savefig(path, dpi=120)
        print(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


if __name__ == "__main__":
    main()
