"""Identities of arithmetic and of booleans that keep every bit, as texts before and after."""

from __future__ import annotations

from tests.passes.rewrites import rewrites

ALGEBRA = rewrites("""
_subtract_nothing(%0: f64[3], %1: i64[2])
  %2: f64[3] = sub %0, 0.0:f64[3]
  %3: i64[2] = sub %1, 0:i64[2]
  %4: f64[3] = sub %0, -0.0:f64[3]
  return %2, %3, %4
=>
  %2: f64[3] = sub %0, -0.0:f64[3]
  return %0, %1, %2

_add_nothing(%0: i64[3], %1: u8[2], %2: f64[2])
  %3: i64[3] = add %0, 0:i64[3]
  %4: u8[2] = add 0:u8[2], %1
  %5: f64[2] = add %2, 0.0:f64[2]
  %6: f64[2] = add %2, -0.0:f64[2]
  return %3, %4, %5, %6
=>
  %3: f64[2] = add %2, 0.0:f64[2]
  return %0, %1, %3, %2

_scale_by_one(%0: f64[3])
  %1: f64[3] = mul %0, 1.0:f64[3]
  %2: f64[3] = mul 1.0:f64[3], %1
  return %2
=>
  return %0

_scale_by_one(%0: i64[3], %1: bool[2], %2: f16[5], %3: flong[])
  %4: i64[3] = mul %0, 1:i64[3]
  %5: bool[2] = mul True:bool[2], %1
  %6: f16[5] = mul %2, 1.0:f16[5]
  %7: flong[] = mul 1.0:flong[], %3
  return %4, %5, %6, %7
=>
  return %0, %1, %2, %3

_square(%0: f64[3], %1: c128[2], %2: i64[2])
  %3: f64[3] = mul %0, %0
  %4: c128[2] = mul %1, %1
  %5: i64[2] = mul %2, %2
  return %3, %4, %5
=>
  %3: f64[3] = square %0
  %4: c128[2] = mul %1, %1
  %5: i64[2] = mul %2, %2
  return %3, %4, %5

_divide_by_power_of_two(%0: f64[3], %1: f32[2], %2: f64[3])
  %3: f64[3] = div %0, 8.0:f64[3]
  %4: f32[2] = div %1, -0.25:f32[2]
  %5: f64[3] = div %2, 3.0:f64[3]
  %6: f64[3] = div 8.0:f64[3], %0
  return %3, %4, %5, %6
=>
  %3: f64[3] = mul %0, 0.125:f64[3]
  %4: f32[2] = mul %1, -4.0:f32[2]
  %5: f64[3] = div %2, 3.0:f64[3]
  %6: f64[3] = div 8.0:f64[3], %0
  return %3, %4, %5, %6

cancel(%0: f64[3], %1: u8[3], %2: c128[2])
  %3: f64[3] = neg %0
  %4: f64[3] = neg %3
  %5: u8[3] = neg %1
  %6: u8[3] = neg %5
  %7: c128[2] = neg %2
  %8: c128[2] = neg %7
  return %4, %6, %8
=>
  return %0, %1, %2

cancel(%0: c128[3])
  %1: c128[3] = conj %0
  %2: c128[3] = conj %1
  return %2
=>
  return %0
""")

LOGIC = rewrites("""
_select_negated(%0: bool[3], %1: f64[3], %2: f64[3])
  %3: bool[3] = logical_not %0
  %4: f64[3] = select %3, %1, %2
  %5: bool[3] = logical_not %1
  %6: f64[3] = select %5, %1, %2
  return %4, %6
=>
  %3: f64[3] = select %0, %2, %1
  %4: bool[3] = logical_not %1
  %5: f64[3] = select %4, %1, %2
  return %3, %5

_infinite_number(%0: f64[3])
  %1: bool[3] = isinf %0
  %2: bool[3] = equal 2.0:f64[3], %0
  %3: bool[3] = logical_and %1, %2
  %4: bool[3] = equal %0, inf:f64[3]
  %5: bool[3] = logical_and %1, %4
  return %3, %5
=>
  %1: bool[3] = isinf %0
  %2: bool[3] = equal %0, inf:f64[3]
  %3: bool[3] = logical_and %1, %2
  return False:bool[3], %3

_and(%0: bool[3], %1: i64[3], %2: bool[3])
  %3: bool[3] = logical_and %0, True:bool[3]
  %4: bool[3] = logical_and False:bool[3], %3
  %5: bool[3] = logical_and %0, %0
  %6: bool[3] = logical_and %1, %1
  %7: bool[3] = logical_and %0, %2
  return %3, %4, %5, %6, %7
=>
  %3: bool[3] = logical_and %1, %1
  %4: bool[3] = logical_and %0, %2
  return %0, False:bool[3], %0, %3, %4

_or(%0: bool[3], %1: f64[3], %2: bool[3])
  %3: bool[3] = logical_or %0, False:bool[3]
  %4: bool[3] = logical_or True:bool[3], %0
  %5: bool[3] = logical_or %0, %0
  %6: bool[3] = logical_or %1, %1
  %7: bool[3] = logical_or %0, %2
  return %3, %4, %5, %6, %7
=>
  %3: bool[3] = logical_or %1, %1
  %4: bool[3] = logical_or %0, %2
  return %0, True:bool[3], %0, %3, %4

cancel(%0: bool[3], %1: f64[3])
  %2: bool[3] = logical_not %0
  %3: bool[3] = logical_not %2
  %4: bool[3] = logical_not %1
  %5: bool[3] = logical_not %4
  return %3, %5
=>
  %2: bool[3] = logical_not %1
  %3: bool[3] = logical_not %2
  return %0, %3

_select_same(%0: bool[3], %1: f64[3], %2: f64[3])
  %3: f64[3] = select %0, %1, %1
  %4: f64[3] = select True:bool[3], %1, %2
  %5: f64[3] = select False:bool[3], %1, %2
  %6: f64[3] = select %0, nan:f64[3], nan:f64[3]
  %7: f64[3] = select %0, 0.0:f64[3], -0.0:f64[3]
  return %3, %4, %5, %6, %7
=>
  %3: f64[3] = select %0, 0.0:f64[3], -0.0:f64[3]
  return %1, %1, %2, nan:f64[3], %3

_select_booleans(%0: bool[3], %1: bool[3])
  %2: bool[3] = select %0, True:bool[3], False:bool[3]
  %3: bool[3] = select %0, False:bool[3], True:bool[3]
  %4: bool[3] = select %0, %1, False:bool[3]
  return %2, %3, %4
=>
  %2: bool[3] = logical_not %0
  %3: bool[3] = select %0, %1, False:bool[3]
  return %0, %2, %3
""")
