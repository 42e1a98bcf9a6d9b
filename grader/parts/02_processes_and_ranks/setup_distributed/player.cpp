// Plays setup_distributed: a rank on a machine that the judge makes up. Whatever the machine is
// asked for that others can see, the judge is asked for.
#include "grader/parts/02_processes_and_ranks/setup_distributed/case.hpp"

#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/comm/worlds/sim/sim_store.hpp"
#include "grader/play/ranks_missing.hpp"

namespace lockstep::grader {
namespace {

using launch::GroupOptions;
using Kind = SessionReport::Kind;

void ask_machine(sim::Port& port, const MachineCall& call) {
  try {
    tell(port, call);
  } catch (const Error& error) {
    throw CommError(error.what());
  }
}

class JudgesStore final : public launch::HostedStore {
 public:
  JudgesStore(sim::Port& port, comm::Endpoint at) : port_(port), at_(std::move(at)) {
    ask_machine(port_, {.kind = MachineCall::Kind::host, .host = at_.host, .port = at_.port});
  }
  ~JudgesStore() override {
    ask_machine(port_, {.kind = MachineCall::Kind::unhost, .host = at_.host, .port = at_.port});
  }
  JudgesStore(const JudgesStore&) = delete;
  JudgesStore& operator=(const JudgesStore&) = delete;

 private:
  sim::Port& port_;
  comm::Endpoint at_;
};

class JudgesMachine final : public launch::Machine {
 public:
  JudgesMachine(sim::PlayerCase& played, int gpus) : played_(played), gpus_(gpus) {}

  int gpus() override { return gpus_; }
  double now_s() override { return pass_time(played_.port, 0); }
  std::unique_ptr<launch::HostedStore> host_store(const comm::Endpoint& at) override {
    return std::make_unique<JudgesStore>(played_.port, at);
  }
  std::unique_ptr<comm::Store> connect_store(const comm::Endpoint& at, double timeout_s) override {
    ask_machine(played_.port, {.kind = MachineCall::Kind::connect,
                               .host = at.host,
                               .port = at.port,
                               .timeout_s = timeout_s});
    return comm::make_sim_store(played_.port);
  }
  std::unique_ptr<comm::ProcessGroup> make_group(comm::Store&,
                                                 const GroupOptions& options) override {
    ask_machine(played_.port, {.kind = MachineCall::Kind::group,
                               .backend = options.backend,
                               .rank = options.rank,
                               .size = options.size,
                               .device = options.device,
                               .timeout_s = options.timeout_s});
    return comm::make_sim_group(played_.port, played_.rank, played_.ranks);
  }

 private:
  sim::PlayerCase& played_;
  int gpus_;
};

SessionReport report_of(const launch::Session& session) {
  return {.kind = Kind::has_session,
          .rank = session.rank,
          .size = session.size,
          .device = session.device,
          .backend = session.backend,
          .has_store = session.store != nullptr,
          .has_group = session.group != nullptr};
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const auto steps = read_fields<std::vector<SetupStep>>(played.input);
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const SetupStep& step = steps[i];
    const auto tell = [&](SessionReport report) {
      report.step = i;
      grader::tell(played.port, report);
    };
    pass_time(played.port, step.after_s);
    if (!step.comes) continue;
    tell({.kind = Kind::calls});
    // A failure is reported when everything has been unwound.
    try {
      tell(outcome_of<SessionReport>([&]() -> SessionReport {
        JudgesMachine machine(played, step.gpus);
        const auto session = launch::setup_distributed(step.variables, machine, step.timeout_s);
        tell(report_of(session));
        pass_time(played.port, step.hold_s);
        return {.kind = Kind::closed};
      }));
    } catch (const NotImplemented&) {
      if (!step.in_part) throw;
      tell({.kind = Kind::not_written});
    }
  }
  return {};
}

}  // namespace lockstep::grader
