#include "grader/parts/05_data_parallel/token_weighted_mean/causes.hpp"

#include <algorithm>
#include <limits>

#include "grader/judge/wrong_terms.hpp"

namespace lockstep::grader::token_weighted_mean {
namespace {

// The mistakes that rank `self` may have made; the first match is named.
std::vector<Mistake<Weights>> mistakes(const Round& round, int self) {
  const std::size_t n = round.counted.size();
  const auto total = static_cast<double>(round.total()), ranks = static_cast<double>(n);
  const double positions = total + static_cast<double>(std::accumulate(
                                       round.padded.begin(), round.padded.end(), std::int64_t{0}));
  const auto count = [&](std::size_t r) { return static_cast<double>(round.counted[r]); };
  const auto share = [&](std::size_t r) { return count(r) > 0 ? 1 / count(r) : 0.0; };
  const auto each = [&](auto weight) {
    Weights weights(n);
    for (std::size_t r = 0; r < n; ++r) weights[r] = weight(r);
    return weights;
  };
  const auto all = [&](double weight) { return Weights(n, weight); };
  const auto own = static_cast<std::size_t>(self);
  constexpr double not_this = std::numeric_limits<double>::quiet_NaN();
  const auto in_32_bits = [](std::int64_t number) {
    return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(number)));
  };
  double counts_32 = 0;
  for (const std::int64_t counted : round.counted) counts_32 += in_32_bits(counted);
  const double total_32 = in_32_bits(round.total());
  const auto only_own = [&](double weight) {
    return each([&](std::size_t r) { return r == own ? weight : 0.0; });
  };
  return {
      {{"mean_of_means",
        "this is the mean of the ranks' means, which gives a rank with few positions the weight of "
        "one with many; add sums and counts, and divide once"},
       each([&](std::size_t r) { return share(r) / ranks; })},
      {{"summed", "the sums were added but not divided by the number of positions"}, all(1)},
      {{"divided_by_ranks",
        "the sums were divided by the number of ranks; they are sums over positions, so divide by "
        "the positions of all ranks"},
       all(1 / ranks)},
      {{"padding_counted",
        "padding was counted: it adds no loss and no gradient, so counting it makes the mean too "
        "small"},
       all(positions > total ? 1 / positions : not_this)},
      {{"wrapped_32", "the ranks' counts were stored in 32 bits, which hold at most 2,147,483,647"},
       all(counts_32 != total ? 1 / counts_32 : not_this)},
      {{"wrapped_32",
        "the sum of the counts was stored in 32 bits, which hold at most 2,147,483,647"},
       all(total_32 != total ? 1 / total_32 : not_this)},
      {{"weighted_twice",
        "each rank's sum was multiplied by its count; a sum over positions already has that "
        "weight"},
       each([&](std::size_t r) { return count(r) / total; })},
      {{"weighted_twice",
        "each rank's sum was multiplied by its count and divided by N; a sum over positions "
        "already has that weight, and N plays no part"},
       each([&](std::size_t r) { return count(r) / ranks; })},
      {{"averaged_too",
        "the sums were divided by the number of ranks on top of the number of positions"},
       all(1 / total / ranks)},
      {{"times_ranks", "N times too large: scaled for an average, then summed"},
       all(ranks / total)},
      {{"divided_twice", "the sums were divided by the number of positions twice"},
       all(1 / total / total)},
      {{"own_count",
        "the sums were divided by this rank's own count; the ranks hold different numbers of "
        "positions"},
       all(share(own))},
      {{"own_count",
        "the sums were divided by N times this rank's own count; the ranks hold different numbers "
        "of positions"},
       all(share(own) / ranks)},
      {{"own_count",
        "the sums were divided by N times rank 0's count; the ranks hold different numbers of "
        "positions"},
       all(share(0) / ranks)},
      {{"sum_of_means", "the ranks' own means were added"}, each(share)},
      {{"not_added", "the value is this rank's share alone: no other rank's sum was added"},
       only_own(1 / total)},
      {{"not_added", "the value is this rank's own sum, unchanged"}, only_own(1)},
      {{"not_added", "the value is this rank's own mean: no other rank's sum was added"},
       only_own(share(own))},
  };
}

}  // namespace

std::vector<double> weighted(const std::vector<std::vector<double>>& sums, const Weights& weights) {
  std::vector<double> result(sums.front().size(), 0.0);
  for (std::size_t r = 0; r < sums.size(); ++r) {
    for (std::size_t e = 0; e < result.size(); ++e) result[e] += weights[r] * sums[r][e];
  }
  return result;
}

Cause likely_cause(const Round& round, int self, std::span<const double> seen,
                   const std::vector<std::vector<double>>& sums) {
  if (!all_finite(seen)) {
    return {"no_number", round.total() == 0
                             ? "0 / 0: no rank counted a position, so there is nothing to divide"
                             : "this value is not finite: a rank without positions divided by its "
                               "own count of 0, or uninitialised memory was read"};
  }
  if (std::all_of(seen.begin(), seen.end(), [](double v) { return v == 0; })) {
    return {"zero",
            "every element is 0 although other ranks counted positions: an integer division gave 0 "
            "(write 1.0 /), or a rank without positions did not take part"};
  }
  const Weights right(sums.size(),
                      1 / static_cast<double>(std::max<std::int64_t>(round.total(), 1)));
  if (resembles(seen, weighted(sums, right))) {
    return {"nearly",
            "only the last digits are wrong: an epsilon was added to the count, or the factor was "
            "rounded to a smaller type"};
  }
  for (const auto& mistake : mistakes(round, self)) {
    const auto other = weighted(sums, mistake.gives);
    if (all_finite(other) && resembles(seen, other)) return mistake.cause;
  }
  std::vector<Term> terms;
  for (std::size_t r = 0; r < sums.size(); ++r) {
    terms.push_back({text("rank ", r, "'s gradient"), right[r], sums[r]});
  }
  if (auto cause = cause_of_terms(seen, weighted(sums, right), terms, 1e-4)) {
    return *std::move(cause);
  }
  return {"other_values",
          "the wrong tensors were added, or the ranks visited the parameters in different orders"};
}

}  // namespace lockstep::grader::token_weighted_mean
