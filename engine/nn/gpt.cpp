#include "engine/nn/gpt.hpp"

#include <cmath>
#include <optional>

#include "engine/autograd/activation_checkpoint.hpp"
#include "engine/base/random.hpp"
#include "engine/nn/layers.hpp"

namespace lockstep::nn {
namespace {

constexpr double deviation = 0.02;

// x + attention(norm(x)), then x + feed_forward(norm(x)).
struct Block {
  Block(const std::string& name, const GptOptions& options, const Made& made, double deviation_out)
      : ln_1(name + ".ln_1", options.width, made),
        attn(name + ".attn", options.width, options.heads, deviation, deviation_out, made),
        ln_2(name + ".ln_2", options.width, made),
        mlp(name + ".mlp", options.width, 4 * options.width, deviation, deviation_out, made) {}

  // drop(value, k): dropout at the block's k-th place.
  template <typename Drop>
  Value forward(Tape& tape, const Value& input, const Drop& drop) {
    Value x = autograd::add(tape, input, drop(attn.forward(tape, ln_1.forward(tape, input)), 0));
    return autograd::add(tape, x, drop(mlp.forward(tape, ln_2.forward(tape, x)), 1));
  }

  void add_to(std::vector<Parameter*>& parameters) {
    ln_1.add_to(parameters);
    attn.add_to(parameters);
    ln_2.add_to(parameters);
    mlp.add_to(parameters);
  }

  LayerNorm ln_1;
  CausalSelfAttention attn;
  LayerNorm ln_2;
  FeedForward mlp;
};

// The random numbers of dropout are counted from the pass's occasion and the place in the model, so
// a unit draws the same ones wherever it lies.
Value dropped(Tape& tape, const Value& x, double fraction, const Occasion& occasion,
              std::uint64_t place) {
  if (occasion.mode == Mode::evaluation || fraction == 0) return x;
  const std::uint64_t of_step =
      random_bits(occasion.seed, static_cast<std::uint64_t>(occasion.step));
  return autograd::dropout(
      tape, x,
      {fraction, random_bits(of_step, place), occasion.first_sample, occasion.sample_stride});
}

// Tokens [B, T] → x [B, T, C].
class EmbeddingUnit final : public Module {
 public:
  EmbeddingUnit(const GptOptions& options, const Made& made)
      : options_(options),
        wte_("wte", options.vocabulary, options.width, deviation, made),
        wpe_("wpe", options.sequence, options.width, deviation, made) {}

  Value forward(Tape& tape, const Value& input) override {
    const Tensor& tokens = input.tensor;
    LOCKSTEP_CHECK(tokens.shape().size() == 2 && tokens.size(1) <= options_.sequence,
                   "gpt: tokens of shape ", text_of(tokens.shape()), ", expected [batch, up to ",
                   options_.sequence, "]");
    const std::int64_t length = tokens.size(1);
    Value positions = tape.leaf(wpe_.weight);  // [T, C]
    if (length < options_.sequence) positions = autograd::narrow(tape, positions, 0, 0, length);
    const Value x = autograd::add(tape, wte_.forward(tape, tokens), positions);
    return dropped(tape, x, options_.dropout, occasion_, 0);
  }

  std::vector<Parameter*> parameters() override { return {&wte_.weight, &wpe_.weight}; }
  void prepare(const Occasion& occasion) override { occasion_ = occasion; }
  Parameter& table() { return wte_.weight; }

 private:
  GptOptions options_;
  Occasion occasion_;
  Embedding wte_, wpe_;
};

// x [B, T, C] → x [B, T, C].
class BlockUnit final : public Module {
 public:
  BlockUnit(std::int64_t number, const GptOptions& options, const Made& made)
      : options_(options),
        first_place_(1 + 2 * static_cast<std::uint64_t>(number)),
        block_(text("h.", number), options, made,
               deviation / std::sqrt(2.0 * static_cast<double>(options.layers))) {}

  Value forward(Tape& tape, const Value& x) override {
    // By value: recomputation happens later, for the occasion of this pass.
    const auto body = [this, occasion = occasion_](Tape& on, const Value& in) {
      return block_.forward(on, in, [&](const Value& v, std::uint64_t k) {
        return dropped(on, v, options_.dropout, occasion, first_place_ + k);
      });
    };
    if (options_.keep == Keep::activations) return body(tape, x);
    return autograd::recompute(tape, x, body);
  }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    block_.add_to(all);
    return all;
  }
  void prepare(const Occasion& occasion) override { occasion_ = occasion; }

 private:
  GptOptions options_;
  std::uint64_t first_place_;  // of dropout
  Occasion occasion_;
  Block block_;
};

// x [B, T, C] → logits [B, T, V].
class HeadUnit final : public Module {
 public:
  // table  the embedding's weights where they lie on this rank and the head is tied to them; a tied
  //        head without it holds a copy of its own, under the same name
  HeadUnit(const GptOptions& options, const Made& made, Parameter* table)
      : ln_f_("ln_f", options.width, made), table_(table) {
    if (options.head == OutputHead::untied) {
      lm_head_.emplace("lm_head", options.width, options.vocabulary, deviation, Linear::Bias::none,
                       made);
      table_ = &lm_head_->weight;
    } else if (table == nullptr) {
      copy_.emplace("wte", options.vocabulary, options.width, deviation, made);
      table_ = &copy_->weight;
    }
  }

  Value forward(Tape& tape, const Value& x) override {
    const Value normed = ln_f_.forward(tape, x);
    return autograd::linear(tape, normed, tape.leaf(*table_));
  }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    ln_f_.add_to(all);
    if (lm_head_) lm_head_->add_to(all);
    if (copy_) copy_->add_to(all);
    return all;
  }

 private:
  LayerNorm ln_f_;
  std::optional<Linear> lm_head_;
  std::optional<Embedding> copy_;
  Parameter* table_;  // of lm_head_, of copy_, or the embedding's
};

}  // namespace

std::int64_t unit_count(const GptOptions& options) { return options.layers + 2; }

std::unique_ptr<Chain> make_gpt_units(const GptOptions& options, DType dtype, Device& device,
                                      std::uint64_t seed, UnitRange range) {
  for (const std::int64_t size :
       {options.layers, options.width, options.heads, options.sequence, options.vocabulary}) {
    LOCKSTEP_CHECK(size >= 1, "make_gpt: layers, width, heads, sequence and vocabulary are ",
                   options.layers, ", ", options.width, ", ", options.heads, ", ", options.sequence,
                   ", ", options.vocabulary, "; each starts at 1");
  }
  LOCKSTEP_CHECK(options.width % options.heads == 0, "make_gpt: ", options.heads,
                 " heads do not divide the width ", options.width);
  check_range(range, unit_count(options));
  const Made made{dtype, device, seed};
  std::vector<Unit> units;
  Parameter* table = nullptr;
  for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
    if (i == 0) {
      auto embedding = std::make_unique<EmbeddingUnit>(options, made);
      table = &embedding->table();
      units.push_back({"embedding", std::move(embedding)});
    } else if (i <= options.layers) {
      units.push_back({text("h.", i - 1), std::make_unique<BlockUnit>(i - 1, options, made)});
    } else {
      units.push_back({"head", std::make_unique<HeadUnit>(options, made, table)});
    }
  }
  return std::make_unique<Chain>(std::move(units));
}

std::unique_ptr<Module> make_gpt(const GptOptions& options, DType dtype, Device& device,
                                 std::uint64_t seed) {
  return make_gpt_units(options, dtype, device, seed, {0, unit_count(options)});
}

}  // namespace lockstep::nn
