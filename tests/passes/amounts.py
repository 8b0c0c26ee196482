"""Identities of numbers and of their signs, for derivatives, as texts before and after."""

from __future__ import annotations

from tests.passes.rewrites import rewrites

NUMBERS = rewrites("""
_add_zero(%0: f64[3], %1: c128[3])
  %2: f64[3] = add %0, 0.0:f64[3]
  %3: c128[3] = add complex(0.0, 0.0):c128[3], %1
  return %2, %3
=>
  return %0, %1

_add_same(%0: f64[3])
  %1: f64[3] = mul %0, 0.3:f64[3]
  %2: f64[3] = mul 0.3:f64[3], %0
  %3: f64[3] = add %1, %2
  return %3
=>
  %1: f64[3] = mul %0, 0.6:f64[3]
  return %1

_add_nothing(%0: f64[4])
  %1: f64[4] = add_slice{starts=(1,), stops=(3,), steps=(1,)} %0, 0.0:f64[2]
  %2: f64[4] = scatter_add{axes=(0,)} %1, 0.0:f64[3], 1:i64[3]
  return %2
=>
  return %0

_scale_smaller(%0: f64[3], %1: f64[3,2], %2: f64[3,2])
  %3: f64[3,2] = broadcast{shape=(3, 2), axes=(0,)} %0
  %4: f64[3,2] = mul 4.0:f64[3,2], %1
  %5: f64[3,2] = mul %3, %4
  %6: f64[3,2] = mul %2, 3.0:f64[3,2]
  %7: f64[3,2] = mul %6, %3
  return %5, %7
=>
  %3: f64[3,2] = broadcast{shape=(3, 2), axes=(0,)} %0
  %4: f64[3] = mul %0, 4.0:f64[3]
  %5: f64[3,2] = broadcast{shape=(3, 2), axes=(0,)} %4
  %6: f64[3,2] = mul %5, %1
  %7: f64[3,2] = mul %2, 3.0:f64[3,2]
  %8: f64[3,2] = mul %7, %3
  return %6, %8

_scale_by_complex_one(%0: c128[3])
  %1: c128[3] = mul %0, complex(1.0, 0.0):c128[3]
  %2: c128[3] = mul complex(1.0, 0.0):c128[3], %1
  return %2
=>
  return %0

_scale_by_minus_one(%0: f64[3], %1: c128[3])
  %2: f64[3] = mul %0, -1.0:f64[3]
  %3: c128[3] = mul complex(-1.0, 0.0):c128[3], %1
  return %2, %3
=>
  %2: f64[3] = neg %0
  %3: c128[3] = neg %1
  return %2, %3

accumulate(%0: f64[4], %1: f64[2], %2: f64[3])
  %3: f64[4] = replace_slice{starts=(1,), stops=(3,), steps=(1,)} %0, %1
  %4: f64[4] = scatter_add{axes=(0,)} 0.0:f64[4], %2, 1:i64[3]
  %5: f64[4] = add %3, %4
  return %5
=>
  %3: f64[4] = replace_slice{starts=(1,), stops=(3,), steps=(1,)} %0, %1
  %4: f64[4] = scatter_add{axes=(0,)} %3, %2, 1:i64[3]
  return %4

_scale_twice(%0: f64[3], %1: f64[3])
  %2: f64[3] = mul 0.3:f64[3], %0
  %3: f64[3] = mul %2, 4.0:f64[3]
  %4: f64[3] = mul %1, -0.5:f64[3]
  %5: f64[3] = mul 0.3:f64[3], %4
  %6: f64[3] = mul %2, 0.3:f64[3]
  return %3, %5, %6
=>
  %2: f64[3] = mul 0.3:f64[3], %0
  %3: f64[3] = mul 1.2:f64[3], %0
  %4: f64[3] = mul %1, -0.15:f64[3]
  %5: f64[3] = mul %2, 0.3:f64[3]
  return %3, %4, %5

broadcast_later(%0: f64[3], %1: f64[3], %2: f64[])
  %3: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %0
  %4: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %1
  %5: f64[2,3] = broadcast{shape=(2, 3), axes=()} %2
  %6: f64[2,3] = div %3, %4
  %7: f64[2,3] = sub 1.0:f64[2,3], %3
  %8: f64[2,3] = neg %5
  %9: f64[2,3] = add %3, %5
  return %6, %7, %8, %9
=>
  %3: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %0
  %4: f64[2,3] = broadcast{shape=(2, 3), axes=()} %2
  %5: f64[3] = div %0, %1
  %6: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %5
  %7: f64[3] = sub 1.0:f64[3], %0
  %8: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %7
  %9: f64[] = neg %2
  %10: f64[2,3] = broadcast{shape=(2, 3), axes=()} %9
  %11: f64[2,3] = add %3, %4
  return %6, %8, %10, %11

accumulate(%0: f64[4], %1: f64[2], %2: f64[3])
  %3: f64[4] = add_slice{starts=(1,), stops=(3,), steps=(1,)} %0, %1
  %4: f64[4] = add_slice{starts=(0,), stops=(3,), steps=(1,)} 0.0:f64[4], %2
  %5: f64[4] = add %3, %4
  %6: f64[4] = add %4, %5
  %7: f64[4] = add %0, %4
  return %6, %7
=>
  %3: f64[4] = add_slice{starts=(1,), stops=(3,), steps=(1,)} %0, %1
  %4: f64[4] = add_slice{starts=(0,), stops=(3,), steps=(1,)} %3, %2
  %5: f64[4] = add_slice{starts=(0,), stops=(3,), steps=(1,)} %4, %2
  %6: f64[4] = add_slice{starts=(0,), stops=(3,), steps=(1,)} %0, %2
  return %5, %6

_join_pieces(%0: f64[2,1], %1: f64[2,3], %2: f64[2,4])
  %3: f64[2,4] = add_slice{starts=(0, 1), stops=(2, 4), steps=(1, 1)} 0.0:f64[2,4], %1
  %4: f64[2,4] = add_slice{starts=(0, 0), stops=(2, 1), steps=(1, 1)} %3, %0
  %5: f64[2,4] = add_slice{starts=(0, 0), stops=(2, 1), steps=(1, 1)} %2, %0
  %6: f64[2,4] = add_slice{starts=(0, 1), stops=(2, 4), steps=(1, 1)} %5, %1
  %7: f64[2,4] = add_slice{starts=(0, 1), stops=(2, 2), steps=(1, 1)} %3, %0
  return %4, %6, %7
=>
  %3: f64[2,4] = add_slice{starts=(0, 1), stops=(2, 4), steps=(1, 1)} 0.0:f64[2,4], %1
  %4: f64[2,4] = concatenate{axis=1} %0, %1
  %5: f64[2,4] = add_slice{starts=(0, 0), stops=(2, 1), steps=(1, 1)} %2, %0
  %6: f64[2,4] = add_slice{starts=(0, 1), stops=(2, 4), steps=(1, 1)} %5, %1
  %7: f64[2,4] = add_slice{starts=(0, 1), stops=(2, 2), steps=(1, 1)} %3, %0
  return %4, %6, %7
""")

SIGNS = rewrites("""
negate_last(%0: f64[2,3], %1: f64[2,3], %2: f64[3])
  %3: f64[2,3] = neg %0
  %4: f64[2,3] = mul %1, %3
  %5: f64[3] = reduce_sum{axes=(0,)} %4
  %6: f64[3,2] = permute{axes=(1, 0)} %4
  %7: f64[3] = neg %2
  %8: f64[2] = contract{left=(0, 1), right=(1,), out=(0,)} %1, %7
  %9: f64[3,3] = contract{left=(0,), right=(1,), out=(0, 1)} %7, %2
  return %5, %6, %8, %9
=>
  %3: f64[2,3] = mul %1, %0
  %4: f64[3] = reduce_sum{axes=(0,)} %3
  %5: f64[3] = neg %4
  %6: f64[3,2] = permute{axes=(1, 0)} %3
  %7: f64[3,2] = neg %6
  %8: f64[3] = neg %2
  %9: f64[2] = contract{left=(0, 1), right=(1,), out=(0,)} %1, %2
  %10: f64[2] = neg %9
  %11: f64[3,3] = contract{left=(0,), right=(1,), out=(0, 1)} %8, %2
  return %5, %7, %10, %11

_negate_masked(%0: f64[3], %1: f64[3], %2: bool[3])
  %3: f64[3] = select %2, %0, 0.0:f64[3]
  %4: f64[3] = neg %3
  %5: f64[3] = select %2, 0.0:f64[3], %0
  %6: f64[3] = neg %5
  %7: f64[3] = select %2, %0, %1
  %8: f64[3] = neg %7
  return %4, %6, %8
=>
  %3: f64[3] = neg %0
  %4: f64[3] = select %2, %3, 0.0:f64[3]
  %5: f64[3] = select %2, 0.0:f64[3], %3
  %6: f64[3] = select %2, %0, %1
  %7: f64[3] = neg %6
  return %4, %5, %7

_negate_number(%0: f64[3], %1: c128[3])
  %2: f64[3] = mul %0, 0.3:f64[3]
  %3: f64[3] = neg %2
  %4: c128[3] = mul complex(1.0, 2.0):c128[3], %1
  %5: c128[3] = neg %4
  return %3, %5
=>
  %2: f64[3] = mul %0, -0.3:f64[3]
  %3: c128[3] = mul complex(-1.0, -2.0):c128[3], %1
  return %2, %3

_add_negated(%0: f64[3], %1: f64[3])
  %2: f64[3] = neg %0
  %3: f64[3] = add %1, %2
  %4: f64[3] = add %2, %1
  %5: f64[3] = neg %1
  %6: f64[3] = add %2, %5
  return %3, %4, %6
=>
  %2: f64[3] = sub %1, %0
  %3: f64[3] = add %0, %1
  %4: f64[3] = neg %3
  return %2, %2, %4

_subtract_negated(%0: f64[3], %1: f64[3])
  %2: f64[3] = neg %0
  %3: f64[3] = sub %1, %2
  %4: f64[3] = sub %2, %1
  return %3, %4
=>
  %2: f64[3] = add %1, %0
  %3: f64[3] = add %0, %1
  %4: f64[3] = neg %3
  return %2, %4
""")

PRODUCTS = rewrites("""
_sum_of_product(%0: f64[5,2,3], %1: f64[5,3,4])
  %2: f64[5,2,4] = contract{left=(0, 1, 2), right=(0, 2, 3), out=(0, 1, 3)} %0, %1
  %3: f64[5,4] = reduce_sum{axes=(1,)} %2
  %4: f64[2] = reduce_sum{axes=(0, 2)} %2
  return %3, %4
=>
  %2: f64[5,3] = reduce_sum{axes=(1,)} %0
  %3: f64[5,4] = contract{left=(0, 1), right=(0, 1, 2), out=(0, 2)} %2, %1
  %4: f64[5,3] = reduce_sum{axes=(2,)} %1
  %5: f64[2] = contract{left=(0, 1, 2), right=(0, 2), out=(1,)} %0, %4
  return %3, %5
""")
