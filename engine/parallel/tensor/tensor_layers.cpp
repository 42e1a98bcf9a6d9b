#include "engine/parallel/tensor/tensor_layers.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/nn/initialise.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/parallel/tensor/cuts.hpp"
#include "engine/parallel/tensor/parallel_attention.hpp"
#include "engine/parallel/tensor/row_parallel_linear.hpp"
#include "engine/parallel/tensor/sequence_parallel_region.hpp"
#include "engine/parallel/tensor/shares.hpp"
#include "engine/parallel/tensor/vocab_parallel_cross_entropy.hpp"
#include "engine/parallel/tensor/vocab_parallel_embedding.hpp"

namespace lockstep::tensor_parallel {
namespace {

// The tensor-parallel group of a layer, and what a rank has between the layers.
struct Ranks {
  comm::ProcessGroup& group;
  Sequence sequence;

  // The tokens of all ranks, with which a layer begins under --sp. They are not kept for backward.
  Value gathered(Tape& tape, const Value& slice) const {
    return gather_sequence(tape, group, slice, Kept::slice);
  }
  // The sum that a layer ends with under --sp, and the bias, once.
  Value scattered(Tape& tape, const Value& x, const Value& weight, Parameter& bias) const {
    const Value sum = scatter_sum_sequence(tape, group, autograd::linear(tape, x, weight));
    return autograd::add(tape, sum, tape.leaf(bias));
  }
};

// This rank's part of a normal weight, drawn without the rest.
Parameter weight_of(const std::string& name, const Shape& whole, double deviation,
                    const comm::ProcessGroup& group, const nn::Made& made) {
  const Cut cut = cut_of(name);
  const Boxes boxes = boxes_of(cut, whole, group.size(), group.rank());
  Parameter weight{
      name,
      nn::normal(held_shape(cut, whole, group.size()), deviation, nn::stream_of(made.seed, name),
                 made.dtype, made.device, whole, boxes),
      {},
      {}};
  weight.whole = whole;
  return weight;
}

Parameter bias_of(const std::string& name, std::int64_t count, const comm::ProcessGroup& group,
                  const nn::Made& made) {
  Parameter bias{
      name,
      nn::constant(held_shape(cut_of(name), {count}, group.size()), 0, made.dtype, made.device),
      {},
      {}};
  bias.whole = Shape{count};
  return bias;
}

class ParallelAttention final : public nn::Module {
 public:
  ParallelAttention(const std::string& name, std::int64_t width, std::int64_t heads,
                    const nn::Deviations& deviations, const nn::Made& made, const Ranks& ranks,
                    nn::Attend attend)
      : ranks_(ranks),
        attend_(std::move(attend)),
        heads_(heads),
        own_heads_(equal_share("heads", heads, ranks.group.size())),
        qkv_weight_(weight_of(name + ".c_attn.weight", {3 * width, width}, deviations.weights,
                              ranks.group, made)),
        qkv_bias_(bias_of(name + ".c_attn.bias", 3 * width, ranks.group, made)),
        proj_weight_(
            weight_of(name + ".c_proj.weight", {width, width}, deviations.last, ranks.group, made)),
        proj_bias_(bias_of(name + ".c_proj.bias", width, ranks.group, made)) {}

  Value forward(Tape& tape, const Value& x) override {
    const Value qkv_weight = tape.leaf(qkv_weight_), qkv_bias = tape.leaf(qkv_bias_);
    const Value proj_weight = tape.leaf(proj_weight_);
    if (ranks_.sequence == Sequence::sliced) {
      const Value qkv =
          autograd::linear(tape, ranks_.gathered(tape, x), qkv_weight, qkv_bias);  // [B, T, 3·C/t]
      return ranks_.scattered(tape, mixed(tape, qkv), proj_weight, proj_bias_);
    }
    if (!attend_ && cache_ == nullptr) {
      return parallel_attention(tape, ranks_.group, x,
                                {qkv_weight, qkv_bias, proj_weight, tape.leaf(proj_bias_)}, heads_);
    }
    const Value qkv =
        column_parallel_linear(tape, ranks_.group, x, qkv_weight, qkv_bias, ColumnOutput::share);
    const Value of_heads = cache_ == nullptr
                               ? mixed(tape, qkv)
                               : nn::cached_attention(tape, *cache_, *this, qkv, own_heads_);
    return row_parallel_linear(tape, ranks_.group, of_heads, proj_weight, tape.leaf(proj_bias_));
  }

  std::vector<Parameter*> parameters() override {
    return {&qkv_weight_, &qkv_bias_, &proj_weight_, &proj_bias_};
  }
  // A cache is of this rank's heads, as its keys and values are.
  void prepare(const nn::Occasion& occasion) override { cache_ = occasion.cache; }

 private:
  Value mixed(Tape& tape, const Value& qkv) const {
    if (attend_) return attend_(tape, qkv, own_heads_);
    return autograd::causal_attention(tape, qkv, own_heads_);
  }

  Ranks ranks_;
  nn::Attend attend_;  // none: the rank has all tokens
  nn::KeyValueCache* cache_ = nullptr;
  std::int64_t heads_, own_heads_;
  Parameter qkv_weight_, qkv_bias_, proj_weight_, proj_bias_;
};

class ParallelFeedForward final : public nn::Module {
 public:
  ParallelFeedForward(const std::string& name, std::int64_t width, std::int64_t hidden,
                      const nn::Deviations& deviations, const nn::Made& made, const Ranks& ranks)
      : ranks_(ranks),
        fc_weight_(weight_of(name + ".c_fc.weight", {hidden, width}, deviations.weights,
                             ranks.group, made)),
        fc_bias_(bias_of(name + ".c_fc.bias", hidden, ranks.group, made)),
        proj_weight_(weight_of(name + ".c_proj.weight", {width, hidden}, deviations.last,
                               ranks.group, made)),
        proj_bias_(bias_of(name + ".c_proj.bias", width, ranks.group, made)) {}

  Value forward(Tape& tape, const Value& x) override {
    const Value fc_weight = tape.leaf(fc_weight_), fc_bias = tape.leaf(fc_bias_);
    const auto activated = [&](const Value& hidden) {
      return autograd::activate(tape, hidden, ops::Activation::gelu);
    };
    if (ranks_.sequence == Sequence::whole) {
      const Value hidden =
          column_parallel_linear(tape, ranks_.group, x, fc_weight, fc_bias, ColumnOutput::share);
      const Value proj_weight = tape.leaf(proj_weight_);
      return row_parallel_linear(tape, ranks_.group, activated(hidden), proj_weight,
                                 tape.leaf(proj_bias_));
    }
    const Value hidden = autograd::linear(tape, ranks_.gathered(tape, x), fc_weight, fc_bias);
    return ranks_.scattered(tape, activated(hidden), tape.leaf(proj_weight_), proj_bias_);
  }

  std::vector<Parameter*> parameters() override {
    return {&fc_weight_, &fc_bias_, &proj_weight_, &proj_bias_};
  }

 private:
  Ranks ranks_;
  Parameter fc_weight_, fc_bias_, proj_weight_, proj_bias_;
};

class ParallelEmbedding final : public nn::Module {
 public:
  ParallelEmbedding(Parameter& table, const Ranks& ranks) : ranks_(ranks), table_(table) {}

  Value forward(Tape& tape, const Value& tokens) override {
    comm::ProcessGroup& group = ranks_.group;
    const std::int64_t vocabulary = table_.whole_shape().front();
    const Value mine =
        vocab_parallel_embedding(tape, tape.leaf(table_), tokens.tensor, vocabulary,
                                 vocabulary_share(vocabulary, group.size(), group.rank()));
    return ranks_.sequence == Sequence::whole ? leave_parallel(tape, group, mine)
                                              : scatter_sum_sequence(tape, group, mine);
  }

  std::vector<Parameter*> parameters() override { return {&table_}; }

 private:
  Ranks ranks_;
  Parameter& table_;
};

class ParallelHead final : public nn::Module {
 public:
  ParallelHead(Parameter& table, const Ranks& ranks) : ranks_(ranks), table_(table) {
    comm::ProcessGroup& group = ranks_.group;
    const std::int64_t vocabulary = table.whole_shape().front();
    loss_ = std::make_shared<const Loss>(
        [&group, vocabulary](Tape& tape, const Value& logits, const Tensor& labels,
                             const ops::CrossEntropyOptions& options) {
          return vocab_parallel_cross_entropy(tape, group, logits, labels, vocabulary, options);
        });
  }

  // A tape that records leads to a loss, for which a rank's columns [B, T, ⌈V/t⌉] are enough.
  // Whoever reads logits makes a tape for inference, and gets all of them.
  Value forward(Tape& tape, const Value& x) override {
    comm::ProcessGroup& group = ranks_.group;
    const Value table = tape.leaf(table_);
    const bool sliced = ranks_.sequence == Sequence::sliced;
    const Value in = sliced ? ranks_.gathered(tape, x) : x;
    if (tape.mode() == GradMode::inference) {
      const Value padded =
          column_parallel_linear(tape, group, in, table, std::nullopt, ColumnOutput::whole);
      return autograd::narrow(tape, padded, 2, 0, table_.whole_shape().front());
    }
    Value logits =
        sliced ? autograd::linear(tape, in, table)
               : column_parallel_linear(tape, group, in, table, std::nullopt, ColumnOutput::share);
    logits.loss = loss_;
    return logits;
  }

  std::vector<Parameter*> parameters() override { return {&table_}; }

 private:
  Ranks ranks_;
  Parameter& table_;
  std::shared_ptr<const Loss> loss_;
};

}  // namespace

std::int64_t collectives_of_pass(const nn::GptOptions& model, Sequence sequence) {
  const bool sliced = sequence == Sequence::sliced;
  // A layer ends with a sum and begins with one of gradients. Of slices, each end has a collective
  // both ways, and backward gathers once more what was not kept.
  const std::int64_t forward = sliced ? 2 : 1, backward = sliced ? 3 : 1;
  const std::int64_t again = model.keep == nn::Keep::block_inputs ? forward : 0;
  const std::int64_t layers = model.layers * (model.mixture.experts > 0 ? 1 : 2);
  // The embedding is the end of a layer, the head the beginning of one.
  const std::int64_t vocabulary = sliced ? 5 : 2;
  return layers * (forward + again + backward) + vocabulary;
}

nn::Holding TensorLayers::holding_of(const Parameter& parameter) const {
  const Cut cut = cut_of(parameter.name);
  const bool partial = sequence_ == Sequence::sliced && cut == Cut::whole;
  return {boxes_of(cut, parameter.whole_shape(), group_.size(), group_.rank()),
          partial ? nn::Holding::Gradient::partial : nn::Holding::Gradient::complete};
}

void TensorLayers::sum_partial_gradients(std::span<Parameter* const> parameters) const {
  // With whole sequences nothing is partial: such a run does without the part.
  if (!parameters.empty()) sum_slice_gradients(group_, parameters);
}

nn::TokenShare TensorLayers::tokens() const {
  if (sequence_ == Sequence::whole) return {};
  return {[rank = group_.rank(), ranks = group_.size()](std::int64_t length) {
    const std::int64_t each = equal_share("tokens of a sequence", length, ranks);
    return Positions{{rank * each, each}};
  }};
}

std::unique_ptr<nn::Module> TensorLayers::attention(const std::string& name, std::int64_t width,
                                                    std::int64_t heads,
                                                    const nn::Deviations& deviations,
                                                    const nn::Made& made) const {
  return std::make_unique<ParallelAttention>(name, width, heads, deviations, made,
                                             Ranks{group_, sequence_}, attend());
}

std::unique_ptr<nn::Module> TensorLayers::feed_forward(const std::string& name, std::int64_t width,
                                                       std::int64_t hidden,
                                                       const nn::Deviations& deviations,
                                                       const nn::Made& made) const {
  return std::make_unique<ParallelFeedForward>(name, width, hidden, deviations, made,
                                               Ranks{group_, sequence_});
}

Parameter TensorLayers::table(const std::string& name, std::int64_t vocabulary, std::int64_t width,
                              double deviation, const nn::Made& made) const {
  return weight_of(name, {vocabulary, width}, deviation, group_, made);
}

std::unique_ptr<nn::Module> TensorLayers::embedding(Parameter& table) const {
  return std::make_unique<ParallelEmbedding>(table, Ranks{group_, sequence_});
}

std::unique_ptr<nn::Module> TensorLayers::head(Parameter& table) const {
  return std::make_unique<ParallelHead>(table, Ranks{group_, sequence_});
}

}  // namespace lockstep::tensor_parallel
