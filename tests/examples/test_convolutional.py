"""The network of the convolutional example, on small made-up images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from convolutional_model import (
    Array,
    Labels,
    Network,
    class_scores,
    cross_entropy,
    initial_network,
    predictions,
    responses,
    train,
)

import funcdiff as fd

SIDE, CLASSES = 4, 3


def made_up_images(count: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    """Return noisy images with a row of ink where the class says."""
    labels = rng.integers(CLASSES, size=count)
    images = 0.2 * rng.standard_normal((count, 1, SIDE, SIDE))
    images[np.arange(count), 0, labels] += 1
    return images.astype(np.float32), labels


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_everything_is_in_single_precision(rng: np.random.Generator) -> None:
    network, (images, labels) = initial_network(SIDE, CLASSES, rng), made_up_images(5, rng)
    assert responses(network, images).shape == (5, 8, SIDE, SIDE)
    assert class_scores(network, images).dtype == np.float32
    gradient = fd.grad(cross_entropy)(network, images, labels)
    assert all(g.dtype == np.float32 for g in fd.pytree.flatten(gradient)[0])


def test_the_gradient_is_right(rng: np.random.Generator) -> None:
    """By differences so small that no response is switched on or off in between."""
    single, (images, labels) = initial_network(SIDE, CLASSES, rng), made_up_images(4, rng)
    network: Network = fd.pytree.map(lambda a: a.astype(np.float64), single)
    vector, restored = fd.ravel_pytree(network)

    def loss(vector: Any) -> Any:
        return cross_entropy(restored(vector), images.astype(float), labels)

    direction = rng.standard_normal(vector.shape)
    step = 1e-7 * direction
    difference = (loss(vector + step) - loss(vector - step)) / 2e-7
    np.testing.assert_allclose(fd.grad(loss)(vector) @ direction, difference, rtol=1e-6)


def test_training_learns_the_classes(rng: np.random.Generator) -> None:
    network, (images, labels) = initial_network(SIDE, CLASSES, rng), made_up_images(60, rng)
    steps = list(train(network, images, labels, epochs=8, batch_size=20, rate=1e-2, rng=rng))
    assert len(steps) == 24
    assert steps[-1][1] < 0.2 * steps[0][1]
    assert np.mean(predictions(steps[-1][0], images) == labels) > 0.9
