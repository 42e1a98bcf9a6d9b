#include "grader/parts/14_expert_parallel/load_balancing_loss/oracle.hpp"

#include <limits>
#include <numeric>

#include "engine/base/random.hpp"
#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"

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

Sums sums_of(const Problem& p, const Given& given, int rank) {
  Sums sums(p.experts);
  const auto r = static_cast<std::size_t>(rank);
  sums.add(given.probabilities[r], given.choices[r]);
  return sums;
}
Sums sums_of_all(const Problem& p, const Given& given) {
  Sums sums(p.experts);
  for (std::size_t r = 0; r < given.choices.size(); ++r) {
    sums.add(given.probabilities[r], given.choices[r]);
  }
  return sums;
}

double sum_over(std::int64_t experts, const auto& of) {
  double sum = 0;
  for (std::size_t e = 0; e < at(experts); ++e) sum += of(e);
  return sum;
}
double scale_of(const Problem& p) { return p.alpha * static_cast<double>(p.experts); }

// A gradient that is the same for all tokens of a rank.
Numbers for_each_token(const Problem& p, int rank, const auto& slope) {
  Numbers gradient;
  for (std::int64_t t = 0; t < p.tokens[static_cast<std::size_t>(rank)]; ++t) {
    for (std::size_t e = 0; e < at(p.experts); ++e) gradient.push_back(slope(e));
  }
  return gradient;
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
    const std::uint64_t key = random_bits(salt, 500 + r);
    std::uint64_t next = 0;
    Numbers& all = given.probabilities.emplace_back();
    auto& choices = given.choices.emplace_back();
    for (std::int64_t t = 0; t < p.tokens[r]; ++t) {
      Numbers row;
      for (std::int64_t e = 0; e < p.experts; ++e) row.push_back(0.1 + random_uniform(key, next++));
      std::int64_t first = (t + rank) % p.experts;
      if (random_uniform(key, next++) < 0.5)
        first = std::min<std::int64_t>(first, rank % p.experts);
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
  return {
      scale_of(p) * sum_over(p.experts, [&](std::size_t e) { return all.f(e) * all.mean(e); }),
      for_each_token(p, rank, [&](std::size_t e) { return scale_of(p) * all.f(e) / all.tokens; })};
}

std::vector<Mistake<double>> wrong_losses(const Problem& p, const Given& given, int rank) {
  const Sums all = sums_of_all(p, given), own = sums_of(p, given, rank);
  const auto n = static_cast<double>(p.ranks());
  const auto over = [&](const auto& of) { return scale_of(p) * sum_over(p.experts, of); };
  const auto product = [](const Sums& sums) {
    return [&sums](std::size_t e) { return sums.f(e) * sums.mean(e); };
  };
  const double right = over(product(all));
  double products = 0;
  Numbers f(at(p.experts)), mean(at(p.experts));
  for (int r = 0; r < p.ranks(); ++r) {
    const Sums one = sums_of(p, given, r);
    products += over(product(one));
    for (std::size_t e = 0; e < f.size(); ++e) {
      f[e] += one.f(e) / n;
      mean[e] += one.mean(e) / n;
    }
  }
  const Cause local{"local_f",
                    "f is the share of this rank's tokens alone; what matters is how the experts "
                    "are loaded by the tokens of all ranks"};
  return {
      {{"zero_when_balanced",
        "alpha is subtracted, so that balanced experts cost 0; the loss is alpha there, and E "
        "times "
        "as much where one expert has all tokens"},
       right - p.alpha},
      {{"no_experts",
        "the factor E is missing; with it, balanced experts cost alpha, however many "
        "there are"},
       right / static_cast<double>(p.experts)},
      {{"divided_by_experts", "it is divided by E; the sum is multiplied by E"},
       right / static_cast<double>(p.experts * p.experts)},
      {{"no_alpha", "the factor alpha is missing"}, right / p.alpha},
      {local, over([&](std::size_t e) { return own.f(e) * all.mean(e); })},
      {{"own_tokens_alone",
        "this is the loss of the rank's own tokens; nothing was summed over the ranks"},
       over(product(own))},
      {{"mean_of_products",
        "each rank's own loss was averaged over the ranks; sum f and P over the ranks first, and "
        "multiply then"},
       products / n},
      {{"sum_of_products",
        "each rank's own loss was added up over the ranks; sum f and P over the ranks first, and "
        "multiply then"},
       products},
      {{"ranks_weigh_the_same",
        "shares were averaged over the ranks, although these have different numbers of tokens; sum "
        "counts and probabilities, and divide by the tokens of all ranks"},
       over([&](std::size_t e) { return f[e] * mean[e]; })},
      {{"p_squared",
        "this is the sum of P·P; one of the two factors is f, the share of tokens that "
        "chose the expert first"},
       over([&](std::size_t e) { return all.mean(e) * all.mean(e); })},
      {{"f_squared", "this is the sum of f·f; one of the two factors is P, the mean probability"},
       over([&](std::size_t e) { return all.f(e) * all.f(e); })},
      {{"divided_by_own_tokens",
        "the sums of all ranks were divided by the number of this rank's tokens; divide by that of "
        "all tokens"},
       over(
           [&](std::size_t e) { return all.chosen[e] * all.shares[e] / own.tokens / own.tokens; })},
      {{"not_divided",
        "counts and sums were multiplied without dividing each by the number of "
        "tokens"},
       over([&](std::size_t e) { return all.chosen[e] * all.shares[e]; })},
  };
}

std::vector<Mistake<Numbers>> wrong_gradients(const Problem& p, const Given& given, int rank) {
  const Sums all = sums_of_all(p, given), own = sums_of(p, given, rank);
  const auto n = static_cast<double>(p.ranks());
  const auto slopes = [&](const auto& slope) {
    return for_each_token(p, rank, [&](std::size_t e) { return scale_of(p) * slope(e); });
  };
  const auto right = [&](std::size_t e) { return all.f(e) / all.tokens; };
  Numbers chosen_alone = slopes(right);
  for (std::size_t i = 0; i < chosen_alone.size(); ++i) {
    const std::size_t experts = at(p.experts);
    const auto choice = at(given.choices[static_cast<std::size_t>(rank)][i / experts]);
    if (choice != i % experts) chosen_alone[i] = 0;
  }
  const Numbers zeros(chosen_alone.size());
  return {
      {{"no_slope", "the gradient is 0, but a probability that grows makes the loss grow"}, zeros},
      {{"gradient_of_f",
        "P is in the gradient, as if f changed with the probabilities; f counts choices and is a "
        "constant here"},
       slopes([&](std::size_t e) { return all.mean(e) / all.tokens; })},
      {{"gradient_of_f",
        "P is in the gradient, as if f changed with the probabilities; f counts choices and is a "
        "constant here"},
       slopes([&](std::size_t e) { return (all.f(e) + all.mean(e)) / all.tokens; })},
      {{"gradient_of_p_squared", "this is the gradient of the sum of P·P"},
       slopes([&](std::size_t e) { return 2 * all.mean(e) / all.tokens; })},
      {{"gradient_of_own_f",
        "the gradient has this rank's own f; it needs that of all ranks, as the loss does"},
       slopes([&](std::size_t e) { return own.f(e) / all.tokens; })},
      {{"gradient_by_own_tokens",
        "the gradient is divided by the number of this rank's tokens; P is a mean over the tokens "
        "of "
        "all ranks"},
       slopes([&](std::size_t e) { return all.f(e) / own.tokens; })},
      {{"gradient_of_a_sum",
        "the gradient is not divided by the number of tokens; P is a mean, not a sum"},
       slopes([&](std::size_t e) { return all.f(e); })},
      {{"gradient_averaged", "the gradient was divided by the number of ranks once more"},
       slopes([&](std::size_t e) { return right(e) / n; })},
      {{"chosen_alone",
        "only the experts that a token chose get a gradient; P contains the probabilities of all "
        "experts"},
       chosen_alone},
  };
}

}  // namespace lockstep::grader::load_balancing_loss
