#include "tests/equality/ways.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "engine/train/strategies/async.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/horovod.hpp"
#include "engine/train/strategies/pipeline.hpp"

namespace lockstep::test {

MakeWay ddp_way(ddp::Unused unused, collectives::CommHook* hook) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
             const BarTask& task) {
    train::DdpRun run{.accumulate = task.accumulate, .clip_norm = task.clip_norm};
    run.options.limits = {.first_bytes = 40'000, .cap_bytes = 300'000};
    run.options.unused = unused;
    run.options.hook = hook;
    return train::make_ddp_or_plain(group, device, recipe, std::move(run));
  };
}

MakeWay horovod_way(collectives::CommHook* hook) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
             const BarTask& task) {
    horovod::HorovodOptions options;
    options.fusion_threshold_bytes = 300'000;
    options.strands = task.strands;
    options.hook = hook;
    return train::make_horovod(group, device, recipe, task.clip_norm, options);
  };
}

MakeWay async_way(int servers) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
             const BarTask& task) {
    train::AsyncOptions options;
    options.staleness = 0;
    options.servers = servers;
    options.strands = task.strands;
    return train::make_async(group, device, recipe, task.clip_norm, options);
  };
}

MakeWay pipeline_way(const train::PipelineOptions& options) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
             const BarTask& task) {
    const mesh::AxisSizes pipelines{.dp = group.size() / options.stages, .pp = options.stages};
    return train::make_pipeline({group, pipelines}, device, recipe, task.clip_norm, options);
  };
}

const Course& alone(BarTask task, std::int64_t global_batch) {
  task.accumulate = 1;
  task.keep = nn::Keep::activations;
  static std::map<std::string, Course> courses;
  const auto& [sgd, adam] = std::tie(task.optimizer.sgd, task.optimizer.adam);
  const std::string key =
      text(name_of(task.optimizer.kind), " ", sgd.learning_rate, " ", sgd.momentum, " ",
           adam.learning_rate, " ", adam.weight_decay, " ", task.steps, " ", task.clip_norm, " ",
           task.dropout, " ", name_of(task.dtype), " ", task.precision.masters.has_value(), " ",
           task.precision.loss_scale ? task.precision.loss_scale->first : 0, " ", task.layers, " ",
           task.width, " ", task.sequence, " ", task.vocabulary, " ", static_cast<int>(task.head),
           " ", global_batch);
  const auto found = courses.find(key);
  if (found != courses.end()) return found->second;
  return courses[key] = course_of(World::sim, 1, ddp_way(ddp::Unused::refuse), task, global_batch);
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
