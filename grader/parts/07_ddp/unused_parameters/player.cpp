// Plays unused_parameters: passes of a reducer, in which this rank's backward brings gradients to
// some of the parameters only.
#include "grader/parts/07_ddp/unused_parameters/case.hpp"

#include "engine/collectives/communication.hpp"
#include "engine/parallel/ddp/unused_parameters.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

using Made = DrivenEvent::Made;

// Does nothing, so that only the part itself communicates.
class BareReducer final : public ddp::Reducer {
 public:
  void on_gradient_ready(std::size_t) override {}
  void finalize() override {}
};

void add(Parameter& parameter, const Bytes& values) {
  add_gradient(parameter, {.made = Made::in_place, .values = values});
}

void take_pass(comm::ProcessGroup& group, ddp::Reducer& reducer,
               const std::vector<Parameter*>& parameters, const UnusedPassCase& pass,
               sim::Port& port) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (pass.takes != 0) parameters[i]->grad = {};
    if (!pass.before.at(i).empty()) add(*parameters[i], pass.before[i]);
  }
  if (pass.begins_after_s > 0) pass_time(port, pass.begins_after_s);
  ddp::UnusedPass unused = ddp::begin_with_unused(group, reducer, parameters, pass.used);
  for (const std::uint32_t i : pass.order) {
    if (pass.gap_s > 0) pass_time(port, pass.gap_s);
    add(*parameters.at(i), pass.made.at(i));
    reducer.on_gradient_ready(i);
  }
  reducer.finalize();
  ddp::end_with_unused(std::move(unused), parameters);
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_in_group<UnusedCase>(
      played, [](comm::ProcessGroup& group, const UnusedCase& c, Device& device, sim::Port& port) {
        const HeldParameters held(c.parameters, device);
        const auto hook = collectives::make_sum_hook();
        std::unique_ptr<ddp::Reducer> reducer = std::make_unique<BareReducer>();
        if (c.bare == 0) {
          reducer = ddp::make_bucketed_reducer(group, held.list(), c.plan,
                                               {1.0 / group.size(), hook.get()});
        }
        UnusedReport report;
        for (const UnusedPassCase& pass : c.passes) {
          take_pass(group, *reducer, held.list(), pass, port);
          report.after.push_back(held.report());
        }
        return report;
      });
}

}  // namespace lockstep::grader
