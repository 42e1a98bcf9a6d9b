// The GPU as a device, opened when somebody asks for it. All that needs NVIDIA's libraries is one
// shared object, liblockstep_gpu.so: a program that trains on the CPU neither loads it nor them.
//
// Without a GPU, the same object runs on paper: libraries of NVIDIA's names, our own, which
// interpret the kernels that nvcc made (docs/gpu.md). They are opened first; the loader then takes
// them for NVIDIA's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/tensor/device.hpp"

namespace lockstep::gpu {

// No GPU, no driver, no memory left, or an instruction that failed.
struct GpuError : Error {
  using Error::Error;
};

enum class Hardware : std::uint8_t { nvidia, paper };

// kept: what a tensor releases is given out again. returned: it goes back to CUDA, so that paper
// sees where each tensor begins and ends, and that nobody uses it afterwards. chosen: kept on a
// GPU, returned on paper.
enum class Blocks : std::uint8_t { chosen, kept, returned };

struct GpuOptions {
  Hardware hardware = Hardware::nvidia;
  Blocks blocks = Blocks::chosen;
  // The settings of paper, as engine/paper/settings.hpp names them: {"seed=3",
  // "fail_allocation=7"}. The process has one paper: what was set stays set.
  std::vector<std::string> paper = {};
  int device = 0;  // which of the GPUs that CUDA shows: each rank of a machine takes its own
};

// The device. Its libraries stay loaded as long as the process runs.
//   Throws  GpuError with what is missing and what to type: this build has no GPU code, the object
//           has not been built, no driver, a driver that is too old, no GPU of that number
std::unique_ptr<Device> open_gpu(const GpuOptions& options);

// How many GPUs CUDA shows this process. Opens none of them.
//   Throws  as open_gpu; where there is none, too
int count_gpus(const GpuOptions& options);

// True if the GPU of this process is paper: Hardware::paper was asked for, or LD_LIBRARY_PATH names
// paper's folder, so that the loader took it for NVIDIA's libraries. Known once a GPU is open.
bool on_paper();

// The findings of paper since the process began, a sentence per line; empty if nothing is wrong or
// paper was never opened. Kernels that nobody has waited for have not run: settle() first.
std::string paper_findings();

// Counts of what each line of each kernel's source did on paper, if the setting `counters` is 1;
// for explain/paper_counts.hpp.
std::string paper_lines();

// Counts of what each kernel did on paper since the process began: a table with a headline and a
// line per kernel. All but launches and instructions are counted only if the setting `counters` is
// 1.
std::string paper_counters();

// The operations that paper has carried out, with the setting `history`, in the order in which they
// ended. Each line has the seconds of the machine's steady clock when the host asked for the
// operation, when it began and when it ended, the number of its stream, and its name.
std::string paper_history();

}  // namespace lockstep::gpu
