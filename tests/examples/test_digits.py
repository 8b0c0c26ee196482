"""The network of the digits example, on small made-up images."""

import dataclasses

import numpy as np
import pytest
from digits_model import (
    Adam,
    Array,
    Labels,
    Network,
    accuracy,
    central_difference_error,
    class_scores,
    cross_entropy,
    initial_network,
    predictions,
    saliency,
    train,
)
from numpy.testing import assert_allclose, assert_array_equal

import funcdiff as fd

PIXELS, HIDDEN, CLASSES = 6, 8, 3


def made_up_images(count: int, rng: np.random.Generator) -> tuple[Array, Labels]:
    """Return noisy images in which each class inks two pixels of its own."""
    labels = rng.integers(CLASSES, size=count)
    templates = np.repeat(np.eye(CLASSES), PIXELS // CLASSES, axis=1)
    return templates[labels] + 0.2 * rng.standard_normal((count, PIXELS)), labels


def gradient_by_hand(network: Network, images: Array, labels: Labels) -> Network:
    """Return the gradient of the loss as the textbook writes backpropagation."""
    hidden = np.tanh(images @ network.hidden_weights + network.hidden_bias)
    likelihoods = np.exp(hidden @ network.output_weights + network.output_bias)
    likelihoods /= likelihoods.sum(axis=1, keepdims=True)
    at_scores = (likelihoods - np.eye(CLASSES)[labels]) / len(labels)
    at_hidden = (at_scores @ network.output_weights.T) * (1 - hidden**2)
    return Network(
        hidden_weights=images.T @ at_hidden,
        hidden_bias=at_hidden.sum(axis=0),
        output_weights=hidden.T @ at_scores,
        output_bias=at_scores.sum(axis=0),
    )


def parameters(network: Network) -> list[Array]:
    """Return the arrays of a network in the order of its fields."""
    return [getattr(network, field.name) for field in dataclasses.fields(network)]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def network(rng: np.random.Generator) -> Network:
    return initial_network(PIXELS, HIDDEN, CLASSES, rng)


def test_the_gradient_of_the_loss_is_backpropagation_by_hand(
    network: Network, rng: np.random.Generator
) -> None:
    images, labels = made_up_images(5, rng)
    loss, gradient = fd.value_and_grad(cross_entropy)(network, images, labels)
    assert loss == cross_entropy(network, images, labels)
    assert isinstance(gradient, Network)
    by_hand = gradient_by_hand(network, images, labels)
    for entry, expected in zip(parameters(gradient), parameters(by_hand), strict=True):
        assert_allclose(entry, expected, rtol=1e-12, atol=1e-15)


def test_the_gradient_agrees_with_central_differences_in_every_parameter(
    network: Network, rng: np.random.Generator
) -> None:
    images, labels = made_up_images(5, rng)
    assert central_difference_error(lambda n: cross_entropy(n, images, labels), network) < 1e-8


def test_central_differences_notice_a_gradient_that_is_dropped(network: Network) -> None:
    def loss_with_a_hole(candidate: Network) -> np.float64:
        constant = fd.stop_gradient(candidate.hidden_bias)
        total: np.float64 = np.sum(candidate.hidden_bias**2 + constant)
        return total

    assert central_difference_error(loss_with_a_hole, network) > 0.5


def test_the_loss_of_very_large_scores_does_not_overflow(
    network: Network, rng: np.random.Generator
) -> None:
    images, labels = made_up_images(4, rng)
    steep = fd.pytree.map(lambda w: 1e4 * w, network)
    loss, gradient = fd.value_and_grad(cross_entropy)(steep, images, labels)
    assert np.isfinite(loss)
    assert all(np.all(np.isfinite(entry)) for entry in parameters(gradient))


def test_the_first_step_of_adam_moves_every_weight_by_the_rate_against_its_gradient(
    network: Network, rng: np.random.Generator
) -> None:
    gradient = fd.pytree.map(lambda w: rng.choice([-3.0, 0.5], size=w.shape), network)
    adam = Adam.start(network).step(gradient, rate=0.01)
    assert adam.steps == 1
    for before, after, slope in zip(
        parameters(network), parameters(adam.network), parameters(gradient), strict=True
    ):
        assert_allclose(after - before, -0.01 * np.sign(slope), rtol=1e-6)


def test_training_learns_images_it_has_not_seen(network: Network, rng: np.random.Generator) -> None:
    images, labels = made_up_images(120, rng)
    steps = list(
        train(network, images[:80], labels[:80], epochs=12, batch_size=16, rate=0.02, rng=rng)
    )
    losses = [loss for _, loss in steps]
    trained, _ = steps[-1]
    assert len(steps) == 12 * 5
    assert np.mean(losses[-5:]) < 0.2 * losses[0]
    assert accuracy(trained, images[80:], labels[80:]) >= 0.95


def test_training_is_repeatable_and_leaves_the_first_network_alone(
    network: Network, rng: np.random.Generator
) -> None:
    images, labels = made_up_images(20, rng)
    before = [array.copy() for array in parameters(network)]
    runs = [
        [
            loss
            for _, loss in train(
                network,
                images,
                labels,
                epochs=2,
                batch_size=8,
                rate=0.02,
                rng=np.random.default_rng(0),
            )
        ]
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    for array, expected in zip(parameters(network), before, strict=True):
        assert_array_equal(array, expected)


def test_saliency_is_the_gradient_of_each_image_s_own_score(
    network: Network, rng: np.random.Generator
) -> None:
    images, labels = made_up_images(4, rng)
    hidden = np.tanh(images @ network.hidden_weights + network.hidden_bias)
    at_hidden = network.output_weights.T[labels] * (1 - hidden**2)
    expected = at_hidden @ network.hidden_weights.T
    assert_allclose(saliency(network, images, labels), expected, rtol=1e-12, atol=1e-15)


def test_a_prediction_is_the_class_with_the_highest_score(
    network: Network, rng: np.random.Generator
) -> None:
    images, _ = made_up_images(7, rng)
    scores = class_scores(network, images)
    chosen = predictions(network, images)
    assert_array_equal(scores[np.arange(7), chosen], scores.max(axis=1))
    assert accuracy(network, images, chosen) == 1.0


def test_the_program_of_the_loss_is_traced_with_its_matrix_products(
    network: Network, rng: np.random.Generator
) -> None:
    images, labels = made_up_images(2, rng)
    text = str(fd.trace(cross_entropy)(network, images, labels))
    assert text.count("= contract{") == 2
    assert text.count("= tanh ") == 1
