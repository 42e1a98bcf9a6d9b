#include "grader/exam/member_memory.hpp"

#include <algorithm>

#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

// Memory that is nobody's tensors: the program and its stacks, what the line to the judge has in
// hand. A right part is at a third of it.
constexpr std::int64_t program_bytes = std::int64_t{2} << 20;

}  // namespace

const MemberMemory& MomentService::of(int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  if (told_[at] != steps_ + 1) throw MalformedMessage("a member did not tell of all its calls");
  return seen_[at];
}

std::optional<sim::Service::Answer> MomentService::answer(const sim::Actor& who, Moment moment,
                                                          double now) {
  const auto rank = static_cast<std::size_t>(members_.group_rank(who.rank));
  if (rank >= told_.size()) throw Error(text("rank ", who.rank, " is no member"));
  if (moment.step != told_[rank] || moment.step > steps_) throw Error("calls come in their order");
  if (moment.held_bytes < 0) throw Error("tensors of less than no bytes");
  ++told_[rank];
  MemberMemory& seen = seen_[rank];
  seen.told_s.push_back(now);
  seen.told_bytes = std::max(seen.told_bytes, moment.held_bytes);
  if (const auto bytes = read_ ? read_(who.rank) : std::nullopt) {
    seen.process_bytes = std::max(seen.process_bytes.value_or(0), *bytes);
  }
  return Answer{{}, now};
}

void check_member_memory(CaseRunner& runner, const Played& played, int rank,
                         const MemberMemory& seen, const EnoughMemory& enough) {
  const auto too_much = [&](const std::string& holds, std::int64_t bytes, std::int64_t most) {
    Failure failure{
        .message = text("the results are right, but rank ", rank, holds, " ", grouped(bytes),
                        " bytes where ", grouped(most), " are enough for ", enough.of_what),
        .expected = text("at most ", grouped(most), " bytes"),
        .seen = text(grouped(bytes), " bytes"),
        .where = text("rank ", rank)};
    failure.verdict = Verdict::efficiency;
    runner.fail(played, because(enough.cause, failure));
  };
  if (seen.told_bytes > enough.tensor_bytes) {
    too_much(" holds tensors of", seen.told_bytes, enough.tensor_bytes);
  }
  const std::int64_t most = enough.tensor_bytes + enough.adapter_bytes + program_bytes;
  if (seen.process_bytes.value_or(0) > most) {
    too_much("'s process, its program and inputs included, holds", *seen.process_bytes, most);
  }
}

}  // namespace lockstep::grader
