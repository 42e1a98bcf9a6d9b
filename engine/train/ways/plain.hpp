// Gradients after backward: the plain way, tensor by tensor.
#pragma once

#include "engine/train/way.hpp"

namespace lockstep::train {

inline Way plain_way() {
  return {
      .stem = "plain",
      .name = "the plain reduction",
      .slot = Slot::reduction,
      .option = "no-overlap",
      .declare =
          [](Options& options) {
            options.section("data parallelism (DDP)")
                .flag("no-overlap", "sum gradients after backward, not during it (DDP)");
          },
      .refuses = {{"ddp", "needs DDP, which --no-overlap turns off; leave one of them out"},
                  {"reduce-dtype",
                   "needs DDP, which --no-overlap turns off; leave one of them out"},
                  {"compression",
                   "needs DDP, which --no-overlap turns off; leave one of them out"}},
  };
}

}  // namespace lockstep::train
