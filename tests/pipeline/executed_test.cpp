// Plans that are executed: the stages are ranks of the simulator, passes take virtual time, and
// messages next to none. How long a step takes, and what a stage keeps, must be what the formulas
// and the plan say.
#include <algorithm>
#include <map>

#include "engine/base/random.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/comm/worlds/sim/simulated_device.hpp"
#include "engine/parallel/pipeline/plan.hpp"
#include "engine/parallel/pipeline/run_stage.hpp"
#include "engine/parallel/pipeline/timeline.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using pipeline::PassOf;
using pipeline::Plan;
using pipeline::Schedule;

namespace {

constexpr double flops_s = 1e6;  // of the device: the few that the run itself asks for do not count

// Computes nothing, for as long as it is told; counts what it keeps.
class TimedStage final : public pipeline::Stage {
 public:
  TimedStage(Device& device, const pipeline::PassCosts& costs, int chunks)
      : device_(device), costs_(costs), chunks_(chunks) {}

  int chunks() const override { return chunks_; }
  Tensor make_input(const PassOf&) override { return one(); }
  Tensor make_gradient(const PassOf&) override { return one(); }
  Tensor forward(const PassOf& pass, const Tensor&) override {
    work(costs_.forward_s);
    ++kept_[{pass.chunk, pass.micro_batch}];
    kept_max_ = std::max(kept_max_, static_cast<int>(kept_.size()));
    return one();
  }
  Tensor backward(const PassOf& pass, const Tensor& gradient) override {
    CHECK(gradient.defined());
    work(costs_.backward_s);
    free(pass);
    return one();
  }
  Tensor input_gradient(const PassOf&, const Tensor& gradient) override {
    CHECK(gradient.defined());
    work(costs_.input_gradient_s);
    return one();
  }
  void weight_gradient(const PassOf& pass) override {
    work(costs_.weight_gradient_s);
    free(pass);
  }
  int kept_max() const { return kept_max_; }
  bool all_freed() const { return kept_.empty(); }

 private:
  Tensor one() { return zeros({1}, DType::float32, device_.host()); }
  void work(double seconds) { device_.charge(seconds * flops_s, 0); }
  void free(const PassOf& pass) {
    const auto kept = kept_.find({pass.chunk, pass.micro_batch});
    REQUIRE(kept != kept_.end());
    CHECK(kept->second == 1);
    kept_.erase(kept);
  }

  Device& device_;
  pipeline::PassCosts costs_;
  int chunks_;
  std::map<std::pair<int, int>, int> kept_;
  int kept_max_ = 0;
};

struct Executed {
  double makespan_s = 0;
  std::vector<int> kept_max;  // by stage
};

Executed execute(const Plan& plan, const pipeline::PassCosts& costs) {
  Executed executed;
  executed.kept_max.resize(static_cast<std::size_t>(plan.stages));
  sim::DeviceModel model;
  model.peak_flops_s.fill(flops_s);
  model.memory_bandwidth_bytes_s = 1e30;
  model.memory_bytes = 1 << 30;
  sim::Options options;
  options.ranks = plan.stages;
  options.record = sim::Record::totals;
  sim::Core core(options);
  const std::vector<double> weights(static_cast<std::size_t>(plan.micro_batches),
                                    1.0 / plan.micro_batches);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    comm::SimulatedDevice device(self.port, self.rank, model, DType::float32,
                                 comm::Elements::numbers);
    TimedStage stage(device, costs, plan.chunks);
    pipeline::run_stage(*group, stage, plan, weights);
    CHECK(stage.all_freed());
    executed.kept_max[static_cast<std::size_t>(self.rank)] = stage.kept_max();
    executed.makespan_s = std::max(executed.makespan_s, group->now_s());
  });
  INFO((result.finding ? result.finding->message : ""));
  REQUIRE_FALSE(result.finding);
  return executed;
}

// Hours, so that messages of microseconds do not count.
constexpr double hour_s = 3600;

struct Draw {
  int stages, micro_batches, chunks;
  pipeline::PassCosts costs;
};

Draw drawn(std::uint64_t number) {
  const auto in = [&](int place, int first, int last) {
    const auto bits = random_bits(number, static_cast<std::uint64_t>(place));
    return first + static_cast<int>(bits % static_cast<std::uint64_t>(last - first + 1));
  };
  Draw draw{in(0, 1, 6), in(1, 1, 10), in(2, 2, 3), {}};
  const double forward = in(3, 1, 9), weight = in(4, 1, static_cast<int>(forward)),
               input = in(5, static_cast<int>(weight), 9);
  draw.costs = {forward * hour_s, (input + weight) * hour_s, input * hour_s, weight * hour_s};
  return draw;
}

// The same where W is longer than F or I, and there are enough micro-batches.
Draw with_long_weights(std::uint64_t number) {
  Draw draw = drawn(number);
  draw.micro_batches = draw.stages + draw.micro_batches - 1;
  auto& [forward, backward, input, weight] = draw.costs;
  weight = std::min(forward, input) * (1 + random_uniform(number, 5) * 2) + hour_s;
  backward = input + weight;
  return draw;
}

constexpr int drawn_plans = 200;

// What a plan says before it runs, and the run.
void check_memory(const Plan& plan, const pipeline::PassCosts& costs, const Executed& executed) {
  const auto timeline = pipeline::price(plan, {{costs}, 0});
  for (std::size_t s = 0; s < executed.kept_max.size(); ++s) {
    CHECK(executed.kept_max[s] == timeline.stages[s].in_flight_max);
  }
}

}  // namespace

TEST_CASE("pipeline: executed, GPipe and 1F1B take (m+p-1)(tF+tB), and keep what they say") {
  for (std::uint64_t number = 0; number < drawn_plans; ++number) {
    const Draw draw = drawn(number);
    const int p = draw.stages, m = draw.micro_batches;
    const double expected = (m + p - 1) * (draw.costs.forward_s + draw.costs.backward_s);
    CAPTURE(p, m, draw.costs.forward_s, draw.costs.backward_s);
    const Plan gpipe = pipeline::make_plan(Schedule::gpipe, p, 1, m);
    const Plan plan = pipeline::make_plan(Schedule::one_f_one_b, p, 1, m);
    const Executed first = execute(gpipe, draw.costs), second = execute(plan, draw.costs);
    CHECK(first.makespan_s == Approx(expected).epsilon(1e-6));
    CHECK(second.makespan_s == Approx(expected).epsilon(1e-6));
    for (int s = 0; s < p; ++s) {
      CHECK(first.kept_max[static_cast<std::size_t>(s)] == m);
      CHECK(second.kept_max[static_cast<std::size_t>(s)] == std::min(p - s, m));
    }
  }
}

TEST_CASE("pipeline: executed, interleaved takes (mv+p-1)(tF+tB) where p divides m") {
  for (std::uint64_t number = 0; number < drawn_plans; ++number) {
    const Draw draw = drawn(number);
    const int p = draw.stages, v = draw.chunks, m = p * (1 + draw.micro_batches % 3);
    const double expected = (m * v + p - 1) * (draw.costs.forward_s + draw.costs.backward_s);
    CAPTURE(p, m, v, draw.costs.forward_s, draw.costs.backward_s);
    const Plan plan = pipeline::make_plan(Schedule::interleaved, p, v, m);
    const Executed executed = execute(plan, draw.costs);
    CHECK(executed.makespan_s == Approx(expected).epsilon(1e-6));
    check_memory(plan, draw.costs, executed);
    CHECK(executed.kept_max[0] <= p * v + p - 1);
  }
}

TEST_CASE("pipeline: executed, ZB-H1 takes m(tF+tI+tW)+(p-1)(tF+tI-tW), and keeps p at most") {
  for (std::uint64_t number = 0; number < drawn_plans; ++number) {
    const Draw draw = drawn(number);
    const int p = draw.stages, m = draw.micro_batches;
    const auto& [f, b, i, w] = draw.costs;
    CAPTURE(p, m, f, i, w);
    const Plan plan = pipeline::make_plan(Schedule::zero_bubble, p, 1, m);
    const Executed executed = execute(plan, draw.costs);
    if (m >= p) {
      CHECK(executed.makespan_s == Approx(m * (f + i + w) + (p - 1) * (f + i - w)).epsilon(1e-6));
    } else {
      CHECK(executed.makespan_s <= (m + p - 1) * (f + b) * (1 + 1e-6));
      const pipeline::PassCosts units{hour_s, 2 * hour_s, hour_s, hour_s};
      CHECK(execute(plan, units).makespan_s == Approx((2 * m + 2 * p - 1) * hour_s).epsilon(1e-6));
    }
    check_memory(plan, draw.costs, executed);
    for (const int kept : executed.kept_max) CHECK(kept <= p);
  }
}

TEST_CASE("pipeline: executed, ZB-H1 never takes longer than 1F1B, also where W is the longest") {
  for (std::uint64_t number = 0; number < drawn_plans; ++number) {
    const Draw draw = with_long_weights(number);
    const int p = draw.stages, m = draw.micro_batches;
    const auto& [f, b, i, w] = draw.costs;
    CAPTURE(p, m, f, i, w);
    REQUIRE((w > std::min(f, i) && m >= p));
    const Executed zero_bubble =
        execute(pipeline::make_plan(Schedule::zero_bubble, p, 1, m), draw.costs);
    const Executed one_f_one_b =
        execute(pipeline::make_plan(Schedule::one_f_one_b, p, 1, m), draw.costs);
    CHECK(zero_bubble.makespan_s <= one_f_one_b.makespan_s * (1 + 1e-6));
    check_memory(pipeline::make_plan(Schedule::zero_bubble, p, 1, m), draw.costs, zero_bubble);
  }
}
