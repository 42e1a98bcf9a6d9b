// Plays average_gradients: parameters whose gradients the judge made, allocated in an order that
// differs from rank to rank.
#include "grader/parts/05_data_parallel/average_gradients/case.hpp"

#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_in_group<GradientCase>(
      played, [](comm::ProcessGroup& group, const GradientCase& c, Device& device) {
        const HeldParameters held(c.mine, device);
        data_parallel::average_gradients(group, held.list());
        return held.report();
      });
}

}  // namespace lockstep::grader
