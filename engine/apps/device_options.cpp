// The options of every program that computes on a device. Apart from what carries them out, so that
// lab-tool reads them without linking a device.
#include "engine/apps/computing.hpp"

namespace lockstep::apps {

bool uses_gpu(const Arguments& arguments) {
  return (arguments.declared("device") && arguments.has("--device cuda")) ||
         (arguments.declared("backend") && arguments.has("--backend nccl"));
}

Options& add_device(Options& options) {
  return options
      .choice("device", {"cpu", "cuda"}, "cpu", "where to compute; cuda: on an NVIDIA GPU")
      .alias("gpu", "cuda")
      .flag("paper",
            "on a GPU that is not there: executes its kernels one instruction at a time, and\n"
            "checks every access to memory; slow")
      .only_if({"paper"}, "belongs to --device cuda; leave it out", uses_gpu);
}

}  // namespace lockstep::apps
