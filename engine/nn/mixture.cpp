#include "engine/nn/mixture.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::nn {

double Routing::imbalance() const {
  double largest = 0;
  for (auto block = load.begin(); block != load.end(); block += experts) {
    double sum = 0;
    for (auto at = block; at != block + experts; ++at) sum += *at;
    if (sum == 0) continue;
    const double mean = sum / static_cast<double>(experts);
    largest = std::max(largest, *std::max_element(block, block + experts) / mean);
  }
  return largest;
}

Mixture::Mixture(const std::string& name, std::int64_t width, const MixtureOptions& options,
                 double deviation, std::vector<std::unique_ptr<Module>> experts, const Made& made,
                 Mix mix)
    : options_(options),
      router_(name + ".router", width, options.experts, deviation, Linear::Bias::none, made),
      experts_(std::move(experts)),
      mix_(std::move(mix)) {}

Value Mixture::forward(Tape& tape, const Value& x) {
  const std::int64_t width = x.tensor.shape().back();
  const Value tokens = autograd::view(tape, x, {x.tensor.numel() / width, width});
  const bool sizes_only = !x.tensor.device().has_numbers();
  LOCKSTEP_CHECK(mix_ || sizes_only, router_.weight.name,
                 " routes nothing: this model was made to be counted or saved; give its spec a "
                 "maker of layers that mixes experts (parallel/expert)");
  const Value mixed =
      mix_ ? mix_(tape, tokens, router_, experts_, occasion_) : dealt_evenly(tape, tokens);
  return autograd::view(tape, mixed, x.tensor.shape());
}

Value Mixture::dealt_evenly(Tape& tape, const Value& tokens) {
  router_.forward(tape, tokens);
  const std::int64_t rows = tokens.tensor.size(0) * options_.top_k;
  const std::int64_t each = (rows + options_.experts - 1) / options_.experts;
  const Tensor share = empty({each, tokens.tensor.size(1)}, tokens.tensor.dtype(),
                             tokens.tensor.device(), MemoryKind::activations);
  for (const auto& expert : experts_) expert->forward(tape, tape.constant(share));
  return tokens;
}

std::vector<Parameter*> Mixture::parameters() {
  std::vector<Parameter*> all;
  router_.add_to(all);
  for (const auto& expert : experts_) {
    const auto of_expert = expert->parameters();
    all.insert(all.end(), of_expert.begin(), of_expert.end());
  }
  return all;
}

std::string name_of_expert(const std::string& layer, std::int64_t expert) {
  return text(layer, ".experts.", expert);
}

}  // namespace lockstep::nn
