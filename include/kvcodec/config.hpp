// Compile-time configuration: the library's only macros.
//
// KVCODEC_HD             host and device: a primitive that CUDA kernels may call.
// KVCODEC_INLINE         a piece of a kernel, always inlined.
// KVCODEC_SHARED         a whole kernel, never inlined.
// KVCODEC_ISA_NAMESPACE  an inline namespace named after the instruction set of this translation unit. Everything that
//                        is compiled into code lives in it, so that two translation units built with different -m flags
//                        never share a symbol (the linker would keep one of them, and run AVX-512 on a machine without
//                        it). Formats and views (rows, status, descriptor, half types) stay outside it.
#pragma once

#include <cfloat>
#include <climits>
#include <string_view>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(__ASSOCIATIVE_MATH__) || \
    defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)  // the whole, or the parts of it that g++ names
#error "kvcodec: -ffast-math would change encoded bytes and lose NaN, infinities and signed zeros; build without it"
#endif
#if FLT_EVAL_METHOD != 0
#error "kvcodec: float expressions must be evaluated in float (FLT_EVAL_METHOD == 0; on 32-bit x86 use -mfpmath=sse)"
#endif
#if CHAR_BIT != 8
#error "kvcodec: a byte must have 8 bits"
#endif

#if defined(__CUDACC__)
#define KVCODEC_HD __host__ __device__
#else
#define KVCODEC_HD
#endif

// Before a function's type or after a lambda's parameters: inlined whatever the compiler thinks of it. The loops that kernels
// are made of keep their lanes in registers only then.
#if defined(__GNUC__) && !defined(__CUDACC__) && defined(__OPTIMIZE__)
#define KVCODEC_INLINE __attribute__((always_inline))
#else
#define KVCODEC_INLINE
#endif

// A kernel that many codecs share: a function of its own, so that a program with many codecs does not hold it many times.
#if defined(__GNUC__) && !defined(__CUDACC__)
#define KVCODEC_SHARED __attribute__((noinline))
#else
#define KVCODEC_SHARED
#endif

// The instruction set: the best that the compiler's flags allow, or the one that -DKVCODEC_ISA=scalar, avx2, avx512 or neon
// forces. Device code is scalar; a unit that nvcc compiles is scalar on the host too, so that a codec is one type for both.
#define KVCODEC_PASTE(a, b) a##b
#define KVCODEC_JOIN(a, b) KVCODEC_PASTE(a, b)
#define KVCODEC_NUMBER_scalar 1
#define KVCODEC_NUMBER_neon 2
#define KVCODEC_NUMBER_avx2 3
#define KVCODEC_NUMBER_avx512 4

#if defined(__AVX512F__) && !(defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__AVX512CD__))
#error "kvcodec: AVX-512 needs F, CD, BW, DQ and VL together (-march=x86-64-v4); for a processor that lacks some, -mno-avx512f"
#endif
#if defined(__AVX2__) && !(defined(__FMA__) && defined(__F16C__))
#error "kvcodec: AVX2 needs FMA and F16C beside it (-march=x86-64-v3, or -mavx2 -mfma -mf16c)"
#endif

#if defined(__CUDACC__)
#define KVCODEC_ISA_CHOSEN scalar
#elif defined(KVCODEC_ISA)
#define KVCODEC_ISA_CHOSEN KVCODEC_ISA
#elif defined(__AVX512F__)
#define KVCODEC_ISA_CHOSEN avx512
#elif defined(__AVX2__)
#define KVCODEC_ISA_CHOSEN avx2
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define KVCODEC_ISA_CHOSEN neon
#else
#define KVCODEC_ISA_CHOSEN scalar
#endif

#define KVCODEC_ISA_NUMBER KVCODEC_JOIN(KVCODEC_NUMBER_, KVCODEC_ISA_CHOSEN)
#if KVCODEC_ISA_NUMBER < 1
#error "kvcodec: KVCODEC_ISA is scalar, neon, avx2 or avx512"
#elif KVCODEC_ISA_NUMBER == 2 && !(defined(__aarch64__) && defined(__ARM_NEON))
#error "kvcodec: KVCODEC_ISA=neon, but the compiler's flags give no AArch64 with NEON"
#elif KVCODEC_ISA_NUMBER == 3 && !defined(__AVX2__)
#error "kvcodec: KVCODEC_ISA=avx2, but the compiler's flags give no AVX2 (-march=x86-64-v3)"
#elif KVCODEC_ISA_NUMBER == 4 && !defined(__AVX512F__)
#error "kvcodec: KVCODEC_ISA=avx512, but the compiler's flags give no AVX-512 (-march=x86-64-v4)"
#endif

// What else the flags give a kernel, also a part of the namespace's name.
#if defined(__AVX512VBMI__) && !defined(__CUDACC__)
#define KVCODEC_TAG_VBMI _vbmi
#else
#define KVCODEC_TAG_VBMI
#endif
#if defined(__AVX512VNNI__) && !defined(__CUDACC__)
#define KVCODEC_TAG_DOT _vnni
#elif defined(__ARM_FEATURE_DOTPROD)
#define KVCODEC_TAG_DOT _dotprod
#else
#define KVCODEC_TAG_DOT
#endif

#if defined(__AVX512F__)
#define KVCODEC_ISA_LEVEL _x86_64_v4
#define KVCODEC_LEVEL_NAME "x86-64-v4 (AVX-512)"
#elif defined(__AVX2__)
#define KVCODEC_ISA_LEVEL _x86_64_v3
#define KVCODEC_LEVEL_NAME "x86-64-v3 (AVX2, FMA)"
#elif defined(__x86_64__) || defined(_M_X64)
#define KVCODEC_ISA_LEVEL _x86_64
#define KVCODEC_LEVEL_NAME "x86-64 (SSE2)"
#elif defined(__aarch64__) || defined(_M_ARM64)
#define KVCODEC_ISA_LEVEL _aarch64
#define KVCODEC_LEVEL_NAME "AArch64"
#else
#define KVCODEC_ISA_LEVEL _generic
#define KVCODEC_LEVEL_NAME "any processor"
#endif

#define KVCODEC_ISA_NAMESPACE \
  KVCODEC_JOIN(KVCODEC_JOIN(KVCODEC_JOIN(KVCODEC_ISA_CHOSEN, KVCODEC_ISA_LEVEL), KVCODEC_TAG_VBMI), KVCODEC_TAG_DOT)
#define KVCODEC_STRING(a) #a
#define KVCODEC_QUOTED(a) KVCODEC_STRING(a)
#define KVCODEC_ISA_NAME \
  KVCODEC_QUOTED(KVCODEC_ISA_CHOSEN) KVCODEC_QUOTED(KVCODEC_TAG_VBMI) KVCODEC_QUOTED(KVCODEC_TAG_DOT) ", compiled for " KVCODEC_LEVEL_NAME

// Whether fma() is one instruction here. Encoding spells fma() everywhere whatever this says, since the bytes depend on
// it; scoring, whose bytes nobody stores, falls back to a multiply and an add.
#if defined(__FMA__) || defined(__aarch64__) || defined(__CUDA_ARCH__)
#define KVCODEC_HAS_FMA 1
#else
#define KVCODEC_HAS_FMA 0
#endif

namespace kvcodec {

/// Major, minor, patch.
inline constexpr int version[3] = {0, 1, 0};

/// The instruction set that a codec's kernels are written for. native: this translation unit's.
enum class Isa : unsigned char { native = 0, scalar = 1, neon = 2, avx2 = 3, avx512 = 4 };

inline namespace KVCODEC_ISA_NAMESPACE {
/// The translation unit's own.
inline constexpr Isa native_isa = static_cast<Isa>(KVCODEC_ISA_NUMBER);

constexpr Isa resolve(Isa isa) noexcept { return isa == Isa::native ? native_isa : isa; }

/// Which code this translation unit runs, for people to read.
inline constexpr std::string_view isa_name = KVCODEC_ISA_NAME;
}  // namespace KVCODEC_ISA_NAMESPACE

}  // namespace kvcodec
