"""Identities of what moves, repeats or converts, bit for bit, as texts before and after."""

from __future__ import annotations

from tests.passes.rewrites import rewrites

STRUCTURE = rewrites("""
_reshape_twice(%0: f64[2,3])
  %1: f64[6] = reshape{shape=(6,)} %0
  %2: f64[3,2] = reshape{shape=(3, 2)} %1
  %3: f64[2,3] = reshape{shape=(2, 3)} %2
  return %2, %3
=>
  %1: f64[3,2] = reshape{shape=(3, 2)} %0
  return %1, %0

_permute_twice(%0: f64[2,3,4,5])
  %1: f64[3,4,2,5] = permute{axes=(1, 2, 0, 3)} %0
  %2: f64[5,3,4,2] = permute{axes=(3, 0, 1, 2)} %1
  %3: f64[2,3,4,5] = permute{axes=(3, 1, 2, 0)} %2
  return %2, %3
=>
  %1: f64[5,3,4,2] = permute{axes=(3, 1, 2, 0)} %0
  return %1, %0

cancel(%0: f64[2,3])
  %1: f64[2,3] = reverse{axes=(0,)} %0
  %2: f64[2,3] = reverse{axes=(0,)} %1
  %3: f64[2,3] = reverse{axes=(1,)} %1
  return %2, %3
=>
  %1: f64[2,3] = reverse{axes=(0,)} %0
  %2: f64[2,3] = reverse{axes=(1,)} %1
  return %0, %2

_broadcast_twice(%0: f64[3])
  %1: f64[2,3] = broadcast{shape=(2, 3), axes=(1,)} %0
  %2: f64[2,4,3,5] = broadcast{shape=(2, 4, 3, 5), axes=(0, 2)} %1
  return %2
=>
  %1: f64[2,4,3,5] = broadcast{shape=(2, 4, 3, 5), axes=(2,)} %0
  return %1

_real_of_real(%0: f64[3], %1: f64[3], %2: f16[3])
  %3: c128[3] = convert{dtype=c128} %0
  %4: f64[3] = real %3
  %5: c128[3] = join %1, %0
  %6: f64[3] = real %5
  %7: c64[3] = join %2, %2
  %8: f32[3] = real %7
  return %4, %6, %8
=>
  %3: c64[3] = join %2, %2
  %4: f32[3] = real %3
  return %0, %1, %4

_imaginary_of_pair(%0: f64[3], %1: f64[3], %2: f16[3])
  %3: c128[3] = join %0, %1
  %4: f64[3] = imag %3
  %5: c64[3] = join %2, %2
  %6: f32[3] = imag %5
  return %4, %6
=>
  %3: c64[3] = join %2, %2
  %4: f32[3] = imag %3
  return %1, %4

_contract_with_number(%0: f64[2,3], %1: f64[], %2: c128[7], %3: c128[])
  %4: f64[3,2] = contract{left=(0, 1), right=(), out=(1, 0)} %0, %1
  %5: f64[2,3] = contract{left=(), right=(0, 1), out=(0, 1)} %1, %0
  %6: f64[] = contract{left=(), right=(), out=()} %1, 0.5:f64[]
  %7: c128[7] = contract{left=(0,), right=(), out=(0,)} %2, %3
  return %4, %5, %6, %7
=>
  %4: f64[3,2] = permute{axes=(1, 0)} %0
  %5: f64[3,2] = broadcast{shape=(3, 2), axes=()} %1
  %6: f64[3,2] = mul %4, %5
  %7: f64[2,3] = broadcast{shape=(2, 3), axes=()} %1
  %8: f64[2,3] = mul %7, %0
  %9: f64[] = mul %1, 0.5:f64[]
  %10: c128[7] = broadcast{shape=(7,), axes=()} %3
  %11: c128[7] = mul %2, %10
  return %6, %8, %9, %11

_slice_twice(%0: f64[10,4])
  %1: f64[3,4] = slice{starts=(1, 0), stops=(10, 4), steps=(3, 1)} %0
  %2: f64[1,3] = slice{starts=(1, 1), stops=(3, 4), steps=(2, 1)} %1
  %3: f64[0,4] = slice{starts=(3, 0), stops=(3, 4), steps=(1, 1)} %1
  %4: f64[10,4] = slice{starts=(0, 0), stops=(10, 4), steps=(1, 1)} %0
  return %2, %3, %4
=>
  %1: f64[1,3] = slice{starts=(4, 1), stops=(10, 4), steps=(6, 1)} %0
  %2: f64[0,4] = slice{starts=(10, 0), stops=(10, 4), steps=(3, 1)} %0
  return %1, %2, %0

_slice_repeated(%0: f64[3,4])
  %1: f64[3,2,4] = broadcast{shape=(3, 2, 4), axes=(0, 2)} %0
  %2: f64[2,1,2] = slice{starts=(1, 1, 0), stops=(3, 2, 4), steps=(1, 1, 2)} %1
  %3: f64[3,1,4] = slice{starts=(0, 1, 0), stops=(3, 2, 4), steps=(1, 1, 1)} %1
  return %2, %3
=>
  %1: f64[2,2] = slice{starts=(1, 0), stops=(3, 4), steps=(1, 2)} %0
  %2: f64[2,1,2] = broadcast{shape=(2, 1, 2), axes=(0, 2)} %1
  %3: f64[3,1,4] = broadcast{shape=(3, 1, 4), axes=(0, 2)} %0
  return %2, %3

reshape_later(%0: f64[2,3], %1: f64[1])
  %2: f64[2,1,3] = reshape{shape=(2, 1, 3)} %0
  %3: f64[2,1,3] = exp %2
  %4: f64[6] = reshape{shape=(6,)} %0
  %5: f64[6] = exp %4
  %6: f64[] = reshape{shape=()} %1
  %7: f64[] = exp %6
  return %3, %5, %7
=>
  %2: f64[2,3] = exp %0
  %3: f64[2,1,3] = reshape{shape=(2, 1, 3)} %2
  %4: f64[6] = reshape{shape=(6,)} %0
  %5: f64[6] = exp %4
  %6: f64[] = reshape{shape=()} %1
  %7: f64[] = exp %6
  return %3, %5, %7

_slice_joined(%0: f64[2,2], %1: f64[2,3])
  %2: f64[2,5] = concatenate{axis=1} %0, %1
  %3: f64[1,2] = slice{starts=(1, 0), stops=(2, 2), steps=(1, 1)} %2
  %4: f64[2,2] = slice{starts=(0, 2), stops=(2, 5), steps=(1, 2)} %2
  %5: f64[2,2] = slice{starts=(0, 1), stops=(2, 3), steps=(1, 1)} %2
  return %3, %4, %5
=>
  %2: f64[2,5] = concatenate{axis=1} %0, %1
  %3: f64[1,2] = slice{starts=(1, 0), stops=(2, 2), steps=(1, 1)} %0
  %4: f64[2,2] = slice{starts=(0, 0), stops=(2, 3), steps=(1, 2)} %1
  %5: f64[2,2] = slice{starts=(0, 1), stops=(2, 3), steps=(1, 1)} %2
  return %3, %4, %5

_slice_written(%0: f64[4,3], %1: f64[1,3], %2: f64[2,1])
  %3: f64[4,3] = replace_slice{starts=(1, 0), stops=(2, 3), steps=(1, 1)} %0, %1
  %4: f64[4,3] = replace_slice{starts=(2, 1), stops=(4, 2), steps=(1, 1)} %3, %2
  %5: f64[2,1] = slice{starts=(2, 1), stops=(4, 2), steps=(1, 1)} %4
  %6: f64[1,3] = slice{starts=(1, 0), stops=(2, 3), steps=(1, 1)} %4
  %7: f64[1,3] = slice{starts=(0, 0), stops=(1, 3), steps=(1, 1)} %4
  %8: f64[2,1] = slice{starts=(0, 2), stops=(3, 3), steps=(2, 1)} %4
  return %5, %6, %7, %8
=>
  %3: f64[4,3] = replace_slice{starts=(1, 0), stops=(2, 3), steps=(1, 1)} %0, %1
  %4: f64[1,3] = slice{starts=(0, 0), stops=(1, 3), steps=(1, 1)} %0
  %5: f64[2,1] = slice{starts=(0, 2), stops=(3, 3), steps=(2, 1)} %3
  return %2, %1, %4, %5

_convert_to_same(%0: f64[3], %1: i64[3])
  %2: f64[3] = convert{dtype=f64} %0
  %3: f64[3] = convert{dtype=f64} %1
  %4: i64[3] = convert{dtype=i64} %3
  return %2, %4
=>
  %2: f64[3] = convert{dtype=f64} %1
  %3: i64[3] = convert{dtype=i64} %2
  return %0, %3

_contract_permuted(%0: f64[2,3], %1: f64[4,3])
  %2: f64[3,4] = permute{axes=(1, 0)} %1
  %3: f64[2,4] = contract{left=(0, 1), right=(1, 2), out=(0, 2)} %0, %2
  %4: f64[3,2] = permute{axes=(1, 0)} %0
  %5: f64[2,4] = contract{left=(0, 1), right=(0, 2), out=(1, 2)} %4, %2
  return %3, %5
=>
  %2: f64[2,4] = contract{left=(0, 1), right=(2, 1), out=(0, 2)} %0, %1
  return %2, %2
""")
