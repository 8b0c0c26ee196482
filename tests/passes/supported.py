"""Products with zeros that no mask at hand tells of, which are masked by their support."""

from __future__ import annotations

import numpy as np

from tests.passes.rewrites import Masking

INF, NAN = np.inf, np.nan
MASK = np.array([True, False, False])

CASES = [
    Masking(
        "_record_masked",
        "%0: f64[5], %1: f64[3,1,2]",
        """
        %2: f64[6] = add_slice{starts=(1,), stops=(6,), steps=(1,)} 0.0:f64[6], %0
        %3: f64[6] = reverse{axes=(0,)} %2
        %4: f64[1,2,3] = reshape{shape=(1, 2, 3)} %3
        %5: f64[3,1,2] = permute{axes=(2, 0, 1)} %4
        %6: f64[3,1,2] = mul %5, %1
        return %6
        """,
        """
        %2: f64[6] = add_slice{starts=(1,), stops=(6,), steps=(1,)} 0.0:f64[6], %0
        %3: f64[6] = reverse{axes=(0,)} %2
        %4: f64[1,2,3] = reshape{shape=(1, 2, 3)} %3
        %5: f64[3,1,2] = permute{axes=(2, 0, 1)} %4
        %6: bool[6] = add_slice{starts=(1,), stops=(6,), steps=(1,)} False:bool[6], True:bool[5]
        %7: bool[6] = reverse{axes=(0,)} %6
        %8: bool[1,2,3] = reshape{shape=(1, 2, 3)} %7
        %9: bool[3,1,2] = permute{axes=(2, 0, 1)} %8
        %10: f64[3,1,2] = mul %5, %1
        %11: f64[3,1,2] = select %9, %10, 0.0:f64[3,1,2]
        return %11
        """,
        (np.array([[[3, 4]], [[5, -INF]], [[6, NAN]]]),),
        ([[[6, 8]], [[10, -INF]], [[12, 0]]],),
        operation="rearranged",
    ),
    Masking(
        "_record_masked",
        "%0: f64[2,3], %1: bool[2,3], %2: f64[3]",
        """
        %3: f64[2,3] = select %1, %0, 0.0:f64[2,3]
        %4: f64[3] = reduce_sum{axes=(0,)} %3
        %5: f64[3] = mul %4, %2
        %6: f64[2,3] = select %1, 0.0:f64[2,3], %0
        %7: f64[3] = reduce_sum{axes=(0,)} %6
        %8: f64[3] = mul %2, %7
        return %5, %8
        """,
        """
        %3: f64[2,3] = select %1, %0, 0.0:f64[2,3]
        %4: f64[3] = reduce_sum{axes=(0,)} %3
        %5: bool[3] = reduce_any{axes=(0,)} %1
        %6: f64[3] = mul %4, %2
        %7: f64[3] = select %5, %6, 0.0:f64[3]
        %8: f64[2,3] = select %1, 0.0:f64[2,3], %0
        %9: f64[3] = reduce_sum{axes=(0,)} %8
        %10: bool[2,3] = logical_not %1
        %11: bool[3] = reduce_any{axes=(0,)} %10
        %12: f64[3] = mul %2, %9
        %13: f64[3] = select %11, %12, 0.0:f64[3]
        return %7, %13
        """,
        (np.array([[True, False, True], [False, False, True]]), np.array([3, INF, -INF])),
        ([6, 0, -INF], [6, INF, 0]),
        operation="summed",
    ),
    Masking(
        "_record_masked",
        "%0: f64[3], %1: bool[3], %2: f64[2,3]",
        """
        %3: f64[3] = select %1, 0.0:f64[3], %0
        %4: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %3
        %5: f64[2,3] = mul %4, %2
        return %5
        """,
        """
        %3: f64[3] = select %1, 0.0:f64[3], %0
        %4: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %3
        %5: bool[3] = logical_not %1
        %6: bool[2,3] = broadcast{shape=(2, 3), axes=(1,)} %5
        %7: f64[2,3] = mul %4, %2
        %8: f64[2,3] = select %6, %7, 0.0:f64[2,3]
        return %8
        """,
        (MASK, np.array([[INF, 3, 4], [NAN, 5, -INF]])),
        ([[0, 6, 8], [0, 10, -INF]],),
        operation="broadcast",
    ),
    Masking(
        "_record_masked",
        "%0: f64[3], %1: bool[3], %2: c64[3]",
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: c64[3] = convert{dtype=c64} %3
        %5: c64[3] = mul %4, %2
        return %5
        """,
        """
        %3: f64[3] = select %1, %0, 0.0:f64[3]
        %4: c64[3] = convert{dtype=c64} %3
        %5: c64[3] = mul %4, %2
        %6: c64[3] = select %1, %5, complex(0.0, 0.0):c64[3]
        return %6
        """,
        (MASK, np.array([3 + 1j, INF, NAN])),
        ([6 + 2j, 0, 0],),
        operation="converted",
    ),
    Masking(
        "_record_masked",
        "%0: c128[3], %1: bool[3], %2: c128[3], %3: f64[3]",
        """
        %4: c128[3] = select %1, %0, complex(0.0, 0.0):c128[3]
        %5: c128[3] = conj %4
        %6: c128[3] = mul %5, %2
        %7: f64[3] = real %4
        %8: f64[3] = mul %7, %3
        %9: f64[3] = imag %5
        %10: f64[3] = mul %3, %9
        return %6, %8, %10
        """,
        """
        %4: c128[3] = select %1, %0, complex(0.0, 0.0):c128[3]
        %5: c128[3] = conj %4
        %6: c128[3] = mul %5, %2
        %7: c128[3] = select %1, %6, complex(0.0, 0.0):c128[3]
        %8: f64[3] = real %4
        %9: f64[3] = mul %8, %3
        %10: f64[3] = select %1, %9, 0.0:f64[3]
        %11: f64[3] = imag %5
        %12: f64[3] = mul %3, %11
        %13: f64[3] = select %1, %12, 0.0:f64[3]
        return %7, %10, %13
        """,
        (MASK, np.array([3 + 1j, INF, NAN]), np.array([INF, NAN, -INF])),
        ([6 + 2j, 0, 0], [INF, 0, 0], [NAN, 0, 0]),
        operation="parts",
    ),
    Masking(
        "_record_masked",
        "%0: f64[3], %1: f64[3], %2: bool[3], %3: bool[3], %4: f64[3]",
        """
        %5: f64[3] = select %2, %0, 0.0:f64[3]
        %6: f64[3] = select %3, 0.0:f64[3], %1
        %7: f64[3] = add %5, %6
        %8: f64[3] = mul %7, %4
        return %8
        """,
        """
        %5: f64[3] = select %2, %0, 0.0:f64[3]
        %6: f64[3] = select %3, 0.0:f64[3], %1
        %7: f64[3] = add %5, %6
        %8: bool[3] = logical_not %3
        %9: bool[3] = logical_or %2, %8
        %10: f64[3] = mul %7, %4
        %11: f64[3] = select %9, %10, 0.0:f64[3]
        return %11
        """,
        (MASK, np.array([True, True, False]), np.array([INF, NAN, 3])),
        ([INF, 0, 6],),
        linear=2,
        operation="added",
    ),
    Masking(
        "_record_masked",
        "%0: f64[3], %1: f64[3], %2: bool[3], %3: f64[3]",
        """
        %4: f64[3] = select %2, %0, 0.0:f64[3]
        %5: f64[3] = select %2, %1, 0.0:f64[3]
        %6: f64[3] = add %4, %5
        %7: f64[3] = mul %6, %3
        return %7
        """,
        """
        %4: f64[3] = select %2, %0, 0.0:f64[3]
        %5: f64[3] = select %2, %1, 0.0:f64[3]
        %6: f64[3] = add %4, %5
        %7: f64[3] = mul %6, %3
        %8: f64[3] = select %2, %7, 0.0:f64[3]
        return %8
        """,
        (MASK, np.array([3, INF, NAN])),
        ([12, 0, 0],),
        linear=2,
        operation="added under one mask",
    ),
    Masking(
        "_record_masked",
        "%0: f64[3], %1: bool[3], %2: bool[3], %3: f64[3]",
        """
        %4: f64[3] = select %1, %0, 0.0:f64[3]
        %5: f64[3] = select %1, 0.0:f64[3], %0
        %6: f64[3] = select %2, %4, %5
        %7: f64[3] = mul %6, %3
        return %7
        """,
        """
        %4: f64[3] = select %1, %0, 0.0:f64[3]
        %5: f64[3] = select %1, 0.0:f64[3], %0
        %6: f64[3] = select %2, %4, %5
        %7: bool[3] = logical_not %1
        %8: bool[3] = select %2, %1, %7
        %9: f64[3] = mul %6, %3
        %10: f64[3] = select %8, %9, 0.0:f64[3]
        return %10
        """,
        (MASK, np.array([True, True, False]), np.array([INF, NAN, 3])),
        ([INF, 0, 6],),
        operation="chosen",
    ),
    Masking(
        "_record_masked",
        "%0: f64[2], %1: f64[3], %2: f64[3]",
        """
        %3: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %0, 1:i64[2]
        %4: f64[3] = reverse{axes=(0,)} %3
        %5: f64[3] = sin %1
        %6: f64[3] = mul %4, %5
        %7: f64[3] = mul %6, %2
        return %7
        """,
        """
        %3: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %0, 1:i64[2]
        %4: f64[3] = reverse{axes=(0,)} %3
        %5: f64[3] = sin %1
        %6: bool[3] = scatter_add{axes=(0,)} False:bool[3], True:bool[2], 1:i64[2]
        %7: bool[3] = reverse{axes=(0,)} %6
        %8: f64[3] = mul %4, %5
        %9: f64[3] = mul %8, %2
        %10: f64[3] = select %7, %9, 0.0:f64[3]
        return %10
        """,
        (np.full(3, np.pi / 2), np.array([NAN, 3, INF])),
        ([0, 12, 0],),
        operation="multiplied",
    ),
    Masking(
        "_record_masked",
        "%0: f64[2,3], %1: bool[2,3], %2: f64[4,3], %3: f64[4,2]",
        """
        %4: f64[2,3] = select %1, %0, 0.0:f64[2,3]
        %5: f64[4,2] = contract{left=(0, 1), right=(2, 1), out=(0, 2)} %2, %4
        %6: f64[4,2] = mul %3, %5
        return %6
        """,
        """
        %4: f64[2,3] = select %1, %0, 0.0:f64[2,3]
        %5: f64[4,2] = masked_contract{left=(0, 1), right=(2, 1), out=(0, 2), masked=1} %2, %4, %1
        %6: bool[2] = reduce_any{axes=(1,)} %1
        %7: bool[4,2] = broadcast{shape=(4, 2), axes=(1,)} %6
        %8: f64[4,2] = mul %3, %5
        %9: f64[4,2] = select %7, %8, 0.0:f64[4,2]
        return %9
        """,
        (
            np.array([[True, False, True], [False, False, False]]),
            np.ones((4, 3)),
            np.array([[3, INF], [4, NAN], [INF, -INF], [5, 6]]),
        ),
        ([[12, 0], [16, 0], [INF, 0], [20, 0]],),
        operation="contracted from the right",
    ),
    Masking(
        "_record_masked",
        "%0: f64[2], %1: f64[4]",
        """
        %2: f64[4] = add_slice{starts=(1,), stops=(4,), steps=(2,)} 0.0:f64[4], %0
        %3: f64[4] = cumsum{axis=0} %2
        %4: f64[4] = mul %1, %3
        return %4
        """,
        """
        %2: f64[4] = add_slice{starts=(1,), stops=(4,), steps=(2,)} 0.0:f64[4], %0
        %3: f64[4] = cumsum{axis=0} %2
        %4: bool[4] = add_slice{starts=(1,), stops=(4,), steps=(2,)} False:bool[4], True:bool[2]
        %5: bool[4] = cumsum{axis=0} %4
        %6: f64[4] = mul %1, %3
        %7: f64[4] = select %5, %6, 0.0:f64[4]
        return %7
        """,
        (np.array([INF, 3, -INF, 4]),),
        ([0, 6, -INF, 16],),
        operation="cumulated",
    ),
    Masking(
        "_record_masked",
        "%0: f64[2], %1: f64[3]",
        """
        %2: f64[3] = concatenate{axis=0} %0, 0.0:f64[1]
        %3: f64[3] = mul %2, %1
        return %3
        """,
        """
        %2: f64[3] = concatenate{axis=0} %0, 0.0:f64[1]
        %3: bool[3] = concatenate{axis=0} True:bool[2], False:bool[1]
        %4: f64[3] = mul %2, %1
        %5: f64[3] = select %3, %4, 0.0:f64[3]
        return %5
        """,
        (np.array([3, INF, NAN]),),
        ([6, INF, 0],),
        operation="concatenated",
    ),
    Masking(
        "_record_masked",
        "%0: f64[3], %1: bool[3], %2: i64[4], %3: f64[4]",
        """
        %4: f64[3] = select %1, %0, 0.0:f64[3]
        %5: f64[4] = gather{axes=(0,)} %4, %2
        %6: f64[4] = mul %5, %3
        return %6
        """,
        """
        %4: f64[3] = select %1, %0, 0.0:f64[3]
        %5: f64[4] = gather{axes=(0,)} %4, %2
        %6: bool[4] = gather{axes=(0,)} %1, %2
        %7: f64[4] = mul %5, %3
        %8: f64[4] = select %6, %7, 0.0:f64[4]
        return %8
        """,
        (MASK, np.array([0, 1, 0, 2]), np.array([3, INF, INF, NAN])),
        ([6, 0, INF, 0],),
        operation="gathered",
    ),
    Masking(
        "_record_masked",
        "%0: f64[2], %1: f64[3]",
        """
        %2: f64[3] = add_slice{starts=(0,), stops=(2,), steps=(1,)} 0.0:f64[3], %0
        %3: f64[1] = slice{starts=(2,), stops=(3,), steps=(1,)} %2
        %4: f64[2] = slice{starts=(0,), stops=(2,), steps=(1,)} %2
        %5: f64[3] = concatenate{axis=0} %3, %4
        %6: f64[3] = mul %5, %1
        return %6
        """,
        """
        %2: f64[3] = add_slice{starts=(0,), stops=(2,), steps=(1,)} 0.0:f64[3], %0
        %3: f64[2] = slice{starts=(0,), stops=(2,), steps=(1,)} %2
        %4: f64[2] = slice{starts=(1,), stops=(3,), steps=(1,)} %1
        %5: f64[2] = mul %3, %4
        %6: f64[3] = add_slice{starts=(1,), stops=(3,), steps=(1,)} 0.0:f64[3], %5
        return %6
        """,
        (np.array([NAN, 3, INF]),),
        ([0, 6, INF],),
        operation="rolled",
    ),
]
