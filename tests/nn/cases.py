"""Calls of the functions of networks, as data: they run here and, by ``freeze``, in PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.rules.sample import complex_, real


@dataclass(frozen=True)
class Convolved:
    """A convolution of arrays of these shapes, with the options that both libraries have.

    ``pads`` are pairs for each axis, which PyTorch applies beforehand.
    """

    name: str
    x: tuple[int, ...]
    kernel: tuple[int, ...]
    options: dict[str, Any] = field(default_factory=dict)
    pads: tuple[tuple[int, int], ...] | None = None
    is_complex: bool = False

    @property
    def axes(self) -> int:
        """Number of axes of space."""
        return len(self.kernel) - 2

    def arrays(self) -> tuple[Any, Any]:
        """Return x and kernel."""
        make = complex_ if self.is_complex else real
        return make(*self.x), make(*self.kernel, start=301)

    def weights(self, y: Any) -> Any:
        """Return the cotangent of a result."""
        make = complex_ if self.is_complex else real
        return make(*y.shape, start=701)

    @property
    def ours(self) -> dict[str, Any]:
        """Options as `nn.conv` takes them."""
        return self.options if self.pads is None else {**self.options, "padding": self.pads}


CONVOLUTIONS = [
    Convolved("plain", (2, 3, 8), (4, 3, 3)),
    Convolved("one example", (3, 8), (4, 3, 3), {"padding": 1}),
    Convolved("stride", (2, 3, 9), (4, 3, 3), {"stride": 2, "padding": 1}),
    Convolved("dilation", (2, 2, 9), (3, 2, 3), {"dilation": 3, "padding": 4}),
    Convolved("groups", (2, 4, 7), (6, 2, 3), {"groups": 2}),
    Convolved("depthwise", (2, 3, 7), (6, 1, 2), {"groups": 3, "stride": 3}),
    Convolved("same", (2, 2, 7), (3, 2, 4), {"padding": "same"}),
    Convolved("same, dilated", (1, 2, 7), (2, 2, 3), {"padding": "same", "dilation": 2}),
    Convolved("unequal ends", (2, 2, 5), (3, 2, 3), {"stride": 2}, pads=((3, 1),)),
    Convolved("complex", (2, 2, 5), (3, 2, 2), {"stride": 2, "padding": 1}, is_complex=True),
    Convolved("images", (2, 3, 6, 5), (4, 3, 3, 2)),
    Convolved(
        "images, all options",
        (2, 4, 9, 8),
        (6, 2, 3, 2),
        {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 3), "groups": 2},
    ),
    Convolved("kernel of one", (2, 3, 4, 4), (2, 3, 1, 1), {"stride": 2}),
    Convolved("kernel as large as the image", (3, 2, 4, 3), (2, 2, 4, 3)),
    Convolved("volumes", (1, 2, 5, 4, 6), (3, 2, 2, 3, 2), {"stride": (2, 1, 3), "padding": 1}),
    Convolved("volumes, groups", (2, 2, 4, 3, 4), (2, 1, 2, 2, 3), {"groups": 2, "dilation": 2},
              pads=((0, 1), (1, 0), (2, 2))),
]  # fmt: skip

POINTS = np.concatenate([real(20, low=-9, high=9), [-1e4, -30.0, -1e-9, 1e-9, 30.0, 1e4]])
"""Where activations are compared."""

SCORES = np.concatenate([real(3, 5), [[1e4, -1e4, 3.0, 1e4, 0.0], [-1e4, -1e4, -1e4, 0.0, 1.0]]])
"""Rows of which exponentials are normalised."""

SLOPES = ("relu", "sigmoid", "softplus", "gelu", "gelu_tanh")
ROWS = ("softmax", "log_softmax", "logsumexp")

POOLS: list[tuple[str, tuple[int, ...], Any, dict[str, Any]]] = [
    ("max_pool", (2, 3, 8), 2, {}),
    ("max_pool", (2, 3, 7, 6), (3, 2), {"stride": 2, "padding": (1, 0)}),
    ("max_pool", (1, 2, 4, 5, 3), 2, {"stride": 1}),
    ("avg_pool", (2, 3, 8), 3, {"stride": 2}),
    ("avg_pool", (2, 3, 7, 6), (3, 2), {"stride": 2, "padding": (1, 1)}),
    ("avg_pool", (1, 2, 4, 5, 4), 2, {}),
]
"""Function, shape, window and options."""
