"""Operations other than the elementwise product that are masked by supports."""

from __future__ import annotations

import numpy as np

from tests.passes.rewrites import Masking

INF, NAN = np.inf, np.nan
MASK = np.array([True, False, False])

CASES = [
    Masking(
        "_divide_supported",
        "%0: f64[3], %1: bool[3], %2: f64[3]",
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: f64[3] = reverse{axes=(0,)} %3
        %5: f64[3] = div %4, %2
        return %5
        """,
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: f64[3] = reverse{axes=(0,)} %3
        %5: bool[3] = reverse{axes=(0,)} %1
        %6: f64[3] = div %4, %2
        %7: f64[3] = select %5, %6, 0.0:f64[3]
        return %7
        """,
        (MASK, np.array([0, NAN, 4])),
        ([0, 0, 0.5],),
    ),
    Masking(
        "_contract_supported",
        "%0: f64[3], %1: bool[3], %2: f64[3,2]",
        """
        %3: f64[3] = select %1, 0.0:f64[3], %0
        %4: f64[2] = contract{left=(0,), right=(0, 1), out=(1,)} %3, %2
        return %4
        """,
        """
        %3: f64[3] = select %1, 0.0:f64[3], %0
        %4: bool[3] = logical_not %1
        %5: f64[2] = masked_contract{left=(0,), right=(0, 1), out=(1,), masked=0} %3, %2, %4
        return %5
        """,
        (MASK, np.array([[NAN, INF], [3, 4], [5, INF]])),
        ([16, INF],),
    ),
    Masking(
        "_adjugate_supported",
        "%0: f64[2,2,2], %1: bool[2,2,2], %2: f64[2,2,2]",
        """
        %3: f64[2,2,2] = select %1, %0, 0.0:f64[2,2,2]
        %4: f64[2,2,2] = adjugate %2, %3
        return %4
        """,
        """
        %3: f64[2,2,2] = select %1, %0, 0.0:f64[2,2,2]
        %4: bool[2] = reduce_any{axes=(1, 2)} %1
        %5: bool[2,2,2] = broadcast{shape=(2, 2, 2), axes=(0,)} %4
        %6: f64[2,2,2] = adjugate %2, %3
        %7: f64[2,2,2] = select %5, %6, 0.0:f64[2,2,2]
        return %7
        """,
        (
            np.array([[[False, False], [False, False]], [[True, False], [False, False]]]),
            np.array([[[NAN, 3], [4, 5]], [[1, 0], [0, 1]]]),
        ),
        ([[[0, 0], [0, 0]], [[0, 0], [0, 2]]],),
    ),
]
