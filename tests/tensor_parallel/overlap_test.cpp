// On a modelled device and network: the sum of dx is on its way while dW is computed.
#include "engine/autograd/operations.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/comm/worlds/sim/simulated_device.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/tensor_parallel/ranks.hpp"

using namespace lockstep;
using namespace lockstep::test;
using namespace lockstep::tensor_parallel;

namespace {

constexpr std::int64_t few_rows = 40, few_inputs = 30, few_outputs = 20;

using Layer = std::function<Value(Tape&, comm::ProcessGroup&, const Value&, const Value&)>;

// Seconds of the layer's backward pass on two ranks: of all, of the sum of dx, of the product dW.
struct Seconds {
  double all = 0, sum = 0, product = 0;
};

Seconds backward_of(const Layer& layer) {
  sim::DeviceModel model;
  model.name = "slow";
  model.peak_flops_s[static_cast<std::size_t>(DType::float64)] = 1e6;
  model.flops_achieved = model.bandwidth_achieved = 1;
  model.memory_bandwidth_bytes_s = 1e9;
  model.memory_bytes = 1 << 20;
  sim::Options options;
  options.ranks = 2;
  options.network = {.latency_s = 0, .gap_s = 0, .bandwidth_bytes_s = 5e5};
  sim::Core core(options);
  Seconds seconds;
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    comm::SimulatedDevice device(self.port, self.rank, model, DType::float64,
                                 comm::Elements::numbers);
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    const auto timed = [&](const std::function<void()>& work) {
      const double begin = group->now_s();
      work();
      return group->now_s() - begin;
    };
    Parameter weight = parameter(drawn({few_outputs, few_inputs}, 1, device));
    const Tensor x = drawn({few_rows, few_inputs}, 2, device),
                 grad = drawn({few_rows, few_outputs}, 3, device);
    Tape tape(GradMode::record);
    const Value y = layer(tape, *group, tape.input(x), tape.leaf(weight));
    group->barrier();
    const double all = timed([&] { tape.backward(y, grad); });
    const double product =
        timed([&] { ops::matmul(grad, ops::Transpose::yes, x, ops::Transpose::no); });
    const double sum = timed([&] { group->all_reduce(x, ReduceOp::sum); });
    if (group->rank() == 0) seconds = {all, sum, product};
  });
  REQUIRE((result.finding ? result.finding->message : "") == "");
  return seconds;
}

}  // namespace

TEST_CASE(
    "column_parallel_linear: the sum of dx runs beside the product dW, behind f it does not") {
  const Seconds beside = backward_of([](Tape& tape, auto& group, const Value& x, const Value& w) {
    return column_parallel_linear(tape, group, x, w, {}, ColumnOutput::share);
  });
  const Seconds behind = backward_of([](Tape& tape, auto& group, const Value& x, const Value& w) {
    return autograd::linear(tape, enter_parallel(tape, group, x), w);
  });
  CAPTURE(beside.all, behind.all, beside.sum, beside.product);
  CHECK(behind.all >= 2 * beside.product + beside.sum);
  CHECK(beside.all <= behind.all - 0.99 * std::min(beside.sum, beside.product));
}
