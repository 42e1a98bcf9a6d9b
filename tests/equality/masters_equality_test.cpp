// Mixed precision: float32 masters under passes of 16 bits. N ranks do what one rank does up to the
// roundings of 16-bit gradients; what masters are for; and a step that one rank must not take
// alone.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "engine/train/strategies/plain.hpp"
#include "engine/train/strategies/zero.hpp"
#include "tests/catch.hpp"
#include "tests/equality/ways.hpp"
#include "tests/equality/wrong_shards.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using test::BarTask;
using test::Course;
using test::Distance;
using test::MakeWay;
using test::World;
using test::WrongShard;
using train::AccumulateIn;
using zero::Sharding;

namespace {

struct Setting {
  std::string name;
  MakeWay way;
};

MakeWay sharded(const train::ZeroOptions& options) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
             const BarTask& task) {
    return train::make_zero(group, device, recipe, task.clip_norm, options);
  };
}

MakeWay plain() {
  return [](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
            const BarTask& task) {
    return train::make_plain(group, train::make_replica(recipe, device), task.clip_norm);
  };
}

collectives::CommHook& in_float32() {
  static const auto hook = collectives::make_average_hook(DType::float32);
  return *hook;
}

std::vector<Setting> all_settings() {
  return {{"plain", plain()},
          {"DDP", test::ddp_way(ddp::Unused::refuse)},
          {"DDP, reduced in float32", test::ddp_way(ddp::Unused::refuse, &in_float32())},
          {"no_shard", sharded({{Sharding::no_shard, 0}})},
          {"ZeRO 1", sharded({{Sharding::zero_1, 0}, AccumulateIn::whole})},
          {"ZeRO 2", sharded({{Sharding::zero_2, 0}})},
          {"shard_grad_op by rows", sharded({{Sharding::shard_grad_op, 0, zero::Cut::rows}})},
          {"full_shard", sharded({{Sharding::full_shard, 1}})},
          {"hybrid_shard of 2", sharded({{Sharding::full_shard, 1}, {}, 2})}};
}

BarTask mixed(BarTask task, DType dtype) {
  task.dtype = dtype;
  task.precision.masters = DType::float32;
  if (dtype != DType::float16) return task;
  // Far below the first scale of a run, so that no step is skipped. And weights of 2^20 gradients
  // would overflow in the evaluation behind the step, which ends a run.
  task.precision.loss_scale = train::LossScale{.first = 1024};
  task.optimizer.sgd.learning_rate = std::min(task.optimizer.sgd.learning_rate, 0x1p4);
  return task;
}

// A gradient of one rank, and each share of N ranks, is rounded once, and the sum N - 1 times. The
// gradients of activations are the same on 2 and 4 ranks: they differ by a power of two. So two
// gradients differ by some last places of the largest share, which may be larger than their sum.
double of_gradients(DType dtype, int ranks) {
  return 4 * ranks * (dtype == DType::bfloat16 ? 0x1p-9 : 0x1p-12);
}

// What a run of 16-bit floats begins with; nothing for other types, whose rate leaves nothing of
// it.
Course first_weights(BarTask task) {
  if (task.dtype != DType::float16 || task.steps > 1) return {};
  task.optimizer.sgd.learning_rate = 0;
  return test::alone(task, 48);
}

// By how far a course's parameters have moved from those of `first`: the gradients, times the rate.
Course moved(Course course, const Course& first) {
  for (std::size_t p = 0; p < first.names.size(); ++p) {
    const auto at = std::ranges::find(course.names, first.names[p]);
    REQUIRE(at != course.names.end());
    auto& now = course.parameters[static_cast<std::size_t>(at - course.names.begin())];
    for (std::size_t i = 0; i < now.size(); ++i) now[i] -= first.parameters[p][i];
  }
  return course;
}

void check_run(const Setting& setting, World world, int ranks, const BarTask& task,
               double of_losses, double of_parameters) {
  const Course first = first_weights(task);
  const Distance apart =
      distance(moved(test::course_of(world, ranks, setting.way, task, 48), first),
               moved(test::alone(task, 48), first));
  const std::string run = text(setting.name, " on ", ranks, " ranks, ", name_of(world), ", ",
                               name_of(task.dtype), " with masters, ", task.steps, " steps");
  std::cout << run << ": losses " << apart.loss << " apart, parameters " << apart.parameter
            << std::endl;
  INFO(run << ", worst: " << apart.worst);
  CHECK(apart.loss <= of_losses);
  CHECK(apart.parameter <= of_parameters);
}

// Shares of elements that two courses' parameters have as they were in `first`.
double unmoved(const Course& course, const Course& first) {
  double same = 0, all = 0;
  for (std::size_t p = 0; p < first.names.size(); ++p) {
    const auto at = std::ranges::find(course.names, first.names[p]);
    REQUIRE(at != course.names.end());
    const auto& now = course.parameters[static_cast<std::size_t>(at - course.names.begin())];
    for (std::size_t i = 0; i < now.size(); ++i) {
      same += now[i] == first.parameters[p][i] ? 1 : 0;
    }
    all += static_cast<double>(now.size());
  }
  return same / all;
}

}  // namespace

TEST_CASE(
    "equality: masters, the gradients of the first step are one rank's up to 16-bit rounding") {
  for (const int ranks : {2, 4}) {
    for (const DType dtype : {DType::bfloat16, DType::float16}) {
      for (const Setting& setting : all_settings()) {
        const BarTask task = mixed(test::first_gradients(1, 0), dtype);
        // The loss is computed in float32 from logits that are the same.
        check_run(setting, World::sim, ranks, task, 1e-6, of_gradients(dtype, ranks));
      }
    }
  }
}

TEST_CASE("equality: masters, runs of 8 clipped steps follow one rank's") {
  int k = 0;
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    for (const Setting& setting : all_settings()) {
      if (++k % 2 == 0) continue;  // nine settings: each comes once
      BarTask task = mixed(test::sgd_task(), dtype);
      task.clip_norm = 0.5;
      task.steps = 8;
      const double place = dtype == DType::bfloat16 ? 0x1p-9 : 0x1p-12;
      check_run(setting, World::sim, 2, task, place, 8 * place);
    }
  }
}

TEST_CASE("equality: masters, on processes") {
  BarTask task = mixed(test::sgd_task(), DType::float16);
  task.steps = 3;
  check_run({"full_shard", sharded({{Sharding::full_shard, 1}})}, World::shm, 2, task, 0x1p-12,
            0x1p-9);
  check_run({"DDP", test::ddp_way(ddp::Unused::refuse)}, World::shm, 2, task, 0x1p-12, 0x1p-9);
}

TEST_CASE("equality: steps too small for 16 bits move masters, and no weight without them") {
  BarTask task = test::adamw_task();
  task.optimizer.adam = {.learning_rate = 1e-7, .weight_decay = 0};
  task.steps = 10;
  const MakeWay way = sharded({{Sharding::full_shard, 1}});
  BarTask still = task;  // where each of them begins
  still.optimizer.adam.learning_rate = 0;
  still.steps = 1;
  const auto unmoved_of = [&](BarTask with, BarTask first) {
    return unmoved(test::course_of(World::sim, 2, way, with, 48),
                   test::course_of(World::sim, 2, way, first, 48));
  };
  BarTask halves = task, halves_still = still;
  halves.dtype = halves_still.dtype = DType::bfloat16;
  const double without = unmoved_of(halves, halves_still);
  const double with = unmoved_of(mixed(task, DType::bfloat16), mixed(still, DType::bfloat16));
  std::cout << "unmoved by 10 steps of 1e-7: " << without << " of the weights in bfloat16, " << with
            << " of their masters" << std::endl;
  CHECK(without > 0.9);
  CHECK(with < 0.1);
}

TEST_CASE(
    "equality: gradients that overflow on one rank skip the step on all; a local skip is found") {
  const auto sharding = GENERATE(Sharding::zero_1, Sharding::zero_2, Sharding::full_shard);
  CAPTURE(static_cast<int>(sharding));
  BarTask task = mixed(test::sgd_task(), DType::float16);
  task.steps = 3;
  const auto course_with = [&](WrongShard fault) {
    std::vector<std::unique_ptr<comm::ProcessGroup>> groups;  // outlive the strategies
    const MakeWay way = [&](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
                            const BarTask& of_task) {
      groups.push_back(test::make_wrong_shards(group, fault));
      return sharded({{sharding, 1}})(*groups.back(), device, recipe, of_task);
    };
    return test::course_of(World::sim, 3, way, task, 48);
  };
  const Course all_skip = course_with(WrongShard::overflow_of_all);
  // Where parameters are gathered after an update, ranks that took none call something else: an
  // error, which is found, too.
  const auto apart = [&](WrongShard fault) {
    try {
      const Distance found = distance(course_with(fault), all_skip);
      return std::max(found.loss, found.parameter);
    } catch (const Error&) {
      return std::numeric_limits<double>::infinity();
    }
  };
  CHECK(all_skip.losses[0] == all_skip.losses[0]);
  CHECK(apart(WrongShard::overflow_of_one) == 0);
  CHECK(apart(WrongShard::local_skip) > 1e-6);
  CHECK(apart(WrongShard::none) > 1e-6);
}

TEST_CASE("equality: buckets that travel in float32 are rounded once, and cost twice the bytes") {
  const auto mean = [](DType wire, double& value) {
    std::int64_t sent = 0;
    test::on_fibers(4, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      // In bfloat16, 64 + 1/4 is 64.
      const double mine = group.rank() == 0 ? 256 : 1;
      const Tensor flat = full({8}, mine, DType::bfloat16, device);
      const auto hook = collectives::make_average_hook(wire);
      comm::Work work = hook->start(group, {0, true, flat, {flat}});
      work.wait();
      if (group.rank() > 0) return;
      value = flat.item();
      sent = group.traffic().bytes_sent;
    });
    return sent;
  };
  double in_float32 = 0, in_bfloat16 = 0;
  CHECK(mean(DType::float32, in_float32) == 2 * mean(DType::bfloat16, in_bfloat16));
  CHECK(in_float32 == 65);  // 64.75 is halfway between 64.5 and 65
}

namespace {

// The mean, of which rank 0 has an infinity in the first bucket of the first step.
class OverflowOnce final : public collectives::CommHook {
 public:
  comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& bucket) override {
    if (group.rank() == 0 && std::exchange(first_, false)) {
      bucket.flat.narrow(0, 1).fill_(std::numeric_limits<double>::infinity());
    }
    return group.all_reduce_async(bucket.flat, ReduceOp::average);
  }

 private:
  bool first_ = true;
};

}  // namespace

TEST_CASE(
    "equality: replicas skip a step together, too: rank 0's overflow is in everybody's mean") {
  BarTask task = mixed(test::first_gradients(1, 0), DType::float16);
  OverflowOnce hook;
  const Course skipped =
      test::course_of(World::sim, 3, test::ddp_way(ddp::Unused::refuse, &hook), task, 48);
  BarTask still = task;
  still.optimizer.sgd.learning_rate = 0;
  CHECK(unmoved(skipped, test::alone(still, 48)) == 1);
  CHECK(unmoved(test::alone(task, 48), test::alone(still, 48)) < 0.5);
}
