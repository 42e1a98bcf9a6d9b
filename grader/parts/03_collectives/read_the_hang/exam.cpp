// The exam of read_the_hang: hangs of every kind, each drawn a few times, with other ranks, other
// numbers of collectives behind them, and other ranks in each role.
#include "grader/parts/03_collectives/read_the_hang/case.hpp"

#include <numeric>
#include <set>

#include "grader/judge/bench.hpp"
#include "grader/parts/03_collectives/read_the_hang/rules.hpp"

namespace lockstep::grader::read_the_hang {
namespace {

HangCase drawn(Bench& bench, const HangMaker& maker) {
  const Draw draw = [&](int n) {
    return static_cast<int>(bench.draw() % static_cast<std::uint64_t>(n));
  };
  const HangCase hang = maker.make(draw);
  std::vector<int> numbers(hang.programs.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t i = numbers.size(); i > 1; --i) {
    std::swap(numbers[i - 1], numbers[static_cast<std::size_t>(draw(static_cast<int>(i)))]);
  }
  return renumbered(hang, numbers);
}

void ask(Bench& bench, const HangMaker& maker) {
  std::vector<HangCase> hangs;
  for (int i = 0; i < 24; ++i) hangs.push_back(drawn(bench, maker));
  ByteWriter questions;
  questions.put(static_cast<std::uint32_t>(hangs.size()));
  for (const HangCase& hang : hangs) put(questions, report_of(hang));
  const auto played = bench.ask(maker.name, questions.take());
  if (!played) return;
  ByteReader& answers = played->results->of(0);
  for (const HangCase& hang : hangs) {
    comm::Diagnosis seen;
    seen.kind = answers.get<comm::HangKind>();
    seen.culprits = answers.get_list<int>();
    seen.number = answers.get<std::int64_t>();
    if (seen.kind > comm::HangKind::slow) throw MalformedMessage("a diagnosis of no kind");
    if (seen == hang.right) continue;
    const comm::HangReport report = report_of(hang);
    const HangGuess guess = likely_cause(report, seen, hang.right);
    Failure failure;
    failure.cause = guess.cause;
    failure.expected = comm::text_of(hang.right);
    failure.seen = comm::text_of(seen);
    failure.where = comm::text_of(report);
    failure.message = text(failure.seen, " where ", failure.expected,
                           " was expected; likely cause: ", guess.sentence);
    bench.fail(*played, std::move(failure));
  }
}

Check check(std::string name, std::vector<std::size_t> which) {
  return {std::move(name), [which](Bench& bench) {
            const auto makers = hang_makers();
            for (const std::size_t i : which) ask(bench, makers.at(i));
          }};
}

}  // namespace

Exam exam() {
  return {
      check("a rank that still computes is reported as slow, not as a hang", {11, 12, 13}),
      check("all ranks of a message cycle are named, and no rank that waits behind it", {0, 1, 2}),
      check("a rank that returned early is named, not the ranks that wait for it", {8, 9, 10}),
      check("if ranks call one collective differently, the few that differ are named",
            {4, 5, 6, 7}),
      check("a rank that waits elsewhere, in a message or in another group, is named", {3, 14}),
      check("if several kinds apply, the first kind in the list is reported", {15, 16, 17}),
  };
}

}  // namespace lockstep::grader::read_the_hang
