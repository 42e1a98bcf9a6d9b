#include "engine/train/ways/tensor.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/units.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {
namespace {

using tensor_parallel::Sequence;

// "2 or 4": the nearest numbers on both sides of `size` that divide `whole`.
std::string nearest_divisors(std::int64_t whole, std::int64_t size) {
  std::int64_t below = std::min(size, whole), above = size;
  while (whole % below != 0) --below;
  while (above < whole && whole % above != 0) ++above;
  return above <= whole && above != below ? text(below, " or ", above) : text(below);
}

// "6 or 9": the nearest multiples.
std::string nearest_multiples(std::int64_t size, std::int64_t of) {
  const std::int64_t below = size / of * of;
  return below > 0 ? text(below, " or ", below + of) : text(below + of);
}

void check_sizes(const nn::GptOptions& gpt, std::int64_t ranks, Sequence sequence) {
  if (ranks > gpt.heads) {
    throw UsageError(text("--tp ", ranks, " is more than the ", counted(gpt.heads, "head"),
                          " of a layer, and a head is computed on one rank; pass --tp ", gpt.heads,
                          " or less, or --heads ", ranks));
  }
  if (gpt.heads % ranks != 0) {
    throw UsageError(text("--tp ", ranks, " does not divide the ", counted(gpt.heads, "head"),
                          " of a layer; pass --tp ", nearest_divisors(gpt.heads, ranks),
                          ", or --heads ", nearest_multiples(gpt.heads, ranks)));
  }
  if (sequence == Sequence::sliced && gpt.sequence % ranks != 0) {
    throw UsageError(text("--sp cuts a sequence among the ranks of --tp, and ", ranks,
                          " does not divide --sequence ", gpt.sequence, "; pass --sequence ",
                          nearest_multiples(gpt.sequence, ranks)));
  }
}

int ranks_of(const Arguments& arguments) { return static_cast<int>(arguments.integer("tp", 1)); }

Sequence sequence_of(const Arguments& arguments) {
  return arguments.flag("sp") ? Sequence::sliced : Sequence::whole;
}

class TensorMaker final : public WayMaker {
 public:
  Layers make_layers(Making& making, Layers inner) const override {
    check(making.arguments, making.recipe.model, 0);
    comm::ProcessGroup* const layer = making.ranks().layer();
    LOCKSTEP_CHECK(layer != nullptr, "tensor parallelism on an axis tp of 1");
    tell_of_nodes(making, *layer);
    return make_layers(making.arguments, making.recipe.model, *layer, std::move(inner));
  }

  Layers make_layers(const Arguments& arguments, const nn::ModelSpec&, comm::ProcessGroup& layer,
                     Layers inner) const override {
    LOCKSTEP_CHECK(inner == nullptr,
                   "tensor parallelism makes the layers of no other axis; declare "
                   "its way before those of axes that stand in front of it");
    return std::make_shared<tensor_parallel::TensorLayers>(layer, sequence_of(arguments));
  }

  void check(const Arguments& arguments, const nn::ModelSpec& model, int) const override {
    check_sizes(model.gpt, ranks_of(arguments), sequence_of(arguments));
  }

  std::string note(const Arguments& arguments, const nn::ModelSpec& model) const override {
    const int ranks = ranks_of(arguments);
    const std::int64_t held = (model.gpt.vocabulary + ranks - 1) / ranks;
    if (held * ranks == model.gpt.vocabulary) return "";
    return text("the vocabulary of ", model.gpt.vocabulary, " is padded to ", held * ranks,
                ", so that ", ranks, " ranks hold ", held, " rows each\n");
  }

 private:
  // A layer on several nodes waits for their link several times a block and micro-batch, so the
  // seconds are measured. Stages work at the same time.
  static void tell_of_nodes(Making& making, comm::ProcessGroup& layer) {
    const int each = making.ranks_per_node;
    if (each == 0 || each % layer.size() == 0) return;
    const Arguments& arguments = making.arguments;
    const nn::ModelSpec& model = making.recipe.model;
    const bool sliced = sequence_of(arguments) == Sequence::sliced;
    const std::int64_t parts = making.trainer->micro_batches(arguments);
    const std::int64_t stages = making.axes->pp;
    const Shape shape{batch_size_of(arguments) / parts, model.gpt.sequence / making.axes->cp,
                      model.gpt.width};
    const Tensor x = zeros(shape, model.dtype, making.device);
    const Tensor slice = zeros({x.numel() / layer.size()}, model.dtype, making.device);
    const double began_s = layer.now_s();
    sliced ? layer.reduce_scatter(x, slice, ReduceOp::sum) : layer.all_reduce(x, ReduceOp::sum);
    const double took_s = layer.now_s() - began_s;
    if (making.group.rank() != 0 || !making.tell) return;
    const std::int64_t count =
        tensor_parallel::collectives_of_pass(model.gpt, sequence_of(arguments)) * parts *
        making.trainer->accumulate(arguments);
    making.tell(text(
        "a node has ", counted(each, "rank"), ", so --tp ", layer.size(), " crosses nodes: one ",
        sliced ? "gather or sum of slices" : "sum", " of ", text_of(shape), ", ",
        bytes_text(static_cast<std::int64_t>(x.bytes())), ", takes ", seconds_text(took_s),
        ", and a step has ", count, " of them", stages > 1 ? text(" in ", stages, " stages") : "",
        ", ", seconds_text(static_cast<double>(count / stages) * took_s),
        stages > 1 ? " in each" : "", "; pass --tp ", each, " to keep a layer inside a node"));
  }
};

}  // namespace

const WayMaker& tensor_maker() {
  static const TensorMaker maker;
  return maker;
}

}  // namespace lockstep::train
