#include "tests/equality/wrong_context.hpp"

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/parallel/sequence/ring_backward.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::test {
namespace {

using sequence_parallel::ContextKind;
using sequence_parallel::ContextLayers;

struct Packed {
  Tensor queries, keys_values;
};

Packed packed(const Tensor& qkv) {
  const std::int64_t width = qkv.size(2) / 3;
  return {ops::narrow(qkv, 2, 0, width), ops::narrow(qkv, 2, width, 2 * width)};
}

std::vector<Tensor> unpacked(const ops::AttentionGradients& gradients) {
  const std::array parts{gradients.queries, gradients.keys_values};
  return {ops::concatenate(parts, 2)};
}

// The ring of the part, whose merge adds a block's output with its weight to what is there.
ops::Attention not_rescaled(comm::Peers& peers, const Packed& own, std::int64_t heads,
                            std::span<const Positions> of_ranks) {
  const int ranks = peers.size(), rank = peers.rank();
  const Positions& mine = of_ranks[static_cast<std::size_t>(rank)];
  ops::Attention all = ops::attention(own.queries, own.keys_values, {heads, mine, mine});
  Tensor block = own.keys_values;
  for (int step = 1; step < ranks; ++step) {
    const Positions& theirs = of_ranks[static_cast<std::size_t>((rank + ranks - step) % ranks)];
    const Tensor next =
        empty({block.size(0), theirs.count(), block.size(2)}, block.dtype(), block.device());
    comm::Work receiving = peers.irecv(next, (rank + ranks - 1) % ranks);
    peers.send(block, (rank + 1) % ranks);
    receiving.wait();
    block = next;
    if (pairs_seen(mine, theirs) == 0) continue;
    const ops::Attention more = ops::attention(own.queries, block, {heads, mine, theirs});
    const Tensor before = all.output.clone();
    ops::merge_attention(all, more);
    all.output.reduce_(before, ReduceOp::sum);
    all.output.scale_(0.5);
  }
  return all;
}

nn::Attend attend_wrongly(comm::ProcessGroup& group, std::vector<Positions> of_ranks,
                          ContextFault fault) {
  return [&group, of_ranks, fault](Tape& tape, const Value& qkv, std::int64_t heads) {
    const Packed own = packed(qkv.tensor);
    const Positions mine = of_ranks[static_cast<std::size_t>(group.rank())];
    const ops::Attention whole = fault == ContextFault::not_rescaled
                                     ? not_rescaled(group, own, heads, of_ranks)
                                     : sequence_parallel::ring_attention(
                                           group, own.queries, own.keys_values, heads, of_ranks);
    return tape.record(whole.output, {qkv}, [=, &group](const Tensor& grad) {
      auto gradients = sequence_parallel::ring_attention_backward(
          group, grad, own.queries, own.keys_values, whole, heads, of_ranks);
      if (fault == ContextFault::own_lost) {
        const auto home =
            ops::attention_backward(grad, own.queries, own.keys_values, whole, {heads, mine, mine});
        gradients.keys_values = ops::subtract(gradients.keys_values, home.keys_values);
      }
      return unpacked(gradients);
    });
  };
}

// Logits whose loss is the mean over this rank's labels.
class MeanOfOwn final : public nn::Module {
 public:
  MeanOfOwn(nn::TokenShare labels, std::unique_ptr<nn::Module> inner)
      : labels_(std::move(labels)), inner_(std::move(inner)) {}
  Value forward(Tape& tape, const Value& x) override {
    Value logits = inner_->forward(tape, x);
    if (tape.mode() == GradMode::inference) return logits;
    logits.loss = std::make_shared<const Loss>(
        [labels = labels_](Tape& on, const Value& made, const Tensor& all,
                           const ops::CrossEntropyOptions& options) {
          Value rows = made;
          rows.loss = nullptr;
          const Tensor own = nn::tokens_at(all, labels.of(all.size(1)));
          return autograd::cross_entropy(on, rows, own, options);
        });
    return logits;
  }
  std::vector<Parameter*> parameters() override { return inner_->parameters(); }

 private:
  nn::TokenShare labels_;
  std::unique_ptr<nn::Module> inner_;
};

class WrongContext final : public ContextLayers {
 public:
  WrongContext(comm::ProcessGroup& group, ContextKind kind, std::int64_t length,
               std::shared_ptr<nn::LayerMaker> inner, ContextFault fault)
      : ContextLayers(group, kind, length, inner), fault_(fault) {
    auto of_ranks = sequence_parallel::positions_of_ranks(kind, length, group.size());
    if (fault == ContextFault::local_mask) {
      for (Positions& of_rank : of_ranks) of_rank = {{0, of_rank.count()}};
    }
    inner->attend_by(attend_wrongly(group, std::move(of_ranks), fault));
  }

  nn::TokenShare tokens() const override {
    if (fault_ != ContextFault::local_positions) return ContextLayers::tokens();
    return {[right = ContextLayers::tokens()](std::int64_t length) {
      return Positions{{0, right.of(length).count()}};
    }};
  }
  std::unique_ptr<nn::Module> head(Parameter& table) const override {
    if (fault_ != ContextFault::mean_of_ranks) return ContextLayers::head(table);
    return std::make_unique<MeanOfOwn>(labels(), nn::LayerMaker().head(table));
  }

 private:
  ContextFault fault_;
};

}  // namespace

std::shared_ptr<nn::LayerMaker> make_wrong_context(comm::ProcessGroup& group, ContextKind kind,
                                                   std::int64_t length,
                                                   std::shared_ptr<nn::LayerMaker> inner,
                                                   ContextFault fault) {
  if (fault == ContextFault::none) {
    return std::make_shared<ContextLayers>(group, kind, length, std::move(inner));
  }
  return std::make_shared<WrongContext>(group, kind, length, std::move(inner), fault);
}

}  // namespace lockstep::test
