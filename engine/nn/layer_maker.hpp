// Makes the layers of a transformer. This one's layers are whole on every rank (layers.hpp). A room
// that splits a layer among ranks derives a maker from it. So one model file, gpt.cpp, serves every
// layout of ranks, with the same names of parameters and the same numbers in them.
// B batch, T tokens, C width, V vocabulary.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/nn/layers.hpp"
#include "engine/nn/mixture.hpp"
#include "engine/nn/module.hpp"
#include "engine/nn/token_share.hpp"
#include "engine/tensor/box.hpp"

namespace lockstep::nn {

// The elements of a parameter that a rank holds.
struct Holding {
  Boxes boxes;  // of the whole tensor; its elements come first in the value, then padding
  // The gradient that a backward pass leaves on this rank. A partial one is a term of a sum over
  // the ranks that compute the layer together, each of which holds all of the parameter.
  enum class Gradient : std::uint8_t { complete, partial } gradient = Gradient::complete;
  // Ranks that share experts hold different ones, and the same of everything else.
  enum class Kind : std::uint8_t { dense, expert } kind = Kind::dense;
};

class LayerMaker {
 public:
  virtual ~LayerMaker() = default;

  // Answers for each parameter of a model whose layers it makes, also for those made elsewhere.
  virtual Holding holding_of(const Parameter& parameter) const;

  // Completes gradients that holding_of calls partial, in place: after backward, once a step.
  //   parameters  those that have one, or the same shard of each; the same list on all ranks that
  //               compute the layers together
  virtual void sum_partial_gradients(std::span<Parameter* const> parameters) const;

  // The tokens that a rank has between the layers, where x is [B, tokens().of(T).count(), C], and
  // those whose logits it makes.
  virtual TokenShare tokens() const { return {}; }
  virtual TokenShare labels() const { return {}; }

  // From now on, attention layers attend so; without, every token is on the rank.
  void attend_by(Attend attend) { attend_ = std::move(attend); }

  // These three take x and return as much.
  virtual std::unique_ptr<Module> norm(const std::string& name, std::int64_t width,
                                       const Made& made) const;
  virtual std::unique_ptr<Module> attention(const std::string& name, std::int64_t width,
                                            std::int64_t heads, const Deviations& deviations,
                                            const Made& made) const;
  virtual std::unique_ptr<Module> feed_forward(const std::string& name, std::int64_t width,
                                               std::int64_t hidden, const Deviations& deviations,
                                               const Made& made) const;

  // A mixture takes the place of a feed-forward network. This maker's has all experts, and routes
  // nothing; a maker that routes stands in front of it (engine/parallel/expert).
  virtual std::unique_ptr<Module> mixture(const std::string& name, std::int64_t width,
                                          std::int64_t hidden, const MixtureOptions& options,
                                          const Deviations& deviations, const Made& made) const;
  // The choices of the routers on this rank since the last call; none: the maker routes nothing.
  virtual std::optional<Routing> take_routing() const { return {}; }

  // The table of a vocabulary, [V, C], and the layers at the two ends of a model, which may share
  // one. It must outlive them.
  virtual Parameter table(const std::string& name, std::int64_t vocabulary, std::int64_t width,
                          double deviation, const Made& made) const;
  // int64 tokens [B, T] → x
  virtual std::unique_ptr<Module> embedding(Parameter& table) const;
  // x → logits [B, labels().of(T).count(), V]. On a tape that records, a rank may be left with a
  // part of each row, and the logits say how their loss is computed from the labels of whole
  // samples (Value::loss). On a tape for inference, rows are whole.
  virtual std::unique_ptr<Module> head(Parameter& table) const;

 protected:
  const Attend& attend() const { return attend_; }

 private:
  Attend attend_ = nullptr;
};

// A maker that stands in front of another one: its layers are the other's, unless it says
// otherwise.
class MakerInFront : public LayerMaker {
 public:
  explicit MakerInFront(std::shared_ptr<LayerMaker> inner) : inner_(std::move(inner)) {}

  Holding holding_of(const Parameter& parameter) const override {
    return inner_->holding_of(parameter);
  }
  void sum_partial_gradients(std::span<Parameter* const> parameters) const override {
    inner_->sum_partial_gradients(parameters);
  }
  TokenShare tokens() const override { return inner_->tokens(); }
  TokenShare labels() const override { return inner_->labels(); }
  std::unique_ptr<Module> norm(const std::string& name, std::int64_t width,
                               const Made& made) const override {
    return inner_->norm(name, width, made);
  }
  std::unique_ptr<Module> attention(const std::string& name, std::int64_t width, std::int64_t heads,
                                    const Deviations& deviations, const Made& made) const override {
    return inner_->attention(name, width, heads, deviations, made);
  }
  std::unique_ptr<Module> feed_forward(const std::string& name, std::int64_t width,
                                       std::int64_t hidden, const Deviations& deviations,
                                       const Made& made) const override {
    return inner_->feed_forward(name, width, hidden, deviations, made);
  }
  std::unique_ptr<Module> mixture(const std::string& name, std::int64_t width, std::int64_t hidden,
                                  const MixtureOptions& options, const Deviations& deviations,
                                  const Made& made) const override {
    return inner_->mixture(name, width, hidden, options, deviations, made);
  }
  std::optional<Routing> take_routing() const override { return inner_->take_routing(); }
  Parameter table(const std::string& name, std::int64_t vocabulary, std::int64_t width,
                  double deviation, const Made& made) const override {
    return inner_->table(name, vocabulary, width, deviation, made);
  }
  std::unique_ptr<Module> embedding(Parameter& table) const override {
    return inner_->embedding(table);
  }
  std::unique_ptr<Module> head(Parameter& table) const override { return inner_->head(table); }

 protected:
  LayerMaker& inner() const { return *inner_; }

 private:
  std::shared_ptr<LayerMaker> inner_;
};

}  // namespace lockstep::nn
