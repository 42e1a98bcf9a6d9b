#include "grader/exam/ranks/member_memory.hpp"

#include <algorithm>

#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

// Memory that is nobody's tensors: the program and its stacks, what the line to the judge has in
// hand. A right part is at a third of it.
constexpr std::int64_t program_bytes = std::int64_t{2} << 20;

// Fails with "rank 2 holds tensors of 48,384 bytes where …". `when`: " within a call", or nothing.
void check_held(CaseRunner& runner, const Played& played, int rank, std::int64_t told_bytes,
                std::optional<std::int64_t> process_bytes, const EnoughMemory& enough,
                const char* when) {
  const auto too_much = [&](const std::string& holds, std::int64_t bytes, std::int64_t most) {
    Failure failure{.message = text("the results are right, but", when, " rank ", rank, holds, " ",
                                    grouped(bytes), " bytes where ", grouped(most),
                                    " are enough for ", enough.of_what),
                    .expected = text("at most ", grouped(most), " bytes"),
                    .seen = text(grouped(bytes), " bytes"),
                    .where = text("rank ", rank)};
    failure.verdict = Verdict::efficiency;
    runner.fail(played, because(enough.cause, failure));
  };
  if (told_bytes > enough.tensor_bytes) {
    too_much(" holds tensors of", told_bytes, enough.tensor_bytes);
  }
  const std::int64_t most = enough.tensor_bytes + enough.adapter_bytes + program_bytes;
  if (process_bytes.value_or(0) > most) {
    too_much("'s process, its program and inputs included, holds", *process_bytes, most);
  }
}

}  // namespace

MomentService::MomentService(CaseRunner& runner, Members members, std::size_t calls,
                             Measures measures)
    : members_(std::move(members)),
      calls_(calls),
      seen_(members_.ranks.size()),
      told_(members_.ranks.size()) {
  const bool both = measures == Measures::both;
  if (both || measures == Measures::left) {
    read_ = [&runner](int rank) { return runner.memory_bytes(rank); };
  }
  if (both || measures == Measures::most) {
    take_peak_ = [&runner](int rank) { return runner.take_peak_bytes(rank); };
  }
}

const MemberMemory& MomentService::of(int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  if (told_[at] != calls_ + 1) throw MalformedMessage("a member did not tell of all its calls");
  return seen_[at];
}

std::optional<sim::Service::Answer> MomentService::answer(const sim::Actor& who, Moment moment,
                                                          double now) {
  const auto rank = static_cast<std::size_t>(members_.group_rank(who.rank));
  if (rank >= told_.size()) throw Error(text("rank ", who.rank, " is no member"));
  if (moment.step != told_[rank] || moment.step > calls_) throw Error("calls come in their order");
  if (moment.held_bytes < 0 || moment.peak_bytes < moment.held_bytes) {
    throw Error("tensors of less than no bytes, or a peak below what is left");
  }
  ++told_[rank];
  MemberMemory& seen = seen_[rank];
  seen.told_s.push_back(now);
  seen.told_bytes = std::max(seen.told_bytes, moment.held_bytes);
  if (const auto bytes = read_ ? read_(who.rank) : std::nullopt) {
    seen.process_bytes = std::max(seen.process_bytes.value_or(0), *bytes);
  }
  const auto peak_bytes = take_peak_ ? take_peak_(who.rank) : std::nullopt;
  if (moment.step == 0) return Answer{{}, now};  // the making has no bound within it
  seen.told_peak_bytes = std::max(seen.told_peak_bytes, moment.peak_bytes);
  if (peak_bytes) {
    seen.process_peak_bytes = std::max(seen.process_peak_bytes.value_or(0), *peak_bytes);
  }
  return Answer{{}, now};
}

void check_member_memory(CaseRunner& runner, const Played& played, int rank,
                         const MemberMemory& seen, const EnoughMemory& enough) {
  check_held(runner, played, rank, seen.told_bytes, seen.process_bytes, enough, "");
}

void check_member_peak(CaseRunner& runner, const Played& played, int rank, const MemberMemory& seen,
                       const EnoughMemory& enough) {
  check_held(runner, played, rank, seen.told_peak_bytes, seen.process_peak_bytes, enough,
             " within a call");
}

}  // namespace lockstep::grader
