#include "grader/parts/07_ddp/unused_parameters/oracle.hpp"

#include <cmath>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::unused_parameters {
namespace {

using Values = std::vector<double>;

enum class Kind : std::uint8_t { before, made };

Values drawn(const UnusedProblem& p, std::uint64_t salt, std::size_t pass, Kind kind, int rank,
             std::size_t i) {
  const std::uint64_t of_pass = keyed_bits(salt, 2 * pass + (kind == Kind::made ? 1 : 0));
  return drawn_gradient(p.gradients(), of_pass, rank, i);
}

// The values that rank `rank` has of parameter i when pass `pass` begins.
std::optional<Values> held_before(const UnusedProblem& p, std::uint64_t salt, std::size_t pass,
                                  int rank, std::size_t i, const RightGradient* last) {
  if (p.passes[pass].before == Pass::Before::kept && last != nullptr) {
    if (last->users > 0) return last->values;
    return last->before[static_cast<std::size_t>(rank)];
  }
  if (adds_before(p, pass, i)) return drawn(p, salt, pass, Kind::before, rank, i);
  return std::nullopt;
}

void add_values(const UnusedProblem& p, RightGradient& right, const RightGradient* last) {
  const double weight = 1.0 / p.ranks(), epsilon = epsilon_of(p.dtype);
  const bool kept = last != nullptr && !last->tolerance.empty();
  for (std::size_t e = 0; e < right.made.front().size(); ++e) {
    double sum = 0, magnitude = 0;
    for (std::size_t r = 0; r < right.made.size(); ++r) {
      const double before = right.before[r] ? (*right.before[r])[e] : 0;
      sum += weight * (before + right.made[r][e]);
      magnitude += weight * (std::fabs(before) + std::fabs(right.made[r][e]));
    }
    right.values.push_back(sum);
    // As for driven reducers: the addition to what was there, the share, the product with it, and
    // N-1 additions in any order round once each; what is kept was rounded already.
    const double inherited = kept ? last->tolerance[e] : 0;
    right.tolerance.push_back((p.ranks() + 4) * epsilon * magnitude + inherited);
  }
}

}  // namespace

GradientPlan UnusedProblem::gradients() const {
  return {dtype, sizes, std::vector<std::uint8_t>(sizes.size(), 1), held};
}

std::string UnusedProblem::description() const {
  return text(members.description(), ", ", counted(std::ssize(sizes), "parameter"), " of ",
              name_of(dtype), " in ", plan.buckets.size(),
              plan.buckets.size() == 1 ? " bucket, " : " buckets, ", passes.size(),
              passes.size() == 1 ? " pass" : " passes", name_of(held));
}

std::string in_pass(const UnusedProblem& p, std::size_t pass) {
  return p.passes.size() > 1 ? text(" in pass ", pass + 1) : "";
}

bool uses(const UnusedProblem& p, std::size_t pass, int rank, std::size_t i) {
  const auto some_rank = static_cast<int>((pass + i) % static_cast<std::size_t>(p.ranks()));
  switch (p.passes[pass].sets) {
    case Pass::Sets::all:
      return true;
    case Pass::Sets::none:
      return false;
    case Pass::Sets::not_rank_0:
      return rank != 0;
    case Pass::Sets::mixed:
      break;
  }
  switch ((i + pass) % 4) {
    case 0:
      return true;
    case 1:
      return rank == some_rank;
    case 2:
      return false;
    default:
      return rank != some_rank;
  }
}

int users_of(const UnusedProblem& p, std::size_t pass, std::size_t i) {
  int users = 0;
  for (int rank = 0; rank < p.ranks(); ++rank) users += uses(p, pass, rank, i) ? 1 : 0;
  return users;
}

// With mixed sets, this meets a parameter that no rank uses, and one that some do.
bool adds_before(const UnusedProblem& p, std::size_t pass, std::size_t i) {
  return p.passes[pass].before == Pass::Before::added && (i + pass) % 4 >= 2;
}

UnusedCase case_of(const UnusedProblem& p, std::uint64_t salt, int rank) {
  UnusedCase c{.plan = p.plan, .passes = {}, .bare = p.bare ? std::uint8_t{1} : std::uint8_t{0}};
  const std::size_t parameters = p.sizes.size();
  c.parameters = {p.dtype, keyed_bits(salt, 77 + static_cast<std::uint64_t>(rank)) >> 32, p.sizes,
                  std::vector<std::uint8_t>(parameters), std::vector<Bytes>(parameters)};
  for (std::size_t k = 0; k < p.passes.size(); ++k) {
    UnusedPassCase& pass = c.passes.emplace_back();
    pass.takes = p.passes[k].before == Pass::Before::kept ? 0 : 1;
    pass.gap_s = p.gap_s;
    pass.begins_after_s = rank + 1 == p.ranks() ? p.late_s : 0;
    pass.before.resize(parameters);
    pass.made.resize(parameters);
    for (std::size_t i = 0; i < parameters; ++i) {
      pass.used.push_back(uses(p, k, rank, i) ? 1 : 0);
      const auto bytes = [&](Kind kind) {
        return to_bytes(p.dtype, drawn(p, salt, k, kind, rank, i));
      };
      if (adds_before(p, k, i)) pass.before[i] = bytes(Kind::before);
      if (pass.used[i] != 0) pass.made[i] = bytes(Kind::made);
    }
    const std::uint64_t seed = keyed_bits(salt, 1'000 + k) + static_cast<std::uint64_t>(rank);
    for (const std::int64_t i : keyed_order(std::ssize(p.sizes), seed)) {
      if (pass.used[static_cast<std::size_t>(i)] != 0) {
        pass.order.push_back(static_cast<std::uint32_t>(i));
      }
    }
  }
  return c;
}

std::vector<std::vector<RightGradient>> right_gradients(const UnusedProblem& p,
                                                        std::uint64_t salt) {
  std::vector<std::vector<RightGradient>> passes;
  for (std::size_t k = 0; k < p.passes.size(); ++k) {
    std::vector<RightGradient> gradients(p.sizes.size());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      RightGradient& right = gradients[i];
      const bool kept = p.passes[k].before == Pass::Before::kept && k > 0;
      const RightGradient* last = kept ? &passes[k - 1][i] : nullptr;
      right.users = users_of(p, k, i);
      for (int rank = 0; rank < p.ranks(); ++rank) {
        right.before.push_back(held_before(p, salt, k, rank, i, last));
        right.made.push_back(uses(p, k, rank, i)
                                 ? drawn(p, salt, k, Kind::made, rank, i)
                                 : Values(static_cast<std::size_t>(p.sizes[i]), 0.0));
      }
      if (right.users > 0) {
        add_values(p, right, last);
      } else if (last != nullptr) {
        right.tolerance = last->tolerance;
      }
    }
    passes.push_back(std::move(gradients));
  }
  return passes;
}

}  // namespace lockstep::grader::unused_parameters
