#include "tests/equality/ways.hpp"

#include <map>
#include <tuple>

namespace lockstep::test {

MakeWay engine_way(const train::StrategyOptions& options) {
  return [options](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
                   const BarTask& task) {
    train::StrategyOptions of_task = options;
    of_task.accumulate = task.accumulate;
    of_task.clip_norm = task.clip_norm;
    of_task.horovod.strands = of_task.async.strands = task.strands;
    return train::make_strategy(group, device, recipe, of_task);
  };
}

train::StrategyOptions ddp_options(ddp::Unused unused) {
  train::StrategyOptions options;
  options.ddp.limits = {.first_bytes = 40'000, .cap_bytes = 300'000};
  options.ddp.unused = unused;
  return options;
}

train::StrategyOptions horovod_options() {
  train::StrategyOptions options;
  options.choice.reduction = train::Way::horovod;
  options.horovod.fusion_threshold_bytes = 300'000;
  return options;
}

train::StrategyOptions async_options(int servers) {
  train::StrategyOptions options;
  options.choice.execution = train::Way::servers;
  options.choice.reduction = train::Way::plain;
  options.async.staleness = 0;
  options.async.servers = servers;
  return options;
}

const Course& alone(BarTask task, std::int64_t global_batch) {
  task.accumulate = 1;
  task.keep = nn::Keep::activations;
  static std::map<std::string, Course> courses;
  const auto& [sgd, adam] = std::tie(task.optimizer.sgd, task.optimizer.adam);
  const std::string key =
      text(name_of(task.optimizer.kind), " ", sgd.learning_rate, " ", sgd.momentum, " ",
           adam.learning_rate, " ", adam.weight_decay, " ", task.steps, " ", task.clip_norm, " ",
           task.dropout, " ", name_of(task.dtype), " ", task.layers, " ",
           static_cast<int>(task.head), " ", global_batch);
  const auto found = courses.find(key);
  if (found != courses.end()) return found->second;
  return courses[key] = course_of(World::sim, 1, engine_way({}), task, global_batch);
}

BarTask adamw_task() {
  BarTask task;
  task.optimizer.kind = optim::OptimizerKind::adamw;
  task.optimizer.adam = {.learning_rate = 1e-3, .weight_decay = 0.01};
  task.steps = 20;
  task.clip_norm = 0.5;
  return task;
}

BarTask sgd_task() {
  BarTask task;
  task.optimizer.sgd = {.learning_rate = 0.05, .momentum = 0.9};
  task.steps = 50;
  return task;
}

}  // namespace lockstep::test
