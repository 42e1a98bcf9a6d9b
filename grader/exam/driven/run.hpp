// A driven case that was played, and where its passes lie in virtual time. A gradient takes time,
// and what a part does before it asks for the next event takes none, unless it waits: so the order
// of what a rank did is that of virtual time.
#pragma once

#include <string>
#include <vector>

#include "grader/exam/driven/script.hpp"

namespace lockstep::grader {

struct DrivenRun {
  const DrivenScript& script;
  const Members& members;
  std::uint64_t salt;
  const ScriptService& events;
  const std::vector<DrivenReport>& reports;  // by rank of the group

  int ranks() const { return members.size(); }
};

// A collective that each pass begins, in the order of a list, as soon as it and all before it have
// what they need.
struct AwaitedCollective {
  std::vector<std::size_t> needs;  // parameters
  std::int64_t bytes = 0;
};

// The event of this kind in a pass of a rank, and of this parameter where it has one; the first
// event of a pass.
//   Throws  MalformedMessage when the rank did not ask for it
const ScriptService::Note& note_of(const DrivenRun& run, int rank, std::size_t pass,
                                   DrivenEvent::Kind kind, std::size_t parameter = 0);
const ScriptService::Note& first_of_pass(const DrivenRun& run, int rank, std::size_t pass);

// When the event after that one was asked for: whatever was done with it is over then.
double next_asked_s(const DrivenRun& run, int rank, const ScriptService::Note& note);

// The collectives that rank 0 entered in a pass, in order.
std::vector<const sim::CollectiveRecord*> collectives_of_pass(const Played& played,
                                                              const DrivenRun& run,
                                                              std::size_t pass);

// " in pass 2", or nothing where there is but one.
std::string in_pass(const DrivenRun& run, std::size_t pass);

}  // namespace lockstep::grader
