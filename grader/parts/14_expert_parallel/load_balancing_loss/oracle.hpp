// The problems of load_balancing_loss's exam, the loss over the tokens of all ranks with its
// gradient.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/judge/causes.hpp"
#include "grader/parts/14_expert_parallel/load_balancing_loss/case.hpp"

namespace lockstep::grader::load_balancing_loss {

using Numbers = std::vector<double>;

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

enum class Tokens : std::uint8_t {
  drawn,
  alike,       // all experts are chosen alike, with equal probabilities
  to_one,      // expert 0 has all tokens
  one_a_rank,  // a rank's tokens have an expert of their own
};
// The argument that does not fit, in a case that the part must refuse.
enum class Misfit : std::uint8_t { nothing, choice_missing, flat, expert_below, expert_behind };

struct Problem {
  Members members = whole_world(2);
  DType dtype = DType::float64;
  std::int64_t experts = 4;
  std::vector<std::int64_t> tokens{};  // by rank
  double alpha = 0.01;
  Tokens kind = Tokens::drawn;
  Odd odd = Odd::none;
  Misfit misfit = Misfit::nothing;
  std::uint64_t schedule_seed = 0;

  int ranks() const { return members.size(); }
  std::string description() const;
};

// The probabilities [T, E] and the first choices of each rank.
struct Given {
  std::vector<Numbers> probabilities{};
  std::vector<std::vector<std::int64_t>> choices{};
};
Given given_of(const Problem& p, std::uint64_t salt);

struct Balance {
  double loss = 0;
  Numbers gradient{};  // [T, E]
};
Balance right_balance(const Problem& p, const Given& given, int rank);

}  // namespace lockstep::grader::load_balancing_loss
