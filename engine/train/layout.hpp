// The table of a model's parameters: of each, the elements that this rank holds, and the axes
// along which other ranks hold the same. From this one table follow the pieces of a checkpoint and
// what is read back of one, whether replicas are equal, which gradients are summed over which ranks
// (train_3d.hpp), and which rank counts what in the norm.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/checkpoint/saved_run.hpp"
#include "engine/nn/layer_maker.hpp"
#include "engine/nn/module.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/parallel/mesh/train_3d.hpp"
#include "engine/train/pieces.hpp"

namespace lockstep::train {

struct ParameterPlace {
  std::string name;
  Shape whole;  // the shape of the whole tensor
  // Which of its elements this rank holds. They come first in the parameter's value; what follows
  // them is padding, which is in no file.
  Boxes boxes;
  mesh::GradientKind gradient;
  bool operator==(const ParameterPlace&) const = default;
};

class Layout {
 public:
  Layout() = default;
  // Whole on every rank that has them, which are copies along all axes but pp.
  explicit Layout(std::span<Parameter* const> parameters);
  // As the layers' maker says: what it cuts differs along tp, and experts along ep.
  Layout(std::span<Parameter* const> parameters, const nn::LayerMaker& layers);
  // In the order of the parameters; names are unique.
  explicit Layout(std::vector<ParameterPlace> places) : places_(std::move(places)) {}

  const std::vector<ParameterPlace>& places() const { return places_; }
  // True if this rank holds all of each parameter.
  bool is_whole() const;
  //   Throws  ContractError when there is no such parameter
  const ParameterPlace& of(std::string_view parameter) const;
  // The parameter of a state of the optimizer; none: it is not in the table.
  // "h.0.ln_1.weight.exp_avg" is of "h.0.ln_1.weight".
  const ParameterPlace* owner_of(std::string_view state) const;
  std::vector<mesh::GradientKind> gradients() const;
  // Picks the parameters of experts that not all replicas hold.
  std::vector<Parameter*> of_experts(std::span<Parameter* const> parameters) const;
  // Picks the parameters or shards whose gradient is summed over tp (train_3d.hpp).
  std::vector<Parameter*> summed_over_tp(std::span<Parameter* const> parameters,
                                         const mesh::AxisSizes& sizes) const;

 private:
  std::vector<ParameterPlace> places_;
};

// The parameters, buffers and the optimizer's state that this rank holds, as views.
std::vector<Piece> pieces_of(const Layout& layout, nn::Module& model,
                             const optim::Optimizer& optimizer);
// Appends these parameters, as views.
void add_parameters(std::vector<Piece>& pieces, std::span<Parameter* const> parameters,
                    const Layout& layout);
// Appends the state of an optimizer over parameters of the layout, as views.
void add_state(std::vector<Piece>& pieces, const optim::Optimizer& optimizer, const Layout& layout);

// Reads this rank's part of the weights in a file that has been checked (checkpoint/weights.hpp).
void read_weights(const checkpoint::SavedTensors& file, const Layout& layout, nn::Module& model);
// Reads this rank's part of a saved run, box by box, and nothing else.
//   model    has all parameters of the saved one, each in the part that the layout says
//            (Parameter::whole)
//   Throws   CheckpointError when it is of another model or optimizer
void restore(const checkpoint::SavedRun& saved, const Layout& layout, nn::Module& model,
             optim::Optimizer& optimizer);
// The same for the state of the optimizer's parameters alone.
void restore_state(const checkpoint::SavedRun& saved, const Layout& layout,
                   optim::Optimizer& optimizer);

}  // namespace lockstep::train
