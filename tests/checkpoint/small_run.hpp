// A small model and its optimizer, which train and are saved.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/random.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"

namespace lockstep::test {

using MakeOptimizer =
    std::function<std::unique_ptr<optim::Optimizer>(const std::vector<Parameter*>&)>;

inline const std::vector<std::pair<std::string, MakeOptimizer>> optimizers = {
    {"sgd", [](const auto& all) { return optim::make_sgd(all, {0.1}); }},
    {"sgd with momentum",
     [](const auto& all) {
       return optim::make_sgd(all, {0.1, 0.9, 0.01});
     }},
    {"adam", [](const auto& all) { return optim::make_adam(all, {0.01}); }},
    {"adamw",
     [](const auto& all) {
       return optim::make_adamw(all, {.weight_decay = 0.1, .decay_dims_min = 2});
     }},
};

// A model and its optimizer, which train on batches that depend on the step alone.
struct Run {
  CpuDevice device;
  std::unique_ptr<nn::Module> model;
  std::unique_ptr<optim::Optimizer> optimizer;

  explicit Run(const MakeOptimizer& make, std::vector<std::int64_t> widths = {6, 8, 3},
               DType dtype = DType::float32)
      : model(nn::make_mlp(widths, dtype, device, 1)), optimizer(make(model->parameters())) {}

  // Steps first … last; the losses.
  std::vector<double> train(int first, int last) {
    std::vector<double> losses;
    for (int step = first; step <= last; ++step) {
      const auto seed = static_cast<std::uint64_t>(step);
      std::vector<double> x(5 * 6), labels(5);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = random_uniform(seed, i) - 0.5;
      for (std::size_t i = 0; i < labels.size(); ++i) {
        labels[i] = static_cast<double>(random_bits(seed, 1000 + i) % 3);
      }
      Tape tape(GradMode::record);
      const DType dtype = model->parameters().front()->value.dtype();
      const Value input = tape.constant(from_values(x, {5, 6}, dtype, device));
      const Value loss = autograd::cross_entropy(tape, model->forward(tape, input),
                                                 from_values(labels, {5}, DType::int64, device));
      optimizer->zero_grad();
      tape.backward(loss);
      optimizer->step();
      losses.push_back(loss.tensor.item());
    }
    return losses;
  }
};

inline const MakeOptimizer& adamw = optimizers[3].second;
inline const MakeOptimizer& momentum = optimizers[1].second;

inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace lockstep::test
