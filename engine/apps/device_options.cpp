// The options of every program that computes on a device. Apart from what carries them out, so that
// lab-tool reads them without linking a device.
#include "engine/apps/computing.hpp"

namespace lockstep::apps {

Options& add_device(Options& options) {
  return options
      .choice("device", {"cpu", "cuda"}, "cpu",
              "where to compute; cuda: on an NVIDIA GPU, one rank")
      .flag("paper",
            "--device cuda: without a GPU. Executes the GPU's kernels one instruction at a time,\n"
            "and checks every access to memory; slow")
      .only_with({"paper"}, "--device cuda");
}

}  // namespace lockstep::apps
