// The bar that every way to train must pass: N ranks do what one rank does with the same samples.
// A course is what a run left behind; two courses are compared number by number.
//   GPT of 4 layers (or more), width 64 (or less), 4 heads, 16 tokens (or so), on text; a global
//   batch that the ranks share evenly
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/strand/strand.hpp"
#include "engine/train/strategy.hpp"

namespace lockstep::test {

struct BarTask {
  optim::OptimizerSpec optimizer{};
  std::int64_t steps = 1;
  std::int64_t accumulate = 1;  // micro-batches a rank and step
  double clip_norm = 0;
  double dropout = 0;
  DType dtype = DType::float64;
  train::Precision precision{};
  std::int64_t layers = 4;
  std::int64_t width = 64;
  std::int64_t sequence = 16;
  std::int64_t vocabulary = 256;  // or more than there are bytes
  nn::OutputHead head = nn::OutputHead::tied;
  nn::Keep keep = nn::Keep::activations;
  nn::MixtureOptions mixture{};
  Strands* strands = nullptr;  // of the rank that makes its strategy; course_of sets it
};

// The same on all ranks; taken from the one that reports.
struct Course {
  std::vector<double> losses;  // of each step, before its update
  std::vector<std::string> names;
  std::vector<std::vector<double>> parameters;  // by name, after the last step
};

// Makes one rank's strategy.
using MakeWay = std::function<std::unique_ptr<train::Strategy>(
    comm::ProcessGroup& group, Device& device, const train::Recipe& recipe, const BarTask& task)>;

enum class World : std::uint8_t { sim, shm, tcp };
std::string_view name_of(World world);

Course course_of(World world, int ranks, const MakeWay& make, const BarTask& task,
                 std::int64_t global_batch);

// The gradients of the first step, by parameter, exactly as far as float64 goes: SGD with a rate of
// 2^20 leaves parameters that are -2^20 times their gradients, but for the first weights' last
// bits. It asks nothing of a strategy that a checkpoint does not, so shards and stages are no
// matter.
BarTask first_gradients(std::int64_t accumulate, double dropout);

// How far two courses are apart; in which order they have the parameters does not matter. A
// parameter's distance is relative to the largest of its tensor, a loss's to the loss. Infinity
// where one is no number, or where something is missing.
struct Distance {
  double loss = 0;
  double parameter = 0;
  std::string worst;  // the parameter that differs most
};
Distance distance(const Course& seen, const Course& expected);

}  // namespace lockstep::test
