// Training on devices whose memory the host cannot read: names and shapes travel between hosts, and
// gradients are reduced where they are.
#include <algorithm>

#include "engine/comm/group_by_device.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/parallel/horovod/distributed_optimizer.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/catch.hpp"
#include "tests/comm/far_group.hpp"
#include "tests/tensor/far_device.hpp"

using namespace lockstep;

namespace {

// The weights after three steps on this rank's samples.
std::vector<Tensor> trained_by_horovod(comm::ProcessGroup& group, Device& device,
                                       Strands& strands) {
  const std::int64_t widths[] = {5, 7, 3};
  const auto replica = nn::make_mlp(widths, DType::float32, device, 3);
  const auto optimizer = horovod::make_distributed_optimizer(
      optim::make_sgd(replica->parameters(), {.momentum = 0.9}), group,
      {.fusion_threshold_bytes = 150, .strands = &strands});
  for (int step = 0; step < 3; ++step) {
    std::vector<double> x, y{0, 2, 1, 1};
    for (int i = 0; i < 20; ++i) x.push_back((i * 3 + group.rank() + step) % 7 - 2.5);
    optimizer->zero_grad();
    Tape tape(GradMode::record);
    const Value in = tape.constant(from_values(x, {4, 5}, DType::float32, device));
    const Value loss = autograd::cross_entropy(tape, replica->forward(tape, in),
                                               from_values(y, {4}, DType::int64, device));
    tape.backward(loss);
    optimizer->step();
  }
  std::vector<Tensor> weights;
  for (const Parameter* p : replica->parameters()) weights.push_back(p->value);
  return weights;
}

}  // namespace

TEST_CASE("horovod: replicas on far devices are trained to the bits of those on the host") {
  const int ranks = GENERATE(1, 2, 3, 5);
  sim::Options options;
  options.ranks = ranks;
  sim::Core core(options);
  const auto result = sim::run_fibers(
      core,
      [](sim::FiberRank& self) {
        test::FarDevice far;
        CpuDevice near;
        const auto whole = comm::make_sim_group(self.port, self.rank, self.ranks);
        auto host = whole->split(0, self.rank);
        const auto group = comm::make_group_by_device(
            std::move(host), test::make_far_group(whole->split(0, self.rank)));
        const auto wanted = trained_by_horovod(*group, near, self.strands);
        const auto launched = trained_by_horovod(*group, far, self.strands);
        if (far.host_reads() != 0) throw Error(text("the host read ", far.host_reads(), " times"));
        const std::vector<Tensor> seen = to_host(launched);
        for (std::size_t i = 0; i < seen.size(); ++i) {
          if (std::ranges::equal(seen[i].raw_bytes(), wanted[i].raw_bytes())) continue;
          throw Error(text("parameter ", i, " of rank ", self.rank, " has other bits"));
        }
      },
      {.stack_bytes = std::size_t{1} << 20});
  CHECK((result.finding ? result.finding->message : "") == "");
  CHECK(std::ranges::all_of(result.failures, [](const auto& each) { return each.empty(); }));
}
