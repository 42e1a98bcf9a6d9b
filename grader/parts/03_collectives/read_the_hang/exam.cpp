// The exam of read_the_hang: hangs of every kind, each drawn a few times, with other ranks, other
// numbers of collectives behind them, and other ranks in each role.
#include "grader/parts/03_collectives/read_the_hang/case.hpp"

#include <numeric>
#include <set>

#include "grader/exam/function_exam.hpp"
#include "grader/parts/03_collectives/read_the_hang/rules.hpp"

namespace lockstep::grader::read_the_hang {
namespace {

HangCase drawn(CaseRunner& runner, const HangMaker& maker) {
  const Draw draw = [&](int n) {
    return static_cast<int>(runner.draw() % static_cast<std::uint64_t>(n));
  };
  const HangCase hang = maker.make(draw);
  std::vector<int> numbers(hang.programs.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t i = numbers.size(); i > 1; --i) {
    std::swap(numbers[i - 1], numbers[static_cast<std::size_t>(draw(static_cast<int>(i)))]);
  }
  return renumbered(hang, numbers);
}

// What is right comes from the programs that made the hang, which the report no longer shows.
FunctionContract<comm::HangReport, comm::Diagnosis> contract_of(
    const std::vector<HangCase>& hangs) {
  return {.text_of = [](const comm::HangReport& report) { return comm::text_of(report); },
          .wrong = [&](std::span<const comm::HangReport> asked,
                       const comm::Diagnosis& seen) -> std::optional<Failure> {
            const comm::Diagnosis& right = hangs[asked.size() - 1].right;
            if (seen == right) return std::nullopt;
            return because(likely_cause(asked.back(), seen, right),
                           {.message = text(comm::text_of(seen), " where ", comm::text_of(right),
                                            " was expected"),
                            .expected = comm::text_of(right),
                            .seen = comm::text_of(seen)});
          }};
}

void ask(CaseRunner& runner, const HangMaker& maker) {
  std::vector<HangCase> hangs;
  std::vector<comm::HangReport> reports;
  for (int i = 0; i < 24; ++i) {
    hangs.push_back(drawn(runner, maker));
    reports.push_back(report_of(hangs.back()));
  }
  ask(runner, contract_of(hangs), maker.name, reports);
}

Check check(std::string name, std::vector<std::size_t> which) {
  return {std::move(name), [which](CaseRunner& runner) {
            const auto makers = hang_makers();
            for (const std::size_t i : which) ask(runner, makers.at(i));
          }};
}

}  // namespace

Exam exam() {
  return {
      check("a rank that still computes is reported as slow, not as a hang", {11, 12, 13}),
      check("all ranks of a message cycle are named, and no rank that waits behind it", {0, 1, 2}),
      check("a rank that returned early is named, not the ranks that wait for it", {8, 9, 10, 18}),
      check("if ranks call one collective differently, the few that differ are named",
            {4, 5, 6, 7}),
      check("a rank that waits elsewhere, in a message or in another group, is named",
            {3, 14, 19, 20}),
      check("if several kinds apply, the first kind in the list is reported", {15, 16, 17}),
  };
}

}  // namespace lockstep::grader::read_the_hang
