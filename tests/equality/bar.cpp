#include "tests/equality/bar.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/data/text.hpp"
#include "engine/train/loop.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/train/fiber_ranks.hpp"

namespace lockstep::test {
namespace {

// Prose, so that neither tokens nor samples repeat with a small period: a row of squares in words.
std::string some_text(std::uint64_t first, int lines) {
  std::ostringstream out;
  std::uint64_t state = first;
  for (int k = 0; k < lines; ++k) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    out << "line " << k << " says " << (state >> 40) << ", and its square is "
        << (state >> 52) * (state >> 52) << ";\n";
  }
  return out.str();
}

struct LossesOfSteps final : train::Observer {
  std::vector<double> losses;
  void on_step(const train::StepReport& report) override { losses.push_back(report.loss); }
  void on_epoch(const train::EpochReport&) override {}
  void on_end(const train::Summary&) override {}
};

train::Recipe recipe_of(const BarTask& task) {
  train::Recipe recipe;
  recipe.model.kind = nn::ModelKind::gpt;
  recipe.model.gpt = {.layers = task.layers,
                      .width = task.width,
                      .heads = 4,
                      .sequence = task.sequence,
                      .vocabulary = task.vocabulary,
                      .head = task.head,
                      .dropout = task.dropout,
                      .keep = task.keep,
                      .mixture = task.mixture};
  recipe.model.dtype = task.dtype;
  recipe.precision = task.precision;
  recipe.optimizer = task.optimizer;
  recipe.seed = 7;
  return recipe;
}

// Filled on the rank that reports.
Course run_rank(comm::ProcessGroup& group, Strands& strands, const MakeWay& make, BarTask task,
                std::int64_t global_batch) {
  task.strands = &strands;
  CpuDevice device;
  const auto bytes = data::make_byte_tokenizer();
  // More than any run reads: the last step of an epoch may be padded, and one rank pads nothing.
  const auto train_set = data::make_text(some_text(1, 500), *bytes, task.sequence, 5);
  LOCKSTEP_CHECK(train_set->size() >= task.steps * global_batch, "the text has ", train_set->size(),
                 " samples, too few for ", task.steps, " steps of ", global_batch);
  const auto test_set = data::make_text(some_text(2, 1), *bytes, task.sequence, 16);
  const train::Recipe recipe = recipe_of(task);
  const auto strategy = make(group, device, recipe, task);
  const std::int64_t batches = strategy->position().shares * task.accumulate;
  LOCKSTEP_CHECK(global_batch % batches == 0, "a global batch of ", global_batch,
                 " samples is not dealt evenly into ", batches, " batches");
  train::TrainOptions options;
  options.batch_size = global_batch / batches;
  options.accumulate = task.accumulate;
  options.steps = task.steps;
  options.decay = optim::Decay::constant;
  options.seed = 3;
  Course course;
  options.save = [&](const train::Position&) {
    const auto tensors = train::gather_whole(strategy->trainers(), strategy->position().reporter,
                                             strategy->pieces(), strategy->device());
    for (const train::Piece& tensor : tensors) {
      if (tensor.kind != train::PieceKind::parameter) continue;
      course.names.push_back(tensor.name);
      std::vector<double>& numbers = course.parameters.emplace_back();
      for (std::int64_t i = 0; i < tensor.value.numel(); ++i) {
        numbers.push_back(tensor.value.item(i));
      }
    }
  };
  LossesOfSteps seen;
  const std::array<train::Observer*, 1> observers{&seen};
  const auto summary = train::train(*strategy, *train_set, *test_set, options, observers);
  LOCKSTEP_CHECK(summary.replicas_equal, "copies of a parameter differ");
  course.losses = seen.losses;
  return course;
}

// Between processes a course travels as text, in hexadecimal so that no bit is lost.
std::string text_of_course(const Course& course) {
  std::ostringstream out;
  out << std::hexfloat << course.losses.size();
  for (const double loss : course.losses) out << ' ' << loss;
  out << ' ' << course.names.size();
  for (std::size_t p = 0; p < course.names.size(); ++p) {
    out << ' ' << course.names[p] << ' ' << course.parameters[p].size();
    for (const double number : course.parameters[p]) out << ' ' << number;
  }
  return out.str();
}

Course course_in(const std::string& text) {
  std::istringstream in(text);
  const auto numbers = [&] {
    std::size_t count = 0;
    in >> count;
    std::vector<double> all;
    std::string word;  // operator>> of a double does not read hexadecimal
    while (all.size() < count && in >> word) all.push_back(std::strtod(word.c_str(), nullptr));
    return all;
  };
  Course course;
  course.losses = numbers();
  std::size_t count = 0;
  in >> count;
  for (std::size_t p = 0; p < count; ++p) {
    in >> course.names.emplace_back();
    course.parameters.push_back(numbers());
  }
  return course;
}

double relative(double seen, double expected, double scale) {
  const double apart = std::abs(seen - expected) / scale;
  return std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

}  // namespace

std::string_view name_of(World world) {
  constexpr std::array<std::string_view, 3> names{"sim", "shm", "tcp"};
  return names.at(static_cast<std::size_t>(world));
}

Course course_of(World world, int ranks, const MakeWay& make, const BarTask& task,
                 std::int64_t global_batch) {
  Course course;
  if (world == World::sim) {
    on_fibers_with_strands(ranks, [&](comm::ProcessGroup& group, Strands& strands) {
      Course mine = run_rank(group, strands, make, task, global_batch);
      if (!mine.names.empty()) course = std::move(mine);
    });
    return course;
  }
  const auto outcomes = run_gloo(
      ranks,
      [&](comm::ProcessGroup& group) {
        const auto strands = make_thread_strands();
        const Course mine = run_rank(group, *strands, make, task, global_batch);
        return mine.names.empty() ? std::string() : text_of_course(mine);
      },
      late_s, world == World::shm ? comm::Transport::shm : comm::Transport::gloo);
  for (const Outcome& outcome : outcomes) {
    if (!outcome.ok) throw Error(failures(outcomes));
    if (!outcome.message.empty()) course = course_in(outcome.message);
  }
  return course;
}

BarTask first_gradients(std::int64_t accumulate, double dropout) {
  BarTask task;
  task.optimizer.sgd = {.learning_rate = 0x1p20, .momentum = 0, .weight_decay = 0};
  task.accumulate = accumulate;
  task.dropout = dropout;
  return task;
}

Distance distance(const Course& seen, const Course& expected) {
  constexpr double missing = std::numeric_limits<double>::infinity();
  if (seen.losses.size() != expected.losses.size() || seen.names.size() != expected.names.size() ||
      expected.losses.empty() || expected.names.empty()) {
    return {missing, missing, "not all is there"};
  }
  Distance worst;
  for (std::size_t k = 0; k < expected.losses.size(); ++k) {
    worst.loss = std::max(
        worst.loss, relative(seen.losses[k], expected.losses[k], std::abs(expected.losses[k])));
  }
  for (std::size_t p = 0; p < expected.names.size(); ++p) {
    const std::vector<double>& should = expected.parameters[p];
    const auto at = std::ranges::find(seen.names, expected.names[p]);
    if (at == seen.names.end()) return {missing, missing, expected.names[p]};
    const std::vector<double>& is =
        seen.parameters[static_cast<std::size_t>(at - seen.names.begin())];
    if (is.size() != should.size()) return {missing, missing, expected.names[p]};
    double largest = 0;
    for (const double number : should) largest = std::max(largest, std::abs(number));
    for (std::size_t i = 0; i < should.size(); ++i) {
      const double apart = relative(is[i], should[i], largest);
      if (apart <= worst.parameter) continue;
      worst.parameter = apart;
      worst.worst = expected.names[p];
    }
  }
  return worst;
}

}  // namespace lockstep::test
