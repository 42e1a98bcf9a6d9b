// The memory of members that hold pieces of a whole: who holds the whole all the same has not
// sharded anything. The judge reads how much each process holds whenever a call of its part is over
// (play/sharded_play.hpp), and how much it held at most within the call. What a player says of its
// tensors is finer, and can only speak against it (decision 0055).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/exam/ranks/members.hpp"
#include "grader/exam/ranks/reported_service.hpp"
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
  // Which memory of the processes is measured, which takes a while: what is left after each call,
  // the most within it, or both.
  enum class Measures : std::uint8_t { nothing, left, most, both };

  //   calls  of the part; each member tells of each, and of the making
  MomentService(CaseRunner& runner, Members members, std::size_t calls, Measures measures);

  //   Throws  MalformedMessage when a member did not tell of every call
  const MemberMemory& of(int rank) const;

 private:
  std::optional<Answer> answer(const sim::Actor& who, Moment moment, double now) override;

  Members members_;
  std::size_t calls_;
  ReadMemory read_, take_peak_;
  std::vector<MemberMemory> seen_;
  std::vector<std::size_t> told_;
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
