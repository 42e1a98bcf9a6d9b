#include "grader/judge/wrong_terms.hpp"

#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

using List = std::vector<double>;

// Four micro-batches of unequal weights, and what the step before left.
struct MadeSum {
  std::vector<Term> terms;
  List right = List(12);

  MadeSum() {
    for (std::uint64_t m = 0; m < 5; ++m) {
      Term term{m < 4 ? "micro-batch " + std::to_string(m) : "the step before", 0, {}};
      for (std::uint64_t e = 0; e < right.size(); ++e) {
        term.values.push_back(2 * random_uniform(7 + m, e) - 1);
      }
      terms.push_back(std::move(term));
    }
    for (std::size_t m = 0; m < 4; ++m) terms[m].weight = 0.1 * static_cast<double>(m + 1);
    right = made_of({0.1, 0.2, 0.3, 0.4, 0});
  }
  List made_of(const List& weights) const {
    List sum(right.size());
    for (std::size_t k = 0; k < weights.size(); ++k) {
      for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += weights[k] * terms[k].values[e];
    }
    return sum;
  }
  std::string told(const List& seen) const {
    const auto cause = cause_of_terms(seen, right, terms);
    return cause ? cause->sentence : "";
  }
  std::string of(const List& weights) const { return told(made_of(weights)); }
};

}  // namespace

TEST_CASE("wrong terms: one that is missing, subtracted or counts twice is named") {
  const MadeSum sum;
  CHECK(sum.of({0.1, 0.2, 0, 0.4, 0}) == "micro-batch 2 is missing");
  CHECK(sum.of({0.1, 0.4, 0.3, 0.4, 0}) == "micro-batch 1 counts twice");
  CHECK(sum.of({0.1, 0.2, 0.3, -0.4, 0}) == "micro-batch 3 is subtracted");
  CHECK(sum.of({0.1, 0.2, 0.3, 0.25, 0}) ==
        "micro-batch 3 counts 0.625 times as much as it should");
  CHECK(sum.of({0, 0.2, 0, 0.4, 0}) == "micro-batch 0 and micro-batch 2 are missing");
}

TEST_CASE("wrong terms: what does not belong to the sum is named") {
  const MadeSum sum;
  CHECK(sum.of({0.1, 0.2, 0.3, 0.4, 1}) == "the step before is in it and does not belong there");
}

TEST_CASE("wrong terms: weights that are all alike, or those of others, are told as such") {
  const MadeSum sum;
  CHECK(sum.of({0.25, 0.25, 0.25, 0.25, 0}) ==
        "each of its 4 terms counts 0.25 times, and their weights differ: micro-batch 0 has 0.1");
  CHECK(sum.of({0, 0, 0.3, 0, 0}) == "of all its terms, only micro-batch 2 is in it");
  CHECK(sum.of({0.4, 0.1, 0.2, 0.3, 0}) ==
        "micro-batch 0 has the weight of micro-batch 3, micro-batch 1 has the weight of "
        "micro-batch 0, micro-batch 2 has the weight of micro-batch 1, micro-batch 3 has the "
        "weight of micro-batch 2");
}

TEST_CASE("wrong terms: nothing is told where terms do not give the whole, or chance would") {
  MadeSum sum;
  CHECK(sum.told(sum.right).empty());
  List other = sum.made_of({0, 0.2, 0.3, 0.4, 0});
  other[5] += 0.01;
  CHECK(sum.told(other).empty());
  List few(sum.right.begin(), sum.right.begin() + 5);
  for (Term& term : sum.terms) term.values.resize(5);
  sum.right = few;
  few[0] += 1;
  CHECK(sum.told(few).empty());
}
