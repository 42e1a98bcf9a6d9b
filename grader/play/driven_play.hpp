// Plays a part that reacts to the events of backward passes, a driven one. Which gradient is made
// when, the judge says: the adapter asks for one event after the other, each is answered as late as
// backward takes to come there, and what the part starts or waits for in between the judge sees.
#pragma once

#include "grader/play/ask.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/gradients.hpp"

namespace lockstep::grader {

// Answered with the rank's next event.
struct EventCall {
  static constexpr const char* service = "backward";
};
template <typename Archive>
void fields(Archive&, EventCall&) {}

struct DrivenEvent {
  enum class Kind : std::uint8_t {
    take,            // the parameter's grad is taken away, as by zero_grad
    add,             // a pass that is not reduced adds to it
    ready,           // this pass adds to it, and it is final
    finalize,        // backward is over
    finalize_early,  // the same, while a gradient has not come: to be refused
    remake,          // the part ends, and a new one begins
    done,
  };
  // The place at which backward makes a gradient. `elsewhere`: grad is another tensor than before.
  enum class Made : std::uint8_t { in_place, elsewhere, not_at_all };
  Kind kind = Kind::done;
  std::uint32_t parameter = 0;
  Made made = Made::not_at_all;
  Bytes values{};
};
template <typename Archive>
void fields(Archive& archive, DrivenEvent& event) {
  archive(event.kind, event.parameter, event.made, event.values);
}

struct DrivenReport {
  std::vector<GradientReports> after;  // each finalize: what became of the parameters
  std::vector<Ending> early;           // how each finalize_early ended
};
template <typename Archive>
void fields(Archive& archive, DrivenReport& report) {
  archive(report.after, report.early);
}

// As Tape::backward adds to a leaf.
inline void add_gradient(Parameter& parameter, const DrivenEvent& event) {
  using Made = DrivenEvent::Made;
  if (event.made == Made::not_at_all) return;
  const Tensor& value = parameter.value;
  const Tensor made = empty(value.shape(), value.dtype(), value.device(), MemoryKind::gradients);
  write_bytes(made, event.values);
  if (parameter.grad.defined()) {
    const Tensor& kept = event.made == Made::elsewhere ? made : parameter.grad;
    kept.reduce_(event.made == Made::elsewhere ? parameter.grad : made, ReduceOp::sum);
    parameter.grad = kept;
  } else if (event.made == Made::in_place && parameter.grad_place.defined()) {
    parameter.grad_place.copy_(made);
    parameter.grad = parameter.grad_place;
  } else {
    parameter.grad = made;
  }
}

// Driven has on_gradient_ready(parameter), finalize() and remake(), and may have take(parameter).
template <typename Driven>
DrivenReport drive(sim::Port& port, const HeldParameters& held, Driven&& driven) {
  using Kind = DrivenEvent::Kind;
  const std::vector<Parameter*> parameters = held.list();
  DrivenReport report;
  while (true) {
    const auto event = ask<DrivenEvent>(port, EventCall{});
    const std::size_t i = event.parameter;
    switch (event.kind) {
      case Kind::take:
        parameters.at(i)->grad = {};
        if constexpr (requires { driven.take(i); }) driven.take(i);
        break;
      case Kind::add:
        add_gradient(*parameters.at(i), event);
        break;
      case Kind::ready:
        add_gradient(*parameters.at(i), event);
        driven.on_gradient_ready(i);
        break;
      case Kind::finalize:
        driven.finalize();
        report.after.push_back(held.report());
        break;
      case Kind::finalize_early:
        report.early.push_back(ending_of<ContractError>([&] { driven.finalize(); }));
        break;
      case Kind::remake:
        driven.remake();
        break;
      case Kind::done:
        return report;
    }
  }
}

}  // namespace lockstep::grader
