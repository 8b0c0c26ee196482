"""Operations other than the elementwise product that are masked by supports."""

from __future__ import annotations

import numpy as np

from tests.passes.rewrites import Masking

INF, NAN = np.inf, np.nan
MASK = np.array([True, False, False])

CASES = [
    Masking(
        "_record_masked",
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
        "_record_masked",
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
        operation="contract",
    ),
    Masking(
        "_record_masked",
        "%0: f64[3], %1: bool[3], %2: f64[2]",
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: f64[4] = convolve{left=(), right=(), out=(), steps=((1, 1, 1),), offsets=(0,), \
lengths=(4,)} %3, %2
        return %4
        """,
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: f64[4] = masked_convolve{left=(), right=(), out=(), steps=((1, 1, 1),), \
offsets=(0,), lengths=(4,), masked=0} %3, %2, %1
        return %4
        """,
        (MASK, np.array([3, INF])),
        ([6, INF, 0, 0],),
        operation="convolve",
    ),
    Masking(
        "_mask_coefficient",
        "%0: f64[3], %1: bool[3], %2: f64[3]",
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: f64[3] = recurrence{axis=0} %2, %3
        return %4
        """,
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: bool[3] = cumsum{axis=0} %1
        %5: bool[2] = slice{starts=(0,), stops=(2,), steps=(1,)} %4
        %6: bool[3] = concatenate{axis=0} False:bool[1], %5
        %7: f64[3] = select %6, %2, 0.0:f64[3]
        %8: f64[3] = recurrence{axis=0} %7, %3
        return %8
        """,
        (np.array([False, True, False]), np.array([NAN, INF, 4])),
        ([0, 2, 8],),
    ),
    Masking(
        "_record_masked",
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
        operation="adjugate",
    ),
    Masking(
        "_record_masked",
        "%0: f64[2,2,1], %1: bool[2,2,1], %2: f64[2,2,2]",
        """
        %3: f64[2,2,1] = select %1, %0, 0.0:f64[2,2,1]
        %4: f64[2,2,1] = solve %2, %3
        return %4
        """,
        """
        %3: f64[2,2,1] = select %1, %0, 0.0:f64[2,2,1]
        %4: bool[2,1] = reduce_any{axes=(1,)} %1
        %5: bool[2,2,1] = broadcast{shape=(2, 2, 1), axes=(0, 2)} %4
        %6: f64[2,2,1] = solve %2, %3
        %7: f64[2,2,1] = select %5, %6, 0.0:f64[2,2,1]
        return %7
        """,
        (
            np.array([[[False], [False]], [[True], [False]]]),
            np.array([[[INF, 3], [4, NAN]], [[2, 0], [0, 1]]]),
        ),
        ([[[0], [0]], [[1], [0]]],),
        operation="solve",
    ),
    Masking(
        "_convolve_padded",
        "%0: f64[2], %1: f64[2]",
        """
        %2: f64[5] = add_slice{starts=(1,), stops=(4,), steps=(2,)} 0.0:f64[5], %0
        %3: f64[6] = convolve{left=(), right=(), out=(), steps=((1, 1, 1),), offsets=(0,), \
lengths=(6,)} %2, %1
        %4: f64[6] = convolve{left=(), right=(), out=(), steps=((1, 1, 1),), offsets=(0,), \
lengths=(6,)} %1, %2
        return %3, %4
        """,
        """
        %2: f64[6] = convolve{left=(), right=(), out=(), steps=((2, 1, 1),), offsets=(-1,), \
lengths=(6,)} %0, %1
        %3: f64[6] = convolve{left=(), right=(), out=(), steps=((1, 2, 1),), offsets=(-1,), \
lengths=(6,)} %1, %0
        return %2, %3
        """,
        (np.array([INF, 3]),),
        ([0, INF, 6, INF, 6, 0],) * 2,
    ),
]
