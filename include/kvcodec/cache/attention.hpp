// One step of decode attention over a packed cache, for a group of queries that share a key-value head (GQA).
//
//   output_k = sum over tokens t of w_kt v_t / sum of w_kt,   w_kt = exp(f(<q_k, k_t>)),   f(x) = scale x, or
//   soft_cap tanh(scale x / soft_cap)
//
// Vaswani et al., arXiv 1706.03762, equation 1. The softmax goes over blocks of tokens with a running maximum (softmax.hpp),
// so that a sequence may be cut anywhere and its parts merged. Keys and values are never rebuilt: queries are rotated once a
// step, sums of value rows un-rotated once an output.
//
//   AttentionQueries<Cache, Group> queries;                       // one a step, sequence and head
//   AttentionPartial<Cache, Group> partial;                       // one a thread
//   queries.prepare(cache, sequence, head, q, options);           // q: [n, K::dim], n <= Group
//   partial.add(cache, queries, queries.part(i, parts));          // any number of token ranges, in any order
//   partial.merge(another);
//   partial.finish(cache, output);                                // output: [n, V::dim]
//
// All of a step's memory is in these two, which are the caller's to place (sizeof is the size); the functions take less
// than 4 KB of stack at head sizes up to 128 and allocate nothing. Any number of threads may read one cache and one set of
// queries.
#pragma once

#include "attention_partial.hpp"
#include "attention_queries.hpp"

#include <cstddef>
#include <span>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

/// All the memory of a step that one thread takes.
template <class Cache, std::size_t Group = 16>
struct AttentionWorkspace {
  AttentionQueries<Cache, Group> queries;
  AttentionPartial<Cache, Group> partial;
};

/// A whole step on one thread. q: [n, K::dim], output: [n, V::dim], row-major. Anything but ok, and nothing was written:
/// size_mismatch, they do not fit, or n is not 1 to Group; and what prepare answers. workspace.partial has the log-sum-exps.
template <class Cache, std::size_t Group, Real T, Real Out>
[[nodiscard]] Status attend(const Cache& cache, std::size_t sequence, std::size_t head, std::span<const T> q,
                            const AttentionOptions& options, AttentionWorkspace<Cache, Group>& workspace,
                            std::span<Out> output) noexcept {
  const Status status = workspace.queries.prepare(cache, sequence, head, q, options);
  if (status != Status::ok) return status;
  workspace.partial.clear();
  workspace.partial.add(cache, workspace.queries);
  return workspace.partial.finish(cache, output);
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
