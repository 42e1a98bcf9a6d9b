#include "engine/train/layout.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/checkpoint/weights.hpp"

namespace lockstep::train {
namespace {

// The elements that a rank holds, without padding.
Tensor held(const Tensor& value, const Boxes& boxes) {
  const std::int64_t count = numel_of(boxes);
  return count == value.numel() ? value : value.view({-1}).narrow(0, count);
}

// The axes along which ranks hold the same of a parameter that each has whole.
constexpr mesh::AxisSet of_whole{mesh::Axis::tp, mesh::Axis::cp, mesh::Axis::ep, mesh::Axis::dp};

// The same of what a rank holds by its maker. Ranks along tp have the same unless it is cut, and
// those along ep unless it is an expert's.
mesh::AxisSet copies_of(const nn::Holding& held, const Shape& whole) {
  mesh::AxisSet copies{mesh::Axis::cp, mesh::Axis::dp};
  if (is_whole(held.boxes, whole)) copies.add(mesh::Axis::tp);
  if (held.kind == nn::Holding::Kind::dense) copies.add(mesh::Axis::ep);
  return copies;
}

}  // namespace

Layout::Layout(std::span<Parameter* const> parameters) {
  for (const Parameter* parameter : parameters) {
    const Shape& shape = parameter->value.shape();
    places_.push_back({parameter->name, shape, whole_of(shape), {.copies = of_whole}});
  }
}

Layout::Layout(std::span<Parameter* const> parameters, const nn::LayerMaker& layers) {
  for (const Parameter* parameter : parameters) {
    const Shape& shape = parameter->whole_shape();
    nn::Holding held = layers.holding_of(*parameter);
    mesh::GradientKind gradient{.copies = copies_of(held, shape)};
    if (held.gradient == nn::Holding::Gradient::partial) gradient.partial = {mesh::Axis::tp};
    places_.push_back({parameter->name, shape, std::move(held.boxes), gradient});
  }
}

bool Layout::is_whole() const {
  return std::ranges::all_of(places_, [](const ParameterPlace& place) {
    return lockstep::is_whole(place.boxes, place.whole);
  });
}

const ParameterPlace& Layout::of(std::string_view parameter) const {
  const auto found = std::ranges::find(places_, parameter, &ParameterPlace::name);
  LOCKSTEP_CHECK(found != places_.end(), "layout: no place is known of parameter ", parameter);
  return *found;
}

const ParameterPlace* Layout::owner_of(std::string_view state) const {
  const std::string_view parameter = state.substr(0, state.rfind('.'));
  const auto found = std::ranges::find(places_, parameter, &ParameterPlace::name);
  return found != places_.end() ? &*found : nullptr;
}

std::vector<mesh::GradientKind> Layout::gradients() const {
  std::vector<mesh::GradientKind> all;
  for (const ParameterPlace& place : places_) all.push_back(place.gradient);
  return all;
}

std::vector<Parameter*> Layout::of_experts(std::span<Parameter* const> parameters) const {
  std::vector<Parameter*> experts;
  for (Parameter* parameter : parameters) {
    if (!of(parameter->name).gradient.copies.has(mesh::Axis::ep)) experts.push_back(parameter);
  }
  return experts;
}

std::vector<Parameter*> Layout::summed_over_tp(std::span<Parameter* const> parameters,
                                               const mesh::AxisSizes& sizes) const {
  std::vector<mesh::GradientKind> kinds;
  for (const Parameter* parameter : parameters) kinds.push_back(of(parameter->name).gradient);
  std::vector<Parameter*> summed;
  for (const auto& sum : mesh::reduce_gradients_3d(sizes, kinds, mesh::MicroBatch::last)) {
    if (sum.over.has(mesh::Axis::tp)) summed.push_back(parameters[sum.gradient]);
  }
  return summed;
}

std::vector<Piece> pieces_of(const Layout& layout, nn::Module& model,
                             const optim::Optimizer& optimizer) {
  std::vector<Piece> pieces;
  add_parameters(pieces, model.parameters(), layout);
  for (const nn::Buffer* buffer : model.buffers()) {
    const Shape& shape = buffer->value.shape();
    pieces.push_back({PieceKind::buffer, buffer->name, shape, whole_of(shape), buffer->value});
  }
  add_state(pieces, optimizer, layout);
  return pieces;
}

void add_parameters(std::vector<Piece>& pieces, std::span<Parameter* const> parameters,
                    const Layout& layout) {
  for (const Parameter* parameter : parameters) {
    const ParameterPlace& place = layout.of(parameter->name);
    pieces.push_back({PieceKind::parameter, place.name, place.whole, place.boxes,
                      held(parameter->value, place.boxes)});
  }
}

void add_state(std::vector<Piece>& pieces, const optim::Optimizer& optimizer,
               const Layout& layout) {
  for (const auto& [name, value] : optimizer.state()) {
    const ParameterPlace* owner = layout.owner_of(name);
    LOCKSTEP_CHECK(owner != nullptr, "state ", name, " belongs to no parameter of this rank");
    const bool counter = value.shape().empty();  // the number of updates
    const Boxes boxes = counter ? whole_of({}) : owner->boxes;
    pieces.push_back({PieceKind::optimizer_state, name, counter ? Shape{} : owner->whole, boxes,
                      held(value, boxes)});
  }
}

void read_weights(const checkpoint::SavedTensors& file, const Layout& layout, nn::Module& model) {
  for (const Parameter* parameter : model.parameters()) {
    const Boxes& boxes = layout.of(parameter->name).boxes;
    file.load_boxes(*file.find(parameter->name), boxes, held(parameter->value, boxes));
  }
  for (const nn::Buffer* buffer : model.buffers()) {
    file.load_into(*file.find(buffer->name), buffer->value);
  }
}

void restore(const checkpoint::SavedRun& saved, const Layout& layout, nn::Module& model,
             optim::Optimizer& optimizer) {
  checkpoint::check_same_model(saved.weights(), model);
  restore_state(saved, layout, optimizer);
  read_weights(saved.weights(), layout, model);
}

void restore_state(const checkpoint::SavedRun& saved, const Layout& layout,
                   optim::Optimizer& optimizer) {
  saved.check_optimizer(optimizer.kind());
  const checkpoint::SavedTensors& file = saved.optimizer();
  const std::span<Parameter* const> mine = optimizer.parameters();
  std::vector<optim::StateTensor> state;
  for (const checkpoint::TensorEntry& entry : file.tensors()) {
    const ParameterPlace* owner = layout.owner_of(entry.name);
    if (owner == nullptr) continue;
    const auto parameter = std::ranges::find(mine, owner->name, &Parameter::name);
    if (parameter == mine.end()) continue;
    const Tensor& like = (*parameter)->value;
    if (entry.shape.empty()) {  // the number of updates
      state.push_back({entry.name, file.load(entry, like.device())});
      continue;
    }
    if (entry.shape != owner->whole) {
      throw checkpoint::CheckpointError(text(
          file.path(), ": ", entry.name, " has shape ", text_of(entry.shape), ", its parameter ",
          text_of(owner->whole), "; make the model that the state was saved with"));
    }
    const Tensor value = zeros(like.shape(), entry.dtype, like.device());
    file.load_boxes(entry, owner->boxes, held(value, owner->boxes));
    state.push_back({entry.name, value});
  }
  try {
    optimizer.load_state(state);
  } catch (const UsageError& error) {
    throw checkpoint::CheckpointError(text(file.path(), ": ", error.what()));
  }
}

}  // namespace lockstep::train
