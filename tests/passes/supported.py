"""Products with zeros that no mask at hand tells of, which are masked by their support."""

from __future__ import annotations

from tests.passes.rewrites import maskings

CASES = maskings("""
_record_masked(%0: f64[5], %1: f64[3,1,2]) rearranged
  %2: f64[6] = add_slice{starts=(1,), stops=(6,), steps=(1,)} 0.0:f64[6], %0
  %3: f64[6] = reverse{axes=(0,)} %2
  %4: f64[1,2,3] = reshape{shape=(1, 2, 3)} %3
  %5: f64[3,1,2] = permute{axes=(2, 0, 1)} %4
  %6: f64[3,1,2] = mul %5, %1
  return %6
=>
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
given [[[3, 4]], [[5, -inf]], [[6, nan]]]
results [[[6, 8]], [[10, -inf]], [[12, 0]]]

_record_masked(%0: f64[2,3], %1: bool[2,3], %2: f64[3]) summed
  %3: f64[2,3] = select %1, %0, 0.0:f64[2,3]
  %4: f64[3] = reduce_sum{axes=(0,)} %3
  %5: f64[3] = mul %4, %2
  %6: f64[2,3] = select %1, 0.0:f64[2,3], %0
  %7: f64[3] = reduce_sum{axes=(0,)} %6
  %8: f64[3] = mul %2, %7
  return %5, %8
=>
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
given [[True, False, True], [False, False, True]], [3, inf, -inf]
results [6, 0, -inf], [6, inf, 0]

_record_masked(%0: f64[3], %1: bool[3], %2: f64[2,3]) broadcast
  %3: f64[3] = select %1, 0.0:f64[3], %0
  %4: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %3
  %5: f64[2,3] = mul %4, %2
  return %5
=>
  %3: f64[3] = select %1, 0.0:f64[3], %0
  %4: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %3
  %5: bool[3] = logical_not %1
  %6: bool[2,3] = broadcast{shape=(2, 3), axes=(1,)} %5
  %7: f64[2,3] = mul %4, %2
  %8: f64[2,3] = select %6, %7, 0.0:f64[2,3]
  return %8
given [True, False, False], [[inf, 3, 4], [nan, 5, -inf]]
results [[0, 6, 8], [0, 10, -inf]]

_record_masked(%0: f64[3], %1: bool[3], %2: c64[3]) converted
  %3: f64[3] = select %1, %0, 0.0:f64[3]
  %4: c64[3] = convert{dtype=c64} %3
  %5: c64[3] = mul %4, %2
  return %5
=>
  %3: f64[3] = select %1, %0, 0.0:f64[3]
  %4: c64[3] = convert{dtype=c64} %3
  %5: c64[3] = mul %4, %2
  %6: c64[3] = select %1, %5, complex(0.0, 0.0):c64[3]
  return %6
given [True, False, False], [3 + 1j, inf, nan]
results [6 + 2j, 0, 0]

_record_masked(%0: c128[3], %1: bool[3], %2: c128[3], %3: f64[3]) parts
  %4: c128[3] = select %1, %0, complex(0.0, 0.0):c128[3]
  %5: c128[3] = conj %4
  %6: c128[3] = mul %5, %2
  %7: f64[3] = real %4
  %8: f64[3] = mul %7, %3
  %9: f64[3] = imag %5
  %10: f64[3] = mul %3, %9
  return %6, %8, %10
=>
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
given [True, False, False], [3 + 1j, inf, nan], [inf, nan, -inf]
results [6 + 2j, 0, 0], [inf, 0, 0], [nan, 0, 0]

_record_masked(%0: f64[3], %1: f64[3], %2: bool[3], %3: bool[3], %4: f64[3]) added
  %5: f64[3] = select %2, %0, 0.0:f64[3]
  %6: f64[3] = select %3, 0.0:f64[3], %1
  %7: f64[3] = add %5, %6
  %8: f64[3] = mul %7, %4
  return %8
=>
  %5: f64[3] = select %2, %0, 0.0:f64[3]
  %6: f64[3] = select %3, 0.0:f64[3], %1
  %7: f64[3] = add %5, %6
  %8: bool[3] = logical_not %3
  %9: bool[3] = logical_or %2, %8
  %10: f64[3] = mul %7, %4
  %11: f64[3] = select %9, %10, 0.0:f64[3]
  return %11
given [True, False, False], [True, True, False], [inf, nan, 3]
results [inf, 0, 6]
linear 2

_record_masked(%0: f64[3], %1: f64[3], %2: bool[3], %3: f64[3]) added under one mask
  %4: f64[3] = select %2, %0, 0.0:f64[3]
  %5: f64[3] = select %2, %1, 0.0:f64[3]
  %6: f64[3] = add %4, %5
  %7: f64[3] = mul %6, %3
  return %7
=>
  %4: f64[3] = select %2, %0, 0.0:f64[3]
  %5: f64[3] = select %2, %1, 0.0:f64[3]
  %6: f64[3] = add %4, %5
  %7: f64[3] = mul %6, %3
  %8: f64[3] = select %2, %7, 0.0:f64[3]
  return %8
given [True, False, False], [3, inf, nan]
results [12, 0, 0]
linear 2

_record_masked(%0: f64[3], %1: bool[3], %2: bool[3], %3: f64[3]) chosen
  %4: f64[3] = select %1, %0, 0.0:f64[3]
  %5: f64[3] = select %1, 0.0:f64[3], %0
  %6: f64[3] = select %2, %4, %5
  %7: f64[3] = mul %6, %3
  return %7
=>
  %4: f64[3] = select %1, %0, 0.0:f64[3]
  %5: f64[3] = select %1, 0.0:f64[3], %0
  %6: f64[3] = select %2, %4, %5
  %7: bool[3] = logical_not %1
  %8: bool[3] = select %2, %1, %7
  %9: f64[3] = mul %6, %3
  %10: f64[3] = select %8, %9, 0.0:f64[3]
  return %10
given [True, False, False], [True, True, False], [inf, nan, 3]
results [inf, 0, 6]

_record_masked(%0: f64[2], %1: f64[3], %2: f64[3]) multiplied
  %3: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %0, 1:i64[2]
  %4: f64[3] = reverse{axes=(0,)} %3
  %5: f64[3] = sin %1
  %6: f64[3] = mul %4, %5
  %7: f64[3] = mul %6, %2
  return %7
=>
  %3: f64[3] = scatter_add{axes=(0,)} 0.0:f64[3], %0, 1:i64[2]
  %4: f64[3] = reverse{axes=(0,)} %3
  %5: f64[3] = sin %1
  %6: bool[3] = scatter_add{axes=(0,)} False:bool[3], True:bool[2], 1:i64[2]
  %7: bool[3] = reverse{axes=(0,)} %6
  %8: f64[3] = mul %4, %5
  %9: f64[3] = mul %8, %2
  %10: f64[3] = select %7, %9, 0.0:f64[3]
  return %10
given [pi / 2] * 3, [nan, 3, inf]
results [0, 12, 0]

_record_masked(%0: f64[2,3], %1: bool[2,3], %2: f64[4,3], %3: f64[4,2]) contracted from the right
  %4: f64[2,3] = select %1, %0, 0.0:f64[2,3]
  %5: f64[4,2] = contract{left=(0, 1), right=(2, 1), out=(0, 2)} %2, %4
  %6: f64[4,2] = mul %3, %5
  return %6
=>
  %4: f64[2,3] = select %1, %0, 0.0:f64[2,3]
  %5: f64[4,2] = masked_contract{left=(0, 1), right=(2, 1), out=(0, 2), masked=1} %2, %4, %1
  %6: bool[2] = reduce_any{axes=(1,)} %1
  %7: bool[4,2] = broadcast{shape=(4, 2), axes=(1,)} %6
  %8: f64[4,2] = mul %3, %5
  %9: f64[4,2] = select %7, %8, 0.0:f64[4,2]
  return %9
given [[True, False, True], [False, False, False]], [[1] * 3] * 4, [[3, inf], [4, nan], [inf,
    -inf], [5, 6]]
results [[12, 0], [16, 0], [inf, 0], [20, 0]]

_record_masked(%0: f64[2], %1: f64[4]) cumulated
  %2: f64[4] = add_slice{starts=(1,), stops=(4,), steps=(2,)} 0.0:f64[4], %0
  %3: f64[4] = cumsum{axis=0} %2
  %4: f64[4] = mul %1, %3
  return %4
=>
  %2: f64[4] = add_slice{starts=(1,), stops=(4,), steps=(2,)} 0.0:f64[4], %0
  %3: f64[4] = cumsum{axis=0} %2
  %4: bool[4] = add_slice{starts=(1,), stops=(4,), steps=(2,)} False:bool[4], True:bool[2]
  %5: bool[4] = cumsum{axis=0} %4
  %6: f64[4] = mul %1, %3
  %7: f64[4] = select %5, %6, 0.0:f64[4]
  return %7
given [inf, 3, -inf, 4]
results [0, 6, -inf, 16]

_record_masked(%0: f64[2], %1: f64[3]) concatenated
  %2: f64[3] = concatenate{axis=0} %0, 0.0:f64[1]
  %3: f64[3] = mul %2, %1
  return %3
=>
  %2: f64[3] = concatenate{axis=0} %0, 0.0:f64[1]
  %3: bool[3] = concatenate{axis=0} True:bool[2], False:bool[1]
  %4: f64[3] = mul %2, %1
  %5: f64[3] = select %3, %4, 0.0:f64[3]
  return %5
given [3, inf, nan]
results [6, inf, 0]

_record_masked(%0: f64[3], %1: bool[3], %2: i64[4], %3: f64[4]) gathered
  %4: f64[3] = select %1, %0, 0.0:f64[3]
  %5: f64[4] = gather{axes=(0,)} %4, %2
  %6: f64[4] = mul %5, %3
  return %6
=>
  %4: f64[3] = select %1, %0, 0.0:f64[3]
  %5: f64[4] = gather{axes=(0,)} %4, %2
  %6: bool[4] = gather{axes=(0,)} %1, %2
  %7: f64[4] = mul %5, %3
  %8: f64[4] = select %6, %7, 0.0:f64[4]
  return %8
given [True, False, False], [0, 1, 0, 2], [3, inf, inf, nan]
results [6, 0, inf, 0]

_record_masked(%0: f64[2], %1: f64[3]) rolled
  %2: f64[3] = add_slice{starts=(0,), stops=(2,), steps=(1,)} 0.0:f64[3], %0
  %3: f64[1] = slice{starts=(2,), stops=(3,), steps=(1,)} %2
  %4: f64[2] = slice{starts=(0,), stops=(2,), steps=(1,)} %2
  %5: f64[3] = concatenate{axis=0} %3, %4
  %6: f64[3] = mul %5, %1
  return %6
=>
  %2: f64[3] = add_slice{starts=(0,), stops=(2,), steps=(1,)} 0.0:f64[3], %0
  %3: f64[2] = slice{starts=(0,), stops=(2,), steps=(1,)} %2
  %4: f64[2] = slice{starts=(1,), stops=(3,), steps=(1,)} %1
  %5: f64[2] = mul %3, %4
  %6: f64[3] = add_slice{starts=(1,), stops=(3,), steps=(1,)} 0.0:f64[3], %5
  return %6
given [nan, 3, inf]
results [0, 6, inf]

_record_masked(%0: f64[3], %1: bool[3], %2: f64[3])
  %3: f64[3] = select %1, %0, 0.0:f64[3]
  %4: f64[3] = reverse{axes=(0,)} %3
  %5: f64[3] = div %4, %2
  return %5
=>
  %3: f64[3] = select %1, %0, 0.0:f64[3]
  %4: f64[3] = reverse{axes=(0,)} %3
  %5: bool[3] = reverse{axes=(0,)} %1
  %6: f64[3] = div %4, %2
  %7: f64[3] = select %5, %6, 0.0:f64[3]
  return %7
given [True, False, False], [0, nan, 4]
results [0, 0, 0.5]

_record_masked(%0: f64[3], %1: bool[3], %2: f64[3,2]) contract
  %3: f64[3] = select %1, 0.0:f64[3], %0
  %4: f64[2] = contract{left=(0,), right=(0, 1), out=(1,)} %3, %2
  return %4
=>
  %3: f64[3] = select %1, 0.0:f64[3], %0
  %4: bool[3] = logical_not %1
  %5: f64[2] = masked_contract{left=(0,), right=(0, 1), out=(1,), masked=0} %3, %2, %4
  return %5
given [True, False, False], [[nan, inf], [3, 4], [5, inf]]
results [16, inf]

_record_masked(%0: f64[3], %1: bool[3], %2: f64[2]) convolve
  %3: f64[3] = select %1, %0, 0.0:f64[3]
  %4: f64[4] = convolve{left=(), right=(), out=(), steps=((1, 1, 1),), offsets=(0,),
    lengths=(4,)} %3, %2
  return %4
=>
  %3: f64[3] = select %1, %0, 0.0:f64[3]
  %4: f64[4] = masked_convolve{left=(), right=(), out=(), steps=((1, 1, 1),), offsets=(0,),
    lengths=(4,), masked=0} %3, %2, %1
  return %4
given [True, False, False], [3, inf]
results [6, inf, 0, 0]

_mask_coefficient(%0: f64[3], %1: bool[3], %2: f64[3])
  %3: f64[3] = select %1, %0, 0.0:f64[3]
  %4: f64[3] = recurrence{axis=0} %2, %3
  return %4
=>
  %3: f64[3] = select %1, %0, 0.0:f64[3]
  %4: bool[3] = cumsum{axis=0} %1
  %5: bool[2] = slice{starts=(0,), stops=(2,), steps=(1,)} %4
  %6: bool[3] = concatenate{axis=0} False:bool[1], %5
  %7: f64[3] = select %6, %2, 0.0:f64[3]
  %8: f64[3] = recurrence{axis=0} %7, %3
  return %8
given [False, True, False], [nan, inf, 4]
results [0, 2, 8]

_record_masked(%0: f64[2,2,2], %1: bool[2,2,2], %2: f64[2,2,2]) adjugate
  %3: f64[2,2,2] = select %1, %0, 0.0:f64[2,2,2]
  %4: f64[2,2,2] = adjugate %2, %3
  return %4
=>
  %3: f64[2,2,2] = select %1, %0, 0.0:f64[2,2,2]
  %4: bool[2] = reduce_any{axes=(1, 2)} %1
  %5: bool[2,2,2] = broadcast{shape=(2, 2, 2), axes=(0,)} %4
  %6: f64[2,2,2] = adjugate %2, %3
  %7: f64[2,2,2] = select %5, %6, 0.0:f64[2,2,2]
  return %7
given [[[False, False], [False, False]], [[True, False], [False, False]]], [[[nan, 3], [4, 5]],
    [[1, 0], [0, 1]]]
results [[[0, 0], [0, 0]], [[0, 0], [0, 2]]]

_record_masked(%0: f64[2,2,1], %1: bool[2,2,1], %2: f64[2,2,2]) solve
  %3: f64[2,2,1] = select %1, %0, 0.0:f64[2,2,1]
  %4: f64[2,2,1] = solve %2, %3
  return %4
=>
  %3: f64[2,2,1] = select %1, %0, 0.0:f64[2,2,1]
  %4: bool[2,1] = reduce_any{axes=(1,)} %1
  %5: bool[2,2,1] = broadcast{shape=(2, 2, 1), axes=(0, 2)} %4
  %6: f64[2,2,1] = solve %2, %3
  %7: f64[2,2,1] = select %5, %6, 0.0:f64[2,2,1]
  return %7
given [[[False], [False]], [[True], [False]]], [[[inf, 3], [4, nan]], [[2, 0], [0, 1]]]
results [[[0], [0]], [[1], [0]]]

_convolve_padded(%0: f64[2], %1: f64[2])
  %2: f64[5] = add_slice{starts=(1,), stops=(4,), steps=(2,)} 0.0:f64[5], %0
  %3: f64[6] = convolve{left=(), right=(), out=(), steps=((1, 1, 1),), offsets=(0,),
    lengths=(6,)} %2, %1
  %4: f64[6] = convolve{left=(), right=(), out=(), steps=((1, 1, 1),), offsets=(0,),
    lengths=(6,)} %1, %2
  return %3, %4
=>
  %2: f64[6] = convolve{left=(), right=(), out=(), steps=((2, 1, 1),), offsets=(-1,),
    lengths=(6,)} %0, %1
  %3: f64[6] = convolve{left=(), right=(), out=(), steps=((1, 2, 1),), offsets=(-1,),
    lengths=(6,)} %1, %0
  return %2, %3
given [inf, 3]
results [0, inf, 6, inf, 6, 0], [0, inf, 6, inf, 6, 0]
""")
