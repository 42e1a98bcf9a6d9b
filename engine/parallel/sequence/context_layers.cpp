#include "engine/parallel/sequence/context_layers.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/sequence/ring_backward.hpp"
#include "engine/parallel/sequence/ulysses_attention.hpp"
#include "engine/parallel/sequence/zigzag_split.hpp"

namespace lockstep::sequence_parallel {
namespace {

// The tokens of a rank, of samples that are all of one length.
struct OwnTokens {
  Positions positions;
  std::int64_t length;
  int ranks;

  Tensor of(const char* what, const Tensor& samples) const {
    LOCKSTEP_CHECK(samples.shape().size() == 2 && samples.size(1) == length, what, " of shape ",
                   text_of(samples.shape()), " where ", ranks,
                   " ranks share sequences, expected [batch, ", length, "]");
    return nn::tokens_at(samples, positions);
  }
};

class OwnEmbedding final : public nn::Module {
 public:
  OwnEmbedding(const OwnTokens& own, std::unique_ptr<nn::Module> inner)
      : own_(own), inner_(std::move(inner)) {}
  Value forward(Tape& tape, const Value& tokens) override {
    return inner_->forward(tape, tape.constant(own_.of("tokens", tokens.tensor)));
  }
  std::vector<Parameter*> parameters() override { return inner_->parameters(); }

 private:
  OwnTokens own_;
  std::unique_ptr<nn::Module> inner_;
};

class OwnHead final : public nn::Module {
 public:
  OwnHead(const OwnTokens& own, std::unique_ptr<nn::Module> inner)
      : own_(own), inner_(std::move(inner)) {}

  Value forward(Tape& tape, const Value& x) override {
    Value logits = inner_->forward(tape, x);
    if (tape.mode() == GradMode::inference) return logits;
    logits.loss = std::make_shared<const Loss>(
        [own = own_, of_rows = logits.loss](Tape& on, const Value& made, const Tensor& labels,
                                            const ops::CrossEntropyOptions& options) {
          Value rows = made;
          rows.loss = of_rows;
          const Value mean = autograd::cross_entropy(on, rows, own.of("labels", labels), options);
          if (options.reduction == ops::Reduction::sum) return mean;
          const auto mine = static_cast<double>(own.positions.count() * own.ranks);
          return autograd::scale(on, mean, mine / static_cast<double>(own.length));
        });
    return logits;
  }
  std::vector<Parameter*> parameters() override { return inner_->parameters(); }

 private:
  OwnTokens own_;
  std::unique_ptr<nn::Module> inner_;
};

}  // namespace

std::vector<Positions> positions_of_ranks(ContextKind kind, std::int64_t length, int ranks) {
  std::vector<Positions> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(kind == ContextKind::zigzag ? zigzag(length, ranks, rank)
                                              : contiguous(length, ranks, rank));
  }
  return all;
}

ContextLayers::ContextLayers(comm::ProcessGroup& group, ContextKind kind, std::int64_t length,
                             std::shared_ptr<nn::LayerMaker> behind)
    : MakerInFront(std::move(behind)), ranks_(group.size()), length_(length) {
  auto of_ranks = positions_of_ranks(kind, length, ranks_);
  own_ = of_ranks[static_cast<std::size_t>(group.rank())];
  if (kind == ContextKind::ulysses) {
    inner().attend_by([&group, length](Tape& tape, const Value& qkv, std::int64_t heads) {
      return ulysses_attention(tape, group, qkv, heads, length);
    });
  } else {
    inner().attend_by(
        [&group, all = std::move(of_ranks)](Tape& tape, const Value& qkv, std::int64_t heads) {
          return attend_in_ring(tape, group, qkv, heads, all);
        });
  }
}

nn::TokenShare ContextLayers::labels() const {
  return {[own = own_, all = length_](std::int64_t length) {
    LOCKSTEP_CHECK(length == all, "samples of ", length, " tokens where ranks share sequences of ",
                   all, "; all samples are of one length");
    return own;
  }};
}

// The inner maker's share is of what this rank has.
nn::TokenShare ContextLayers::tokens() const {
  if (inner().tokens().whole()) return labels();
  return {[outer = labels(), inner = inner().tokens()](std::int64_t length) {
    const Positions own = outer.of(length);
    const TokenRange part = inner.of(own.count()).early;
    const std::int64_t split = own.early.count;
    const std::int64_t first = std::min(part.first, split), end = std::min(part.end(), split);
    const TokenRange early{own.early.first + first, end - first};
    const std::int64_t late = part.end() - std::max(part.first, split);
    if (late <= 0) return Positions{early};
    const TokenRange back{own.late.first + std::max(part.first, split) - split, late};
    return early.count > 0 ? Positions{early, back} : Positions{back};
  }};
}

std::unique_ptr<nn::Module> ContextLayers::embedding(Parameter& table) const {
  return std::make_unique<OwnEmbedding>(OwnTokens{own_, length_, ranks_}, inner().embedding(table));
}

std::unique_ptr<nn::Module> ContextLayers::head(Parameter& table) const {
  return std::make_unique<OwnHead>(OwnTokens{own_, length_, ranks_}, inner().head(table));
}

}  // namespace lockstep::sequence_parallel
