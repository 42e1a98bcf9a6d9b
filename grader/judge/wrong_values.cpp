#include "grader/judge/wrong_values.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

bool near(const WrongValues& values, std::size_t e, double seen, double expected) {
  const double tolerance = values.tolerance.empty() ? 0.0 : values.tolerance[e];
  return std::fabs(seen - expected) <= tolerance;
}

// True if every element is what `wanted` says of it.
bool everywhere(const WrongValues& values, const std::function<double(std::size_t)>& wanted) {
  if (values.seen.size() != values.expected.size() || values.seen.empty()) return false;
  for (std::size_t e = 0; e < values.seen.size(); ++e) {
    if (!near(values, e, values.seen[e], wanted(e))) return false;
  }
  return true;
}

std::size_t ranks_of(const WrongValues& values) { return static_cast<std::size_t>(values.ranks); }

// Elements of a block if there are N blocks of the same length, otherwise 0.
std::size_t block_of(const WrongValues& values) {
  const std::size_t n = ranks_of(values);
  return n > 1 && values.seen.size() % n == 0 ? values.seen.size() / n : 0;
}

}  // namespace

bool is_scaled(const WrongValues& values, double factor) {
  return everywhere(values, [&](std::size_t e) { return values.expected[e] * factor; });
}

std::optional<Cause> own_data_only(const WrongValues& values) {
  if (values.inputs.empty() || values.ranks < 2) return std::nullopt;
  const auto own = values.inputs[static_cast<std::size_t>(values.rank)];
  if (!everywhere(values, [&](std::size_t e) { return own[e]; })) return std::nullopt;
  return Cause{
      "unchanged",
      "the elements still have their values from before the call; nothing was added to them"};
}

std::optional<Cause> one_rank_wrong(const WrongValues& values) {
  for (std::size_t rank = 0; rank < values.inputs.size() && values.ranks > 1; ++rank) {
    const auto brought = values.inputs[rank];
    const auto times = [&](double count) {
      return everywhere(values,
                        [&](std::size_t e) { return values.expected[e] + count * brought[e]; });
    };
    if (times(-1)) {
      return Cause{"rank_missing", text("rank ", rank, "'s values are missing from every sum")};
    }
    if (times(1)) return Cause{"rank_twice", text("rank ", rank, "'s values are added 2 times")};
  }
  return std::nullopt;
}

std::optional<Cause> stale(const WrongValues& values) {
  if (values.previous.size() != values.seen.size()) return std::nullopt;
  if (!everywhere(values, [&](std::size_t e) { return values.previous[e]; })) return std::nullopt;
  return Cause{"stale",
               "these are the values of the previous call; something is kept from one call to the "
               "next, such as a static variable or a buffer that is filled once"};
}

std::optional<Cause> blocks_moved(const WrongValues& values) {
  const std::size_t block = block_of(values), n = ranks_of(values);
  if (block == 0 || values.expected.size() != values.seen.size()) return std::nullopt;
  // Which block of the right result stands at each place.
  std::vector<std::size_t> at(n, n);
  for (std::size_t place = 0; place < n; ++place) {
    for (std::size_t from = 0; from < n && at[place] == n; ++from) {
      bool same = true;
      for (std::size_t e = 0; e < block && same; ++e) {
        same = near(values, from * block + e, values.seen[place * block + e],
                    values.expected[from * block + e]);
      }
      if (same) at[place] = from;
    }
    if (at[place] == n) return std::nullopt;
  }
  std::vector<std::size_t> sorted = at;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < n; ++i) {
    if (sorted[i] != i) return std::nullopt;
  }
  const std::size_t shift = at[0];
  const bool turned = std::ranges::all_of(
      sorted, [&](std::size_t place) { return at[place] == (place + shift) % n; });
  if (turned && n == 2 && shift == 1) {
    return Cause{"off_by_one_chunk",
                 "both blocks are right but swapped; an index is off by one, modulo 2"};
  }
  if (turned && (shift == 1 || shift == n - 1)) {
    return Cause{"off_by_one_chunk",
                 text("every block is right, but one position too ", shift == 1 ? "early" : "late",
                      "; an index is off by one, modulo ", n)};
  }
  std::string order;
  for (const auto from : at) order += text(order.empty() ? "" : ", ", from);
  return Cause{"permuted", text("every block is right, but the blocks are in the order ", order,
                                "; check the index of each block")};
}

std::optional<Cause> transposed(const WrongValues& values) {
  const std::size_t rows = ranks_of(values), columns = block_of(values);
  if (columns < 2 || values.expected.size() != values.seen.size()) return std::nullopt;
  for (const auto& [r, c] : {std::pair(rows, columns), std::pair(columns, rows)}) {
    const std::size_t height = r, width = c;
    if (everywhere(values, [&](std::size_t e) {
          return values.expected[(e % height) * width + e / height];
        })) {
      return Cause{"transposed", text("every value is right, but columns are where rows belong (",
                                      height, " by ", width, ")")};
    }
  }
  return std::nullopt;
}

std::optional<Cause> tail_missing(const WrongValues& values) {
  const std::size_t size = values.seen.size(), tail = size % ranks_of(values);
  if (tail == 0 || values.expected.size() != size || size < ranks_of(values)) return std::nullopt;
  for (std::size_t e = 0; e < size - tail; ++e) {
    if (!near(values, e, values.seen[e], values.expected[e])) return std::nullopt;
  }
  const auto last = tail == 1 ? std::string("only the last element is wrong")
                              : text("only the last ", tail, " elements are wrong");
  return Cause{"tail_lost", text(last, "; ", size, " is not divisible by ", values.ranks,
                                 ", so some blocks must be one element longer")};
}

std::optional<Cause> rounding_only(const WrongValues& values) {
  // A number of 8 bits, as bfloat16 keeps them, is off by 1/256 of its size; sums cancel.
  constexpr double narrow = 1.0 / 64;
  if (values.tolerance.empty() || values.seen.size() != values.expected.size()) return std::nullopt;
  double largest = 0, error = 0;
  for (std::size_t e = 0; e < values.seen.size(); ++e) {
    if (values.tolerance[e] <= 0) return std::nullopt;
    largest = std::max(largest, std::fabs(values.expected[e]));
    error = std::max(error, std::fabs(values.seen[e] - values.expected[e]));
    if (std::isnan(values.seen[e])) return std::nullopt;
  }
  if (error > narrow * largest) return std::nullopt;
  return Cause{"rounded",
               "every value is nearly right; the values went through a narrower type, such as "
               "float instead of double, or a term was added and later subtracted again"};
}

std::optional<Cause> narrower_type(std::span<const double> seen, std::span<const double> expected) {
  struct Type {
    const char* name;
    int bits;  // of a number's digits
  };
  const auto held = [](double value, int bits) {
    int exponent = 0;
    const double digits = std::ldexp(std::frexp(value, &exponent), bits);
    return digits == std::floor(digits);
  };
  for (const auto& [name, bits] : {Type{"bfloat16", 8}, Type{"float16", 11}, Type{"float32", 24}}) {
    bool near = seen.size() == expected.size(), all_held = true, some_need_more = false;
    for (std::size_t e = 0; e < seen.size() && near; ++e) {
      near = std::fabs(seen[e] - expected[e]) <= std::ldexp(std::fabs(expected[e]), 1 - bits);
      all_held = all_held && held(seen[e], bits);
      some_need_more = some_need_more || !held(expected[e], bits);
    }
    if (!near || !all_held || !some_need_more) continue;
    return Cause{"rounded", text("every value is right to the digits of ", name, ", and is one of ",
                                 name, ": it was rounded to that type on the way")};
  }
  return std::nullopt;
}

std::optional<Cause> unwritten(const WrongValues& values, std::size_t at) {
  if (!std::isnan(values.seen[at]) && values.seen[at] != -1) return std::nullopt;
  return Cause{"unwritten", "nothing was ever received or copied into this element"};
}

std::optional<Cause> likely_cause(const WrongValues& values, std::size_t first_wrong) {
  if (first_wrong < values.seen.size()) {
    if (auto cause = unwritten(values, first_wrong)) return cause;
  }
  for (const auto classify : {own_data_only, stale, tail_missing, one_rank_wrong, blocks_moved,
                              transposed, rounding_only}) {
    if (auto cause = classify(values)) return cause;
  }
  return std::nullopt;
}

}  // namespace lockstep::grader
