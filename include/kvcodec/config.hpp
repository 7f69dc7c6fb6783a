// Compile-time configuration: the library's only macros.
//
// KVCODEC_HD             host and device: a primitive that CUDA kernels may call.
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

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define KVCODEC_ISA_NAMESPACE scalar_x86_64_v4
#define KVCODEC_ISA_NAME "scalar, compiled for x86-64-v4 (AVX-512)"
#elif defined(__AVX2__) && defined(__FMA__)
#define KVCODEC_ISA_NAMESPACE scalar_x86_64_v3
#define KVCODEC_ISA_NAME "scalar, compiled for x86-64-v3 (AVX2, FMA)"
#elif defined(__x86_64__) || defined(_M_X64)
#define KVCODEC_ISA_NAMESPACE scalar_x86_64
#define KVCODEC_ISA_NAME "scalar, compiled for x86-64 (SSE2)"
#elif defined(__aarch64__) || defined(_M_ARM64)
#define KVCODEC_ISA_NAMESPACE scalar_aarch64
#define KVCODEC_ISA_NAME "scalar, compiled for AArch64"
#else
#define KVCODEC_ISA_NAMESPACE scalar_generic
#define KVCODEC_ISA_NAME "scalar"
#endif

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

inline namespace KVCODEC_ISA_NAMESPACE {
/// Which code this translation unit runs, for people to read.
inline constexpr std::string_view isa_name = KVCODEC_ISA_NAME;
}  // namespace KVCODEC_ISA_NAMESPACE

}  // namespace kvcodec
