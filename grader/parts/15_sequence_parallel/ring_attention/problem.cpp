#include "grader/parts/15_sequence_parallel/ring_attention/problem.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::ring_attention {
namespace {

RingShape shape_of(const Problem& p, std::int64_t tokens, std::int64_t blocks) {
  return {p.batch, tokens, blocks * p.width() * p.filler};
}

void misfit(const Problem& p, int rank, RingCase& c) {
  RingCall& call = c.calls.front();
  const auto more = [](RingShape& shape, std::size_t axis) { ++shape[axis]; };
  switch (p.misfit) {
    case Misfit::nothing:
      return;
    case Misfit::fewer_positions:
      return c.slices.pop_back();
    case Misfit::other_positions:
      more(call.queries_shape, 1);
      return more(call.keys_values_shape, 1);
    case Misfit::narrow_values:
      return more(call.keys_values_shape, 2);
    case Misfit::heads:
      c.heads = p.width() + 1;
      return;
    case Misfit::other_batch:
      return more(call.queries_shape, 0);
    case Misfit::no_token:
      c.slices.back() = {};
      if (rank + 1 < p.ranks()) return;
      call.queries_shape[1] = call.keys_values_shape[1] = 0;
      return;
  }
}

}  // namespace

std::string Problem::description() const {
  static const char* const misfits[] = {"",
                                        ", one rank's positions are missing",
                                        ", more tokens than positions",
                                        ", keys and values of another width",
                                        ", heads do not divide the width",
                                        ", queries of more samples than keys",
                                        ", a rank without a token"};
  std::string words = text(members.description(), ", ", lockstep::name_of(dtype), ", ",
                           counted(batch, "sample"), " of ", counted(tokens, "token"), ", ",
                           counted(heads, "head"), " of size ", head_size * filler, name_of(cut));
  if (calls > 1) words += text(", ", calls, " calls");
  if (reach > 1) words += text(", queries and keys up to ", reach);
  if (odd != Odd::none) {
    words += odd == Odd::zeros      ? ", the "
             : odd == Odd::infinity ? ", an infinity in the "
                                    : ", a NaN in the ";
    words += odd_in == Where::queries ? "queries" : "values";
    if (odd == Odd::zeros) words += " are zeros";
  }
  return words + misfits[static_cast<std::size_t>(misfit)];
}

Numbers drawn_qkv(const Problem& p, std::uint64_t salt, int call) {
  const std::uint64_t key = keyed_bits(salt, 70'000 + static_cast<std::uint64_t>(call));
  Numbers all(at(p.batch * p.tokens * 3 * p.width()));
  for (std::size_t e = 0; e < all.size(); ++e) {
    const std::int64_t block = static_cast<std::int64_t>(e) / p.width() % 3;
    // Large numbers are whole ones, of which all types have the products exactly.
    const double drawn = 2 * keyed_uniform(key, e) - 1;
    const bool large = p.reach > 1 && block < 2;
    all[e] = large ? std::round(p.reach * drawn) : drawn;
    const bool is_odd = (p.odd_in == Problem::Where::queries) ? block == 0 : block == 2;
    if (p.odd == Odd::zeros && is_odd) all[e] = 0;
  }
  // In the middle of the sample, for the first head of the last sample.
  const std::int64_t token = (p.batch - 1) * p.tokens + p.tokens / 2;
  const std::int64_t column = p.odd_in == Problem::Where::queries ? 0 : 2 * p.width();
  double& middle = all[at(token * 3 * p.width() + column)];
  if (p.odd == Odd::not_a_number) middle = std::numeric_limits<double>::quiet_NaN();
  if (p.odd == Odd::infinity) middle = std::numeric_limits<double>::infinity();
  return as_doubles(p.dtype, to_bytes(p.dtype, all));
}

Numbers attended_qkv(const Problem& p, std::uint64_t salt, int call) {
  Numbers all = drawn_qkv(p, salt, call);
  if (!p.timed) return all;
  const Numbers hidden = drawn_qkv(p, keyed_bits(salt, 80'000), call);
  for (std::size_t e = 0; e < all.size(); ++e) {
    if (static_cast<std::int64_t>(e) / p.width() % 3 == 2) all[e] = hidden[e];
  }
  return all;
}

RingCase case_of(const Problem& p, std::uint64_t salt, int rank) {
  const RingWalk walk = p.misfit != Misfit::nothing ? RingWalk::refused
                        : p.hands_over              ? RingWalk::hands_over
                                                    : RingWalk::keeps;
  RingCase one{.dtype = p.dtype,
               .walk = walk,
               .asks = p.timed,
               .heads = p.heads,
               .filler = p.filler,
               .slices = p.slices()};
  const std::int64_t width = p.width(), own = one.slices[at(rank)].count();
  const Dealt queries = dealt_by_tokens("queries", one.slices, p.batch, 3 * width, 0, width),
              keys_values = dealt_by_tokens("keys and values", one.slices, p.batch, 3 * width,
                                            width, 2 * width);
  for (int k = 0; k < p.calls; ++k) {
    const Numbers qkv = drawn_qkv(p, salt, k);
    one.calls.push_back({shape_of(p, own, 1), shape_of(p, own, 2),
                         to_bytes(p.dtype, queries.piece(rank, qkv)),
                         to_bytes(p.dtype, keys_values.piece(rank, qkv))});
  }
  if (p.misfit == Misfit::nothing) return one;
  misfit(p, rank, one);
  // Without numbers: what is refused is not read.
  one.calls.front().queries.clear();
  one.calls.front().keys_values.clear();
  return one;
}

Attended right_of(const Problem& p, const Numbers& qkv) {
  // A number stands in `filler` elements: scores are so many times as large, over the root of it.
  Numbers all = qkv;
  const double factor = std::sqrt(static_cast<double>(p.filler));
  for (std::size_t e = 0; e < all.size(); ++e) {
    if (static_cast<std::int64_t>(e) % (3 * p.width()) < p.width()) all[e] *= factor;
  }
  const DenseAttention attention(p.sizes());
  return {attention.forward(all), attention.log_sums(all)};
}

}  // namespace lockstep::grader::ring_attention
