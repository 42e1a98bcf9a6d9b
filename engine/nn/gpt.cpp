#include "engine/nn/gpt.hpp"

#include <cmath>
#include <optional>

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

class Gpt final : public Module {
 public:
  Gpt(const GptOptions& options, const Made& made)
      : options_(options),
        wte_("wte", options.vocabulary, options.width, deviation, made),
        wpe_("wpe", options.sequence, options.width, deviation, made),
        ln_f_("ln_f", options.width, made) {
    const double deviation_out = deviation / std::sqrt(2.0 * static_cast<double>(options.layers));
    blocks_.reserve(static_cast<std::size_t>(options.layers));
    for (std::int64_t i = 0; i < options.layers; ++i) {
      blocks_.emplace_back(text("h.", i), options, made, deviation_out);
    }
    if (options.head == OutputHead::untied) {
      lm_head_.emplace("lm_head", options.width, options.vocabulary, deviation, Linear::Bias::none,
                       made);
    }
  }

  Value forward(Tape& tape, const Value& input) override {
    const Tensor& tokens = input.tensor;
    LOCKSTEP_CHECK(tokens.shape().size() == 2 && tokens.size(1) <= options_.sequence,
                   "gpt: tokens of shape ", text_of(tokens.shape()), ", expected [batch, up to ",
                   options_.sequence, "]");
    const std::int64_t length = tokens.size(1);
    Value positions = tape.leaf(wpe_.weight);  // [T, C]
    if (length < options_.sequence) positions = autograd::narrow(tape, positions, 0, 0, length);
    Value x = drop(tape, autograd::add(tape, wte_.forward(tape, tokens), positions), 0);
    for (std::size_t i = 0; i < blocks_.size(); ++i) x = through_block(tape, x, i);
    x = ln_f_.forward(tape, x);
    if (lm_head_) return lm_head_->forward(tape, x);
    return autograd::linear(tape, x, tape.leaf(wte_.weight));
  }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    wte_.add_to(all);
    wpe_.add_to(all);
    for (Block& block : blocks_) block.add_to(all);
    ln_f_.add_to(all);
    if (lm_head_) lm_head_->add_to(all);
    return all;
  }

  void prepare(const Occasion& occasion) override { occasion_ = occasion; }

 private:
  Value through_block(Tape& tape, const Value& x, std::size_t i) {
    // By value: recomputation happens later, for the occasion of this pass.
    const auto body = [this, i, occasion = occasion_](Tape& on, const Value& in) {
      return blocks_[i].forward(on, in, [&](const Value& v, std::uint64_t k) {
        return dropped(on, v, occasion, 1 + 2 * i + k);
      });
    };
    if (options_.keep == Keep::activations) return body(tape, x);
    return autograd::recompute(tape, x, body);
  }

  Value drop(Tape& tape, const Value& x, std::uint64_t place) const {
    return dropped(tape, x, occasion_, place);
  }

  Value dropped(Tape& tape, const Value& x, const Occasion& occasion, std::uint64_t place) const {
    if (occasion.mode == Mode::evaluation || options_.dropout == 0) return x;
    const std::uint64_t of_step =
        random_bits(occasion.seed, static_cast<std::uint64_t>(occasion.step));
    return autograd::dropout(tape, x,
                             {options_.dropout, random_bits(of_step, place), occasion.first_sample,
                              occasion.sample_stride});
  }

  GptOptions options_;
  Occasion occasion_;
  Embedding wte_, wpe_;
  std::vector<Block> blocks_;  // never resized after construction: parameters() hands out pointers
  LayerNorm ln_f_;
  std::optional<Linear> lm_head_;
};

}  // namespace

std::unique_ptr<Module> make_gpt(const GptOptions& options, DType dtype, Device& device,
                                 std::uint64_t seed) {
  for (const std::int64_t size :
       {options.layers, options.width, options.heads, options.sequence, options.vocabulary}) {
    LOCKSTEP_CHECK(size >= 1, "make_gpt: layers, width, heads, sequence and vocabulary are ",
                   options.layers, ", ", options.width, ", ", options.heads, ", ", options.sequence,
                   ", ", options.vocabulary, "; each starts at 1");
  }
  LOCKSTEP_CHECK(options.width % options.heads == 0, "make_gpt: ", options.heads,
                 " heads do not divide the width ", options.width);
  return std::make_unique<Gpt>(options, Made{dtype, device, seed});
}

}  // namespace lockstep::nn
