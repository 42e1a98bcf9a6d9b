// The case format of setup_distributed, shared by adapter and exam; what the adapter's machine asks
// the judge for, and what the adapter tells it.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/launch/setup_distributed.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// One call of the part by one rank, and the end of the session it gave.
struct SetupStep {
  double after_s = 0;  // since the step before
  double timeout_s = 60;
  double hold_s = 1;  // how long a session lasts
  int gpus = 0;
  std::uint8_t comes = 1;    // 0: this rank misses the step
  std::uint8_t in_part = 0;  // 1: the part may be written in part; it is no stub for that
  launch::WorkerEnv variables;
};

inline Bytes encode(const std::vector<SetupStep>& steps) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(steps.size()));
  for (const SetupStep& step : steps) {
    out.put(step.after_s).put(step.timeout_s).put(step.hold_s).put(step.gpus).put(step.comes);
    out.put(step.in_part);
    out.put(static_cast<std::uint32_t>(step.variables.size()));
    for (const auto& [name, value] : step.variables) out.put_text(name).put_text(value);
  }
  return out.take();
}

inline std::vector<SetupStep> decode_setup_steps(ByteReader& in) {
  std::vector<SetupStep> steps(in.get<std::uint32_t>());
  for (SetupStep& step : steps) {
    step.after_s = in.get<double>();
    step.timeout_s = in.get<double>();
    step.hold_s = in.get<double>();
    step.gpus = in.get<int>();
    step.comes = in.get<std::uint8_t>();
    step.in_part = in.get<std::uint8_t>();
    const auto count = in.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string name = in.get_text();
      step.variables[name] = in.get_text();
    }
  }
  return steps;
}

// The service "machine": what a Machine does that others can see. Answers nothing.
inline constexpr const char* machine_service = "machine";
struct MachineCall {
  enum class Kind : std::uint8_t { host, unhost, connect, group };
  Kind kind = Kind::host;
  std::string host{};  // host, unhost, connect
  int port = 0;
  launch::Backend backend = launch::Backend::gloo;  // group
  int rank = 0, size = 0, device = 0;
  double timeout_s = 0;  // connect, group
};

inline Bytes encode(const MachineCall& call) {
  ByteWriter out;
  out.put_text(call.host).put(call.timeout_s).put(call.port);
  out.put(call.rank).put(call.size).put(call.device).put(call.backend).put(call.kind);
  return out.take();
}

inline MachineCall decode_machine_call(ByteReader& in) {
  MachineCall call;
  call.host = in.get_text();
  call.timeout_s = in.get<double>();
  call.port = in.get<int>();
  call.rank = in.get<int>();
  call.size = in.get<int>();
  call.device = in.get<int>();
  call.backend = in.get<launch::Backend>();
  call.kind = in.get<MachineCall::Kind>();
  if (call.kind > MachineCall::Kind::group || call.backend > launch::Backend::nccl) {
    throw MalformedMessage("no call of a machine");
  }
  if (!(call.timeout_s >= 0)) throw Error("a machine waits no negative number of seconds");
  return call;
}

// The service "sessions": told what a rank does. Answers nothing.
inline constexpr const char* sessions_service = "sessions";
struct SessionReport {
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
  std::uint8_t has_store = 0, has_group = 0;
  std::vector<int> missing{};  // ranks_missing
  std::string what{};          // of an error
};

inline Bytes encode(const SessionReport& report) {
  ByteWriter out;
  out.put_text(report.what).put_list(std::span<const int>(report.missing)).put(report.step);
  out.put(report.rank).put(report.size).put(report.device).put(report.backend);
  out.put(report.has_store).put(report.has_group).put(report.kind);
  return out.take();
}

inline SessionReport decode_session_report(ByteReader& in) {
  SessionReport report;
  report.what = in.get_text();
  report.missing = in.get_list<int>();
  report.step = in.get<std::uint32_t>();
  report.rank = in.get<int>();
  report.size = in.get<int>();
  report.device = in.get<int>();
  report.backend = in.get<launch::Backend>();
  report.has_store = in.get<std::uint8_t>();
  report.has_group = in.get<std::uint8_t>();
  report.kind = in.get<SessionReport::Kind>();
  if (report.kind > SessionReport::Kind::closed || report.backend > launch::Backend::nccl)
    throw MalformedMessage("no kind of report");
  return report;
}

}  // namespace lockstep::grader
