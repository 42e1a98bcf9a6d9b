// The exam of read_the_hang: hangs of every kind, each drawn a few times, with other ranks, other
// numbers of collectives behind them, and other ranks in each role.
#include "grader/parts/03_collectives/read_the_hang/case.hpp"

#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "grader/exam/function/exam.hpp"
#include "grader/parts/03_collectives/read_the_hang/rules.hpp"

namespace lockstep::grader::read_the_hang {
namespace {

// The same hang with other counts where its counts differ, so that neighbours in this list stand
// beside each other: they differ by one, in the upper half of 64 bits alone, or in the last of many
// bits. A barrier keeps its 0.
HangCase recounted(HangCase hang, std::size_t from) {
  constexpr std::int64_t wide = std::int64_t{1} << 32;
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t counts[] = {1, 7, 5, 5 + wide, 70'000, 70'001, largest, largest - 1};
  std::map<std::int64_t, std::int64_t> others{{0, 0}};
  for (auto& program : hang.programs) {
    for (comm::CallRecord& call : program.calls) {
      const std::size_t next = from + others.size() - 1;
      call.count = others.emplace(call.count, counts[next % std::size(counts)]).first->second;
    }
  }
  return hang;
}

// A hang of a kind. A maker draws its number of ranks first, to which `more` are added.
HangCase drawn(CaseRunner& runner, const HangMaker& maker, int more) {
  int added = more;
  const Draw draw = [&](int n) {
    const auto drawn = static_cast<int>(runner.draw() % static_cast<std::uint64_t>(n));
    return drawn + std::exchange(added, 0);
  };
  const HangCase hang = recounted(maker.make(draw), runner.draw() % 8);
  std::vector<int> numbers(hang.programs.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t i = numbers.size(); i > 1; --i) {
    std::swap(numbers[i - 1], numbers[static_cast<std::size_t>(draw(static_cast<int>(i)))]);
  }
  return renumbered(hang, numbers);
}

// By report, as bytes. The right answer comes from the programs that made the hang, which the
// report no longer shows.
using Rights = std::map<Bytes, comm::Diagnosis>;

FunctionContract<comm::HangReport, comm::Diagnosis> contract_of(const Rights& rights) {
  return {.text_of = [](const comm::HangReport& report) { return comm::text_of(report); },
          .wrong = [&](std::span<const comm::HangReport> asked,
                       const comm::Diagnosis& seen) -> std::optional<Failure> {
            const comm::Diagnosis& right = rights.at(fields_to_bytes(asked.back()));
            if (seen == right) return std::nullopt;
            return because(likely_cause(asked.back(), seen, right),
                           {.message = text(comm::text_of(seen), " where ", comm::text_of(right),
                                            " was expected"),
                            .expected = comm::text_of(right),
                            .seen = comm::text_of(seen)});
          },
          .sizes =
              [](const comm::HangReport& report) {
                Sizes sizes{std::ssize(report.ranks)};
                for (const auto& rank : report.ranks) sizes.counts.push_back(rank.last.count);
                return sizes;
              }};
}

void ask(CaseRunner& runner, const HangMaker& maker) {
  Rights rights;
  std::vector<comm::HangReport> reports;
  std::vector<int> more(24);
  more.insert(more.end(), {8, 57});  // a right answer may take the cube of the ranks
  for (const int ranks : more) {
    const HangCase hang = drawn(runner, maker, ranks);
    reports.push_back(report_of(hang));
    rights[fields_to_bytes(reports.back())] = hang.right;
  }
  ask(runner, contract_of(rights), maker.name, reports);
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
            {3, 14, 19, 20, 21}),
      check("if several kinds apply, the first kind in the list is reported", {15, 16, 17}),
  };
}

}  // namespace lockstep::grader::read_the_hang
