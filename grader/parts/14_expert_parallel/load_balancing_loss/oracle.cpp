#include "grader/parts/14_expert_parallel/load_balancing_loss/oracle.hpp"

#include <limits>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::load_balancing_loss {
namespace {

// By expert: how many tokens chose it first, and the sum of its probabilities; and the tokens.
struct Sums {
  explicit Sums(std::int64_t experts) : chosen(at(experts)), shares(at(experts)) {}
  void add(const Numbers& probabilities, const std::vector<std::int64_t>& choices) {
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      shares[i % shares.size()] += probabilities[i];
    }
    for (const std::int64_t expert : choices) chosen[at(expert)] += 1;
    tokens += static_cast<double>(choices.size());
  }
  double f(std::size_t e) const { return chosen[e] / tokens; }
  double mean(std::size_t e) const { return shares[e] / tokens; }  // P

  Numbers chosen, shares;
  double tokens = 0;
};

Sums sums_of_all(const Problem& p, const Given& given) {
  Sums sums(p.experts);
  for (std::size_t r = 0; r < given.choices.size(); ++r) {
    sums.add(given.probabilities[r], given.choices[r]);
  }
  return sums;
}

}  // namespace

std::string Problem::description() const {
  static const char* const kinds[] = {"", ", all experts alike", ", all tokens to expert 0",
                                      ", an expert for each rank's tokens"};
  static const char* const misfits[] = {"", ", a first choice is missing",
                                        ", probabilities of one dimension", ", expert -1 is chosen",
                                        ", an expert behind the last one is chosen"};
  return text(members.description(), ", ", listed(tokens), " tokens, ", counted(experts, "expert"),
              ", alpha ", number(alpha), ", ", lockstep::name_of(dtype),
              kinds[static_cast<std::size_t>(kind)], name_of(odd),
              misfits[static_cast<std::size_t>(misfit)]);
}

Given given_of(const Problem& p, std::uint64_t salt) {
  Given given;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const std::uint64_t key = keyed_bits(salt, 500 + r);
    std::uint64_t next = 0;
    Numbers& all = given.probabilities.emplace_back();
    auto& choices = given.choices.emplace_back();
    for (std::int64_t t = 0; t < p.tokens[r]; ++t) {
      Numbers row;
      for (std::int64_t e = 0; e < p.experts; ++e) row.push_back(0.1 + keyed_uniform(key, next++));
      std::int64_t first = (t + rank) % p.experts;
      if (keyed_uniform(key, next++) < 0.5) first = std::min<std::int64_t>(first, rank % p.experts);
      if (p.kind == Tokens::to_one) first = 0;
      if (p.kind == Tokens::one_a_rank) first = rank % p.experts;
      if (p.kind == Tokens::alike) {
        first = t % p.experts;
        row.assign(row.size(), 1);
      } else if (p.kind == Tokens::to_one) {
        row.assign(row.size(), 0);
        row[0] = 1;
      } else {
        row[at(first)] += 1;
      }
      const double sum = std::accumulate(row.begin(), row.end(), 0.0);
      for (const double share : row) all.push_back(share / sum);
      choices.push_back(first);
    }
    all = as_doubles(p.dtype, to_bytes(p.dtype, all));
  }
  // The odd value is in the column of an expert that somebody chose, on the first rank.
  Numbers& odd = given.probabilities.front();
  if (p.odd == Odd::zeros) odd.assign(odd.size(), 0);
  if (p.odd == Odd::not_a_number)
    odd[at(given.choices.front().front())] = std::numeric_limits<double>::quiet_NaN();
  if (p.odd == Odd::infinity)
    odd[at(given.choices.front().front())] = std::numeric_limits<double>::infinity();
  return given;
}

Balance right_balance(const Problem& p, const Given& given, int rank) {
  const Sums all = sums_of_all(p, given);
  const double scale = p.alpha * static_cast<double>(p.experts);
  Balance right;
  Numbers slopes;  // the same for all tokens
  for (std::size_t e = 0; e < all.chosen.size(); ++e) {
    right.loss += scale * all.f(e) * all.mean(e);
    slopes.push_back(scale * all.f(e) / all.tokens);
  }
  for (std::int64_t t = 0; t < p.tokens[at(rank)]; ++t) {
    right.gradient.insert(right.gradient.end(), slopes.begin(), slopes.end());
  }
  return right;
}

}  // namespace lockstep::grader::load_balancing_loss
