#include "engine/nn/layer_maker.hpp"

#include "engine/nn/initialise.hpp"

namespace lockstep::nn {
namespace {

class Embedding final : public Module {
 public:
  explicit Embedding(Parameter& table) : table_(table) {}
  Value forward(Tape& tape, const Value& tokens) override {
    return autograd::embedding(tape, tape.leaf(table_), tokens.tensor);
  }
  std::vector<Parameter*> parameters() override { return {&table_}; }

 private:
  Parameter& table_;
};

class Head final : public Module {
 public:
  explicit Head(Parameter& table) : table_(table) {}
  Value forward(Tape& tape, const Value& x) override {
    return autograd::linear(tape, x, tape.leaf(table_));
  }
  std::vector<Parameter*> parameters() override { return {&table_}; }

 private:
  Parameter& table_;
};

}  // namespace

Holding LayerMaker::holding_of(const Parameter& parameter) const {
  return {whole_of(parameter.value.shape())};
}

// None are: layers that are whole on a rank leave it whole gradients.
void LayerMaker::sum_partial_gradients(std::span<Parameter* const>) const {}

std::unique_ptr<Module> LayerMaker::norm(const std::string& name, std::int64_t width,
                                         const Made& made) const {
  return std::make_unique<LayerNorm>(name, width, made);
}

std::unique_ptr<Module> LayerMaker::attention(const std::string& name, std::int64_t width,
                                              std::int64_t heads, const Deviations& deviations,
                                              const Made& made) const {
  return std::make_unique<CausalSelfAttention>(name, width, heads, deviations, made, attend_);
}

std::unique_ptr<Module> LayerMaker::feed_forward(const std::string& name, std::int64_t width,
                                                 std::int64_t hidden, const Deviations& deviations,
                                                 const Made& made) const {
  return std::make_unique<FeedForward>(name, width, hidden, deviations, made);
}

std::unique_ptr<Module> LayerMaker::mixture(const std::string& name, std::int64_t width,
                                            std::int64_t hidden, const MixtureOptions& options,
                                            const Deviations& deviations, const Made& made) const {
  std::vector<std::unique_ptr<Module>> experts;
  for (std::int64_t e = 0; e < options.experts; ++e) {
    experts.push_back(feed_forward(name_of_expert(name, e), width, hidden, deviations, made));
  }
  return std::make_unique<Mixture>(name, width, options, deviations.weights, std::move(experts),
                                   made);
}

Parameter LayerMaker::table(const std::string& name, std::int64_t vocabulary, std::int64_t width,
                            double deviation, const Made& made) const {
  return normal_parameter(name, {vocabulary, width}, deviation, made);
}

std::unique_ptr<Module> LayerMaker::embedding(Parameter& table) const {
  return std::make_unique<Embedding>(table);
}

std::unique_ptr<Module> LayerMaker::head(Parameter& table) const {
  return std::make_unique<Head>(table);
}

}  // namespace lockstep::nn
