// The time that a part's computing takes, in a case in which it matters what travels meanwhile.
#pragma once

#include "grader/play/ask.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {

// Lets virtual time pass for what the rank has computed since its last request, a nanosecond for
// each floating-point operation: what is started before a product travels while it runs.
class ComputingPort final : public sim::Port {
 public:
  static constexpr double seconds_per_flop = 1e-9;

  explicit ComputingPort(sim::Port& port) : port_(port) {}
  void computes_on(const Device* device) {
    device_ = device;
    told_ = device == nullptr ? 0 : device->flops();
  }

  using Port::call;
  sim::Reply call(const sim::Request& request) override {
    tell_of_computing();
    return port_.call(request);
  }
  void tell_of_computing() {
    if (device_ == nullptr || device_->flops() <= told_) return;
    const double seconds = (device_->flops() - told_) * seconds_per_flop;
    told_ = device_->flops();
    pass_time(port_, seconds);
  }

 private:
  sim::Port& port_;
  const Device* device_ = nullptr;
  double told_ = 0;
};

// As play_in_group, for a part that is given the port, and takes time where it computes.
template <typename Case>
Bytes play_computing(sim::PlayerCase& played, const auto& part) {
  ComputingPort computing(played.port);
  sim::PlayerCase timed{computing, played.strands, played.rank, played.ranks, played.input};
  const auto run = [&](comm::ProcessGroup& group, const Case& c, Device& device, sim::Port& port) {
    struct Until {  // the device ends before the port does
      ~Until() { port.computes_on(nullptr); }
      ComputingPort& port;
    } const over{computing};
    computing.computes_on(&device);
    auto report = part(group, c, device, port);
    computing.tell_of_computing();
    return report;
  };
  Bytes report = play_in_group<Case>(timed, run);
  played.gave_up = std::move(timed.gave_up);
  return report;
}

}  // namespace lockstep::grader
