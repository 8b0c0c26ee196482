"""Hypothesis strategies: shapes, dtypes, arrays away from kinks, indices, and NumPy functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

__all__ = ["Function", "arrays", "broadcastable_shapes", "dtypes", "functions", "indices", "shapes"]

try:
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp
except ImportError as error:
    raise ImportError(
        "funcdiff.testing.strategies draws random arrays with hypothesis, which is not installed. "
        "Install it (pip install hypothesis), or use fd.testing.check_grads, which does without."
    ) from error

_SPACING: Final = 0.25
_OFFSET: Final = 0.0925
"""Magnitudes are ``offset + k·spacing``: away from zero, from integers, and from one another."""


def dtypes(kinds: str = "fc") -> st.SearchStrategy[np.dtype[Any]]:
    """Draw a dtype of 4 to 16 bytes; `kinds` are letters of ``np.dtype.kind``.

    Parameters
    ----------
    kinds
        Any of ``"b"``, ``"i"``, ``"f"`` and ``"c"``.

    Returns
    -------
    SearchStrategy
        Of dtypes.

    Examples
    --------
    >>> from funcdiff.testing import strategies
    >>> strategies.dtypes("f")
    sampled_from([dtype('float64'), dtype('float32')])
    """
    found = {"b": ["?"], "i": ["i8", "i4"], "f": ["f8", "f4"], "c": ["c16", "c8"]}
    return st.sampled_from([np.dtype(name) for kind in kinds for name in found[kind]])


def shapes(
    min_ndim: int = 0, max_ndim: int = 3, min_side: int = 0, max_side: int = 4
) -> st.SearchStrategy[tuple[int, ...]]:
    """Draw a shape, 0-d and empty ones included.

    Parameters
    ----------
    min_ndim, max_ndim
        Bounds of the number of axes.
    min_side, max_side
        Bounds of the lengths.

    Returns
    -------
    SearchStrategy
        Of tuples of ints.
    """
    return st.lists(st.integers(min_side, max_side), min_size=min_ndim, max_size=max_ndim).map(
        tuple
    )


def broadcastable_shapes(
    count: int = 2, max_ndim: int = 3, min_side: int = 0, max_side: int = 4
) -> st.SearchStrategy[tuple[tuple[int, ...], ...]]:
    """Draw shapes that NumPy broadcasts together.

    Parameters
    ----------
    count
        How many shapes.
    max_ndim, min_side, max_side
        As in `shapes`.

    Returns
    -------
    SearchStrategy
        Of tuples of `count` shapes.
    """
    return hnp.mutually_broadcastable_shapes(
        num_shapes=count, max_dims=max_ndim, min_side=min_side, max_side=max_side
    ).map(lambda found: found.input_shapes)


@st.composite
def arrays(
    draw: st.DrawFn, shape: tuple[int, ...] | None = None, dtype: Any = None
) -> np.ndarray[Any, Any]:
    """Draw an array on which abs, max, sort, round and their like are smooth.

    Entries are distinct, also in magnitude, and keep a distance of 0.09 from zero, from integers
    and from each other, so that central differences tell derivatives there.

    Parameters
    ----------
    shape, dtype
        Of the array; drawn too if not given.

    Returns
    -------
    SearchStrategy
        Of arrays; of dtype bool and int, of any numbers between -4 and 4.
    """
    shape = draw(shapes()) if shape is None else shape
    dtype = np.dtype(draw(dtypes()) if dtype is None else dtype)
    random = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    if dtype.kind in "bi":
        lowest, beyond = (0, 2) if dtype.kind == "b" else (-4, 5)
        return random.integers(lowest, beyond, shape).astype(dtype)
    x = _scatter(shape, random)
    return np.asarray(x + 1j * _scatter(shape, random) if dtype.kind == "c" else x, dtype)


def _scatter(shape: tuple[int, ...], random: np.random.Generator) -> Any:
    count = int(np.prod(shape, dtype=int))
    magnitudes = _OFFSET + _SPACING * random.permutation(count)
    return (magnitudes * random.choice([-1.0, 1.0], count)).reshape(shape)


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Draw an index expression for arrays of a shape, as it stands between the brackets.

    Parameters
    ----------
    shape
        Of the arrays.

    Returns
    -------
    SearchStrategy
        Of tuples of ints, slices, ``...``, None, integer arrays (negative and repeated entries)
        and of boolean masks.
    """
    if len(shape) > 0 and all(shape) and draw(st.booleans()):
        axes = draw(st.integers(1, len(shape)))
        length = draw(st.integers(0, 3))
        return tuple(draw(_axis_index(n, length)) for n in shape[:axes])
    if len(shape) > 0 and draw(st.booleans()):
        masked = shape[: draw(st.integers(1, len(shape)))]
        return draw(hnp.arrays(np.bool_, masked))
    return draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=len(shape) + 1))


def _axis_index(n: int, length: int) -> st.SearchStrategy[Any]:
    positions = hnp.arrays(np.int64, length, elements=st.integers(-n, n - 1))
    return st.one_of(positions, st.slices(n))


# ---- functions ---------------------------------------------------------------------------------

_UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "np.sin({})": np.sin,
    "np.tanh({})": np.tanh,
    "np.exp(-{0} * {0})": lambda x: np.exp(-x * x),
    "np.sqrt(1.5 + {0} * {0})": lambda x: np.sqrt(1.5 + x * x),
    "np.log1p({0} ** 2)": lambda x: np.log1p(x**2),
    "np.arctan({})": np.arctan,
    "-{}": lambda x: -x,
    "2.5 * {} - 1": lambda x: 2.5 * x - 1,
    "{}[::-1]": lambda x: x[::-1],
    "{}.T": lambda x: x.T,
    "{}[..., None]": lambda x: x[..., None] if x.ndim < 4 else x,
    "{}[1:]": lambda x: x[1:] if x.shape[0] > 1 else x,
    "np.cumsum({}, axis=-1)": lambda x: np.cumsum(x, axis=-1),
    "np.sum({}, axis=0, keepdims=True)": lambda x: np.sum(x, axis=0, keepdims=True),
    "np.max({}, axis=-1, keepdims=True)": lambda x: np.max(x, axis=-1, keepdims=True),
    "np.where({0} > 0.3, {0}, 0.1)": lambda x: np.where(x > 0.3, x, 0.1),
}
_BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "{} + {}": lambda x, y: x + y,
    "{} - {}": lambda x, y: x - y,
    "{} * {}": lambda x, y: x * y,
    "{0} / (1.0 + {1} * {1})": lambda x, y: x / (1.0 + y * y),
    "np.maximum({}, {})": np.maximum,
    "np.hypot({}, 0.5 + np.abs({}))": lambda x, y: np.hypot(x, 0.5 + np.abs(y)),
    "np.arctan2({}, 2.0 + np.cos({}))": lambda x, y: np.arctan2(x, 2.0 + np.cos(y)),
}
_STEPS: Final[dict[str, Callable[..., Any]]] = {**_UNARY, **_BINARY}
"""Steps of a function by their text; all are bounded or grow slowly, and no operand is 0-d."""


@dataclass(frozen=True)
class Function:
    """A random function of arrays, plain NumPy code; its repr is the code.

    Attributes
    ----------
    count
        How many arguments it takes: ``v0``, ``v1`` and on.
    steps
        Each the text of an operation and the numbers of its operands; a step whose operands do
        not broadcast takes the first of them.
    """

    count: int
    steps: tuple[tuple[str, tuple[int, ...]], ...]

    def __call__(self, *arrays: Any) -> Any:
        """Return the sum of the last value, and of every argument."""
        values = list(arrays)
        for text, operands in self.steps:
            x, *rest = [values[k] for k in operands]
            fits = all(_broadcast(np.shape(x), np.shape(y)) for y in rest)
            values.append(_STEPS[text](x, *rest) if fits else x)
        return np.sum(values[-1])

    def __repr__(self) -> str:
        """Return the function as source code."""
        lines = [f"def f({', '.join(f'v{k}' for k in range(self.count))}):"]
        for k, (text, operands) in enumerate(self.steps, self.count):
            lines.append(f"    v{k} = {text.format(*(f'v{j}' for j in operands))}")
        return "\n".join([*lines, f"    return np.sum(v{self.count + len(self.steps) - 1})"])


def _broadcast(*shapes_: tuple[int, ...]) -> bool:
    try:
        size = np.prod(np.broadcast_shapes(*shapes_), dtype=int)
    except ValueError:
        return False
    return int(size) <= 256


@st.composite
def functions(draw: st.DrawFn, count: int = 1, max_steps: int = 8) -> Function:
    """Draw a small random function of arrays with at least one axis, returning a scalar.

    Parameters
    ----------
    count
        Number of arguments.
    max_steps
        Bound of the number of operations.

    Returns
    -------
    SearchStrategy
        Of callables; their repr is NumPy source code.
    """
    steps = []
    for k in range(draw(st.integers(1, max_steps))):
        text = draw(st.sampled_from(sorted(_STEPS)))
        latest = st.integers(0, count + k - 1)
        steps.append((text, tuple(draw(latest) for _ in range(1 if text in _UNARY else 2))))
    return Function(count, tuple(steps))
