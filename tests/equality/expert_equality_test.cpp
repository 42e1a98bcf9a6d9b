// Experts on several ranks against one rank that has them all and no group, as the other ways to
// train (equality_test.cpp): alone and with every other axis, with a balancing loss, with experts
// that choose, with tokens that are dropped; and the mistakes that shared experts invite.
//
// A near-tie would be decided by rounding. The weights of the bar leave none: no two logits of a
// token are within 1e-9, nor two different probabilities of an expert that chooses, which the last
// test checks. Equal ones are of samples that begin alike.
#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/parallel/expert/expert_layers.hpp"
#include "engine/parallel/sequence/context_layers.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/equality/ways.hpp"
#include "tests/equality/wrong_experts.hpp"

using namespace lockstep;
using expert_parallel::ExpertLayers;
using expert_parallel::ExpertRanks;
using expert_parallel::MixParts;
using test::BarTask;
using test::Course;
using test::Distance;
using test::ExpertFault;
using test::MakeWay;
using test::World;

namespace {

struct Setting {
  int ep = 1, dp = 1, tp = 1, cp = 1, pp = 1;
  train::StageState state = train::StageState::whole;
  enum class Reduction : std::uint8_t { ddp, plain } reduction = Reduction::ddp;
  ExpertFault fault = ExpertFault::none;

  int shares() const { return ep * dp; }
  int ranks() const { return ep * dp * tp * cp * pp; }
};

constexpr int micro_batches = 2;  // of a pipeline
constexpr train::StageState sharded = train::StageState::sharded;
constexpr std::int64_t batch = 8;

std::string text_of(const Setting& s) {
  return text("ep ", s.ep, ", dp ", s.dp, ", tp ", s.tp, ", cp ", s.cp, ", pp ", s.pp,
              s.reduction == Setting::Reduction::plain ? ", plain" : "",
              s.state == sharded ? ", ZeRO 1" : "");
}

std::string text_of(const BarTask& task) {
  const nn::MixtureOptions& m = task.mixture;
  return text(m.experts, " experts, ",
              m.router == nn::Router::experts ? "which choose" : text("top ", m.top_k),
              ", capacity ", m.capacity, ", aux loss ", m.aux_loss);
}

std::shared_ptr<nn::LayerMaker> layers_of(const Setting& setting, const nn::GptOptions& gpt,
                                          const train::TrainingRanks& ranks,
                                          const MixParts& parts) {
  std::shared_ptr<nn::LayerMaker> layers = std::make_shared<nn::LayerMaker>();
  if (ranks.layer() != nullptr) {
    layers = std::make_shared<tensor_parallel::TensorLayers>(*ranks.layer(),
                                                             tensor_parallel::Sequence::whole);
  }
  if (ranks.sequence() != nullptr) {
    layers = std::make_shared<sequence_parallel::ContextLayers>(
        *ranks.sequence(), sequence_parallel::ContextKind::ring, gpt.sequence, layers);
  }
  ExpertRanks groups;
  if (setting.ranks() > 1) groups = {.experts = ranks.experts(), .tokens = &ranks.replicas()};
  return std::make_shared<ExpertLayers>(
      groups, layers,
      expert_parallel::ExpertModel{
          .blocks = gpt.layers, .experts = gpt.mixture.experts, .parts = parts});
}

MakeWay way_of(const Setting& setting, const MixParts& parts) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
             const BarTask& task) -> std::unique_ptr<train::Strategy> {
    const train::TrainingRanks ranks(
        group,
        {.tp = setting.tp, .cp = setting.cp, .ep = setting.ep, .dp = setting.dp, .pp = setting.pp});
    train::Recipe shared = recipe;
    shared.model.layers = layers_of(setting, recipe.model.gpt, ranks, parts);
    if (setting.pp > 1 || setting.state == train::StageState::sharded) {
      return train::make_pipeline(ranks, device, shared, task.clip_norm,
                                  {.stages = setting.pp,
                                   .micro_batches = setting.pp > 1 ? micro_batches : 1,
                                   .schedule = pipeline::Schedule::one_f_one_b,
                                   .limits = {.first_bytes = 40'000, .cap_bytes = 300'000},
                                   .state = setting.state});
    }
    if (setting.reduction == Setting::Reduction::plain) {
      return train::make_plain(ranks, train::make_replica(shared, device), task.clip_norm);
    }
    train::DdpRun run{.accumulate = task.accumulate, .clip_norm = task.clip_norm};
    run.options.limits = {.first_bytes = 40'000, .cap_bytes = 300'000};
    return train::make_ddp_or_plain(ranks, device, shared, std::move(run));
  };
}

// One rank with all samples, in as many micro-batches, whose plans are those of the ranks.
Distance apart(World world, const Setting& setting, const BarTask& task) {
  BarTask of_one = task;
  if (setting.pp > 1) of_one.accumulate *= micro_batches;
  of_one.keep = nn::Keep::activations;
  const Course alone =
      course_of(World::sim, 1, way_of({}, test::parts_by_rank(setting.shares(), task.sequence)),
                of_one, batch);
  const MixParts parts = test::wrong_parts(setting.fault, setting.ep);
  return distance(course_of(world, setting.ranks(), way_of(setting, parts), task, batch), alone);
}

struct Most {
  int count = 0;
  Distance distance;

  void check(const Setting& setting, const BarTask& task) {
    const Distance seen = apart(World::sim, setting, task);
    INFO(text_of(setting) << ", " << text_of(task) << ", worst: " << seen.worst);
    CHECK(seen.loss <= test::of_losses);
    CHECK(seen.parameter <= test::of_gradients);
    distance.loss = std::max(distance.loss, seen.loss);
    distance.parameter = std::max(distance.parameter, seen.parameter);
    ++count;
  }
  ~Most() {
    std::cout << count << " settings: losses at most " << distance.loss << " apart, gradients "
              << distance.parameter << std::endl;
  }
};

BarTask with_experts(BarTask task, const nn::MixtureOptions& mixture) {
  task.width = 16;
  task.layers = 2;
  task.mixture = mixture;
  return task;
}

BarTask first_step(const nn::MixtureOptions& mixture, std::int64_t accumulate = 1) {
  return with_experts(test::first_gradients(accumulate, 0), mixture);
}

void check_run(World world, const Setting& setting, BarTask task,
               const nn::MixtureOptions& mixture) {
  task.steps = std::min<std::int64_t>(task.steps, 8);
  const BarTask run = with_experts(task, mixture);
  const Distance seen = apart(world, setting, run);
  std::cout << text_of(setting) << ", " << text_of(run) << ", " << name_of(world) << ", "
            << name_of(task.optimizer.kind) << ", " << run.steps << " steps: losses " << seen.loss
            << " apart, parameters " << seen.parameter << std::endl;
  INFO(text_of(setting) << ", " << name_of(world) << ", worst: " << seen.worst);
  CHECK(seen.loss <= test::of_losses);
  CHECK(seen.parameter <= test::of_weights);
}

const nn::MixtureOptions balanced{.experts = 4, .top_k = 2, .aux_loss = 0.02};
const nn::MixtureOptions dropping{.experts = 4, .top_k = 2, .capacity = 0.8, .aux_loss = 0.02};
const nn::MixtureOptions choosing{.experts = 4, .capacity = 1.5, .router = nn::Router::experts};

}  // namespace

TEST_CASE("equality: experts on several ranks, the gradients of the first step are one rank's") {
  Most most;
  for (const std::int64_t experts : {4, 8}) {
    for (const std::int64_t k : {1, 2}) {
      for (const int ep : {1, 2, 4}) {
        most.check({.ep = ep, .dp = ep == 1 ? 2 : 1}, first_step({.experts = experts, .top_k = k}));
      }
    }
  }
}

TEST_CASE("equality: experts with a balancing loss, with drops, and that choose, likewise") {
  Most most;
  for (const nn::MixtureOptions& mixture : {balanced, dropping, choosing}) {
    most.check({.ep = 2}, first_step(mixture, 2));
    most.check({.ep = 4}, first_step(mixture));
    most.check({.ep = 2, .dp = 2}, first_step(mixture));
    BarTask again = first_step(mixture, 2);
    again.keep = nn::Keep::block_inputs;
    again.head = nn::OutputHead::untied;
    most.check({.ep = 2, .dp = 2}, again);
    most.check({.ep = 2, .dp = 2, .reduction = Setting::Reduction::plain}, first_step(mixture));
  }
}

TEST_CASE("equality: experts and every other axis, the gradients of the first step are one's") {
  Most most;
  for (const nn::MixtureOptions& mixture : {balanced, dropping, choosing}) {
    most.check({.ep = 2, .tp = 2}, first_step(mixture));
    most.check({.ep = 2, .pp = 2}, first_step(mixture));
    most.check({.ep = 2, .dp = 2, .pp = 2}, first_step(mixture));
    most.check({.ep = 2, .dp = 2, .state = sharded}, first_step(mixture));
    most.check({.ep = 2, .tp = 2, .state = sharded}, first_step(mixture));
    most.check({.ep = 2, .pp = 2, .state = sharded}, first_step(mixture));
  }
  // Slices of a sample are another group of tokens than samples are, but without drops that is no
  // matter.
  most.check({.ep = 2, .cp = 2}, first_step(balanced));
  most.check({.ep = 2, .tp = 2, .cp = 2}, first_step({.experts = 4, .top_k = 1}));
}

TEST_CASE("equality: experts on several ranks, clipped runs of AdamW and runs of SGD") {
  const BarTask adamw = test::adamw_task(), sgd = test::sgd_task();
  check_run(World::sim, {.ep = 2}, adamw, dropping);
  check_run(World::sim, {.ep = 4}, sgd, balanced);
  check_run(World::sim, {.ep = 2, .dp = 2}, adamw, balanced);
  check_run(World::sim, {.ep = 2, .dp = 2}, sgd, choosing);
  check_run(World::sim, {.ep = 2, .tp = 2}, adamw, balanced);
  check_run(World::sim, {.ep = 2, .pp = 2}, adamw, balanced);
  check_run(World::sim, {.ep = 2, .dp = 2, .state = sharded}, adamw, balanced);
  check_run(World::sim, {.ep = 4}, adamw, choosing);
  check_run(World::sim, {.ep = 2, .tp = 2}, sgd, dropping);
  check_run(World::sim, {.ep = 2, .cp = 2}, adamw, balanced);
  check_run(World::sim, {.ep = 2, .dp = 2, .pp = 2}, adamw, dropping);
  check_run(World::sim, {.ep = 2, .dp = 2, .reduction = Setting::Reduction::plain}, sgd, dropping);
  for (const World processes : {World::shm, World::tcp}) {
    check_run(processes, {.ep = 2}, adamw, dropping);
    check_run(processes, {.ep = 2, .dp = 2}, adamw, balanced);
    check_run(processes, {.ep = 2, .pp = 2}, sgd, choosing);
  }
}

TEST_CASE("equality: the bar finds what goes wrong between the ranks of experts") {
  for (const auto fault : {ExpertFault::none, ExpertFault::local_f, ExpertFault::not_unpermuted,
                           ExpertFault::renormalised, ExpertFault::divided_by_dp}) {
    const Distance seen =
        apart(World::sim, {.ep = 2, .dp = 2, .fault = fault}, first_step(dropping));
    std::cout << "fault " << static_cast<int>(fault) << ": losses " << seen.loss
              << " apart, gradients " << seen.parameter << std::endl;
    CAPTURE(static_cast<int>(fault), seen.loss, seen.parameter, seen.worst);
    CHECK((seen.parameter <= test::of_gradients) == (fault == ExpertFault::none));
  }
}

TEST_CASE("equality: no two scores of the bar's routers are within 1e-9") {
  for (const nn::MixtureOptions& mixture : {nn::MixtureOptions{.experts = 8}, balanced, choosing}) {
    double nearest = std::numeric_limits<double>::infinity();
    const bool equal_ones = mixture.router == nn::Router::experts;
    const auto look = [&](std::vector<double> scores) {
      std::ranges::sort(scores);
      for (std::size_t i = 1; i < scores.size(); ++i) {
        const double apart = scores[i] - scores[i - 1];
        if (apart > 0 || !equal_ones) nearest = std::min(nearest, apart);
      }
    };
    MixParts parts = test::parts_by_rank(1, 16);
    parts.route = [&](const Tensor& logits, std::int64_t k) {
      for (std::int64_t token = 0; token < logits.size(0); ++token) {
        std::vector<double> scores;
        for (std::int64_t e = 0; e < logits.size(1); ++e) {
          scores.push_back(logits.item(token * logits.size(1) + e));
        }
        look(scores);
      }
      return expert_parallel::route(logits, k);
    };
    parts.expert_choice = [&](const Tensor& logits, double factor) {
      const auto all = expert_parallel::expert_choice(logits, static_cast<double>(logits.size(1)));
      std::vector<std::vector<double>> columns(static_cast<std::size_t>(logits.size(1)));
      for (const expert_parallel::Route& place : all.placed) {
        columns[static_cast<std::size_t>(place.expert)].push_back(place.weight);
      }
      for (const auto& column : columns) look(column);
      return expert_parallel::expert_choice(logits, factor);
    };
    BarTask task = with_experts(test::adamw_task(), mixture);
    task.steps = 8;
    course_of(World::sim, 1, way_of({}, parts), task, batch);
    CAPTURE(mixture.experts, mixture.top_k);
    CHECK(nearest > 1e-9);
    std::cout << "nearest scores: " << nearest << std::endl;
  }
}
