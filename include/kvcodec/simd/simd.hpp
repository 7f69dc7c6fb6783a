// The one vocabulary that kernels are written in: Simd<Isa>, the same names in every file of this folder. scalar.hpp is its
// specification, a loop a name; a test compares every other file with it, lane by lane.
//
// Sixteen lanes whatever the registers are: one of AVX-512, two of AVX2, four of NEON, an array.
//   Floats   16 float       Ints   16 int32       Mask   16 truth values       Bytes   64 uint8
//
//   load, load_part(x, n), store, store_part       a part reads or writes n values only; lanes beyond are 0
//   repeat<N>(x)                                   x[0] to x[N-1] over and over; N is 1, 2, 4 or 8
//   load_halves<Half>(p, n), store_halves          n float16 or bfloat16 as rows hold them; stores saturate and take no NaN
//   add subtract multiply divide root fma          IEEE; a multiply never fuses with what reads it
//   maximum(a, b), minimum                         a > b ? a : b, a < b ? a : b; magnitude
//   multiply_add                                   fma, or a product and a sum where that is faster: for scores only
//   negate(a, bits)                                lane l negated where bit l is set
//   negate_if<Bit>(a, flags)                       lane l negated where that bit of flags[l] is set
//   butterfly<S>(a)                                lanes l and l^S become their sum (where l has bit S clear) and difference
//   sum(a)                                         by halves, 8-4-2-1; of Ints too
//   largest(a)                                     of sixteen numbers, none a NaN
//   lookup<N>(table, i)                            table[i[l]], i < N; N floats, or N bytes (16, 64, 128, 256 in registers)
//   split_triplets, join_triplets                  48 values x y z x y z … to 16 of each, and back
//   interleave(a, b, low, high), deinterleave      a[0] b[0] a[1] b[1] … in low, then high; and back
//   first_lanes<N>()                               the mask of lanes 0 to N-1
//   count(a, m)                                    a + 1 where m
//   load_ints, store(ints, x)                      int32s, or bytes for ints from 0 to 255; load_ints<From> of bytes loads
//                                                  x[From] to x[15], as it reads all sixteen, then zeros
//   narrow(a, b, c, d), widen<Q>(bytes)            64 ints, each 0 to 255, to bytes; bytes 16Q to 16Q+15 to ints
//   bytes_of(ints), ints_of(bytes)                 the same bits
//   load_two(low, high, n)                         n <= 32 bytes to lanes 0 on, and n to lanes 32 on
//   select_bits<Mask>(a, b)                        those bits of b, the others of a
//   negate_where<Bit>(a, flags)                    256 - a where that bit of flags is set
//   pack<W, N>, unpack<W, N, Readable>             N <= 64 fields of W bits as bits.hpp lays them, LSB first. unpack reads
//                                                  no byte beyond `Readable`; fields beyond N are anything below 2^W.
//                                                  Where unpacks_at_bits, unpack<W, N, Readable, S> starts at bit S < 8
//   field<W, S>(a, b)                              bits S to S+W-1 of the word that a (low) and b (high) make, for lookup<2^W>
//   registers                                      how many Floats, Ints or Bytes the processor's registers hold
//   lookup_bits                                    tables of bytes up to 2^lookup_bits are an instruction or two
//   Sums, add_bytes(s, a), widen_sums(s, out)      64 sums of bytes, below 2^16 each, as ints in the end
//   dot4(sum, a, b)                                sum[l] + a[4l] b[4l] + … + a[4l+3] b[4l+3]: b signed in [-127, 127], a a
//                                                  value in [-127, 127] plus `bias`, which suits the instruction
//   dot4_unsigned(sum, a, b), unbiased(a)          the same of a from 0 to 255; what is above `bias` of a, as signed bytes
//   sum_rows(a[16])                                lane r: the sum of all lanes of a[r]
//   broadcast4(four), broadcast4(low, high)        the bytes of four over and over; of low in lanes 0 to 31, of high beyond
//   transpose4(rows, out), untranspose             dword 4i+j of out[k] holds byte 16i+4k+j of each of four rows;
//                                                  untranspose gives results of dot4 on these their natural order back
//
// Integers are exact, so what is computed from the same integers is the same everywhere.
#pragma once

#include "scalar.hpp"

#if !defined(__CUDACC__)
#if defined(__AVX2__)
#include "avx2.hpp"
#endif
#if defined(__AVX512F__)
#include "avx512.hpp"
#endif
#if defined(__aarch64__) && defined(__ARM_NEON)
#include "neon.hpp"
#endif
#endif
