// What is compared: keys, values and queries, from files or made up, cut into heads.
#pragma once

#include "npy.hpp"
#include "options.hpp"

#include "kvcodec/calibration.hpp"
#include "kvcodec/quality/sources.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace compare {

/// One key/value head.
struct Head {
  std::span<const float> keys;                  ///< [tokens, d]
  std::span<const float> values;                ///< [tokens, d], or empty
  std::vector<std::span<const float>> queries;  ///< [query tokens, d] for each query head that reads this one
  std::vector<float> key_mean, value_mean;      ///< [d] to be taken off before coding, or empty
};

struct Input {
  Input() = default;
  Input(Input&&) = default;  // not copied: the heads look into the tensors
  Input& operator=(Input&&) = default;

  Tensor keys, values, queries;
  std::vector<Head> heads;
  std::size_t dim = 0, tokens = 0;
  std::vector<std::size_t> positions;  ///< of the queries that are measured
  bool causal = false;                 ///< whether query t sees keys 0 to t, or all of them
  std::string title;                   ///< what a person calls this data
  std::string about_queries;
  std::string blame;  ///< what to name when d is refused
};

inline constexpr std::size_t made_up_queries = 128;  // a head
inline constexpr std::size_t shortest_context = 64;

namespace detail {

/// The axes of [..., heads, tokens, d]; heads is 1 where there is none.
struct Axes {
  std::size_t layers = 1, heads = 1, tokens = 0, dim = 0;

  explicit Axes(std::span<const std::size_t> shape) {
    dim = shape[shape.size() - 1];
    tokens = shape[shape.size() - 2];
    if (shape.size() > 2) heads = shape[shape.size() - 3];
    for (std::size_t i = 0; i + 3 < shape.size(); ++i) layers *= shape[i];
  }
};

inline Result<std::vector<std::size_t>> choose_heads(std::span<const HeadChoice> choices, const Axes& axes) {
  std::vector<std::size_t> heads;
  for (const HeadChoice& choice : choices) {
    const bool flat = !choice.layer;
    if (flat ? choice.head >= axes.layers * axes.heads : *choice.layer >= axes.layers || choice.head >= axes.heads)
      return error("--head: there is no head " + (flat ? "" : std::to_string(*choice.layer) + ":") +
                   std::to_string(choice.head) + "; the keys have " + std::to_string(axes.layers) + " layers of " +
                   std::to_string(axes.heads) + " heads, counted from 0");
    const std::size_t head = flat ? choice.head : *choice.layer * axes.heads + choice.head;
    if (!contains(heads, head)) heads.push_back(head);
  }
  if (choices.empty())
    for (std::size_t head = 0; head < axes.layers * axes.heads; ++head) heads.push_back(head);
  return heads;
}

/// Keys of [rows, dim] from the source that the options name.
inline std::vector<float> make_keys(const Options& options, std::uint64_t seed) {
  using namespace kvcodec::quality;
  const Source& source = options.source;
  const std::size_t rows = options.rows, dim = options.dim;
  if (source == "student-t") return student_t_rows(rows, dim, source.parameter, seed);
  if (source == "low-rank") return low_rank_rows(rows, dim, static_cast<std::size_t>(source.parameter), seed);
  if (source == "concentrated") return concentrated_rows(rows, dim, seed);
  if (source == "one-hot") return one_hot_mix_rows(rows, dim, seed);
  if (source == "outliers") return outlier_channel_rows(rows, dim, seed);
  if (source == "bias") return constant_bias_rows(rows, dim, seed);
  return gaussian_rows(rows, dim, seed);
}

/// Whether the keys are N(0, 1) ones and something that a unit mean square of the logits would be all about: a bias, which
/// attention does not see, or one large key.
inline bool takes_plain_queries(const Options& options) {
  return options.source == "bias" || options.source == "concentrated";
}

/// Queries of [128, d] for one head: Gaussian, of a size that gives the logits <q, k>/sqrt(d) a mean square of 1. For
/// Gaussian keys those are the N(0, 1) queries of the papers, which `plain` ones are for any keys.
inline std::vector<float> make_queries(std::span<const float> keys, std::size_t dim, bool plain, std::uint64_t seed) {
  if (plain) return kvcodec::quality::gaussian_rows(made_up_queries, dim, seed);
  double square = 0;
  for (const float key : keys) square += static_cast<double>(key) * static_cast<double>(key);
  const double deviation = square > 0 ? std::sqrt(static_cast<double>(keys.size()) / square) : 1.0;
  return kvcodec::quality::gaussian_rows(made_up_queries, dim, seed, deviation);
}

/// Which of the captured queries are measured. In a causal context those with 64 keys to choose from: in a shorter one
/// there is little to get wrong, and the top 5 are found by luck.
inline std::vector<std::size_t> choose_positions(std::size_t tokens, bool causal, std::size_t step) {
  std::vector<std::size_t> positions;
  const std::size_t first = causal && tokens > shortest_context ? shortest_context - 1 : 0;
  for (std::size_t t = first; t < tokens; t += step) {
    positions.push_back(t);
    if (step >= tokens - t) break;  // before t + step can overflow
  }
  return positions;
}

}  // namespace detail

/// Reads what the options name. The error is one line that names the file.
inline Result<Input> load_input(const Options& options, const std::string& shipped) {
  using detail::Axes;
  Input input;
  // The codec's own random choices start from the seed itself: the rows must not share them.
  const std::uint64_t source_seed = options.seed ^ 0x5eedfacade5eedu;

  std::string keys_path = options.keys, values_path = options.values, queries_path = options.queries;
  if (!options.source.name.empty()) {
    input.keys = {{options.rows, options.dim}, detail::make_keys(options, source_seed)};
    input.values = {{options.rows, options.dim},
                    kvcodec::quality::gaussian_rows(options.rows, options.dim, ~source_seed)};
    input.blame = "--dim " + std::to_string(options.dim);
    input.title = options.source == "gaussian" ? "Gaussian keys and values"
                                               : "source " + options.source_text + ", Gaussian values";
  } else {
    const bool use_shipped = keys_path.empty();
    if (use_shipped) {
      keys_path = shipped + "/keys.npy";
      values_path = shipped + "/values.npy";
      queries_path = shipped + "/queries.npy";
    }
    auto keys = read_npy(keys_path);
    if (!keys && use_shipped)
      return error(keys.message() + " (the shipped data; --keys names your own, --source gaussian makes some)");
    if (!keys) return error(keys.message());
    input.keys = std::move(*keys);
    input.blame = keys_path;
    input.title = use_shipped ? "SmolLM2-135M-Instruct, keys after RoPE and values" : keys_path;
  }
  const Axes axes(input.keys.shape);
  input.dim = axes.dim;
  input.tokens = axes.tokens;

  const auto mismatch = [&](const std::string& path, const Tensor& tensor, std::string_view why) {
    return error(path + " has shape " + to_string(tensor.shape) + ", which does not go with the keys' " +
                 to_string(input.keys.shape) + ": " + std::string(why));
  };
  if (!values_path.empty()) {
    auto values = read_npy(values_path);
    if (!values) return error(values.message());
    input.values = std::move(*values);
    const Axes other(input.values.shape);
    if (other.dim != axes.dim) return mismatch(values_path, input.values, "d, the last axis, differs");
    if (other.tokens != axes.tokens) return mismatch(values_path, input.values, "the number of tokens differs");
    if (other.heads != axes.heads || other.layers != axes.layers)
      return mismatch(values_path, input.values, "the leading axes differ");
    if (!options.keys.empty()) input.title += ", " + values_path;
  }
  std::size_t group = 1;  // query heads that read one key/value head
  if (!queries_path.empty()) {
    auto queries = read_npy(queries_path);
    if (!queries) return error(queries.message());
    input.queries = std::move(*queries);
    const Axes other(input.queries.shape);
    if (other.dim != axes.dim) return mismatch(queries_path, input.queries, "d, the last axis, differs");
    if (other.layers != axes.layers) return mismatch(queries_path, input.queries, "the number of layers differs");
    if (other.heads % axes.heads != 0)
      return mismatch(queries_path, input.queries, "the query heads are not a multiple of the key heads");
    group = other.heads / axes.heads;
    input.causal = other.tokens == axes.tokens;
    input.positions = detail::choose_positions(other.tokens, input.causal, options.query_step);
    input.about_queries = std::to_string(input.positions.size()) + " of " + std::to_string(other.tokens) +
                          " in each query head, " + std::to_string(group) + " query heads to a key head; " +
                          (input.causal ? "causal: each sees the keys up to its own" : "each sees all keys");
  } else {
    input.positions = detail::choose_positions(made_up_queries, false, 1);
    input.about_queries = std::to_string(made_up_queries) +
                          (detail::takes_plain_queries(options)
                               ? " Gaussian ones, N(0, 1); each sees all keys"
                               : " Gaussian ones for each head, scaled to logits of unit mean square; each sees all keys");
  }

  const auto chosen = detail::choose_heads(options.heads, axes);
  if (!chosen) return error(chosen.message());
  const auto cut = [](const Tensor& tensor, std::size_t index) {
    const std::size_t size = tensor.shape[tensor.shape.size() - 2] * tensor.shape.back();
    return std::span<const float>(tensor.values).subspan(index * size, size);
  };
  const bool make = input.queries.values.empty();
  if (make) {
    input.queries.shape = {axes.layers * axes.heads, made_up_queries, axes.dim};
    for (std::size_t head = 0; head < axes.layers * axes.heads; ++head) {
      const auto made = detail::make_queries(cut(input.keys, head), axes.dim, detail::takes_plain_queries(options),
                                             source_seed + head + 1);
      input.queries.values.insert(input.queries.values.end(), made.begin(), made.end());
    }
  }
  for (const std::size_t index : *chosen) {
    Head head;
    head.keys = cut(input.keys, index);
    if (!input.values.values.empty()) head.values = cut(input.values, index);
    if (options.offset) {
      head.key_mean = kvcodec::robust_mean(head.keys, axes.dim);
      if (!head.values.empty()) head.value_mean = kvcodec::robust_mean(head.values, axes.dim);
    }
    for (std::size_t i = 0; i < group; ++i) head.queries.push_back(cut(input.queries, index * group + i));
    input.heads.push_back(std::move(head));
  }
  return input;
}

}  // namespace compare
