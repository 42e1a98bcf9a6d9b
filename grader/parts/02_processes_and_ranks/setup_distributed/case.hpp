// The case format of setup_distributed, shared by adapter and exam; what the adapter's machine asks
// the judge for, and what the adapter tells it.
#pragma once

#include "engine/launch/setup_distributed.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// One call of the part by one rank, and the end of the session it gave. A case is a list of them.
struct SetupStep {
  double after_s = 0;  // since the step before
  double timeout_s = 60;
  double hold_s = 1;  // how long a session lasts
  int gpus = 0;
  bool comes = true;     // false: this rank misses the step
  bool in_part = false;  // the part may be written in part; it is no stub for that
  launch::WorkerEnv variables;
};

// An action of a Machine that others can see. It is answered with nothing.
struct MachineCall {
  static constexpr const char* service = "machine";
  enum class Kind : std::uint8_t { host, unhost, connect, group };
  Kind kind = Kind::host;
  std::string host{};  // host, unhost, connect
  int port = 0;
  launch::Backend backend = launch::Backend::gloo;  // group
  int rank = 0, size = 0, device = 0;
  double timeout_s = 0;  // connect, group
};

struct SessionReport {
  static constexpr const char* service = "sessions";
  enum class Kind : std::uint8_t {
    calls,
    has_session,
    ranks_missing,
    usage_error,
    comm_error,
    other_error,
    not_written,  // of a part that may be written in part: it stopped where the next step begins
    closed,       // the session was destroyed
  };
  Kind kind = Kind::calls;
  std::uint32_t step = 0;
  int rank = 0, size = 0, device = 0;  // has_session
  launch::Backend backend = launch::Backend::gloo;
  bool has_store = false, has_group = false;
  std::vector<int> missing{};  // ranks_missing
  std::string what{};          // of an error
};

template <typename Archive>
void fields(Archive& archive, SetupStep& step) {
  archive(step.after_s, step.timeout_s, step.hold_s, step.gpus, step.comes, step.in_part,
          step.variables);
}
template <typename Archive>
void fields(Archive& archive, MachineCall& call) {
  archive(call.kind, call.host, call.port, call.backend, call.rank, call.size, call.device,
          call.timeout_s);
}
inline void check_fields(MachineCall& call) {
  if (call.kind > MachineCall::Kind::group || call.backend > launch::Backend::nccl) {
    throw MalformedMessage("no call of a machine");
  }
  if (!(call.timeout_s >= 0)) throw Error("a machine waits no negative number of seconds");
}
template <typename Archive>
void fields(Archive& archive, SessionReport& report) {
  archive(report.kind, report.step, report.rank, report.size, report.device, report.backend,
          report.has_store, report.has_group, report.missing, report.what);
}
inline void check_fields(SessionReport& report) {
  check_report(report, SessionReport::Kind::closed);
  if (report.backend > launch::Backend::nccl) throw MalformedMessage("no kind of report");
}

}  // namespace lockstep::grader
