// Runs one rank of a training, in any world.
#pragma once

#include "engine/apps/train_options.hpp"
#include "engine/apps/train_trace.hpp"
#include "engine/checkpoint/beginning.hpp"
#include "engine/comm/nccl.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/launch/signals.hpp"
#include "engine/launch/world.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::apps {

// All of it must outlive the training.
struct RankWorld {
  comm::ProcessGroup& group;
  Device& device;
  Strands& strands;  // for what runs beside the training
  std::vector<train::Observer*> observers{};
  RankTrace* trace = nullptr;  // notes what is done when
  int ranks_per_node = 0;      // 0: all are on one
  // The world whose launcher is told that the others can do without this rank; null if none is
  // told.
  const launch::World* joined = nullptr;
  // For ranks on GPUs: the pairs that messages have connected, for the table of memory.
  const comm::NcclPairs* pairs = nullptr;
  // The signals that tell this rank to save and stop, where it is a process with checkpoints.
  launch::StopSignals* told = nullptr;
  // The beginning of the run; null: the first step, and its checkpoints name no run.
  const checkpoint::Beginning* beginning = nullptr;
  // The host of the rank's device, where it is modelled.
  const HostMemory* host = nullptr;
};

struct Trained {
  train::Summary summary;
  std::int64_t parameters = 0;  // of the model
};

// Throws, before anything is made, what each of so many ranks would throw in train_rank, and with
// what to type instead.
void check_run(const Arguments& arguments, const Datasets& datasets, int ranks);

// Trains as the arguments say. Rank 0 tells on standard output, and writes the log and checkpoints.
//   Throws  UsageError when the arguments disagree with a checkpoint; what train::train does
Trained train_rank(const Arguments& arguments, const Datasets& datasets, const RankWorld& world);

}  // namespace lockstep::apps
