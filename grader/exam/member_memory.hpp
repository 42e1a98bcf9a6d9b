// The memory of members that hold pieces of a whole: who holds the whole all the same has not
// sharded anything. The judge reads how much each process holds whenever a call of its part is over
// (play/sharded_play.hpp), and how much it held at most within the call. What a player says of its
// tensors is finer, and can only speak against it (decision 0055).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/exam/members.hpp"
#include "grader/exam/reported_service.hpp"
#include "grader/play/sharded_play.hpp"

namespace lockstep::grader {

// The most that a member held at the moments of a case, and within its calls.
struct MemberMemory {
  std::int64_t told_bytes = 0;                  // of the part's tensors, says the player
  std::optional<std::int64_t> process_bytes{};  // measured; nothing where the system does not tell
  std::vector<double> told_s{};  // of each moment, when it told of it: in virtual time
  std::int64_t told_peak_bytes = 0;
  std::optional<std::int64_t> process_peak_bytes{};
};

class MomentService final : public TypedService<Moment> {
 public:
  using ReadMemory = std::function<std::optional<std::int64_t>(int world_rank)>;

  //   steps      calls of the part; each member tells of each, and of the making
  //   read       none in cases that are not about memory: to measure a process takes a while
  //   take_peak  the most since the last time; where only what is left after a call counts, none
  MomentService(Members members, std::uint32_t steps, ReadMemory read, ReadMemory take_peak = {})
      : members_(std::move(members)),
        steps_(steps),
        read_(std::move(read)),
        take_peak_(std::move(take_peak)),
        seen_(members_.ranks.size()),
        told_(members_.ranks.size()) {}

  //   Throws  MalformedMessage when a member did not tell of every call
  const MemberMemory& of(int rank) const;

 private:
  std::optional<Answer> answer(const sim::Actor& who, Moment moment, double now) override;

  Members members_;
  std::uint32_t steps_;
  ReadMemory read_, take_peak_;
  std::vector<MemberMemory> seen_;
  std::vector<std::uint32_t> told_;
};

// The memory that is enough for a member.
struct EnoughMemory {
  std::int64_t tensor_bytes = 0;   // of the part's tensors
  std::int64_t adapter_bytes = 0;  // of what the adapter holds beside them; not the program
  std::string of_what;             // "the state of its own range", as a sentence goes on
  Cause cause;                     // of more
};
void check_member_memory(CaseRunner& runner, const Played& played, int rank,
                         const MemberMemory& seen, const EnoughMemory& enough);
// The same of what it held at most within a call.
void check_member_peak(CaseRunner& runner, const Played& played, int rank, const MemberMemory& seen,
                       const EnoughMemory& enough);

}  // namespace lockstep::grader
