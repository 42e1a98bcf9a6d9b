#include "grader/parts/10_compression/top_k_error_feedback/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "grader/judge/compare.hpp"

namespace lockstep::grader::top_k_error_feedback {
namespace {

Numbers in_type(DType dtype, const Numbers& values) {
  return as_doubles(dtype, to_bytes(dtype, values));
}

double magnitude(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : std::fabs(value);
}

enum class Ties : std::uint8_t { lower_place, higher_place };

// For each place, true if its entry is among the k largest.
std::vector<bool> largest(const Numbers& values, std::int64_t k, Ties ties = Ties::lower_place) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  if (ties == Ties::higher_place) std::ranges::reverse(order);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return magnitude(values[a]) > magnitude(values[b]);
  });
  std::vector<bool> travels(values.size());
  for (std::int64_t j = 0; j < k; ++j) travels[order[static_cast<std::size_t>(j)]] = true;
  return travels;
}

// The first k places whose magnitudes reach the k-th largest one, though larger ones may follow.
std::vector<bool> first_that_reach(const Numbers& values, std::int64_t k) {
  const auto among = largest(values, k);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (among[i]) least = std::min(least, magnitude(values[i]));
  }
  std::vector<bool> travels(values.size());
  for (std::size_t i = 0; i < values.size() && k > 0; ++i) {
    if (magnitude(values[i]) < least) continue;
    travels[i] = true;
    --k;
  }
  return travels;
}

Numbers only(const Numbers& values, const std::vector<bool>& travels) {
  Numbers kept(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) kept[i] = travels[i] ? values[i] : 0;
  return kept;
}
Numbers without(const Numbers& values, const std::vector<bool>& travels) {
  Numbers left(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) left[i] = travels[i] ? 0 : values[i];
  return left;
}
Numbers scaled(Numbers values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}
Numbers added(Numbers one, const Numbers& other) {
  for (std::size_t i = 0; i < one.size(); ++i) one[i] += other[i];
  return one;
}

// Gradient plus residual, of every rank.
std::vector<Numbers> waiting_in(const LossySeen& seen, std::size_t call, DType dtype) {
  std::vector<Numbers> waiting;
  for (int rank = 0; rank < seen.ranks(); ++rank) {
    const Numbers& mine = seen.gradients[call][static_cast<std::size_t>(rank)];
    waiting.push_back(in_type(dtype, added(mine, seen.state_before(call, rank))));
  }
  return waiting;
}

// The mean of what a function makes of each rank's numbers.
Numbers mean_of(const std::vector<Numbers>& all, const auto& sent_of) {
  Numbers mean(all.front().size());
  for (const Numbers& one : all) {
    mean = added(mean, scaled(sent_of(one), 1 / static_cast<double>(all.size())));
  }
  return mean;
}

// The mean if, of several ranks that send a place, only the last one's entry counts.
Numbers last_wins(const std::vector<Numbers>& waiting, std::int64_t k) {
  Numbers mean(waiting.front().size());
  for (const Numbers& one : waiting) {
    const auto travels = largest(one, k);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      if (travels[i]) mean[i] = one[i] / static_cast<double>(waiting.size());
    }
  }
  return mean;
}

std::vector<Mistake<Numbers>> mistakes_of_results(const LossySeen& seen, std::size_t call,
                                                  const std::vector<Numbers>& waiting,
                                                  const Numbers& mean, const Sparsity& asked) {
  const double fraction = asked.fraction;
  const auto count = std::ssize(mean);
  const std::int64_t k = entries_of(count, fraction);
  const double n = seen.ranks();
  const auto& gradients = seen.gradients[call];
  const auto of_k = [&](std::int64_t some) {
    return [some](const Numbers& one) { return only(one, largest(one, some)); };
  };
  std::vector<Mistake<Numbers>> usual;
  // First: a mistake that rounds alone is near all that give the right numbers here.
  if (asked.dtype == DType::float64) {
    const auto in_float32 = [](double x) { return static_cast<double>(static_cast<float>(x)); };
    const Cause cause{"through_float32",
                      "values or 1/N went through float32, which keeps 24 of float64's 53 bits; "
                      "entries of float64 travel as float64"};
    usual.push_back({cause, scaled(mean, n * in_float32(1 / n))});
    usual.push_back({cause, mean_of(waiting, [&](const Numbers& one) {
                       Numbers sent = of_k(k)(one);
                       std::ranges::transform(sent, sent.begin(), in_float32);
                       return sent;
                     })});
  }
  if (n > 1) {
    usual.push_back(
        {{"summed_not_averaged", text("it is ", n, " times too large: summed, not averaged")},
         scaled(mean, n)});
  }
  usual.push_back(
      {{"magnitudes", "what travels has lost its sign: choose by |x|, but send x itself"},
       mean_of(waiting, [&](const Numbers& one) {
         Numbers sent = of_k(k)(one);
         for (double& value : sent) value = std::fabs(value);
         return sent;
       })});
  usual.push_back({{"compared_with_sign",
                    "entries were compared with their signs, so that large negative ones stay "
                    "behind; compare magnitudes"},
                   mean_of(waiting, [&](const Numbers& one) {
                     Numbers raised = one;  // all positive, in the same order
                     const double least = one.empty() ? 0 : std::ranges::min(one);
                     for (double& value : raised) value += 1 - least;
                     return only(one, largest(raised, k));
                   })});
  usual.push_back({{"residual_not_added",
                    "the entries are the gradient's largest, and what was left out before is not "
                    "in them; add the residual first"},
                   mean_of(gradients, of_k(k))});
  usual.push_back({{"everything_travels", "it is the mean of all entries; only k of a rank travel"},
                   mean_of(waiting, [](const Numbers& one) { return one; })});
  const auto cut_off = static_cast<std::int64_t>(fraction * static_cast<double>(count));
  if (cut_off < k) {
    usual.push_back(
        {{"too_few_entries",
          text("only ", cut_off,
               cut_off == 1 ? " entry of a rank travels: " : " entries of a rank travel: ",
               "fraction · n = ", number(fraction * static_cast<double>(count)),
               " is rounded to the nearest integer, and at least one entry travels")},
         mean_of(waiting, of_k(cut_off))});
  }
  const auto rounded_up =
      static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(count)));
  if (k < rounded_up && rounded_up <= count) {
    usual.push_back(
        {{"too_many_entries", text(rounded_up, " entries of a rank travel: fraction · n = ",
                                   number(fraction * static_cast<double>(count)),
                                   " is rounded to the nearest integer, not up")},
         mean_of(waiting, of_k(rounded_up))});
  }
  usual.push_back(
      {{"higher_place",
        "of entries with equal magnitudes the higher place travels; the lower one must"},
       mean_of(waiting, [&](const Numbers& one) {
         return only(one, largest(one, k, Ties::higher_place));
       })});
  usual.push_back(
      {{"pushed_out",
        "an entry that equals the k-th largest magnitude travels in place of a larger "
        "one behind it: take all larger ones first, and of equal ones the lower places"},
       mean_of(waiting, [&](const Numbers& one) { return only(one, first_that_reach(one, k)); })});
  if (asked.dtype == DType::float64) {
    usual.push_back(
        {{"compared_in_float32",
          "magnitudes were compared in float32, where different ones of float64 are equal; compare "
          "them in the type of the gradients"},
         mean_of(waiting, [&](const Numbers& one) {
           Numbers rounded = one;
           for (double& value : rounded) value = static_cast<double>(static_cast<float>(value));
           return only(one, largest(rounded, k));
         })});
  }
  if (n > 1) {
    usual.push_back({{"last_wins",
                      "several ranks sent an entry of one place, and only the last one's is there; "
                      "add them up"},
                     last_wins(waiting, k)});
    for (std::size_t r = 0; r < waiting.size(); ++r) {
      usual.push_back({{"not_reduced", text("these are the entries of rank ", r,
                                            " alone: the others' were not added")},
                       scaled(of_k(k)(waiting[r]), 1 / n)});
      usual.push_back({{"not_reduced", text("it is rank ", r, "'s own gradient")}, gradients[r]});
    }
  }
  if (call > 0) {
    usual.push_back(
        {{"stale", "it is the result of the call before"}, seen.results[call - 1].front()});
  }
  return usual;
}

}  // namespace

std::int64_t entries_of(std::int64_t count, double fraction) {
  if (count == 0) return 0;
  return std::clamp<std::int64_t>(std::llround(fraction * static_cast<double>(count)), 1, count);
}

Right right_mean(const LossySeen& seen, std::size_t call, const Sparsity& asked) {
  const std::vector<Numbers> waiting = waiting_in(seen, call, asked.dtype);
  const std::int64_t k = entries_of(std::ssize(waiting.front()), asked.fraction);
  const auto sent_of = [k](const Numbers& one) { return only(one, largest(one, k)); };
  Right right{.name = k == 1 ? "the mean of each rank's largest entry"
                             : text("the mean of each rank's ", k, " largest entries"),
              .values = mean_of(waiting, sent_of)};
  // A share rounds 1/N and a product, and N-1 additions round once each; below the smallest normal
  // float32, a product rounds by half of 2^-149.
  right.tolerance = mean_of(waiting, [&](const Numbers& one) {
    Numbers sizes = sent_of(one);
    for (double& size : sizes) {
      const bool rounds = std::isfinite(size) && size != 0;
      const double digits = (seen.ranks() + 2) * epsilon_of(asked.dtype) * std::fabs(size);
      size = rounds ? digits + 0x1p-149 : 0;
    }
    return sizes;
  });
  right.allowed = text("sums of ", name_of(asked.dtype), " round");
  right.mistakes = mistakes_of_results(seen, call, waiting, right.values, asked);
  right.not_finite = overflowing_sum(right.values, seen.ranks(), asked.dtype);
  right.otherwise = {"other_entries",
                     "other entries travel than the largest of gradient plus residual, or they are "
                     "added at the wrong places"};
  return right;
}

Right right_residual(const LossySeen& seen, std::size_t call, int rank, const Sparsity& asked) {
  const std::vector<Numbers> waiting = waiting_in(seen, call, asked.dtype);
  const auto r = static_cast<std::size_t>(rank);
  const Numbers& mine = waiting[r];
  const Numbers& before = seen.state_before(call, rank);
  const std::int64_t k = entries_of(std::ssize(mine), asked.fraction);
  const auto travels = largest(mine, k);
  Right right{.name = "gradient plus residual, with zeros where an entry travels,",
              .values = without(mine, travels)};
  const double n = seen.ranks();
  // In the type of the tensors, as these are compared exactly.
  const auto rounded = [&](const Numbers& values) { return in_type(asked.dtype, values); };
  const Numbers sent = only(mine, travels);
  right.mistakes = {
      {{"residual_untouched",
        "it is as it was before the call: what is left out is forgotten, and small entries are "
        "never trained; keep gradient plus residual, but for what travels"},
       before},
      {{"residual_cleared",
        "all of it is zero: what did not travel is forgotten; clear only what travels"},
       Numbers(mine.size())},
      {{"sent_stays",
        "what travels also stays, so that it is counted twice; set it to zero where it travels"},
       mine},
      {{"old_residual_lost", "what was left out before is no longer in it"},
       without(seen.gradients[call][r], travels)},
      {{"holds_what_travels", "it holds what travels; it has to hold the rest"}, sent},
      {{"share_subtracted",
        "the share that travels, a part of N, was taken out, not the entry: the rank has sent all "
        "of it, and the division makes it a mean"},
       rounded(added(mine, scaled(sent, -1 / n)))},
      {{"residuals_averaged",
        "it is the mean of the ranks' residuals; each rank keeps what it has not sent itself"},
       mean_of(waiting, [&](const Numbers& one) { return without(one, largest(one, k)); })},
      {{"result_subtracted",
        "the mean was taken out of it, not what this rank sent: then the others' entries are in "
        "it"},
       rounded(added(mine, scaled(seen.results[call][r], -1)))},
      {{"difference",
        "what travels was subtracted, and infinity minus infinity is NaN; write a zero there"},
       rounded(added(mine, scaled(sent, -1)))}};
  // A rest of rounding where nothing may be left.
  const auto is_rest = [&](std::size_t i, double left) {
    return std::isnan(left) || std::fabs(left) <= 4 * epsilon_of(asked.dtype) * std::fabs(mine[i]);
  };
  const Numbers& left = seen.states[call][r];
  bool subtracted = left.size() == mine.size();
  for (std::size_t i = 0; i < mine.size() && subtracted; ++i) {
    subtracted = travels[i] ? is_rest(i, left[i]) : left[i] == right.values[i];
  }
  right.otherwise =
      subtracted
          ? Cause{"difference",
                  "only where an entry travels is something left, a rounding of it: what travels "
                  "was subtracted after it was scaled; write a zero there"}
          : Cause{"other_residual",
                  "it is neither what was there nor what is left; on each rank, it must hold what "
                  "this rank has not sent"};
  return right;
}

}  // namespace lockstep::grader::top_k_error_feedback
