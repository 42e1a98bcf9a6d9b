// One block of a GPT, forward and backward, on 64 simulated H100s that share one sequence of
// 1,048,576 tokens, without numbers: width 8,192, 64 heads, bfloat16.
//   build/release/bin/million TP [KIND]   TP ranks share each layer, with sequence parallelism, and
//                                         64/TP share the sequence: ring, zigzag or ulysses
// There are no embeddings: a table of that many positions would have 8.6 billion parameters.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/comm/worlds/sim/simulated_device.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/parallel/mesh/axis_groups.hpp"
#include "engine/parallel/sequence/context_layers.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/sim/model/cluster.hpp"

using namespace lockstep;

namespace {

constexpr int ranks = 64;
constexpr std::int64_t tokens = 1 << 20, width = 8192, heads = 64;

struct Layout {
  int tp = 1;
  std::string kind;  // of context parallelism
};

sequence_parallel::ContextKind kind_of(const std::string& name) {
  using sequence_parallel::ContextKind;
  if (name == "ring") return ContextKind::ring;
  if (name == "zigzag") return ContextKind::zigzag;
  if (name == "ulysses") return ContextKind::ulysses;
  throw UsageError("KIND is ring, zigzag or ulysses, not '" + name + "'");
}

std::shared_ptr<nn::LayerMaker> layers_of(const Layout& layout, comm::ProcessGroup& tp,
                                          comm::ProcessGroup& cp) {
  auto layers = std::make_shared<nn::LayerMaker>();
  if (layout.tp > 1) {
    layers = std::make_shared<tensor_parallel::TensorLayers>(tp, tensor_parallel::Sequence::sliced);
  }
  if (cp.size() == 1) return layers;
  return std::make_shared<sequence_parallel::ContextLayers>(cp, kind_of(layout.kind), tokens,
                                                            std::move(layers));
}

struct Seen {
  double all_s = 0, computing_s = 0;
  std::int64_t bytes = 0;  // of memory, at most
};

Seen run_block(const Layout& layout, comm::ProcessGroup& world, comm::SimulatedDevice& device) {
  const mesh::AxisSizes sizes{.tp = layout.tp, .cp = ranks / layout.tp};
  const auto tp = mesh::split_along(world, sizes, {mesh::Axis::tp});
  const auto cp = mesh::split_along(world, sizes, {mesh::Axis::cp});
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.gpt = {.layers = 1, .width = width, .heads = heads, .sequence = tokens};
  spec.dtype = DType::bfloat16;
  spec.layers = layers_of(layout, *tp, *cp);
  const auto block = nn::make_units(spec, device, 0, {1, 1});
  const Shape shape{1, spec.layers->tokens().of(tokens).count(), width};
  world.barrier();
  const double begin = world.now_s(), charged = device.charged_s();
  Tape tape(GradMode::record);
  const Value y =
      block->forward(tape, tape.input(empty(shape, spec.dtype, device, MemoryKind::activations)));
  tape.backward(y, empty(shape, spec.dtype, device));
  return {world.now_s() - begin, device.charged_s() - charged, device.bytes_peak()};
}

void run(const Layout& layout) {
  if (layout.tp < 1 || ranks % layout.tp != 0) throw UsageError("TP divides 64");
  const sim::Cluster cluster = sim::cluster_of("h100");
  sim::Options options;
  options.ranks = ranks;
  options.network = cluster.network;
  options.limits.bytes_max = std::int64_t{1} << 50;
  sim::Core core(options);
  std::vector<Seen> seen(ranks);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    comm::SimulatedDevice device(self.port, self.rank, cluster.device, DType::bfloat16,
                                 comm::Elements::none);
    const auto world = comm::make_sim_group(self.port, self.rank, self.ranks);
    seen[static_cast<std::size_t>(self.rank)] = run_block(layout, *world, device);
  });
  for (const std::string& failure : result.failures) {
    if (!failure.empty()) throw Error(failure);
  }
  if (result.finding) throw Error(result.finding->message);
  double computing_s = 0;
  for (const Seen& rank : seen) computing_s += rank.computing_s / ranks;
  const double all_s = std::ranges::max(seen, {}, &Seen::all_s).all_s;
  std::cout << "tp " << std::left << std::setw(3) << layout.tp << "cp " << std::setw(3)
            << ranks / layout.tp << std::setw(8) << layout.kind << std::right << std::fixed
            << std::setprecision(2) << std::setw(6) << all_s << " s, of which a GPU waits "
            << all_s - computing_s << " s, " << std::setprecision(1)
            << static_cast<double>(std::ranges::max(seen, {}, &Seen::bytes).bytes) / 1e9
            << " GB a GPU\n";
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count < 2 || count > 3) throw UsageError("usage: million TP [ring|zigzag|ulysses]");
    run({std::stoi(words[1]), count == 3 ? words[2] : ""});
  } catch (const std::exception& error) {
    std::cerr << "million: " << error.what() << "\n";
    return 2;
  }
}
