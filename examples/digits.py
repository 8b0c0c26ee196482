"""Handwritten digits: a 64-128-10 network in plain NumPy, trained on scikit-learn's own images.

It prints the program of the loss, checks a gradient against central differences, trains with
minibatch Adam, and draws what was learnt. The network itself is in `digits_model`. Run it with

    python -m pip install -e ".[examples]"
    python examples/digits.py
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from digits_model import (
    Array,
    Labels,
    Network,
    accuracy,
    central_difference_error,
    cross_entropy,
    initial_network,
    predictions,
    saliency,
    train,
)
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from tqdm import tqdm

import funcdiff as fd

SIDE, CLASSES, HIDDEN = 8, 10, 128
HELD_OUT, BATCH, RATE = 360, 64, 5e-3
ERROR_ALLOWED = 1e-7
ACCURACY_WANTED = 0.96
OUTPUT = Path(__file__).resolve().parent / "output"


@dataclass(frozen=True)
class Images:
    """Images as rows of 64 pixels in [0, 1], with their labels."""

    pixels: Array
    labels: Labels


def split_digits(rng: np.random.Generator) -> tuple[Images, Images]:
    """Return the images to learn from, and those held out."""
    digits = load_digits()
    order = rng.permutation(len(digits.target))
    seen, unseen = order[HELD_OUT:], order[:HELD_OUT]
    return (
        Images(digits.data[seen] / 16, digits.target[seen]),
        Images(digits.data[unseen] / 16, digits.target[unseen]),
    )


def check_gradient(network: Network, batch: Images) -> float:
    """Compare the gradient of the loss on one minibatch with central differences, and say so."""
    error = central_difference_error(
        lambda candidate: cross_entropy(candidate, batch.pixels, batch.labels), network
    )
    verdict = "agrees with" if error < ERROR_ALLOWED else "DIFFERS from"
    print(f"The gradient {verdict} central differences: largest relative error {error:.1e}")
    return error


def fit(
    network: Network, seen: Images, unseen: Images, *, epochs: int, rng: np.random.Generator
) -> tuple[Network, list[float], list[float]]:
    """Train behind a progress bar; return the network, minibatch losses and epoch accuracies."""
    losses: list[float] = []
    accuracies: list[float] = []
    steps_per_epoch = -(-len(seen.labels) // BATCH)
    steps = train(
        network, seen.pixels, seen.labels, epochs=epochs, batch_size=BATCH, rate=RATE, rng=rng
    )
    with tqdm(steps, total=epochs * steps_per_epoch, desc="training", unit="step") as bar:
        for network, loss in bar:
            losses.append(loss)
            if len(losses) % steps_per_epoch == 0:
                accuracies.append(accuracy(network, unseen.pixels, unseen.labels))
                epoch_loss = np.mean(losses[-steps_per_epoch:])
                bar.set_postfix_str(f"loss {epoch_loss:.4f}, accuracy {accuracies[-1]:.1%}")
    return network, losses, accuracies


def draw_training(losses: list[float], accuracies: list[float], path: Path) -> None:
    """Draw the loss of every step with its mean over each epoch, and the held-out accuracy."""
    figure = Figure(figsize=(7, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    epochs = np.arange(1, len(accuracies) + 1)
    steps = np.linspace(0, len(accuracies), len(losses) + 1)[1:]
    above.semilogy(steps, losses, color="tab:blue", alpha=0.35, linewidth=0.8, label="each step")
    means = np.reshape(losses, (len(accuracies), -1)).mean(axis=1)
    above.semilogy(epochs - 0.5, means, color="tab:blue", linewidth=2, label="mean of the epoch")
    above.set(ylabel="cross-entropy", title="Training loss")
    below.plot(epochs, 100 * np.array(accuracies), "o-", color="tab:green", label="after the epoch")
    below.axhline(100 * ACCURACY_WANTED, color="0.4", linestyle="--", label="wanted")
    below.set(xlabel="epoch", ylabel="right answers in %", title="Held-out accuracy")
    for axes in (above, below):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=150)


def draw_confusion(network: Network, images: Images, path: Path) -> None:
    """Draw how many held-out images of each digit were taken for which digit."""
    guesses = predictions(network, images.pixels)
    counts = np.zeros((CLASSES, CLASSES), dtype=int)
    np.add.at(counts, (images.labels, guesses), 1)
    figure = Figure(figsize=(6, 6.4), layout="constrained")
    axes = figure.subplots()
    axes.imshow(counts, cmap="Blues")
    for row, column in zip(*np.nonzero(counts), strict=True):
        colour = "white" if counts[row, column] > counts.max() / 2 else "black"
        axes.text(column, row, str(counts[row, column]), ha="center", va="center", color=colour)
    wrong = int(np.sum(guesses != images.labels))
    axes.set(
        xticks=range(CLASSES),
        yticks=range(CLASSES),
        xlabel="predicted digit",
        ylabel="written digit",
        title=f"{len(guesses)} held-out images, {wrong} mistaken",
    )
    figure.savefig(path, dpi=150)


def draw_saliency(network: Network, images: Images, path: Path) -> None:
    """Draw one image of each digit above the gradient of its digit's score by its pixels.

    Pixels that hardly any digit inks keep large weights, so the colours end at the 97th percentile.
    """
    examples = [int(np.argmax(images.labels == digit)) for digit in range(CLASSES)]
    pixels, labels = images.pixels[examples], images.labels[examples]
    gradients = saliency(network, pixels, labels)
    limit = np.quantile(np.abs(gradients), 0.97)
    figure = Figure(figsize=(12, 3), layout="compressed")
    grid = figure.subplots(2, CLASSES)
    for column in range(CLASSES):
        image, gradient = (rows[column].reshape(SIDE, SIDE) for rows in (pixels, gradients))
        grid[0, column].imshow(image, cmap="gray_r", vmin=0, vmax=1)
        grid[0, column].set_title(str(labels[column]))
        shades = grid[1, column].imshow(gradient, cmap="RdBu_r", vmin=-limit, vmax=limit)
    for axes in grid.flat:
        axes.set(xticks=[], yticks=[])
    grid[0, 0].set_ylabel("image")
    grid[1, 0].set_ylabel("gradient")
    figure.colorbar(shades, ax=grid, extend="both", label="d score / d pixel")
    figure.suptitle("Where more ink would raise (red) or lower (blue) the score of the digit")
    figure.savefig(path, dpi=150)


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Train a network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the images (30)")
    parser.add_argument("--seed", type=int, default=0, help="of split, weights and order (0)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help=f"for the pictures ({OUTPUT})")
    options = parser.parse_args()
    if options.epochs < 1:
        parser.error("--epochs must be at least 1")
    return options


def main() -> int:
    """Return 0 if the gradient is right and the held-out accuracy is at least 96 %, else 1."""
    started = time.perf_counter()
    options = parse_options()
    rng = np.random.default_rng(options.seed)
    seen, unseen = split_digits(rng)
    network = initial_network(SIDE * SIDE, HIDDEN, CLASSES, rng)

    print("The program of the loss of two images:\n")
    print(fd.trace(cross_entropy)(network, seen.pixels[:2], seen.labels[:2]), end="\n\n")
    error = check_gradient(network, Images(seen.pixels[:BATCH], seen.labels[:BATCH]))

    network, losses, accuracies = fit(network, seen, unseen, epochs=options.epochs, rng=rng)
    print(f"Held-out accuracy: {accuracies[-1]:.2%} of {HELD_OUT} images")

    options.output.mkdir(parents=True, exist_ok=True)
    draw_training(losses, accuracies, options.output / "training.png")
    draw_confusion(network, unseen, options.output / "confusion.png")
    draw_saliency(network, unseen, options.output / "saliency.png")
    print(f"Pictures in {options.output}: training.png, confusion.png, saliency.png")
    print(f"Done in {time.perf_counter() - started:.1f} s")
    return 0 if error < ERROR_ALLOWED and accuracies[-1] >= ACCURACY_WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
