"""Continuous solutions: piecewise polynomials with traced coefficients, as ``OdeSolution`` has."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.covered import Holder
from funcdiff.scipy.integrate.method_steps import METHODS


class ContinuousSolution(Holder):
    """A solution between its steps, which is called with times.

    `method`, `is_multistep`: which made the steps, and whether that which was asked for is a
      multistep method.
    `starts`, `lengths`: when they begin, and how long they are.
    `before`, `between`: states where they begin, and coefficients of the polynomials.
    `last`: when the solution ends, perhaps within the last step, with one axis.

    Attributes
    ----------
    ts
        When steps begin and end.
    t_min, t_max
        The first and the last time.
    n_segments
        How many steps there are.
    """

    def __init__(
        self, method: str, is_multistep: bool, starts: Any, lengths: Any, before: Any,
        between: Any, last: Any,
    ) -> None:  # fmt: skip
        rule: Any = METHODS[method]()
        self._at = rule.at
        self._parts = starts, lengths, before, between
        # SciPy prefers the step that ends at a time, but for multistep methods that which begins
        self._side: Any = "right" if is_multistep else "left"
        self.n_segments = starts.shape[0]
        self.ts = np.concatenate([starts, last])
        self.t_min = np.minimum(self.ts[0], self.ts[-1])
        self.t_max = np.maximum(self.ts[0], self.ts[-1])

    def __call__(self, t: Any) -> Any:
        """Return the state at a time, or states at times as columns."""
        t = array(t)
        times = np.reshape(t, (-1,))
        starts, lengths, before, between = self._parts
        sign = np.where(self.ts[-1] < self.ts[0], -1.0, 1.0)
        places = np.searchsorted(sign * self.ts, sign * times, side=self._side) - 1
        places = np.clip(places, 0, self.n_segments - 1)
        s, h = times - starts[places], lengths[places]
        states = self._at(s[:, None], h[:, None], before[places], between[places])
        return states.T if t.ndim else states[0]
