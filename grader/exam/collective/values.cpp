// The values that ranks bring to a collective, and the situations that a case of them is.
#include <algorithm>
#include <cmath>
#include <limits>

#include "grader/exam/collective/rules.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader {

namespace {

// The values of another kind that a rank brings in a place; the root and every other rank of it.
std::optional<double> unusual(const CollectiveProblem& p, int call, int rank, std::int64_t e) {
  const int turned = (rank - p.root + p.size()) % p.size();
  const auto infinite = std::numeric_limits<double>::infinity();
  const double least = least_of(p.dtype), largest = largest_of(p.dtype);
  const double specials[] = {std::numeric_limits<double>::quiet_NaN(),
                             infinite,
                             -0.0,
                             least,
                             -infinite,
                             -3 * least,
                             0,
                             largest,
                             -largest};
  const double extremes[] = {largest, lowest_of(p.dtype), 0, largest - 1};
  switch (p.values) {
    case Values::usual:
      return std::nullopt;
    case Values::zeros:
      return call > 0 || turned % 2 == 0 ? std::optional(0.0) : std::nullopt;
    case Values::special:
      if (turned % 3 == 2) return std::nullopt;
      return specials[static_cast<std::size_t>(e + 4 * turned) % std::size(specials)];
    case Values::extreme:
      if (turned % 3 == 2) return std::nullopt;
      return extremes[static_cast<std::size_t>(e + turned) % std::size(extremes)];
  }
  return std::nullopt;
}

}  // namespace

std::vector<double> distinct(const CollectiveProblem& p, std::uint64_t salt, int call, int rank,
                             std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t e = 0; e < count; ++e) {
    if (const auto other = unusual(p, call, rank, e)) {
      values.push_back(*other);
      continue;
    }
    const std::uint64_t bits = keyed_bits(
        salt, (static_cast<std::uint64_t>(e) * 32 + static_cast<std::uint64_t>(rank)) * 4 +
                  static_cast<std::uint64_t>(call));
    if (p.dtype == DType::int64) {
      values.push_back(static_cast<double>(1 + (bits >> 20)));
    } else if (p.dtype == DType::int32) {
      values.push_back(static_cast<double>(bits >> 41) * 2);
    } else if (is_integer(p.dtype)) {
      values.push_back(static_cast<double>(bits >> 57));
    } else {
      // As many bits as the type has without rounding: 53, 24, 11 or 8.
      const int digits = 1 - std::ilogb(epsilon_of(p.dtype));
      values.push_back(std::ldexp(static_cast<double>(1 + (bits >> (65 - digits))), 4 - digits));
    }
  }
  return values;
}

std::int64_t large_offset(DType dtype) {
  switch (dtype) {
    case DType::int64:
      return (std::int64_t{1} << 58) + 1;
    case DType::int32:
      return (std::int64_t{1} << 28) + 1;
    case DType::uint8:
      return 61;
    default:
      return 0;
  }
}

std::string beyond(const CollectiveProblem& p) {
  if (p.offset == 0 || p.dtype == DType::uint8) return {};
  return p.dtype == DType::int64 ? " beyond 2^53" : " beyond 2^24";
}

std::vector<Situation> situations_of(const CollectiveProblem& p, const std::vector<Scene>& calls) {
  std::vector<Situation> all = p.situations;
  const auto add = [&](Situation situation) {
    if (std::ranges::find(all, situation) == all.end()) all.push_back(situation);
  };
  const auto zero = [](double value) { return value == 0; };
  bool rank_of_zeros = false, result_of_zeros = false;
  for (const Scene& scene : calls) {
    for (const auto& rank : scene.ranks) {
      for (const Holding& held : rank) {
        for (const double value : held.before) {
          if (std::isnan(value)) add(Situation::not_a_number);
          if (std::isinf(value)) add(Situation::infinity);
          if (value == 0 && std::signbit(value)) add(Situation::negative_zero);
          if (is_subnormal(p.dtype, value)) add(Situation::subnormal);
          if (is_integer(p.dtype) && value == largest_of(p.dtype)) add(Situation::integer_extremes);
        }
        rank_of_zeros |= !held.before.empty() && std::ranges::all_of(held.before, zero);
        result_of_zeros |= !held.after.empty() && std::ranges::all_of(held.after, zero);
        if (held.count > 1 << 16 && p.elements == Elements::given) add(Situation::beyond_2_16);
        if (held.count > std::int64_t{1} << 32) add(Situation::beyond_2_32);
        if (p.death && p.death->at_request > 0 && held.constant()) {
          add(Situation::unchanged_after_a_failure);
        }
        if (p.dtype == DType::float64 && !held.after.empty()) add(Situation::double_digits);
      }
    }
  }
  if (rank_of_zeros && result_of_zeros) add(Situation::zeros);
  if (p.calls > 1) add(Situation::same_call_twice);
  if (p.size() < p.members.world || (p.nodes && p.nodes->ranks_each < p.size())) {
    add(Situation::another_group);
  }
  if (p.schedule_seed != 0) add(Situation::order_of_ranks);
  if (p.death && p.death->at_request > 0) add(Situation::lost_at_each_request);
  if (p.death && p.death->at_request == 0) add(Situation::after_an_exception);
  return all;
}

}  // namespace lockstep::grader
