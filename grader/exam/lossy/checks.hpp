// The checks that every part is asked which reduces gradients in fewer bytes: the battery of its
// kind (judge/situation.hpp). An exam says what its problems are and what is right, and adds the
// checks of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "grader/exam/lossy/exam.hpp"

namespace lockstep::grader {

// A lossy part, as the checks that every part of the kind is asked see it. The settings of a
// problem go with its count.
template <typename Settings>
struct LossyPart {
  using Problem = LossyProblem<Settings>;
  using Contract = LossyContract<Settings>;
  std::string any_ranks, any_size, types, wire_sentence, starts;  // sentences of the checks
  std::function<Problem(CaseRunner&, int ranks, std::int64_t count)> usual;
  Contract contract{};                                     // of usual numbers
  std::function<Wire(const Problem&)> wire;                // of one call
  std::vector<std::int64_t> counts{0, 1, 3, 4, 5, 5'003};  // of 4 ranks
  std::vector<DType> dtypes{DType::float32, DType::float64};
  std::vector<DType> all_digits{};           // those whose results are right to their last digits
  std::vector<DType> least{DType::float32};  // those whose least numbers are more than noise
  // Settings at their ends, with few elements and many.
  std::function<std::vector<Problem>(CaseRunner&)> extremes{};
  // Settings that are refused, unless the stub has the lines that do so.
  std::string refusals{};  // sentence of the check
  std::function<void(std::vector<Settings>&)> nonsense{};
};

// Every other rank brings zeros of both signs to the first call, and all ranks to the second.
template <typename Settings>
LossyContract<Settings> with_zeros(LossyContract<Settings> contract) {
  contract.gradient = [usual = contract.gradient](const LossyProblem<Settings>& p,
                                                  std::uint64_t salt, int rank, std::size_t call) {
    Numbers values = usual(p, salt, rank, call);
    if (call == 0 && rank % 2 == 1) return values;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? -0.0 : 0.0;
    return values;
  };
  return contract;
}

// Numbers of some units in the last place of the least float32.
template <typename Settings>
LossyContract<Settings> with_least_numbers(LossyContract<Settings> contract) {
  contract.gradient = [](const LossyProblem<Settings>& p, std::uint64_t salt, int rank,
                         std::size_t call) {
    Numbers values = drawn_integers(p.count, salt, rank, call);
    for (double& value : values) value *= p.dtype == DType::float32 ? 0x1p-142 : 0x1p-1067;
    return values;
  };
  if (contract.state) {
    contract.state = [](const LossyProblem<Settings>& p, std::uint64_t, int, std::size_t) {
      return Numbers(static_cast<std::size_t>(p.count));
    };
  }
  return contract;
}

template <typename Settings>
class LossyChecks {
 public:
  using Problem = LossyProblem<Settings>;
  using Family = LossyFamily<Settings>;

  explicit LossyChecks(LossyPart<Settings> part)
      : part_(std::move(part)), usual_(Family::ranks_contract(part_.contract)) {}

  void any_ranks(CaseRunner& runner) const {
    for (const int n : {2, 3, 1, 4, 5, 6, 7, 8, 13}) {
      judge(runner, usual_, part_.usual(runner, n, 53), {}, {Situation::rank_counts});
    }
    const auto zeros = Family::ranks_contract(with_zeros(part_.contract));
    for (const int n : {3, 1}) {
      judge(runner, zeros, part_.usual(runner, n, 24), {}, {Situation::zeros});
    }
  }

  void any_size(CaseRunner& runner) const {
    for (const std::int64_t count : part_.counts) {
      judge(runner, usual_, part_.usual(runner, 4, count), {}, {Situation::element_counts});
    }
    Problem large = part_.usual(runner, 2, (1 << 16) + 3);
    large.calls = 1;
    judge(runner, usual_, large);
  }

  void in_flight(CaseRunner& runner) const {
    for (const int n : {2, 3}) {
      Problem p = part_.usual(runner, n, 23);
      p.calls = 4;
      p.buckets = p.in_flight = 2;
      if constexpr (requires { p.settings.buckets; }) p.settings.buckets = 2;
      judge(runner, usual_, p);
    }
  }

  void types(CaseRunner& runner) const {
    for (const DType dtype : part_.dtypes) {
      Problem p = part_.usual(runner, 8, 37);
      p.members.ranks = {6, 1, 4};
      p.dtype = dtype;
      Situations asked{Situation::every_dtype};
      if (dtype == DType::float64 && !part_.all_digits.empty()) {
        asked.insert(Situation::double_digits);
      }
      judge(runner, usual_, p, {}, asked);
    }
    for (const DType dtype : part_.least) {
      Problem p = part_.usual(runner, 3, 37);
      p.dtype = dtype;
      judge(runner, Family::ranks_contract(with_least_numbers(part_.contract)), p);
    }
  }

  void refusals(CaseRunner& runner) const {
    std::vector<Settings> all;
    part_.nonsense(all);
    for (const Settings& settings : all) {
      for (const std::int64_t count : {5, 0}) {
        Problem p = part_.usual(runner, 2, count);
        p.settings = settings;
        p.calls = 1;
        p.nonsense = true;
        judge(runner, usual_, p);
      }
    }
  }

  void lost_peers(CaseRunner& runner) const {
    std::vector<std::pair<Problem, int>> dead;
    for (const auto& [n, dies] : {std::pair{3, 1}, {2, 0}, {4, 3}}) {
      dead.emplace_back(part_.usual(runner, n, 24), dies).first.calls = 1;
    }
    judge_lost_peers(runner, usual_, dead, 24);
  }

  void wire(CaseRunner& runner) const {
    const auto priced =
        with([part = part_](CaseRunner& running, const Played& played, const Problem& p,
                            const LossySeen& seen, const LossyNotes&) {
          check_wire(running, played, seen, part.wire(p));
        });
    for (const int n : {2, 3, 8, 13}) {
      Situations asked;
      if (n == 13) asked = {Situation::cost_at_13_ranks};
      judge(runner, priced, part_.usual(runner, n, 1'000), {}, asked);
    }
    for (const Problem& p : part_.extremes(runner)) {
      judge(runner, priced, p, {}, {Situation::price_at_the_extremes});
    }
  }

  void starts(CaseRunner& runner) const {
    const auto started =
        with([](CaseRunner& running, const Played& played, const Problem&, const LossySeen& seen,
                const LossyNotes& notes) { check_in_flight(running, played, seen, notes); });
    for (const int n : {2, 3, 8}) {
      Problem p = part_.usual(runner, n, 500);
      p.calls = std::max(p.calls, 3);  // behind the last call nothing comes that a part would need
      judge(runner, started, p);
    }
  }

 private:
  // The values are compared as ever, and then something else is looked at.
  template <typename Look>
  auto with(Look look) const {
    LossyContract<Settings> both = part_.contract;
    both.compare = [compare = both.compare, look](CaseRunner& runner, const Played& played,
                                                  const Problem& p, const LossySeen& seen,
                                                  const LossyNotes& notes) {
      compare(runner, played, p, seen, notes);
      look(runner, played, p, seen, notes);
    };
    return Family::ranks_contract(both);
  }

  LossyPart<Settings> part_;
  typename Family::Contract usual_;
};

// The checks of every part, with those of one part between them, and before them those that know
// each result exactly, so that they name its cause.
template <typename Settings>
Exam lossy_exam(const LossyPart<Settings>& part, const std::vector<Check>& particular,
                Exam exam = {}) {
  const LossyChecks<Settings> checks(part);
  const auto run = [&](void (LossyChecks<Settings>::*check)(CaseRunner&) const) {
    return [checks, check](CaseRunner& runner) { (checks.*check)(runner); };
  };
  using All = LossyChecks<Settings>;
  exam.push_back({part.any_ranks, run(&All::any_ranks)});
  exam.push_back({part.any_size, run(&All::any_size)});
  exam.insert(exam.end(), particular.begin(), particular.end());
  exam.push_back(
      {"two calls are in flight at once, and each is about its own tensor", run(&All::in_flight)});
  exam.push_back({part.types, run(&All::types)});
  if (part.nonsense) exam.push_back({part.refusals, run(&All::refusals)});
  exam.push_back(
      {"when a peer is lost, a rank throws CommError", run(&All::lost_peers), {}, Asks::faults});
  exam.push_back({part.wire_sentence, run(&All::wire), {}, Asks::cost});
  exam.push_back({part.starts, run(&All::starts), {}, Asks::cost});
  return exam;
}

}  // namespace lockstep::grader
