"""Handwritten digits by a convolutional network: 3808 parameters, trained within seconds.

It trains with minibatch Adam and draws the filters with what they respond to. The network itself is
in `convolutional_model`. Run it with

    python -m pip install -e ".[examples]"
    python examples/convolutional_digits.py
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from convolutional_model import (
    FILTERS,
    Array,
    Labels,
    Network,
    initial_network,
    predictions,
    responses,
    train,
)
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from tqdm import tqdm

SIDE, CLASSES = 8, 10
HELD_OUT, BATCH, RATE = 360, 64, 5e-3
ACCURACY_WANTED = 0.97
OUTPUT = Path(__file__).resolve().parent / "output"


def split_digits(rng: np.random.Generator) -> tuple[Array, Labels, Array, Labels]:
    """Return images and labels to learn from, and those held out."""
    digits = load_digits()
    images = (digits.images[:, None] / 16).astype(np.float32)
    order = rng.permutation(len(images))
    seen, unseen = order[HELD_OUT:], order[:HELD_OUT]
    return images[seen], digits.target[seen], images[unseen], digits.target[unseen]


def draw_filters(network: Network, images: Array, labels: Labels, path: Path) -> None:
    """Draw the first filters above what they respond to in three digits."""
    shown = [int(np.argmax(labels == digit)) for digit in (0, 3, 7)]
    answers = responses(network, images[shown])
    figure = Figure(figsize=(11, 5), layout="compressed")
    grid = figure.subplots(1 + len(shown), 1 + FILTERS)
    limit = np.abs(network.filters).max()
    for column in range(FILTERS):
        filters = grid[0, column + 1].imshow(
            network.filters[column, 0], cmap="RdBu_r", vmin=-limit, vmax=limit
        )
        grid[0, column + 1].set_title(f"filter {column + 1}")
    for row, image in enumerate(shown, start=1):
        grid[row, 0].imshow(images[image, 0], cmap="gray_r", vmin=0, vmax=1)
        for column in range(FILTERS):
            maps = grid[row, column + 1].imshow(
                answers[row - 1, column], cmap="viridis", vmin=0, vmax=answers.max()
            )
    grid[1, 0].set_title("image")
    grid[0, 0].set_visible(False)
    for axes in grid.flat:
        axes.set(xticks=[], yticks=[])
    figure.colorbar(filters, ax=grid[0, :], label="weight")
    figure.colorbar(maps, ax=grid[1:, :], label="response")
    figure.suptitle("The first filters, and what they respond to")
    figure.savefig(path, dpi=150)


def main() -> int:
    """Return 0 if the held-out accuracy is at least 97 %, else 1."""
    parser = argparse.ArgumentParser(description="Train a convolutional network on digits.")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the images (30)")
    parser.add_argument("--seed", type=int, default=0, help="of split, weights and order (0)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help=f"for the picture ({OUTPUT})")
    options = parser.parse_args()
    if options.epochs < 1:
        parser.error("--epochs must be at least 1")
    started = time.perf_counter()
    rng = np.random.default_rng(options.seed)
    images, labels, unseen, answers = split_digits(rng)
    network = initial_network(SIDE, CLASSES, rng)
    steps = train(
        network, images, labels, epochs=options.epochs, batch_size=BATCH, rate=RATE, rng=rng
    )
    total = options.epochs * (len(labels) // BATCH)
    with tqdm(steps, total=total, desc="training", unit="step") as bar:
        for trained, loss in bar:
            network = trained
            bar.set_postfix_str(f"loss {loss:.4f}")
    accuracy = float(np.mean(predictions(network, unseen) == answers))
    print(f"Held-out accuracy: {accuracy:.2%} of {HELD_OUT} images")
    options.output.mkdir(parents=True, exist_ok=True)
    draw_filters(network, unseen, answers, options.output / "filters.png")
    print(f"Picture in {options.output}: filters.png")
    print(f"Done in {time.perf_counter() - started:.1f} s")
    return 0 if accuracy >= ACCURACY_WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
