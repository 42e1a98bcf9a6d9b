#include "engine/train/ways/sequence.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/units.hpp"
#include "engine/parallel/sequence/context_layers.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {
namespace {

using sequence_parallel::ContextKind;

int ranks_of(const Arguments& arguments) { return static_cast<int>(arguments.integer("cp", 1)); }

ContextKind kind_of(const Arguments& arguments) {
  const std::string& kind = arguments.get("cp-kind");
  return kind == "ulysses"  ? ContextKind::ulysses
         : kind == "zigzag" ? ContextKind::zigzag
                            : ContextKind::ring;
}

void check_length(ContextKind kind, std::int64_t length, std::int64_t ranks) {
  const std::int64_t pieces = kind == ContextKind::zigzag ? 2 : 1;
  if (length >= pieces * ranks) return;
  const std::int64_t most = length / pieces;
  throw UsageError(text("--cp ", ranks, " cuts a sequence of ", counted(length, "token"), " into ",
                        pieces * ranks, pieces == 2 ? " chunks" : " slices",
                        ", and none may be empty; pass --sequence ", pieces * ranks, " or more",
                        most > 1 ? text(", or --cp ", most, " or less") : std::string()));
}

// After tp, a rank has heads / tp of them.
void check_heads(std::int64_t heads, std::int64_t tp, std::int64_t ranks) {
  const std::int64_t left = heads / tp;
  if (left % ranks == 0) return;
  std::int64_t nearest = std::min(ranks, left);
  while (left % nearest != 0) --nearest;
  throw UsageError(text(
      "--cp-kind ulysses gives each rank whole heads, and --cp ", ranks, " does not divide the ",
      counted(left, "head"), tp > 1 ? text(" that --tp ", tp, " leaves of ", heads) : " of a layer",
      "; pass ", nearest > 1 ? text("--cp ", nearest, ", ") : std::string(), "--heads ",
      (left + ranks - 1) / ranks * ranks * tp, ", or --cp-kind ring"));
}

// With --sp, the ranks of a layer share a rank's tokens evenly.
void check_slices(ContextKind kind, std::int64_t length, int ranks, std::int64_t tp) {
  for (const Positions& own : sequence_parallel::positions_of_ranks(kind, length, ranks)) {
    if (own.count() % tp == 0) continue;
    throw UsageError(text("--sp cuts a rank's tokens among the ranks of --tp, and --tp ", tp,
                          " does not divide the ", own.count(), " that --cp ", ranks,
                          " leaves of --sequence ", length, "; pass --sequence ",
                          (length + ranks * tp - 1) / (ranks * tp) * (ranks * tp)));
  }
}

class SequenceMaker final : public WayMaker {
 public:
  Layers make_layers(Making& making, Layers inner) const override {
    comm::ProcessGroup* const sequence = making.ranks().sequence();
    LOCKSTEP_CHECK(sequence != nullptr, "context parallelism on an axis cp of 1");
    return make_layers(making.arguments, making.recipe.model, *sequence, std::move(inner));
  }

  Layers make_layers(const Arguments& arguments, const nn::ModelSpec& model,
                     comm::ProcessGroup& group, Layers inner) const override {
    check(arguments, model, 0);
    if (inner == nullptr) inner = std::make_shared<nn::LayerMaker>();
    return std::make_shared<sequence_parallel::ContextLayers>(group, kind_of(arguments),
                                                              model.gpt.sequence, std::move(inner));
  }

  void check(const Arguments& arguments, const nn::ModelSpec& model, int) const override {
    const ContextKind kind = kind_of(arguments);
    const std::int64_t tp = arguments.integer("tp", 1);
    check_length(kind, model.gpt.sequence, ranks_of(arguments));
    if (kind == ContextKind::ulysses) check_heads(model.gpt.heads, tp, ranks_of(arguments));
    if (arguments.flag("sp")) {
      check_slices(kind, model.gpt.sequence, ranks_of(arguments), tp);
    }
  }
};

}  // namespace

const WayMaker& sequence_maker() {
  static const SequenceMaker maker;
  return maker;
}

}  // namespace lockstep::train
