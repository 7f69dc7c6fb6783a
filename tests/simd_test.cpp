// Every instruction set that this build has, against the scalar specification, lane by lane.
#include <kvcodec/simd/simd.hpp>
#include <kvcodec/random.hpp>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>

namespace {

using namespace kvcodec;
using Spec = Simd<Isa::scalar>;

template <Isa I>
struct Tag {
  static constexpr Isa isa = I;
};

template <class T>
class SimdTest : public ::testing::Test {};
using Isas = ::testing::Types<Tag<Isa::scalar>
#if defined(__AVX2__)
                              ,
                              Tag<Isa::avx2>
#endif
#if defined(__AVX512F__)
                              ,
                              Tag<Isa::avx512>
#endif
#if defined(__aarch64__)
                              ,
                              Tag<Isa::neon>
#endif
                              >;
TYPED_TEST_SUITE(SimdTest, Isas);

using F16 = std::array<float, 16>;
using I16 = std::array<std::int32_t, 16>;
using B64 = std::array<std::uint8_t, 64>;

template <class S>
F16 out(typename S::Floats a) {
  F16 r;
  S::store(a, r.data());
  return r;
}
template <class S>
I16 out(typename S::Ints a) {
  I16 r;
  S::store(a, r.data());
  return r;
}
template <class S>
B64 out(typename S::Bytes a) {
  B64 r;
  S::store_bytes(a, r.data());
  return r;
}
template <class S>
typename S::Ints ints(const B64& b) {
  return S::template widen<0>(S::load_bytes(b.data()));
}

/// The same bits, where a NaN is any NaN.
void expect_same(const F16& a, const F16& b, const char* what) {
  for (std::size_t l = 0; l < 16; ++l) {
    if (a[l] != a[l] && b[l] != b[l]) continue;
    ASSERT_EQ(float_bits(a[l]), float_bits(b[l])) << what << " lane " << l << ": " << a[l] << " " << b[l];
  }
}

struct Source {
  SplitMix64 random{7};
  float value(int kind) {
    const float g = static_cast<float>(random.gaussian());
    switch (kind % 5) {
      case 0: return g;
      case 1: return g * 0x1p-130f;  // subnormal
      case 2: return static_cast<float>(static_cast<int>(g * 4));
      case 3: return float_from_bits(static_cast<std::uint32_t>(random() & 0xffffffffu));  // anything
      default: return g < 0 ? -0.0f : 0.0f;
    }
  }
  F16 floats(int kind) {
    F16 r;
    for (float& v : r) v = value(kind);
    return r;
  }
  B64 bytes(unsigned below = 256) {
    B64 r;
    for (auto& v : r) v = static_cast<std::uint8_t>(random() % below);
    return r;
  }
};

TYPED_TEST(SimdTest, Floats) {
  using S = Simd<TypeParam::isa>;
  Source source;
  for (int kind = 0; kind < 2000; ++kind) {
    const F16 x = source.floats(kind), y = source.floats(kind / 5), z = source.floats(kind / 25);
    const auto a = S::load(x.data()), b = S::load(y.data()), c = S::load(z.data());
    const auto p = Spec::load(x.data()), q = Spec::load(y.data()), r = Spec::load(z.data());
#define KVCODEC_SAME(mine, spec) expect_same(out<S>(S::mine), out<Spec>(Spec::spec), #mine)
    KVCODEC_SAME(add(a, b), add(p, q));
    KVCODEC_SAME(subtract(a, b), subtract(p, q));
    KVCODEC_SAME(multiply(a, b), multiply(p, q));
    KVCODEC_SAME(divide(a, b), divide(p, q));
    KVCODEC_SAME(fma(a, b, c), fma(p, q, r));
    KVCODEC_SAME(root(a), root(p));
    KVCODEC_SAME(magnitude(a), magnitude(p));
    KVCODEC_SAME(maximum(a, b), maximum(p, q));
    KVCODEC_SAME(minimum(a, b), minimum(p, q));
    KVCODEC_SAME(template repeat<1>(x.data()), template repeat<1>(x.data()));
    KVCODEC_SAME(template repeat<2>(x.data()), template repeat<2>(x.data()));
    KVCODEC_SAME(template repeat<4>(x.data()), template repeat<4>(x.data()));
    KVCODEC_SAME(template repeat<8>(x.data()), template repeat<8>(x.data()));
    // A product does not fuse with what reads it.
    KVCODEC_SAME(add(S::multiply(a, b), c), add(Spec::multiply(p, q), r));
    KVCODEC_SAME(subtract(c, S::multiply(a, b)), subtract(r, Spec::multiply(p, q)));
    const auto word = static_cast<std::uint32_t>(source.random() & 0xffffu);
    KVCODEC_SAME(negate(a, word), negate(p, word));
    KVCODEC_SAME(template butterfly<8>(a), template butterfly<8>(p));
    KVCODEC_SAME(template butterfly<4>(a), template butterfly<4>(p));
    KVCODEC_SAME(template butterfly<2>(a), template butterfly<2>(p));
    KVCODEC_SAME(template butterfly<1>(a), template butterfly<1>(p));
    const float mine = S::sum(a), spec = Spec::sum(p);
    if (spec == spec) {
      ASSERT_EQ(float_bits(mine), float_bits(spec));
      ASSERT_EQ(S::largest(a), Spec::largest(p));
    }
    ASSERT_EQ(S::bits(S::greater(a, b)), Spec::bits(Spec::greater(p, q)));
    ASSERT_EQ(S::bits(S::differ(S::greater(a, b), S::greater(b, c))), Spec::bits(Spec::differ(Spec::greater(p, q), Spec::greater(q, r))));
    KVCODEC_SAME(select(S::greater(a, b), a, c), select(Spec::greater(p, q), p, r));
    typename S::Floats t0, t1, t2;
    Spec::Floats s0, s1, s2;
    S::split_triplets(a, b, c, t0, t1, t2);
    Spec::split_triplets(p, q, r, s0, s1, s2);
    expect_same(out<S>(t0), out<Spec>(s0), "split x");
    expect_same(out<S>(t1), out<Spec>(s1), "split y");
    expect_same(out<S>(t2), out<Spec>(s2), "split z");
    S::join_triplets(a, b, c, t0, t1, t2);
    Spec::join_triplets(p, q, r, s0, s1, s2);
    expect_same(out<S>(t0), out<Spec>(s0), "join 0");
    expect_same(out<S>(t1), out<Spec>(s1), "join 1");
    expect_same(out<S>(t2), out<Spec>(s2), "join 2");
    S::interleave(a, b, t0, t1);
    Spec::interleave(p, q, s0, s1);
    expect_same(out<S>(t0), out<Spec>(s0), "interleave low");
    expect_same(out<S>(t1), out<Spec>(s1), "interleave high");
    S::deinterleave(t0, t1, t0, t1);
    expect_same(out<S>(t0), x, "even of what was interleaved");
    expect_same(out<S>(t1), y, "odd of what was interleaved");
    S::deinterleave(a, b, t0, t1);
    Spec::deinterleave(p, q, s0, s1);
    expect_same(out<S>(t0), out<Spec>(s0), "even");
    expect_same(out<S>(t1), out<Spec>(s1), "odd");
    for (std::size_t n = 0; n <= 16; ++n) {
      expect_same(out<S>(S::load_part(x.data(), n)), out<Spec>(Spec::load_part(x.data(), n)), "load_part");
      F16 u = y, v = y;
      S::store_part(a, u.data(), n);
      Spec::store_part(p, v.data(), n);
      expect_same(u, v, "store_part");
    }
    if (kind % 5 == 0) {
      const auto big = S::multiply(a, S::broadcast(1000.0f));
      ASSERT_EQ(out<S>(S::round_to_ints(big)), out<Spec>(Spec::round_to_ints(Spec::multiply(p, Spec::broadcast(1000.0f)))));
    }
  }
}

TYPED_TEST(SimdTest, FirstLanes) {
  using S = Simd<TypeParam::isa>;
  unrolled<17>([](auto n) {
    EXPECT_EQ(S::bits(S::template first_lanes<n>()), (1u << n) - 1);
    const auto chosen = out<S>(S::select(S::template first_lanes<n>(), S::broadcast(1.0f), S::broadcast(2.0f)));
    for (std::size_t l = 0; l < 16; ++l) EXPECT_EQ(chosen[l], l < n ? 1.0f : 2.0f) << n;
  });
}

template <class S, class Half>
void check_halves(Source& source) {
  // Every half there is, sixteen at a time, and back.
  for (unsigned first = 0; first < 0x10000; first += 16) {
    std::array<std::byte, 32> halves, mine, spec;
    for (unsigned l = 0; l < 16; ++l) store_half(Half{static_cast<std::uint16_t>(first + l)}, halves.data() + 2 * l);
    const auto a = S::template load_halves<Half>(halves.data(), 16);
    const auto p = Spec::load_halves<Half>(halves.data(), 16);
    expect_same(out<S>(a), out<Spec>(p), "load_halves");
    if ((first & 0x7fffu) >= (std::is_same_v<Half, float16> ? 0x7c10u : 0x7f90u)) continue;  // a NaN is not stored
    if ((first & 0x7fffu) == (std::is_same_v<Half, float16> ? 0x7c00u : 0x7f80u)) continue;
    S::template store_halves<Half>(a, mine.data(), 16);
    ASSERT_EQ(mine, halves);
    Spec::store_halves<Half>(p, spec.data(), 16);
    ASSERT_EQ(mine, spec);
  }
  // Any float, between two halves, beyond their range and infinite; and of a part nothing else is written.
  const float infinity = float_from_bits(0x7f800000u);
  for (int kind = 0; kind < 2000; ++kind) {
    F16 x = source.floats(kind);
    for (float& v : x) v = v != v ? 1.0f : v;
    if (kind % 7 == 0) x[3] = infinity, x[12] = -infinity, x[5] = 65520.0f, x[6] = 65519.0f, x[7] = -0x1.ffp127f;
    if (kind % 3 == 0)
      for (float& v : x) v *= 0x1p-16f;  // float16's subnormals
    for (const std::size_t n : {std::size_t{16}, static_cast<std::size_t>(kind) % 17}) {
      std::array<std::byte, 32> mine, spec;
      mine.fill(std::byte{0xee});
      spec.fill(std::byte{0xee});
      S::template store_halves<Half>(S::load(x.data()), mine.data(), n);
      Spec::store_halves<Half>(Spec::load(x.data()), spec.data(), n);
      ASSERT_EQ(mine, spec) << n;
      expect_same(out<S>(S::template load_halves<Half>(mine.data(), n)), out<Spec>(Spec::load_halves<Half>(spec.data(), n)), "a part");
    }
  }
}

TYPED_TEST(SimdTest, Halves) {
  using S = Simd<TypeParam::isa>;
  Source source;
  check_halves<S, float16>(source);
  check_halves<S, bfloat16>(source);
}

template <class S, std::size_t N>
void check_lookup(Source& source) {
  std::array<float, N> floats;
  alignas(64) std::array<std::uint8_t, (N < 64 ? 64 : N)> bytes;
  for (float& v : floats) v = source.value(0);
  for (auto& v : bytes) v = static_cast<std::uint8_t>(source.random() & 0xffu);
  const B64 index = source.bytes(N);
  const auto mine = S::template lookup<N>(floats.data(), ints<S>(index));
  const auto spec = Spec::lookup<N>(floats.data(), ints<Spec>(index));
  expect_same(out<S>(mine), out<Spec>(spec), "lookup");
  if constexpr (N <= 256) {
    ASSERT_EQ(out<S>(S::template lookup<N>(bytes.data(), S::load_bytes(index.data()))),
              out<Spec>(Spec::lookup<N>(bytes.data(), Spec::load_bytes(index.data()))))
        << N;
  }
}

TYPED_TEST(SimdTest, Lookups) {
  using S = Simd<TypeParam::isa>;
  Source source;
  for (int i = 0; i < 50; ++i) {
    check_lookup<S, 1>(source);
    check_lookup<S, 2>(source);
    check_lookup<S, 4>(source);
    check_lookup<S, 8>(source);
    check_lookup<S, 16>(source);
    check_lookup<S, 32>(source);
    check_lookup<S, 64>(source);
    check_lookup<S, 128>(source);
    check_lookup<S, 256>(source);
  }
}

TYPED_TEST(SimdTest, Ints) {
  using S = Simd<TypeParam::isa>;
  Source source;
  for (int i = 0; i < 500; ++i) {
    const B64 x = source.bytes(), y = source.bytes();
    const F16 f = source.floats(i), g = source.floats(i / 2);
    const auto a = ints<S>(x), b = ints<S>(y);
    const auto p = ints<Spec>(x), q = ints<Spec>(y);
    ASSERT_EQ(out<S>(S::add(a, b)), out<Spec>(Spec::add(p, q)));
    ASSERT_EQ(out<S>(S::bit_or(a, b)), out<Spec>(Spec::bit_or(p, q)));
    ASSERT_EQ(out<S>(S::bit_and(a, b)), out<Spec>(Spec::bit_and(p, q)));
    ASSERT_EQ(out<S>(S::template shift_left<5>(a)), out<Spec>(Spec::shift_left<5>(p)));
    ASSERT_EQ(out<S>(S::template shift_right<3>(a)), out<Spec>(Spec::shift_right<3>(p)));
    ASSERT_EQ(out<S>(S::clip(a, 17, 180)), out<Spec>(Spec::clip(p, 17, 180)));
    const auto m = S::greater(S::load(f.data()), S::load(g.data()));
    const auto n = Spec::greater(Spec::load(f.data()), Spec::load(g.data()));
    ASSERT_EQ(out<S>(S::count(a, m)), out<Spec>(Spec::count(p, n)));
    ASSERT_EQ(out<S>(S::select(m, a, b)), out<Spec>(Spec::select(n, p, q)));
    expect_same(out<S>(S::to_floats(a)), out<Spec>(Spec::to_floats(p)), "to_floats");
    const F16 negated = out<S>(S::template negate_if<0>(S::load(f.data()), a)), again = out<S>(S::template negate_if<7>(S::load(g.data()), b));
    for (std::size_t l = 0; l < 16; ++l) {  // the bits, NaNs' too
      ASSERT_EQ(float_bits(negated[l]), float_bits(f[l]) ^ (x[l] & 1u) << 31);
      ASSERT_EQ(float_bits(again[l]), float_bits(g[l]) ^ (y[l] >> 7 & 1u) << 31);
    }
    const I16 numbers = out<S>(S::add(S::template shift_left<20>(a), b));
    ASSERT_EQ(out<S>(S::load_ints(numbers.data())), numbers);
    unrolled<16>([&](auto from) {
      ASSERT_EQ(out<S>(S::template load_ints<from>(x.data())), out<Spec>(Spec::load_ints<from>(x.data()))) << from;
    });
    B64 narrow = y;
    S::store(a, narrow.data());
    for (std::size_t l = 0; l < 64; ++l) ASSERT_EQ(narrow[l], l < 16 ? x[l] : y[l]);
    ASSERT_EQ(out<S>(S::template widen<0>(S::load_bytes(x.data()))), out<Spec>(Spec::widen<0>(Spec::load_bytes(x.data()))));
    ASSERT_EQ(out<S>(S::template widen<3>(S::load_bytes(x.data()))), out<Spec>(Spec::widen<3>(Spec::load_bytes(x.data()))));
    ASSERT_EQ(out<S>(S::template widen<1>(S::load_bytes(x.data()))), out<Spec>(Spec::widen<1>(Spec::load_bytes(x.data()))));
    ASSERT_EQ(out<S>(S::template widen<2>(S::load_bytes(x.data()))), out<Spec>(Spec::widen<2>(Spec::load_bytes(x.data()))));
  }
}

template <class S, unsigned Width, std::size_t Fields>
void check_packing(Source& source) {
  const B64 fields = source.bytes(1u << Width);
  constexpr std::size_t bytes = bytes_for_bits(Width * Fields);
  std::array<std::byte, 80> mine, spec;
  mine.fill(std::byte{0xee});
  spec.fill(std::byte{0xee});
  S::template pack<Width, Fields>(S::load_bytes(fields.data()), mine.data());
  Spec::pack<Width, Fields>(Spec::load_bytes(fields.data()), spec.data());
  ASSERT_EQ(mine, spec) << Width << " bits, " << Fields;
  const auto same = [&](const B64& a) {
    for (std::size_t i = 0; i < Fields; ++i) ASSERT_EQ(a[i], fields[i]) << Width << " bits, " << Fields << " field " << i;
    for (std::size_t i = Fields; i < 64; ++i) ASSERT_LT(a[i], 1u << Width);
  };
  same(out<S>(S::template unpack<Width, Fields>(mine.data())));
  same(out<S>(S::template unpack<Width, Fields, bytes + 3>(mine.data())));
  same(out<S>(S::template unpack<Width, Fields, 80>(mine.data())));
}

template <class S, unsigned Width>
void check_widths(Source& source) {
  check_packing<S, Width, 64>(source);
  check_packing<S, Width, 43>(source);
  check_packing<S, Width, 16>(source);
  check_packing<S, Width, 4>(source);
  check_packing<S, Width, 27>(source);
  check_packing<S, Width, 33>(source);
}

TYPED_TEST(SimdTest, Packing) {
  using S = Simd<TypeParam::isa>;
  Source source;
  for (int i = 0; i < 20; ++i) {
    check_widths<S, 1>(source);
    check_widths<S, 2>(source);
    check_widths<S, 3>(source);
    check_widths<S, 4>(source);
    check_widths<S, 5>(source);
    check_widths<S, 6>(source);
    check_widths<S, 7>(source);
    check_widths<S, 8>(source);
  }
}

TYPED_TEST(SimdTest, Bytes) {
  using S = Simd<TypeParam::isa>;
  Source source;
  for (int i = 0; i < 500; ++i) {
    B64 x = source.bytes(255), y = source.bytes(255);  // -127 .. 127 after taking 127 off
    if (i == 2) x.fill(255), y.fill(254);
    if (i == 0) x.fill(0), y.fill(254);
    if (i == 1) x.fill(254), y.fill(254);
    B64 mine, spec, weights;
    for (std::size_t l = 0; l < 64; ++l) {
      const int value = x[l] - 127, weight = y[l] - 127;
      mine[l] = static_cast<std::uint8_t>(value + S::bias);
      spec[l] = static_cast<std::uint8_t>(value + Spec::bias);
      weights[l] = static_cast<std::uint8_t>(weight);
    }
    I16 a = out<S>(S::dot4(S::broadcast_int(1000), S::load_bytes(mine.data()), S::load_bytes(weights.data())));
    const I16 b = out<Spec>(Spec::dot4(Spec::broadcast_int(1000), Spec::load_bytes(spec.data()), Spec::load_bytes(weights.data())));
    for (std::size_t l = 0; l < 16; ++l)
      for (std::size_t k = 0; k < 4; ++k) a[l] -= S::bias * (y[4 * l + k] - 127);
    ASSERT_EQ(a, b);
    ASSERT_EQ(out<S>(S::dot4_unsigned(S::broadcast_int(-7), S::load_bytes(x.data()), S::load_bytes(weights.data()))),
              out<Spec>(Spec::dot4_unsigned(Spec::broadcast_int(-7), Spec::load_bytes(x.data()), Spec::load_bytes(weights.data()))));
    ASSERT_EQ(out<S>(S::unbiased(S::load_bytes(mine.data()))), out<Spec>(Spec::unbiased(Spec::load_bytes(spec.data()))));
    ASSERT_EQ(out<S>(S::bytes_of(S::ints_of(S::load_bytes(mine.data())))), mine);
    ASSERT_EQ(out<S>(S::ints_of(S::load_bytes(x.data()))), out<Spec>(Spec::ints_of(Spec::load_bytes(x.data()))));
    ASSERT_EQ(out<S>(S::broadcast4(0x01c28344u)), out<Spec>(Spec::broadcast4(0x01c28344u)));
    ASSERT_EQ(out<S>(S::broadcast4(0x01c28344u, 0x7fa6e500u)), out<Spec>(Spec::broadcast4(0x01c28344u, 0x7fa6e500u)));

    const B64 flags = source.bytes();
    ASSERT_EQ(out<S>(S::template negate_where<0>(S::load_bytes(x.data()), S::load_bytes(flags.data()))),
              out<Spec>(Spec::negate_where<0>(Spec::load_bytes(x.data()), Spec::load_bytes(flags.data()))));
    ASSERT_EQ(out<S>(S::template negate_where<7>(S::load_bytes(x.data()), S::load_bytes(flags.data()))),
              out<Spec>(Spec::negate_where<7>(Spec::load_bytes(x.data()), Spec::load_bytes(flags.data()))));

    const B64 rows[4] = {source.bytes(), source.bytes(), source.bytes(), source.bytes()};
    typename S::Bytes r[4], t[4];
    Spec::Bytes p[4], q[4];
    for (std::size_t k = 0; k < 4; ++k) {
      r[k] = S::load_bytes(rows[k].data());
      p[k] = Spec::load_bytes(rows[k].data());
    }
    S::transpose4(r, t);
    Spec::transpose4(p, q);
    typename S::Ints u[4];
    for (std::size_t k = 0; k < 4; ++k) {
      ASSERT_EQ(out<S>(t[k]), out<Spec>(q[k])) << k;
      u[k] = ints<S>(rows[k]);
    }
    Spec::Ints v[4];
    for (std::size_t k = 0; k < 4; ++k) v[k] = ints<Spec>(rows[k]);
    S::untranspose(u);
    Spec::untranspose(v);
    for (std::size_t k = 0; k < 4; ++k) ASSERT_EQ(out<S>(u[k]), out<Spec>(v[k])) << k;

    typename S::Ints many[16];
    Spec::Ints spec_many[16];
    for (std::size_t k = 0; k < 16; ++k) {
      const B64 z = source.bytes();
      many[k] = ints<S>(z);
      spec_many[k] = ints<Spec>(z);
    }
    ASSERT_EQ(out<S>(S::sum_rows(many)), out<Spec>(Spec::sum_rows(spec_many)));
    ASSERT_EQ(S::sum(many[0]), Spec::sum(spec_many[0]));
    ASSERT_EQ(out<S>(S::narrow(many[0], many[1], many[2], many[3])),
              out<Spec>(Spec::narrow(spec_many[0], spec_many[1], spec_many[2], spec_many[3])));
    for (std::size_t n = 0; n <= 64; ++n)
      ASSERT_EQ(out<S>(S::load_bytes(x.data(), n)), out<Spec>(Spec::load_bytes(x.data(), n)));
    for (std::size_t n = 0; n <= 32; ++n)
      ASSERT_EQ(out<S>(S::load_two(x.data(), y.data() + 64 - n, n)), out<Spec>(Spec::load_two(x.data(), y.data() + 64 - n, n)));
    ASSERT_EQ(out<S>(S::template select_bits<0xa5>(S::load_bytes(x.data()), S::load_bytes(flags.data()))),
              out<Spec>(Spec::select_bits<0xa5>(Spec::load_bytes(x.data()), Spec::load_bytes(flags.data()))));
  }
}

TEST(Isa, TheBuildSaysWhichItRuns) {
  // The name begins with the instruction set that codecs get unless they ask for another.
  const std::string_view expected = native_isa == Isa::avx512 ? "avx512" : native_isa == Isa::avx2 ? "avx2" : native_isa == Isa::neon ? "neon" : "scalar";
  EXPECT_EQ(isa_name.substr(0, expected.size()), expected);
  EXPECT_EQ(resolve(Isa::native), native_isa);
  EXPECT_EQ(resolve(Isa::scalar), Isa::scalar);
}

}  // namespace
