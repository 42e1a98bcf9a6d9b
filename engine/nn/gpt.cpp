#include "engine/nn/gpt.hpp"

#include <cmath>
#include <optional>

#include "engine/autograd/activation_checkpoint.hpp"
#include "engine/base/random.hpp"
#include "engine/nn/layer_maker.hpp"

namespace lockstep::nn {
namespace {

constexpr double deviation = 0.02;

// x + attention(norm(x)), then x + feed_forward(norm(x)).
struct Block {
  Block(const std::string& name, const GptOptions& options, const Deviations& deviations,
        const LayerMaker& layers, const Made& made)
      : ln_1(layers.norm(name + ".ln_1", options.width, made)),
        attn(layers.attention(name + ".attn", options.width, options.heads, deviations, made)),
        ln_2(layers.norm(name + ".ln_2", options.width, made)),
        mlp(feed_forward(name + ".mlp", options, deviations, layers, made)) {}

  static std::unique_ptr<Module> feed_forward(const std::string& name, const GptOptions& options,
                                              const Deviations& deviations,
                                              const LayerMaker& layers, const Made& made) {
    const std::int64_t width = options.width, hidden = 4 * width;
    if (options.mixture.experts == 0) {
      return layers.feed_forward(name, width, hidden, deviations, made);
    }
    return layers.mixture(name, width, hidden, options.mixture, deviations, made);
  }

  // drop(value, k): dropout at the block's k-th place.
  template <typename Drop>
  Value forward(Tape& tape, const Value& input, const Drop& drop) {
    Value x = autograd::add(tape, input, drop(attn->forward(tape, ln_1->forward(tape, input)), 0));
    return autograd::add(tape, x, drop(mlp->forward(tape, ln_2->forward(tape, x)), 1));
  }

  std::unique_ptr<Module> ln_1, attn, ln_2, mlp;
};

// The random numbers of dropout are counted from the pass's occasion, the place in the model and
// the element of the sample, so a unit draws the same ones wherever it lies, and whatever tokens it
// has.
//   tokens  of x; where they are not all of a sample, its length is the model's
Value dropped(Tape& tape, const Value& x, const GptOptions& options, const Occasion& occasion,
              const TokenShare& tokens, std::uint64_t place) {
  if (occasion.mode == Mode::evaluation || options.dropout == 0) return x;
  const std::int64_t length = x.tensor.size(1), width = x.tensor.size(2);
  const auto [early, late] = tokens.of(tokens.whole() ? length : options.sequence);
  LOCKSTEP_CHECK(early.count + late.count == length, "gpt: dropout of ", length,
                 " tokens on a rank that has ", early.count + late.count, " of ", options.sequence,
                 "; ranks that share a sequence train on samples of the model's length");
  const std::uint64_t of_step =
      random_bits(occasion.seed, static_cast<std::uint64_t>(occasion.step));
  return autograd::dropout(tape, x,
                           {.rate = options.dropout,
                            .seed = random_bits(of_step, place),
                            .first_sample = occasion.first_sample,
                            .sample_stride = occasion.sample_stride,
                            .first_element = early.first * width,
                            .jump_at = early.count * width,
                            .jump = late.count > 0 ? (late.first - early.end()) * width : 0});
}

// Tokens [B, T] → x.
class EmbeddingUnit final : public Module {
 public:
  EmbeddingUnit(const GptOptions& options, const LayerMaker& layers, const Made& made)
      : options_(options),
        share_(layers.tokens()),
        wte_(layers.table("wte.weight", options.vocabulary, options.width, deviation, made)),
        wpe_(normal_parameter("wpe.weight", {options.sequence, options.width}, deviation, made)),
        embedding_(layers.embedding(wte_)) {}

  Value forward(Tape& tape, const Value& input) override {
    const Tensor& tokens = input.tensor;
    const std::int64_t before = occasion_.cache == nullptr ? 0 : occasion_.cache->tokens;
    LOCKSTEP_CHECK(tokens.shape().size() == 2 && before + tokens.size(1) <= options_.sequence,
                   "gpt: tokens of shape ", text_of(tokens.shape()), ", expected [batch, up to ",
                   options_.sequence - before, "]");
    Positions at = share_.of(tokens.size(1));
    at.early.first += before;
    const Value table = tape.leaf(wpe_);  // [longest T, C]
    const Value positions = rows_at(tape, table, at);
    const Value x = autograd::add(tape, embedding_->forward(tape, input), positions);
    return dropped(tape, x, options_, occasion_, share_, 0);
  }

  std::vector<Parameter*> parameters() override { return {&wte_, &wpe_}; }
  void prepare(const Occasion& occasion) override { occasion_ = occasion; }
  Parameter& table() { return wte_; }

 private:
  GptOptions options_;
  TokenShare share_;
  Occasion occasion_{.mode = Mode::training};
  Parameter wte_, wpe_;
  std::unique_ptr<Module> embedding_;  // of wte_
};

// x → x.
class BlockUnit final : public Module {
 public:
  BlockUnit(std::int64_t number, const GptOptions& options, const LayerMaker& layers,
            const Made& made)
      : options_(options),
        share_(layers.tokens()),
        first_place_(1 + 2 * static_cast<std::uint64_t>(number)),
        block_(text("h.", number), options,
               {deviation, deviation / std::sqrt(2.0 * static_cast<double>(options.layers))},
               layers, made) {}

  Value forward(Tape& tape, const Value& x) override {
    // By value: recomputation happens later, for the occasion of this pass.
    const auto body = [this, occasion = occasion_](Tape& on, const Value& in) {
      block_.mlp->prepare(occasion);
      return block_.forward(on, in, [&](const Value& v, std::uint64_t k) {
        return dropped(on, v, options_, occasion, share_, first_place_ + k);
      });
    };
    if (options_.keep == Keep::activations) return body(tape, x);
    return autograd::recompute(tape, x, body);
  }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    for (Module* layer :
         {block_.ln_1.get(), block_.attn.get(), block_.ln_2.get(), block_.mlp.get()}) {
      const auto of_layer = layer->parameters();
      all.insert(all.end(), of_layer.begin(), of_layer.end());
    }
    return all;
  }
  void prepare(const Occasion& occasion) override {
    occasion_ = occasion;
    block_.attn->prepare(occasion);
  }

 private:
  GptOptions options_;
  TokenShare share_;
  std::uint64_t first_place_;  // of dropout
  Occasion occasion_{.mode = Mode::training};
  Block block_;
};

// x → logits [B, T, V].
class HeadUnit final : public Module {
 public:
  // table  the embedding's weights where they lie on this rank and the head is tied to them; a tied
  //        head without it holds a copy of its own, under the same name
  HeadUnit(const GptOptions& options, Parameter* table, const LayerMaker& layers, const Made& made)
      : ln_f_(layers.norm("ln_f", options.width, made)) {
    const bool tied = options.head == OutputHead::tied;
    if (!tied || table == nullptr) {
      own_ = layers.table(tied ? "wte.weight" : "lm_head.weight", options.vocabulary, options.width,
                          deviation, made);
      table = &*own_;
    }
    head_ = layers.head(*table);
  }

  Value forward(Tape& tape, const Value& x) override {
    return head_->forward(tape, ln_f_->forward(tape, x));
  }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all = ln_f_->parameters();
    if (own_) all.push_back(&*own_);
    return all;
  }

 private:
  std::unique_ptr<Module> ln_f_;
  std::optional<Parameter> own_;
  std::unique_ptr<Module> head_;  // of own_, or of the embedding's table
};

}  // namespace

std::int64_t unit_count(const GptOptions& options) { return options.layers + 2; }

std::unique_ptr<Chain> make_gpt_units(const GptOptions& options, DType dtype, Device& device,
                                      std::uint64_t seed, UnitRange range,
                                      const LayerMaker& layers) {
  for (const std::int64_t size :
       {options.layers, options.width, options.heads, options.sequence, options.vocabulary}) {
    LOCKSTEP_CHECK(size >= 1, "make_gpt: layers, width, heads, sequence and vocabulary are ",
                   options.layers, ", ", options.width, ", ", options.heads, ", ", options.sequence,
                   ", ", options.vocabulary, "; each starts at 1");
  }
  LOCKSTEP_CHECK(options.width % options.heads == 0, "make_gpt: ", options.heads,
                 " heads do not divide the width ", options.width);
  const MixtureOptions& mixture = options.mixture;
  LOCKSTEP_CHECK(mixture.experts == 0 || (mixture.top_k >= 1 && mixture.top_k <= mixture.experts &&
                                          mixture.capacity > 0),
                 "make_gpt: ", mixture.top_k, " of ", mixture.experts,
                 " experts for a token, with a capacity of ", mixture.capacity,
                 "; a token chooses 1 to all, and a capacity is above 0");
  check_range(range, unit_count(options));
  const Made made{dtype, device, seed};
  std::vector<Unit> units;
  Parameter* table = nullptr;
  for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
    if (i == 0) {
      auto embedding = std::make_unique<EmbeddingUnit>(options, layers, made);
      table = &embedding->table();
      units.push_back({"embedding", std::move(embedding)});
    } else if (i <= options.layers) {
      units.push_back(
          {text("h.", i - 1), std::make_unique<BlockUnit>(i - 1, options, layers, made)});
    } else {
      units.push_back({"head", std::make_unique<HeadUnit>(options, table, layers, made)});
    }
  }
  return std::make_unique<Chain>(std::move(units));
}

std::unique_ptr<Module> make_gpt(const GptOptions& options, DType dtype, Device& device,
                                 std::uint64_t seed) {
  return make_gpt_units(options, dtype, device, seed, {0, unit_count(options)}, LayerMaker());
}

}  // namespace lockstep::nn
