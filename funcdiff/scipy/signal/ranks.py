"""Order statistics of neighbourhoods, differentiated by the elements that they select."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from funcdiff.errors import user_location
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.scipy.covered import covers


def _rank_filter(x: Any, domain: Any, rank: int, name: str) -> Traced:
    """Return the element of that rank among those of a neighbourhood, zeros around the array."""
    if x.dtype.kind not in "biu" and x.dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype={x.dtype} is not supported by {name}, at {user_location()}")
    if domain.ndim != x.ndim or any(n % 2 != 1 for n in domain.shape):
        raise ValueError(
            f"Each dimension of the neighbourhood of {name} should have an odd number of elements, "
            f"for each axis of the array, at {user_location()}."
        )
    padded = np.pad(x, [(n // 2, n // 2) for n in domain.shape])
    shifted = [
        padded[tuple(slice(k, k + n) for k, n in zip(place, x.shape, strict=True))]
        for place in np.argwhere(domain)
    ]
    if not -len(shifted) <= rank < len(shifted):
        raise RuntimeError(f"rank not within filter footprint size, at {user_location()}")
    found: Traced = np.sort(np.stack(shifted), axis=0)[rank]
    return found


@covers("scipy.signal")
def order_filter(a: Any, domain: Any, rank: int) -> Traced:
    """Return the element of a rank in each neighbourhood; the derivative is that of the element."""
    return _rank_filter(array(a), np.asarray(domain), rank, "order_filter")


@covers("scipy.signal")
def medfilt(volume: Any, kernel_size: Any = None) -> Traced:
    """Return the median of each neighbourhood; the derivative is that of the element chosen."""
    x = np.atleast_1d(array(volume))
    sizes = np.broadcast_to(3 if kernel_size is None else np.asarray(kernel_size), (x.ndim,))
    return _rank_filter(x, np.ones(sizes, bool), prod(sizes.tolist()) // 2, "medfilt")


@covers("scipy.signal")
def medfilt2d(input: Any, kernel_size: Any = 3) -> Traced:
    """Return the median of each neighbourhood in an image, as `medfilt` does."""
    if array(input).ndim != 2:
        raise ValueError(f"object of too small depth for desired array, at {user_location()}")
    found: Traced = medfilt(input, kernel_size)
    return found
