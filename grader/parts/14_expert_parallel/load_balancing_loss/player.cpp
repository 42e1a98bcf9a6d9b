// Plays load_balancing_loss with this rank's tokens.
#include "grader/parts/14_expert_parallel/load_balancing_loss/case.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_in_group<BalancingCase>(
      played, [](comm::ProcessGroup& group, const BalancingCase& c, Device& device) {
        Shape shape;
        for (const std::int64_t size : c.shape) shape.push_back(size);
        const Tensor given = empty(shape, c.dtype, device);
        write_bytes(given, c.probabilities);
        BalancingReport report;
        const auto call = [&] {
          const auto made =
              expert_parallel::load_balancing_loss(group, given, c.first_choices, c.alpha);
          report.loss = made.loss;
          if (!made.gradient.defined()) return;
          const Shape& of = made.gradient.shape();
          report.dtype = made.gradient.dtype();
          report.shape = {of.begin(), of.end()};
          report.gradient = copy_of(made.gradient);
        };
        if (c.refused) {
          report.ending = ending_of<ContractError>(call);
        } else {
          call();
        }
        report.changed = copy_of(given) != c.probabilities;
        return report;
      });
}

}  // namespace lockstep::grader
