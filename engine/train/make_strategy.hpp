// From a choice to the strategy that carries it out.
#pragma once

#include <optional>

#include "engine/parallel/compress/compression.hpp"
#include "engine/parallel/ddp/ddp.hpp"
#include "engine/parallel/horovod/distributed_optimizer.hpp"
#include "engine/train/choice.hpp"
#include "engine/train/strategies/async.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategy.hpp"

namespace lockstep::train {

struct StrategyOptions {
  Choice choice{};
  std::int64_t accumulate = 1;  // the most batches of a step
  double clip_norm = 0;         // bound on the averaged gradient's global norm; 0: none
  ddp::Options ddp{};
  std::optional<ddp::JoinDivide> join{};  // of ddp: the loop deals unevenly (Deal::uneven)
  compress::Compression compression{};    // with Way::compression, and only then
  WatchHook watch{};                      // of DDP's hook; nobody watches where it is empty
  horovod::HorovodOptions horovod{};
  AsyncOptions async{};        // with Way::servers
  PipelineOptions pipeline{};  // with Way::pipeline
};

// Makes what this rank holds. Every rank of the world calls it, with equal arguments; group and
// device must outlive the strategy.
//   Ensures  on one rank, and for one batch a step, the plain way is taken instead of ddp: there is
//            nothing to reduce. On one rank, nothing is compressed either: no gradient travels
//   Throws   as check (choice.hpp), and as the strategy's own function (strategies/)
std::unique_ptr<Strategy> make_strategy(comm::ProcessGroup& group, Device& device,
                                        const Recipe& recipe, const StrategyOptions& options);

}  // namespace lockstep::train
