#include "grader/parts/16_hybrid_parallel/train_3d/rules.hpp"

#include <algorithm>
#include <cmath>

#include "grader/judge/causes.hpp"

namespace lockstep::grader::train_3d {
namespace {

using mesh::Axis;
using mesh::AxisSizes;
using mesh::usual_order;
using Question = TrainQuestion;

constexpr AxisBits shards = bit_of(Axis::cp) | bit_of(Axis::ep) | bit_of(Axis::dp);

// The number of ranks along these axes.
double ranks_along(const AxisSizes& sizes, AxisBits axes) {
  double ranks = 1;
  for (const Axis axis : usual_order) ranks *= axes & bit_of(axis) ? sizes[axis] : 1;
  return ranks;
}

std::string names(AxisBits axes) {
  std::string words;
  for (const Axis axis : usual_order) {
    if (axes & bit_of(axis)) words += text(words.empty() ? "" : ", ", name_of(axis));
  }
  return words.empty() ? "no axis" : words;
}

AxisBits longer_than_one(const AxisSizes& sizes) {
  AxisBits axes = 0;
  for (const Axis axis : usual_order) {
    if (sizes[axis] > 1) axes = static_cast<AxisBits>(axes | bit_of(axis));
  }
  return axes;
}

// Copies that have read other data, and copies that have a part of the sum.
AxisBits right_over(const Question& q, const KindBits& one) {
  return static_cast<AxisBits>(((one.copies & shards) | one.partial) & longer_than_one(q.sizes));
}

// A factor may be rounded as it was computed, division by division.
bool same_factor(double seen, double right) { return std::abs(seen - right) <= 1e-14 * right; }

std::vector<SumBits> right_sums(const Question& q) {
  std::vector<SumBits> sums;
  if (q.after == mesh::MicroBatch::more_follow) return sums;
  const double factor = 1 / ranks_along(q.sizes, shards);
  for (std::size_t i = 0; i < q.gradients.size(); ++i) {
    const AxisBits over = right_over(q, q.gradients[i]);
    if (over != 0 || factor != 1) sums.push_back({i, over, factor});
  }
  return sums;
}

bool same(const SumBits& a, const SumBits& b) {
  return a.gradient == b.gradient && a.over == b.over && same_factor(a.factor, b.factor);
}

std::string text_of(const SumBits& sum) {
  return text("gradient ", sum.gradient, " summed over ", names(sum.over), ", times ", sum.factor);
}

// Why a gradient is not summed over the axes that are right.
Cause cause_of_axes(const Question& q, const KindBits& one, AxisBits seen, AxisBits right) {
  const auto extra = static_cast<AxisBits>(seen & ~right);
  for (const Axis axis : usual_order) {
    const std::string along = text("ranks along ", name_of(axis));
    if (!((seen ^ right) & bit_of(axis))) continue;
    const bool shard = shards & bit_of(axis), copy = one.copies & bit_of(axis);
    if (!(extra & bit_of(axis))) {
      if (shard) {
        return {"shards_left_out",
                along + " hold the same elements and have read other data, so they are in the sum"};
      }
      return {"parts_left_out",
              along + " hold the same elements, and each has computed a part of their gradient"};
    }
    if (q.sizes[axis] == 1) {
      return {"axis_of_size_1", text(name_of(axis), " has size 1 here: a sum over it is none")};
    }
    if (copy) {
      return {"whole_copies_summed",
              text(along, " have each computed the whole gradient of these elements; their sum is ",
                   q.sizes[axis], " times too large")};
    }
    return {"others_summed", along + " hold other elements, so their gradients are never added"};
  }
  return {"other_axes", "compare the axes one by one"};
}

Cause cause_of_factor(const Question& q, const SumBits& seen) {
  const auto is = [&](double divisor) { return same_factor(seen.factor, 1 / divisor); };
  if (is(ranks_along(q.sizes, 31))) {
    return {"divided_by_world",
            "ranks along tp and pp work on the same tokens, so they are no "
            "data shards"};
  }
  if (seen.factor == 0) {
    return {"zero", "1 / N of two integers is 0; write 1.0 / N"};
  }
  if (seen.factor == 1) {
    return {"not_divided",
            "each rank has the mean loss of its own data, so the sum over all data "
            "shards is divided by their number"};
  }
  if (is(ranks_along(q.sizes, seen.over))) {
    return {"divided_by_group",
            "the divisor is the number of all data shards, whatever the group "
            "is over which this gradient is summed"};
  }
  if (is(q.sizes.dp)) {
    return {"divided_by_dp", "shards along cp and ep are data shards as well as those along dp"};
  }
  return {"other_factor",
          "the factor is one by the number of data shards, dp · ep · cp, computed in double"};
}

Failure told(const Cause& cause, std::string message, std::string expected, std::string seen) {
  return because(
      cause,
      {.message = std::move(message), .expected = std::move(expected), .seen = std::move(seen)});
}

// A gradient that should be in the list and is not, or the other way round.
Failure wrong_presence(const Question& q, const SumBits* seen, const SumBits* right) {
  const KindBits& one = q.gradients[(seen ? seen : right)->gradient];
  const std::string what =
      text("gradient ", (seen ? seen : right)->gradient, " (", train_3d::words_of(one), ")");
  if (seen) {
    const Cause nothing{"does_nothing",
                        "a sum over no axis with the factor 1 does nothing, so it is left out"};
    const Cause cause = seen->over == 0 ? nothing : cause_of_axes(q, one, seen->over, 0);
    return told(seen->over == 0 && seen->factor != 1 ? cause_of_factor(q, *seen) : cause,
                what + " is in the list", "nothing is done with it", text_of(*seen));
  }
  const Cause alone{"not_divided",
                    "nobody else holds these elements, but the samples of all data shards are in "
                    "their gradient: it is divided all the same"};
  return told(right->over == 0 ? alone : cause_of_axes(q, one, 0, right->over),
              what + " is not in the list", text_of(*right), "nothing is done with it");
}

std::optional<Failure> wrong_sums(const Question& q, const std::vector<SumBits>& seen) {
  const std::vector<SumBits> right = right_sums(q);
  if (std::ranges::equal(seen, right, same)) return std::nullopt;
  if (q.after == mesh::MicroBatch::more_follow) {
    return told({"every_micro_batch",
                 "gradients of micro-batches add up on each rank, and travel "
                 "once a step, after the last one"},
                "gradients travel, but more micro-batches follow", "an empty list",
                text_of(seen.front()));
  }
  if (seen.empty()) {
    return told({"no_sums", "gradients travel after the last micro-batch of a step, and only then"},
                "the list is empty, but no more micro-batches follow", text_of(right.front()),
                "an empty list");
  }
  for (std::size_t k = 0; k < seen.size(); ++k) {
    if (seen[k].gradient >= q.gradients.size()) {
      return told({"no_such_gradient", "a gradient is named by its place in the list, from 0"},
                  text("gradient ", seen[k].gradient, " does not exist"),
                  text("gradients 0 to ", std::ssize(q.gradients) - 1), text_of(seen[k]));
    }
    if (k == 0 || seen[k - 1].gradient < seen[k].gradient) continue;
    return told(
        {"other_order",
         "each gradient stands in the list once at most, in the order in "
         "which gradients were given"},
        text("gradient ", seen[k].gradient, " stands behind gradient ", seen[k - 1].gradient), {},
        {});
  }
  std::size_t k = 0;
  while (k < std::min(seen.size(), right.size()) && same(seen[k], right[k])) ++k;
  const SumBits* is = k < seen.size() ? &seen[k] : nullptr;
  const SumBits* should_be = k < right.size() ? &right[k] : nullptr;
  if (!is || (should_be && should_be->gradient < is->gradient)) {
    return wrong_presence(q, nullptr, should_be);
  }
  if (!should_be || is->gradient < should_be->gradient) return wrong_presence(q, is, nullptr);
  const KindBits& one = q.gradients[is->gradient];
  return told(is->over == should_be->over ? cause_of_factor(q, *is)
                                          : cause_of_axes(q, one, is->over, should_be->over),
              text("gradient ", is->gradient, " (", train_3d::words_of(one), ") is summed wrongly"),
              text_of(*should_be), text_of(*is));
}

std::optional<Failure> wrong_count(const Question& q, const TrainAnswer& answer) {
  const KindBits& one = q.gradients.front();
  AxisBits behind = 0;  // the axes on which an earlier rank holds the same elements
  for (const Axis axis : usual_order) {
    const bool earlier = axis != Axis::dp && (one.copies & bit_of(axis)) && q.at[axis] > 0;
    if (earlier) behind = static_cast<AxisBits>(behind | bit_of(axis));
  }
  const bool right = behind == 0;
  if (answer.counts == right) return std::nullopt;
  const std::string counts = "this rank counts its elements", leaves = "another rank counts them";
  if (answer.counts) {
    return told({"counted_twice", text("ranks along ", names(behind),
                                       " hold the same elements, "
                                       "and the first of them counts them")},
                "elements count in the norm more than once", leaves, counts);
  }
  if (q.at.dp > 0) {
    return told({"only_one_replica",
                 "each replica takes the norm by itself, so a rank's place on "
                 "dp does not matter"},
                "elements of a replica do not count in its norm", counts, leaves);
  }
  return told({"never_counted",
               "no earlier rank holds these elements, and a place matters only on "
               "axes along which there are copies"},
              "elements do not count in the norm", counts, leaves);
}

}  // namespace

std::string words_of(const KindBits& gradient) {
  std::string words =
      gradient.copies == 0 ? "no copies" : text("copies along ", names(gradient.copies));
  if (gradient.partial != 0) words += text("; each has a part along ", names(gradient.partial));
  return words;
}

std::optional<Failure> wrong(const TrainQuestion& q, const TrainAnswer& seen) {
  return q.form == TrainForm::norm ? wrong_count(q, seen) : wrong_sums(q, seen.sums);
}

}  // namespace lockstep::grader::train_3d
