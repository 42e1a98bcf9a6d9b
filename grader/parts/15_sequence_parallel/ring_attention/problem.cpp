#include "grader/parts/15_sequence_parallel/ring_attention/problem.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::ring_attention {
namespace {

Attended attended(const Problem& p, const Numbers& qkv, Sees sees) {
  // A number stands in `filler` elements: scores are so many times as large, over the root of it.
  Numbers all = qkv;
  const double factor = std::sqrt(static_cast<double>(p.filler));
  for (std::size_t e = 0; e < all.size(); ++e) {
    if (static_cast<std::int64_t>(e) % (3 * p.width()) < p.width()) all[e] *= factor;
  }
  const DenseAttention attention(p.sizes(), std::move(sees));
  return {attention.forward(all), attention.log_sums(all)};
}

// The mean of what each block of keys gives alone.
Attended averaged(const Problem& p, const Numbers& qkv) {
  const auto places = places_of_tokens(p.slices());
  Attended all = right_of(p, qkv);
  Numbers sum(all.output.size()), count(all.output.size());
  for (int block = 0; block < p.ranks(); ++block) {
    const Attended one = attended(p, qkv, [&](std::int64_t query, std::int64_t key) {
      return key <= query && places[at(key)].rank == block;
    });
    for (std::size_t e = 0; e < sum.size(); ++e) {
      const std::int64_t token = static_cast<std::int64_t>(e) / p.width() % p.tokens;
      const std::int64_t batch = static_cast<std::int64_t>(e) / p.width() / p.tokens;
      const std::int64_t head = static_cast<std::int64_t>(e) % p.width() / p.head_size;
      const std::int64_t row = (batch * p.heads + head) * p.tokens + token;
      if (std::isinf(one.log_sums[at(row)])) continue;
      sum[e] += one.output[e];
      count[e] += 1;
    }
  }
  for (std::size_t e = 0; e < sum.size(); ++e) all.output[e] = sum[e] / count[e];
  return all;
}

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
                        : p.timed                   ? RingWalk::timed
                        : p.hands_over              ? RingWalk::hands_over
                                                    : RingWalk::keeps;
  RingCase one{
      .dtype = p.dtype, .walk = walk, .heads = p.heads, .filler = p.filler, .slices = p.slices()};
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

Attended right_of(const Problem& p, const Numbers& qkv) { return attended(p, qkv, is_no_later); }

std::vector<Mistake<Attended>> mistakes_of(const Problem& p, const Numbers& qkv) {
  const std::vector<Positions> slices = p.slices();
  const auto places = places_of_tokens(slices);
  const std::int64_t n = p.ranks();
  std::vector<Mistake<Attended>> all;
  const auto add = [&](const std::string& name, const std::string& sentence, const Sees& sees) {
    all.push_back({{name, sentence}, attended(p, qkv, sees)});
  };
  const auto rank_of = [&](std::int64_t token) { return places[at(token)].rank; };
  add("local_positions",
      "tokens are compared by their places in the slices, so queries see later tokens of other "
      "ranks, and miss earlier ones; positions are those in the sample",
      [&](std::int64_t query, std::int64_t key) {
        return places[at(key)].index <= places[at(query)].index;
      });
  add("own_block", "this is attention to the rank's own keys alone",
      [&](std::int64_t query, std::int64_t key) {
        return key <= query && rank_of(key) == rank_of(query);
      });
  add("no_mask", "queries see later tokens, too", [](std::int64_t, std::int64_t) { return true; });
  add("own_block_missing", "the rank's own keys are not in it",
      [&](std::int64_t query, std::int64_t key) {
        return key <= query && rank_of(key) != rank_of(query);
      });
  add("last_block_missing",
      "the block that comes last, the right neighbour's own one, is not in it: a rank computes "
      "with N blocks and sends N-1 times",
      [&](std::int64_t query, std::int64_t key) {
        return key <= query && (rank_of(query) + 1) % n != rank_of(key);
      });
  add("other_owner",
      "the blocks are right, but taken for those of other ranks: what comes from the left in step "
      "j is rank r-j's",
      [&](std::int64_t query, std::int64_t key) {
        const std::int64_t taken_for = (2 * rank_of(query) - rank_of(key) + 2 * n) % n;
        const Positions& slice = slices[at(taken_for)];
        const std::int64_t index = places[at(key)].index;
        return index < slice.count() && slice.of(index) <= query;
      });
  all.push_back({{"averaged",
                  "the outputs of the blocks are averaged; absorb() weighs them by their log-sums"},
                 averaged(p, qkv)});
  return all;
}

}  // namespace lockstep::grader::ring_attention
