// The paged cache: random streams of every operation against a plain model of it; refusals; pages in their two forms.
#include "support/counted_new.hpp"
#include "support/random_rows.hpp"

#include <kvcodec/cache/kv_cache.hpp>
#include <kvcodec/kvcodec.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace kvcodec {
namespace {

using Bytes = std::vector<std::byte>;

/// A codec with an interleaved form of G bytes a token.
template <class C, std::size_t G>
struct Tiled : C {
  using C::C;
  static constexpr std::size_t tile_bytes = G;
};

template <std::size_t D>
using EightBits = TurboQuantMse<D, 8>;

/// Memory of exactly so many bytes, none of them zero, at a multiple of 64.
class Memory {
 public:
  explicit Memory(std::size_t size)
      : size_(size), bytes_(static_cast<std::byte*>(::operator new (size + 1, std::align_val_t{64}))) {
    std::memset(bytes_.get(), 0xa5, size + 1);
  }
  std::span<std::byte> span() const { return {bytes_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> bytes_;
};

template <class C>
Bytes canonical(const ConstPlanes& rows, std::size_t i) {
  Bytes row(C::row_bytes);
  if constexpr (C::norm_bytes > 0) std::memcpy(row.data(), rows.norm(i), C::norm_bytes);
  std::memcpy(row.data() + C::norm_bytes, rows.code(i), C::code_bytes);
  return row;
}

template <class T>
T narrow(float x) {
  return saturate_to<T>(x);
}

/// Tokens to append, and the rows that they must become.
template <class Cache>
struct Pool {
  using K = std::remove_cvref_t<decltype(std::declval<Cache>().key_codec())>;
  using V = std::remove_cvref_t<decltype(std::declval<Cache>().value_codec())>;
  static constexpr std::size_t each = 24;  // of float, then of float16, then of bfloat16

  struct Token {
    std::vector<Bytes> key, value, exact_key, exact_value;  // of each head
  };
  template <class T>
  struct Rows {
    std::vector<T> keys, values;
  };

  Pool(std::size_t heads_, const K& k, const V& v, std::uint64_t seed) : heads(heads_) {
    fill<float>(k, v, seed);
    fill<float16>(k, v, seed + 1);
    fill<bfloat16>(k, v, seed + 2);
  }

  template <class T>
  void fill(const K& k, const V& v, std::uint64_t seed) {
    auto& to = std::get<Rows<T>>(rows);
    for (const float x : kvcodec_test::gaussian_rows(each * heads, K::dim, 2 * seed)) to.keys.push_back(narrow<T>(x));
    for (const float x : kvcodec_test::gaussian_rows(each * heads, V::dim, 2 * seed + 1)) to.values.push_back(narrow<T>(x));
    const auto encode = [&]<class C>(const C& codec, const std::vector<T>& x, std::size_t at) {
      Bytes row(C::row_bytes);
      EXPECT_EQ(
          codec.encode(std::span<const T, C::dim>(x.data() + at * C::dim, C::dim), std::span<std::byte, C::row_bytes>(row)),
          Status::ok);
      return row;
    };
    for (std::size_t i = 0; i < each; ++i) {
      Token token;
      for (std::size_t at = i * heads; at < (i + 1) * heads; ++at) {
        token.key.push_back(encode(k, to.keys, at));
        token.value.push_back(encode(v, to.values, at));
        token.exact_key.push_back(encode(typename Cache::ExactKey(), to.keys, at));
        token.exact_value.push_back(encode(typename Cache::ExactValue(), to.values, at));
      }
      tokens.push_back(std::move(token));
    }
  }

  template <class T>
  static constexpr std::size_t first = std::is_same_v<T, float>     ? 0
                                       : std::is_same_v<T, float16> ? each
                                                                    : 2 * each;

  std::size_t heads;
  std::tuple<Rows<float>, Rows<float16>, Rows<bfloat16>> rows;
  std::vector<Token> tokens;
};

/// What a cache should hold, told token by token.
struct Model {
  struct Token {
    std::size_t pool = 0;
    bool exact = false, resident = false;
  };
  struct Slot {
    std::size_t references = 0;
    bool interleaved = false;
  };
  struct Sequence {
    std::vector<Token> tokens;
    std::vector<int> pages;  // keys of `slots`, or -1
  };

  std::size_t tokens_per_page, slot_count, max_tokens, sinks, recent;
  bool interleave;
  std::vector<Sequence> sequences;
  std::map<int, Slot> slots;
  int next_slot = 0;

  std::size_t free() const { return slot_count - slots.size(); }
  int take() {
    slots[next_slot] = {1, false};
    return next_slot++;
  }
  void release(int& slot) {
    if (slot >= 0 && --slots[slot].references == 0) slots.erase(slot);
    slot = -1;
  }
  /// Whether a slot of this sequence alone could be had.
  bool own(Sequence& s, std::size_t page) {
    const int old = s.pages[page];
    if (old >= 0 && slots[old].references == 1) return true;
    if (free() == 0) return false;
    s.pages[page] = take();
    if (old >= 0) {
      slots[s.pages[page]].interleaved = slots[old].interleaved;
      --slots[old].references;
    }
    return true;
  }

  Status append(std::size_t sequence, std::size_t pool) {
    Sequence& s = sequences[sequence];
    const std::size_t position = s.tokens.size(), page = position / tokens_per_page;
    if (position == max_tokens) return Status::out_of_range;
    if (page == s.pages.size()) {
      if (free() == 0) return Status::out_of_pages;
      s.pages.push_back(-1);
    }
    if (!own(s, page)) return Status::out_of_pages;
    s.tokens.push_back({pool, position < sinks || recent > 0, true});
    if (position >= recent && position - recent >= sinks) s.tokens[position - recent].exact = false;
    slots[s.pages[page]].interleaved = interleave && s.tokens.size() % tokens_per_page == 0;
    return Status::ok;
  }

  Status overwrite(std::size_t sequence, std::size_t position, std::size_t pool) {
    Sequence& s = sequences[sequence];
    if (position >= s.tokens.size()) return Status::out_of_range;
    Token& token = s.tokens[position];
    if (!token.exact && !token.resident) return Status::not_resident;
    if (token.resident && !own(s, position / tokens_per_page)) return Status::out_of_pages;
    token.pool = pool;
    return Status::ok;
  }

  void truncate(std::size_t sequence, std::size_t length) {
    Sequence& s = sequences[sequence];
    s.tokens.resize(length);
    while (s.pages.size() * tokens_per_page >= length + tokens_per_page) {
      release(s.pages.back());
      s.pages.pop_back();
    }
  }

  void share(std::size_t from, std::size_t to, std::size_t prefix) {
    if (from != to) {
      truncate(to, 0);
      sequences[to] = sequences[from];
      for (const int slot : sequences[to].pages)
        if (slot >= 0) ++slots[slot].references;
    }
    truncate(to, prefix);
  }

  void evict(std::size_t sequence, std::size_t page) {
    Sequence& s = sequences[sequence];
    release(s.pages[page]);
    for (std::size_t i = page * tokens_per_page; i < std::min(s.tokens.size(), (page + 1) * tokens_per_page); ++i)
      s.tokens[i].resident = false;
  }

  /// Whether what another model's sequence held when it was saved could be restored.
  bool restore(std::size_t sequence, const Sequence& saved) {
    if (saved.tokens.size() > max_tokens) return false;
    std::vector<bool> needed((saved.tokens.size() + tokens_per_page - 1) / tokens_per_page);
    for (std::size_t i = 0; i < saved.tokens.size(); ++i)
      if (saved.tokens[i].resident) needed[i / tokens_per_page] = true;
    std::size_t available = free();
    for (const int slot : sequences[sequence].pages) available += slot >= 0 && slots[slot].references == 1;
    if (static_cast<std::size_t>(std::count(needed.begin(), needed.end(), true)) > available) return false;
    truncate(sequence, 0);
    Sequence& s = sequences[sequence];
    s.tokens = saved.tokens;
    for (std::size_t page = 0; page < needed.size(); ++page) {
      s.pages.push_back(needed[page] ? take() : -1);
      if (needed[page]) slots[s.pages[page]].interleaved = interleave && (page + 1) * tokens_per_page <= s.tokens.size();
    }
    return true;
  }
};

/// A cache, its memory and its model.
template <class Cache>
struct World {
  using K = typename Pool<Cache>::K;
  using V = typename Pool<Cache>::V;
  using KeyPage = typename Cache::KeyPage;

  World(const KvCacheShape& shape, const K& k, const V& v, const Pool<Cache>& pool_)
      : memory(Cache::bytes(shape)), cache(std::move(*Cache::create(shape, memory.span(), k, v))), pool(pool_) {
    model = {Cache::tokens_per_page,
             shape.slots,
             shape.max_tokens,
             shape.sinks,
             shape.recent,
             shape.interleave_keys && KeyPage::has_interleaved,
             std::vector<Model::Sequence>(shape.sequences),
             {},
             0};
  }

  /// Whether tokens begin to end - 1 of a sequence are, byte for byte, what the model says.
  void check(std::size_t sequence, std::size_t begin, std::size_t end) const {
    const Model::Sequence& s = model.sequences[sequence];
    ASSERT_EQ(cache.length(sequence), s.tokens.size());
    end = std::min(end, s.tokens.size());
    for (std::size_t head = 0; head < cache.heads(); ++head) {
      std::size_t at = begin;
      const auto skip = [&] {
        while (at < end && !s.tokens[at].exact && !s.tokens[at].resident) ++at;
      };
      const Segment* bad = nullptr;
      Segment copy;
      cache.segments(sequence, head, begin, end, [&](const Segment& segment) {
        if (bad != nullptr) return;
        skip();
        if (segment.first == at && segment.count > 0 && at + segment.count <= end && matches(segment, s, head)) {
          at += segment.count;
          return;
        }
        copy = segment;
        bad = &copy;
      });
      ASSERT_EQ(bad, nullptr) << "segment of " << copy.count << " at " << copy.first << (copy.exact ? ", exact" : "")
                              << (copy.interleaved ? ", interleaved" : "") << ", head " << head << ", expected at " << at;
      skip();
      ASSERT_EQ(at, std::max(begin, end)) << "tokens missing in head " << head;
    }
  }
  void check(std::size_t sequence) const { check(sequence, 0, model.max_tokens + 1); }

  bool matches(const Segment& segment, const Model::Sequence& s, std::size_t head) const {
    const std::size_t page = segment.first / Cache::tokens_per_page, row = segment.first % Cache::tokens_per_page;
    if (!segment.exact) {
      if (segment.row_in_page != row || row + segment.count > Cache::tokens_per_page || s.pages[page] < 0) return false;
      if (segment.interleaved != model.slots.at(s.pages[page]).interleaved) return false;
      if (reinterpret_cast<std::uintptr_t>(segment.key_page) % 64 != 0) return false;
    }
    if (segment.values.count != segment.count || segment.keys.count != (segment.interleaved ? 0 : segment.count))
      return false;
    for (std::size_t i = 0; i < segment.count; ++i) {
      const Model::Token& token = s.tokens[segment.first + i];
      const auto& expected = pool.tokens[token.pool];
      if (token.exact != segment.exact) return false;
      if (segment.exact) {
        if (canonical<typename Cache::ExactKey>(segment.keys, i) != expected.exact_key[head]) return false;
        if (canonical<typename Cache::ExactValue>(segment.values, i) != expected.exact_value[head]) return false;
        continue;
      }
      if (key(segment, i) != expected.key[head] || canonical<V>(segment.values, i) != expected.value[head]) return false;
    }
    return true;
  }

  static Bytes key(const Segment& segment, std::size_t i) {
    if constexpr (KeyPage::has_interleaved) {
      if (segment.interleaved) {
        Bytes row(K::row_bytes);
        const std::size_t token = segment.row_in_page + i;
        for (std::size_t j = 0; j < K::norm_bytes; ++j) row[j] = segment.key_page[KeyPage::norm_at(token) + j];
        KeyPage::gather_row(segment.key_page, token, row.data() + K::norm_bytes);
        return row;
      }
    }
    return canonical<K>(segment.keys, i);
  }

  /// Whether slots are shared, free and evicted as in the model.
  void check_slots() const {
    ASSERT_EQ(cache.free_slots(), model.free());
    std::map<int, std::int32_t> slot_of;
    std::map<std::int32_t, int> model_of;
    for (std::size_t i = 0; i < model.sequences.size(); ++i) {
      const auto blocks = cache.block_table(i);
      const auto& pages = model.sequences[i].pages;
      ASSERT_EQ(blocks.size(), pages.size());
      for (std::size_t page = 0; page < pages.size(); ++page) {
        ASSERT_EQ(blocks[page] < 0, pages[page] < 0);
        if (pages[page] < 0) continue;
        ASSERT_LT(static_cast<std::size_t>(blocks[page]), model.slot_count);
        ASSERT_EQ(slot_of.emplace(pages[page], blocks[page]).first->second, blocks[page]);
        ASSERT_EQ(model_of.emplace(blocks[page], pages[page]).first->second, pages[page]);
      }
    }
  }

  Bytes save(std::size_t sequence) const {
    Bytes out(cache.saved_bytes(sequence));
    EXPECT_EQ(cache.save(sequence, out), Status::ok);
    return out;
  }

  Memory memory;
  Cache cache;
  const Pool<Cache>& pool;
  Model model;
};

template <class K_, class V_, template <std::size_t> class Exact, std::size_t Tokens>
struct Of {
  using K = K_;
  using V = V_;
  using Cache = KvCache<K, V, Exact, Tokens>;
};

template <class Config>
class CacheStream : public ::testing::Test {};
using Configs = ::testing::Types<Of<TurboQuantMse<64, 4>, TurboQuantMse<32, 2>, Float16, 64>,           //
                                 Of<Tiled<Octopus<64, 3>, 4>, Float16<64>, BFloat16, 16>,               //
                                 Of<PolarQuantBlock<32>, LloydMax<16, 8>, EightBits, 8>,                //
                                 Of<Tiled<TurboQuantMse<64, 4>, 1>, TurboQuantMse<32, 2>, Float16, 8>,  //
                                 Of<Tiled<PolarQuantBlock<32>, 4>, Octopus<64, 3>, Float16, 4>>;
TYPED_TEST_SUITE(CacheStream, Configs);

std::size_t steps_wanted() {
  const char* const text = std::getenv("KVCODEC_CACHE_STEPS");
  return text == nullptr ? 20000 : std::strtoul(text, nullptr, 10);
}

/// One episode's caches and what happens to them.
template <class Config>
class Stream {
  using Cache = typename Config::Cache;
  static constexpr std::size_t tokens = Cache::tokens_per_page;

 public:
  explicit Stream(std::uint64_t seed)
      : random_(seed), k_(seed), v_(seed + 1), shape_(random_shape()), pool_(shape_.heads, k_, v_, seed) {
    for (int i = 0; i < 2; ++i) {
      KvCacheShape shape = random_shape();
      shape.heads = shape_.heads;
      shape.sinks = shape_.sinks;
      shape.recent = shape_.recent;
      worlds_.push_back(std::make_unique<World<Cache>>(shape, k_, v_, pool_));
    }
  }

  void run(std::size_t steps) {
    for (std::size_t i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
      World<Cache>& world = *worlds_[below(2)];
      const std::size_t sequence = below(world.model.sequences.size());
      SCOPED_TRACE("step " + std::to_string(i));
      switch (below(3)) {
        case 0: step<float>(world, sequence); break;
        case 1: step<float16>(world, sequence); break;
        default: step<bfloat16>(world, sequence); break;
      }
      if (i % 64 == 63 || i + 1 == steps) {
        for (const auto& each : worlds_)
          for (std::size_t s = 0; s < each->model.sequences.size(); ++s) each->check(s);
      }
    }
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::size_t one_of(std::initializer_list<std::size_t> list) { return list.begin()[below(list.size())]; }

  KvCacheShape random_shape() {
    KvCacheShape shape;
    shape.sequences = 1 + below(4);
    shape.heads = 1 + below(3);
    shape.slots = 1 + below(12);
    shape.max_tokens = 1 + below(6 * tokens);
    shape.sinks = one_of({0, 0, 1, 4, tokens + 3});
    shape.recent = one_of({0, 0, 1, 7, tokens, 2 * tokens + 1});
    shape.interleave_keys = below(2) == 0;
    return shape;
  }

  template <class T>
  void step(World<Cache>& world, std::size_t sequence) {
    Model& model = world.model;
    Model::Sequence& s = model.sequences[sequence];
    const std::size_t length = s.tokens.size();
    switch (below(13)) {
      case 0:
      case 1:
      case 2: append<T>(world, sequence, 1); break;
      case 3:
      case 4: append<T>(world, sequence, below(2 * tokens)); break;
      case 5:
      case 6:
      case 7: overwrite<T>(world, sequence, below(length + 1)); break;
      case 8: {
        const std::size_t to = below(2) == 0 ? length - std::min(length, below(5)) : below(length + 1);
        ASSERT_EQ(world.cache.truncate(sequence, to), Status::ok);
        model.truncate(sequence, to);
        break;
      }
      case 9: {
        const std::size_t to = below(model.sequences.size()), prefix = below(3) == 0 ? length : below(length + 1);
        ASSERT_EQ(world.cache.share(sequence, to, prefix), Status::ok);
        model.share(sequence, to, prefix);
        world.check(to);
        break;
      }
      case 10: {
        const std::size_t page = below(s.pages.size() + 1);
        ASSERT_EQ(world.cache.evict(sequence, page), page < s.pages.size() ? Status::ok : Status::out_of_range);
        if (page < s.pages.size()) model.evict(sequence, page);
        break;
      }
      case 11: {
        if (below(4) != 0) break;
        ASSERT_EQ(world.cache.clear(sequence), Status::ok);
        model.truncate(sequence, 0);
        break;
      }
      default: save_and_restore(world, sequence); break;
    }
    world.check(sequence);
    world.check(sequence, below(model.max_tokens + 1), below(model.max_tokens + 1));
    world.check_slots();
  }

  template <class T>
  auto batch(const std::vector<std::size_t>& picks) const {
    using K = typename Config::K;
    using V = typename Config::V;
    const auto& from = std::get<typename Pool<Cache>::template Rows<T>>(pool_.rows);
    typename Pool<Cache>::template Rows<T> rows;
    const auto add = [](std::vector<T>& to, const std::vector<T>& rows_, std::size_t at, std::size_t size) {
      to.insert(to.end(), rows_.begin() + static_cast<std::ptrdiff_t>(at * size),
                rows_.begin() + static_cast<std::ptrdiff_t>((at + 1) * size));
    };
    for (const std::size_t pick : picks) {
      add(rows.keys, from.keys, pick, pool_.heads * K::dim);
      add(rows.values, from.values, pick, pool_.heads * V::dim);
    }
    return rows;
  }

  template <class T>
  void append(World<Cache>& world, std::size_t sequence, std::size_t count) {
    std::vector<std::size_t> picks(count);
    for (std::size_t& pick : picks) pick = below(pool_.each);
    auto rows = batch<T>(picks);
    std::size_t bad = count;  // the token with a value that is not finite
    if (count > 0 && below(6) == 0) {
      const bool key = below(2) == 0;
      std::vector<T>& in = key ? rows.keys : rows.values;
      const std::size_t at = below(in.size());
      in[at] = narrow_non_finite<T>();
      bad = at / (in.size() / count);
    }
    AppendResult expected{Status::ok, 0};
    while (expected.appended < count) {
      if (expected.appended == bad && world.model.sequences[sequence].tokens.size() < world.model.max_tokens)
        expected.status = Status::non_finite;
      else expected.status = world.model.append(sequence, pool_.template first<T> + picks[expected.appended]);
      if (expected.status != Status::ok) break;
      ++expected.appended;
    }
    const AppendResult result = world.cache.append(sequence, std::span<const T>(rows.keys), std::span<const T>(rows.values));
    ASSERT_EQ(result.status, expected.status) << to_string(result.status) << ", not " << to_string(expected.status);
    ASSERT_EQ(result.appended, expected.appended);
  }

  template <class T>
  static T narrow_non_finite() {
    if constexpr (std::is_same_v<T, float>) return std::numeric_limits<float>::quiet_NaN();
    else if constexpr (std::is_same_v<T, float16>) return float16{0x7c00};
    else return bfloat16{0xff80};
  }

  template <class T>
  void overwrite(World<Cache>& world, std::size_t sequence, std::size_t position) {
    const std::size_t pick = below(pool_.each);
    auto rows = batch<T>({pick});
    Status expected;
    if (below(6) == 0 && position < world.model.sequences[sequence].tokens.size()) {
      rows.values[below(rows.values.size())] = narrow_non_finite<T>();
      expected = Status::non_finite;
    } else {
      expected = world.model.overwrite(sequence, position, pool_.template first<T> + pick);
    }
    ASSERT_EQ(world.cache.overwrite(sequence, position, std::span<const T>(rows.keys), std::span<const T>(rows.values)),
              expected);
  }

  void save_and_restore(World<Cache>& world, std::size_t sequence) {
    const Model::Sequence held = world.model.sequences[sequence];
    const Bytes saved = world.save(sequence);
    World<Cache>& to_world = *worlds_[below(2)];
    const std::size_t to = below(to_world.model.sequences.size());
    const bool expected = to_world.model.restore(to, held);
    const Result<void> result = to_world.cache.restore(to, saved);
    ASSERT_EQ(result.ok(), expected) << result.message();
    if (result.ok()) {
      ASSERT_EQ(to_world.save(to), saved);
    }
    to_world.check(to);
    to_world.check_slots();
  }

  SplitMix64 random_;
  typename Config::K k_;
  typename Config::V v_;
  KvCacheShape shape_;
  Pool<Cache> pool_;
  std::vector<std::unique_ptr<World<Cache>>> worlds_;
};

TYPED_TEST(CacheStream, HoldsWhatItsModelHolds) {
  const std::size_t wanted = steps_wanted(), episode = 400;
  for (std::size_t done = 0; done < wanted && !this->HasFatalFailure(); done += episode) {
    SCOPED_TRACE("episode " + std::to_string(done / episode));
    Stream<TypeParam>(done / episode).run(episode);
  }
}

// --- refusals

using Small = KvCache<Tiled<TurboQuantMse<64, 4>, 4>, TurboQuantMse<32, 2>, Float16, 8>;

KvCacheShape small_shape() { return {2, 2, 6, 40, 3, 5, true}; }

struct Filled {
  explicit Filled(std::size_t n, const KvCacheShape& shape = small_shape())
      : memory(Small::bytes(shape)), cache(std::move(*Small::create(shape, memory.span()))) {
    keys = kvcodec_test::gaussian_rows(64 * shape.heads, 64, 1);
    values = kvcodec_test::gaussian_rows(64 * shape.heads, 32, 2);
    EXPECT_EQ(append(0, n), (AppendResult{Status::ok, n}));
  }
  AppendResult append(std::size_t sequence, std::size_t n) {
    return cache.append(sequence, std::span<const float>(keys).first(n * cache.heads() * 64),
                        std::span<const float>(values).first(n * cache.heads() * 32));
  }
  Bytes save(std::size_t sequence) const {
    Bytes out(cache.saved_bytes(sequence));
    EXPECT_EQ(cache.save(sequence, out), Status::ok);
    return out;
  }

  Memory memory;
  Small cache;
  std::vector<float> keys, values;
};

TEST(Cache, MemoryThatDoesNotDoIsRefused) {
  const KvCacheShape shape = small_shape();
  const std::size_t needed = Small::bytes(shape);
  const Memory memory(needed + 64);
  EXPECT_TRUE(Small::create(shape, memory.span().first(needed)));
  const auto small = Small::create(shape, memory.span().first(needed - 1));
  ASSERT_FALSE(small);
  EXPECT_EQ(small.message(),
            std::to_string(needed - 1).append(" bytes of memory for a cache that needs ").append(std::to_string(needed)));
  const auto misaligned = Small::create(shape, memory.span().subspan(32));
  ASSERT_FALSE(misaligned);
  EXPECT_EQ(misaligned.message(), "a cache's memory must be 64-byte aligned");
  EXPECT_FALSE(Small::create(shape, {}));

  KvCacheShape odd = shape;
  odd.heads = 0;
  EXPECT_FALSE(Small::create(odd, memory.span()));
  odd = shape;
  odd.slots = std::numeric_limits<std::size_t>::max() / 3;
  EXPECT_EQ(Small::bytes(odd), std::numeric_limits<std::size_t>::max());
  EXPECT_FALSE(Small::create(odd, memory.span()));
  odd = shape;
  odd.recent = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(Small::bytes(odd), std::numeric_limits<std::size_t>::max());
  EXPECT_FALSE(Small::create(odd, memory.span()));
  odd = {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, true};
  EXPECT_EQ(Small::bytes(odd), std::numeric_limits<std::size_t>::max());
}

TEST(Cache, ThatWhichIsNotThereIsRefused) {
  Filled f(20);
  const Bytes before = f.save(0);
  const std::span<const float> key(f.keys.data(), 2 * 64), value(f.values.data(), 2 * 32);
  EXPECT_EQ(f.append(2, 1), (AppendResult{Status::out_of_range, 0}));
  EXPECT_EQ(f.cache.append(0, key, value.first(32)), (AppendResult{Status::size_mismatch, 0}));
  EXPECT_EQ(f.cache.append(0, key.first(64), value), (AppendResult{Status::size_mismatch, 0}));
  EXPECT_EQ(f.cache.append(0, key, std::span<const float>(f.values.data(), 4 * 32)),
            (AppendResult{Status::size_mismatch, 0}));
  EXPECT_EQ(f.cache.overwrite(0, 20, key, value), Status::out_of_range);
  EXPECT_EQ(f.cache.overwrite(2, 0, key, value), Status::out_of_range);
  EXPECT_EQ(f.cache.overwrite(0, 0, key.first(64), value), Status::size_mismatch);
  EXPECT_EQ(f.cache.truncate(0, 21), Status::out_of_range);
  EXPECT_EQ(f.cache.truncate(2, 0), Status::out_of_range);
  EXPECT_EQ(f.cache.clear(2), Status::out_of_range);
  EXPECT_EQ(f.cache.share(0, 1, 21), Status::out_of_range);
  EXPECT_EQ(f.cache.share(0, 2, 1), Status::out_of_range);
  EXPECT_EQ(f.cache.share(2, 0, 0), Status::out_of_range);
  EXPECT_EQ(f.cache.evict(0, 3), Status::out_of_range);
  EXPECT_EQ(f.cache.evict(2, 0), Status::out_of_range);
  Bytes out(before.size() + 1);
  EXPECT_EQ(f.cache.save(0, out), Status::size_mismatch);
  EXPECT_EQ(f.cache.save(2, out), Status::out_of_range);
  EXPECT_EQ(f.cache.saved_bytes(2), 0u);
  EXPECT_EQ(f.cache.length(2), 0u);
  EXPECT_TRUE(f.cache.block_table(2).empty());
  EXPECT_FALSE(f.cache.restore(2, before));
  const auto none = [](const Segment&) { ADD_FAILURE(); };
  f.cache.segments(2, 0, 0, 40, none);
  f.cache.segments(0, 2, 0, 40, none);
  f.cache.segments(0, 0, 20, 40, none);
  f.cache.segments(0, 0, 7, 7, none);
  f.cache.segments(0, 0, 9, 3, none);
  EXPECT_EQ(f.save(0), before);
}

TEST(Cache, OutOfPagesLosesNothing) {
  Filled f(40);
  EXPECT_EQ(f.append(0, 1), (AppendResult{Status::out_of_range, 0}));
  EXPECT_EQ(f.cache.free_slots(), 1u);
  EXPECT_EQ(f.append(1, 11), (AppendResult{Status::out_of_pages, 8}));
  EXPECT_EQ(f.cache.length(1), 8u);
  EXPECT_EQ(f.cache.share(0, 1, 20), Status::ok);
  EXPECT_EQ(f.cache.free_slots(), 1u);
  EXPECT_EQ(f.append(1, 1), (AppendResult{Status::ok, 1}));  // a copy of the third page
  EXPECT_EQ(f.cache.free_slots(), 0u);
  const Bytes first = f.save(0), second = f.save(1);
  const std::span<const float> key(f.keys.data(), 2 * 64), value(f.values.data(), 2 * 32);
  EXPECT_EQ(f.cache.overwrite(1, 9, key, value), Status::out_of_pages);
  EXPECT_EQ(f.cache.overwrite(1, 19, key, value), Status::ok);
  EXPECT_EQ(f.save(0), first);
  EXPECT_NE(f.save(1), second);
}

TEST(Cache, ATokenThatIsNotFiniteIsNotStoredInAnyHead) {
  for (const bool in_key : {false, true}) {
    Filled f(10), same(10);
    const Bytes before = f.save(0);
    std::vector<float> keys(f.keys.begin(), f.keys.begin() + 4 * 2 * 64),
        values(f.values.begin(), f.values.begin() + 4 * 2 * 32);
    // The last value of the last head of token 2, when every other row of the token could be stored.
    (in_key ? keys[3 * 2 * 64 - 1] : values[3 * 2 * 32 - 1]) = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(f.cache.append(0, keys, values), (AppendResult{Status::non_finite, 2}));
    EXPECT_EQ(same.append(0, 2), (AppendResult{Status::ok, 2}));
    EXPECT_EQ(f.cache.length(0), 12u);
    EXPECT_EQ(f.save(0), same.save(0));
    const std::span<const float> key(keys.data() + 2 * 2 * 64, 2 * 64), value(values.data() + 2 * 2 * 32, 2 * 32);
    for (const std::size_t position : {0u, 4u, 11u})
      EXPECT_EQ(f.cache.overwrite(0, position, key, value), Status::non_finite);
    EXPECT_EQ(f.save(0), same.save(0));
  }
}

/// Refuses some vectors that are finite, which the contract does not allow.
struct Fussy : TurboQuantMse<64, 4> {
  using TurboQuantMse<64, 4>::TurboQuantMse;
  using TurboQuantMse<64, 4>::encode_rows;
  EncodeResult encode_rows(std::span<const float> x, Planes rows) const noexcept {
    if (x[0] == 42.0f) return {Status::non_finite, 0};
    return TurboQuantMse<64, 4>::encode_rows(x, rows);
  }
};

TEST(Cache, ACodecThatRefusesATokenLeavesNoTraceOfIt) {
  using Cache = KvCache<TurboQuantMse<64, 4>, Fussy, Float16, 4>;
  const KvCacheShape shape{2, 1, 3, 12, 0, 0, false};
  const Memory memory(Cache::bytes(shape));
  auto cache = Cache::create(shape, memory.span());
  std::vector<float> keys(9 * 64, 1.0f), values = keys;
  values[4 * 64] = 42.0f;
  EXPECT_EQ((*cache).append(0, keys, values), (AppendResult{Status::non_finite, 4}));
  EXPECT_EQ(cache->length(0), 4u);
  EXPECT_EQ(cache->free_slots(), 2u);
  EXPECT_EQ((*cache).append(0, keys, keys), (AppendResult{Status::out_of_range, 8}));
  EXPECT_EQ((*cache).truncate(0, 5), Status::ok);
  EXPECT_EQ((*cache).append(0, std::span(keys).first(64), std::span(values).subspan(4 * 64, 64)),
            (AppendResult{Status::non_finite, 0}));
  EXPECT_EQ(cache->length(0), 5u);
  EXPECT_EQ(cache->free_slots(), 1u);
}

TEST(Cache, SavedFrontsThatAreNotWholeAreRefused) {
  Filled f(21), other(13);
  ASSERT_EQ(f.cache.evict(0, 1), Status::ok);
  const Bytes saved = f.save(0), before = other.save(0);
  const std::size_t front = 4 * Descriptor::bytes + 64 + 4 * 3;
  for (std::size_t size = 0; size < saved.size(); ++size)
    ASSERT_FALSE(other.cache.restore(0, std::span(saved).first(size))) << size;
  Bytes longer = saved;
  longer.push_back(std::byte{0});
  ASSERT_FALSE(other.cache.restore(0, longer));
  for (std::size_t bit = 0; bit < 8 * front; ++bit) {
    Bytes flipped = saved;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    const auto result = other.cache.restore(0, flipped);
    ASSERT_FALSE(result) << "byte " << bit / 8 << " bit " << bit % 8;
    ASSERT_FALSE(result.message().empty());
  }
  EXPECT_EQ(other.save(0), before);
  EXPECT_EQ(other.cache.free_slots(), 4u);
  ASSERT_TRUE(other.cache.restore(0, saved));
  EXPECT_EQ(other.save(0), saved);
}

TEST(Cache, RowsOfOtherCodecsAndShapesAreRefusedByName) {
  Filled f(9);
  const Bytes saved = f.save(0);
  const auto refusal = [&]<class Cache>(std::type_identity<Cache>, KvCacheShape shape, std::uint64_t seed) {
    const Memory memory(Cache::bytes(shape));
    using K = std::remove_cvref_t<decltype(std::declval<Cache>().key_codec())>;
    auto cache = Cache::create(shape, memory.span(), K(seed));
    return (*cache).restore(0, saved).message();
  };
  const std::type_identity<Small> same;
  KvCacheShape shape = small_shape();
  EXPECT_EQ(refusal(same, shape, 0), "");
  EXPECT_EQ(refusal(same, shape, 7), "keys: rows of another codec: seed 0 instead of 7");
  using OtherValues = KvCache<Tiled<TurboQuantMse<64, 4>, 4>, TurboQuantMse<32, 3>, Float16, 8>;
  EXPECT_EQ(refusal(std::type_identity<OtherValues>(), shape, 0).substr(0, 28), "values: rows of another code");
  using OtherExact = KvCache<Tiled<TurboQuantMse<64, 4>, 4>, TurboQuantMse<32, 2>, BFloat16, 8>;
  EXPECT_EQ(refusal(std::type_identity<OtherExact>(), shape, 0),
            "exact keys: rows of another codec: codec float16 instead of bfloat16");
  using OtherPages = KvCache<Tiled<TurboQuantMse<64, 4>, 4>, TurboQuantMse<32, 2>, Float16, 16>;
  EXPECT_EQ(refusal(std::type_identity<OtherPages>(), shape, 0),
            "saved sequence of a cache of another shape: tokens a page 8 instead of 16");
  shape.heads = 3;
  EXPECT_EQ(refusal(same, shape, 0), "saved sequence of a cache of another shape: heads 2 instead of 3");
  shape = small_shape();
  shape.recent = 0;
  EXPECT_EQ(refusal(same, shape, 0), "saved sequence of a cache of another shape: recent 5 instead of 0");
  shape = small_shape();
  shape.max_tokens = 8;
  EXPECT_EQ(refusal(same, shape, 0), "9 saved tokens, and sequences have at most 8");
  shape = small_shape();
  shape.slots = 1;
  EXPECT_EQ(refusal(same, shape, 0), "saved sequence: it needs 2 pages, and 1 are free");
  // The codec's own form of pages and how many sequences there are do not matter.
  using RowMajor = KvCache<TurboQuantMse<64, 4>, TurboQuantMse<32, 2>, Float16, 8>;
  shape = {5, 2, 9, 100, 3, 5, false};
  EXPECT_EQ(refusal(std::type_identity<RowMajor>(), shape, 0), "");
}

/// What a save by a Small cache of small_shape() should be long, going by its header.
std::size_t saved_size(const Bytes& save) {
  const auto number = [&](std::size_t at) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < 4 && at + i < save.size(); ++i) n |= std::to_integer<std::size_t>(save[at + i]) << (8 * i);
    return n;
  };
  const std::size_t length = number(280), window = std::max(number(288), std::min<std::size_t>(length, 3));
  std::size_t size = 320 + 2 * 2 * (64 + 32) * (std::min<std::size_t>(length, 3) + (length > window ? length - window : 0));
  for (std::size_t page = 0; page < (length + 7) / 8; ++page) {
    const std::size_t first = number(320 + 4 * page), rows = std::min<std::size_t>(8, length - 8 * page);
    size += 4 + (first < rows ? rows - first : 0) * 2 * (34 + 10);
  }
  return size;
}

TEST(Cache, CorruptedSavesDoNoHarm) {
  Filled f(21), other(13);
  ASSERT_EQ(f.cache.evict(0, 2), Status::ok);
  const Bytes saved = f.save(0);
  SplitMix64 random(5);
  std::size_t accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    Bytes bad = saved;
    const auto put = [&](std::size_t at, std::uint32_t value) {
      for (std::size_t i = 0; i < 4 && at + i < bad.size(); ++i)
        bad[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xffu);
    };
    const auto small = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    const std::size_t header = 4 * Descriptor::bytes;
    if (random() % 2 == 0) put(header + 24, small(45));                                     // the length
    if (random() % 2 == 0) put(header + 32, small(45));                                     // where the window begins
    if (random() % 8 == 0) put(header + 28, small(3));                                      // their upper halves
    if (random() % 2 == 0) put(header + 64 + 4 * small(6), random() % 3 ? small(9) : ~0u);  // a page's first row
    // Half of them as long as their own header says: then only the content can be refused.
    if (random() % 2 == 0) bad.resize(saved_size(bad));
    else if (random() % 4 == 0) bad.resize(small(saved.size() + 2000));
    if (random() % 2 == 0 && !bad.empty()) bad[small(bad.size())] ^= std::byte{0x40};
    const std::size_t target = random() % 2;
    const Bytes before = other.save(target);
    if (other.cache.restore(target, bad)) {
      ++accepted;
      ASSERT_EQ(other.save(target), bad);
    } else {
      ASSERT_EQ(other.save(target), before);
    }
    std::size_t used = 0;
    for (const std::size_t s : {0u, 1u}) {
      for (const std::int32_t slot : other.cache.block_table(s)) used += slot >= 0;
      for (const std::size_t head : {0u, 1u})
        other.cache.segments(s, head, 0, 1000, [](const Segment& segment) {
          std::array<float, 32> out;
          if (!segment.exact) TurboQuantMse<32, 2>(0).decode_row(segment.values.norm(0), segment.values.code(0), out.data());
        });
    }
    ASSERT_EQ(used + other.cache.free_slots(), 6u);
  }
  std::printf("%zu of 20000 corrupted saves were, to all that can be told, saves\n", accepted);
  EXPECT_GT(accepted, 100u);
}

TEST(Cache, NothingAllocates) {
  Filled f(0);
  Bytes saved(1 << 16);
  std::size_t read = 0;
  const std::span<const float> key(f.keys.data(), 2 * 64), value(f.values.data(), 2 * 32);
  const std::size_t before = allocations;
  bool ok = f.append(0, 30).status == Status::ok;
  ok = ok && f.cache.share(0, 1, 20) == Status::ok && f.append(1, 1).status == Status::ok;
  ok = ok && f.cache.overwrite(1, 3, key, value) == Status::ok && f.append(1, 20).status == Status::out_of_pages;
  ok = ok && f.cache.truncate(0, 13) == Status::ok && f.append(0, 2).status == Status::ok &&
       f.cache.evict(0, 0) == Status::ok;
  const auto out = std::span(saved).first(f.cache.saved_bytes(0));
  ok = ok && f.cache.save(0, out) == Status::ok && f.cache.clear(1) == Status::ok && f.cache.restore(1, out).ok();
  f.cache.segments(1, 1, 0, 100, [&](const Segment& segment) { read += segment.count; });
  const std::size_t after = allocations;
  EXPECT_EQ(after, before);
  EXPECT_TRUE(ok);
  EXPECT_EQ(read, 10u);  // 3 sinks and the 7 of the second page
  ::operator delete(::operator new(1));
  EXPECT_EQ(allocations, after + 1) << "allocations are not counted";
}

// --- pages

template <std::size_t CodeBytes, std::size_t NormBytes, std::size_t G>
struct Rowed {
  static constexpr std::size_t row_bytes = CodeBytes + NormBytes, norm_bytes = NormBytes, code_bytes = CodeBytes,
                               tile_bytes = G;
};

template <class Page>
constexpr bool is_bijection() {
  std::array<bool, Page::tokens * Page::code_bytes> taken{};
  for (std::size_t t = 0; t < Page::tokens; ++t) {
    for (std::size_t j = 0; j < Page::code_bytes; ++j) {
      const std::size_t at = Page::interleaved(t, j);
      if (at >= taken.size() || taken[at]) return false;
      taken[at] = true;
    }
  }
  return true;
}

template <class Page>
void check_page() {
  static_assert(is_bijection<Page>());
  Bytes page(Page::bytes), interleaved(Page::bytes + 1, std::byte{0x3c}), back(Page::bytes + 1, std::byte{0x3c});
  SplitMix64 random(Page::bytes);
  for (std::byte& b : page) b = static_cast<std::byte>(random() & 0xffu);
  Page::interleave(page.data(), interleaved.data());
  EXPECT_EQ(interleaved.back(), std::byte{0x3c});
  Bytes code(Page::code_bytes), row(Page::norm_bytes + Page::code_bytes);
  for (std::size_t t = 0; t < Page::tokens; ++t) {
    for (std::size_t j = 0; j < Page::code_bytes; ++j)
      ASSERT_EQ(interleaved[Page::interleaved(t, j)], page[t * Page::code_bytes + j]) << "token " << t << " byte " << j;
    for (std::size_t j = Page::norm_at(t); j < Page::norm_at(t) + Page::norm_bytes; ++j) ASSERT_EQ(interleaved[j], page[j]);
    Page::gather_row(interleaved.data(), t, code.data());
    Page::load_row(page.data(), t, row.data());
    ASSERT_TRUE(std::equal(code.begin(), code.end(), page.begin() + static_cast<std::ptrdiff_t>(t * Page::code_bytes)));
    ASSERT_TRUE(std::equal(code.begin(), code.end(), row.begin() + static_cast<std::ptrdiff_t>(Page::norm_bytes)));
  }
  Page::deinterleave(interleaved.data(), back.data());
  EXPECT_EQ(back.back(), std::byte{0x3c});
  EXPECT_TRUE(std::equal(page.begin(), page.end(), back.begin()));
  // A row put into one form of the page and into the other.
  for (std::byte& b : row) b = static_cast<std::byte>(random() & 0xffu);
  constexpr std::size_t t = Page::tokens / 3;
  Page::store_row(row.data(), page.data(), t);
  Page::scatter_row(row.data() + Page::norm_bytes, interleaved.data(), t);
  if (Page::norm_bytes > 0) std::memcpy(interleaved.data() + Page::norm_at(t), row.data(), Page::norm_bytes);
  Page::deinterleave(interleaved.data(), back.data());
  EXPECT_TRUE(std::equal(page.begin(), page.end(), back.begin()));
}

template <std::size_t... CodeBytes>
void check_pages() {
  (check_page<PageLayout<Rowed<CodeBytes, 2, 1>>>(), ...);
  (check_page<PageLayout<Rowed<CodeBytes, 2, 4>>>(), ...);
  (check_page<PageLayout<Rowed<CodeBytes, 0, 4>, 16>>(), ...);
  (check_page<PageLayout<Rowed<CodeBytes, 4, 3>, 7>>(), ...);
}

TEST(Page, InterleavingIsAPermutation) { check_pages<1, 3, 4, 16, 38, 48, 54, 64>(); }

TEST(Page, IsCodeRowsAndThenNorms) {
  using C = TurboQuantMse<64, 4>;
  using Page = PageLayout<C>;
  static_assert(Page::bytes == 64 * C::row_bytes && Page::norms_at == 64 * C::code_bytes);
  static_assert(!PageLayout<Rowed<4, 2, 0>>::has_interleaved && PageLayout<Tiled<C, 4>>::tile_bytes == 4);
  const C codec(3);
  const auto x = kvcodec_test::gaussian_rows(64, 64, 9);
  Bytes page(Page::bytes), rows(64 * C::row_bytes);
  ASSERT_EQ(codec.encode_rows(std::span<const float>(x), Page::rows(page.data(), 0, 64)).status, Status::ok);
  ASSERT_EQ(codec.encode_rows(std::span<const float>(x), Rows{rows.data(), 64, C::row_bytes}).status, Status::ok);
  for (std::size_t t = 0; t < 64; ++t) {
    Bytes row(C::row_bytes);
    Page::load_row(page.data(), t, row.data());
    ASSERT_EQ(std::memcmp(row.data(), rows.data() + t * C::row_bytes, C::row_bytes), 0);
    ASSERT_EQ(canonical<C>(Page::rows(std::as_const(page).data(), t, 1), 0), row);
  }
}

}  // namespace
}  // namespace kvcodec
