// Plays a layer whose tensors are dealt to the ranks of a group: a member is given its pieces of
// inputs and parameters and nothing of the others'. The gradient of an output is the judge's, and
// comes when the output was shown. All passes go forward before the first one goes back.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>

#include "engine/autograd/tape.hpp"
#include "grader/play/computing_port.hpp"

namespace lockstep::grader {

// In halves: first what goes on to the inputs, then what ends in parameters. Forward: the tape
// records, and no pass goes back. Refused: the shapes do not fit, and the part has to say so.
enum class LayerWalk : std::uint8_t { whole, in_halves, forward, inference, refused };
// A constant has no gradient that anything wants.
enum class LayerInput : std::uint8_t { wanted, constant };

// The parameters that are constants of the tape, which nothing trains: none, the last one, or all.
enum class LayerFrozen : std::uint8_t { none, last, all };
inline bool is_frozen(LayerFrozen frozen, std::size_t parameter, std::size_t parameters) {
  return frozen == LayerFrozen::all || (frozen == LayerFrozen::last && parameter + 1 == parameters);
}

using Axes = std::vector<std::int64_t>;  // the sizes of a tensor's axes
inline Axes axes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// A rank's piece of a tensor.
struct LayerTensor {
  Axes shape{};
  Bytes values{};

  Shape tensor_shape() const {
    Shape all;
    for (const std::int64_t size : shape) all.push_back(size);
    return all;
  }
};

struct LayerCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float64;
  LayerWalk walk = LayerWalk::whole;
  LayerInput input = LayerInput::wanted;
  LayerFrozen frozen = LayerFrozen::none;
  std::vector<LayerTensor> inputs{};     // by pass
  std::vector<LayerTensor> gradients{};  // by pass, of outputs: without values, which come later
  std::vector<LayerTensor> outputs{};    // by pass: the shapes that are expected
  std::vector<LayerTensor> parameters{};
  std::vector<std::uint32_t> back{};    // the order in which passes go back
  std::vector<std::int64_t> options{};  // what else the part is told
};

// A rank has made the output of a pass, and is given the gradient of it; or the pass is half back,
// where another input comes from which its second half has to make the gradients of weights; or it
// is back.
struct LayerCall {
  static constexpr const char* service = "layer";
  enum class Kind : std::uint8_t { forward, half, backward };
  Kind kind = Kind::forward;
  std::uint32_t pass = 0;
  Axes shape{};  // of the output, as it is
  DType dtype = DType::float64;
  Bytes numbers{};              // of the output, if it has the shape that is expected
  std::int64_t held_bytes = 0;  // tensors beside the adapter's; advice (decision 0055)
};
struct LayerAnswer {
  Bytes gradient{};  // of the output
  Bytes input{};     // half: in place of the one that there was
};

struct LayerGradient {
  bool defined = false;
  Axes shape{};  // as it is
  DType dtype = DType::float64;
  Bytes numbers{};  // if it has the shape of its tensor
};
struct LayerReport {
  Ending ending{};                          // of a part that has to refuse
  std::vector<LayerGradient> inputs{};      // by pass
  std::vector<LayerGradient> parameters{};  // of all passes together
  std::vector<std::uint32_t> fired{};       // by parameter, hooks
  // By pass, in the end: what the part was given and must not change.
  std::vector<Bytes> inputs_left{}, gradients_left{};
};

template <typename Archive>
void fields(Archive& archive, LayerTensor& tensor) {
  archive(tensor.shape, tensor.values);
}
template <typename Archive>
void fields(Archive& archive, LayerCase& c) {
  archive(c.group, c.peer, c.dtype, c.walk, c.input, c.frozen, c.inputs, c.gradients, c.outputs,
          c.parameters, c.back, c.options);
}
template <typename Archive>
void fields(Archive& archive, LayerCall& call) {
  archive(call.kind, call.pass, call.shape, call.dtype, call.numbers, call.held_bytes);
}
inline void check_fields(LayerCall& call) {
  if (call.kind > LayerCall::Kind::backward) throw MalformedMessage("no such call");
}
template <typename Archive>
void fields(Archive& archive, LayerAnswer& answer) {
  archive(answer.gradient, answer.input);
}
template <typename Archive>
void fields(Archive& archive, LayerGradient& gradient) {
  archive(gradient.defined, gradient.shape, gradient.dtype, gradient.numbers);
}
template <typename Archive>
void fields(Archive& archive, LayerReport& report) {
  archive(report.ending, report.inputs, report.parameters, report.fired, report.inputs_left,
          report.gradients_left);
}

// A tensor of this shape and these elements.
inline Tensor made_of(const LayerTensor& of, DType dtype, Device& device, MemoryKind kind,
                      std::span<const std::byte> elements) {
  const Tensor made = empty(of.tensor_shape(), dtype, device, kind);
  write_bytes(made, elements);
  return made;
}

// A parameter on a tape: its leaf, or a constant.
inline Value leaf_of(Tape& tape, std::deque<Parameter>& parameters, std::size_t index,
                     const LayerCase& c) {
  Parameter& parameter = parameters.at(index);
  const bool frozen = is_frozen(c.frozen, index, parameters.size());
  return frozen ? tape.constant(parameter.value) : tape.leaf(parameter);
}

// A layer: what it computes, and what it does once when all passes are back, if anything.
struct PlayedFunctions {
  std::function<Value(Tape&, const Value&)> forward;
  std::function<void()> finish{};
};

class PlayedLayer {
 public:
  using Forward = std::function<Value(Tape&, const Value&)>;

  PlayedLayer(const LayerCase& c, Device& device, sim::Port& port)
      : c_(c), device_(device), port_(port) {
    for (const LayerTensor& of : c.parameters) {
      Parameter& parameter = parameters_.emplace_back();
      parameter.name = text("parameter ", parameters_.size() - 1);
      parameter.value = made_of(of, c.dtype, device, MemoryKind::parameters, of.values);
      const std::size_t index = report_.fired.size();
      parameter.hooks.emplace_back([this, index](Parameter&) { ++report_.fired[index]; });
      report_.fired.push_back(0);
    }
  }
  std::deque<Parameter>& parameters() { return parameters_; }

  LayerReport run(const PlayedFunctions& layer) {
    const Forward& forward = layer.forward;
    if (c_.walk == LayerWalk::refused) {
      report_.ending = ending_of<ContractError>([&] { go_forward(0, forward); });
      return std::move(report_);
    }
    own_bytes_ = device_.bytes_now();
    for (std::size_t pass = 0; pass < c_.inputs.size(); ++pass) {
      go_forward(pass, forward);
      show(pass);
    }
    // From another output, there is no way back; the judge says what is wrong with it.
    const bool fits = std::ranges::all_of(passes_, &Pass::fits);
    report_.inputs.resize(passes_.size());
    if (!fits) return std::move(report_);
    for (const std::uint32_t pass : c_.back) {
      go_back(passes_.at(pass), pass);
      tell(port_, LayerCall{.kind = LayerCall::Kind::backward,
                            .pass = pass,
                            .held_bytes = device_.bytes_now() - own_bytes_});
    }
    if (layer.finish && !c_.back.empty()) layer.finish();
    report_all();
    return std::move(report_);
  }

 private:
  struct Pass {
    explicit Pass(GradMode mode) : tape(mode) {}
    Tape tape;
    Value input{}, output{};
    bool fits = true;   // the output has the shape and the type that are expected
    Tensor gradient{};  // of the output
    Tensor to_input{};  // the gradient of the input
  };

  // A tensor of the adapter's.
  Tensor own(const LayerTensor& of, std::span<const std::byte> numbers) {
    const std::int64_t before = device_.bytes_now();
    Tensor made = made_of(of, c_.dtype, device_, MemoryKind::activations, numbers);
    own_bytes_ += device_.bytes_now() - before;
    return made;
  }
  void go_forward(std::size_t number, const Forward& forward) {
    const bool infers = c_.walk == LayerWalk::inference;
    Pass& pass = passes_.emplace_back(infers ? GradMode::inference : GradMode::record);
    const LayerTensor& of = c_.inputs[number];
    const Tensor x = own(of, of.values);
    pass.input = c_.input == LayerInput::wanted ? pass.tape.input(x) : pass.tape.constant(x);
    pass.output = forward(pass.tape, pass.input);
  }
  void show(std::size_t number) {
    Pass& pass = passes_[number];
    const Tensor& output = pass.output.tensor;
    const LayerTensor& wanted = c_.outputs.at(number);
    LayerCall call{.kind = LayerCall::Kind::forward,
                   .pass = static_cast<std::uint32_t>(number),
                   .shape = axes_of(output.shape()),
                   .dtype = output.dtype()};
    pass.fits = output.shape() == wanted.tensor_shape() && call.dtype == c_.dtype;
    if (pass.fits) call.numbers = copy_of(output);
    call.held_bytes = device_.bytes_now() - own_bytes_;
    const auto answer = ask<LayerAnswer>(port_, call);
    if (!c_.back.empty()) {
      pass.gradient = own(c_.gradients.at(number), answer.gradient);
    }
  }
  void go_back(Pass& pass, std::uint32_t number) {
    const bool wanted = c_.input == LayerInput::wanted;
    if (c_.walk == LayerWalk::whole) {
      pass.tape.backward(pass.output, pass.gradient);
      if (wanted) pass.to_input = pass.tape.gradient_of(pass.input);
      return;
    }
    pass.tape.backward_inputs(pass.output, pass.gradient);
    // Final after the first half, and read then.
    if (wanted) {
      report_.inputs[number] = reported(pass.tape.gradient_of(pass.input), c_.inputs[number]);
    }
    const auto answer = ask<LayerAnswer>(port_, LayerCall{LayerCall::Kind::half, number});
    write_bytes(pass.input.tensor, answer.input);
    pass.tape.backward_weights();
  }
  void report_all() {
    for (std::size_t number = 0; number < passes_.size(); ++number) {
      const Pass& pass = passes_[number];
      const LayerTensor& of = c_.inputs[number];
      report_.inputs_left.push_back(copy_of(pass.input.tensor));
      if (c_.back.empty()) continue;
      report_.gradients_left.push_back(copy_of(pass.gradient));
      if (c_.input == LayerInput::constant || c_.walk == LayerWalk::in_halves) continue;
      report_.inputs[number] = reported(pass.to_input, of);
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      report_.parameters.push_back(reported(parameters_[i].grad, c_.parameters[i]));
    }
  }
  LayerGradient reported(const Tensor& made, const LayerTensor& of) const {
    if (!made.defined()) return {};
    LayerGradient report{true, axes_of(made.shape()), made.dtype()};
    if (made.shape() == of.tensor_shape() && report.dtype == c_.dtype) {
      report.numbers = copy_of(made);
    }
    return report;
  }

  const LayerCase& c_;
  Device& device_;
  sim::Port& port_;
  std::deque<Parameter> parameters_;
  std::deque<Pass> passes_;
  std::int64_t own_bytes_ = 0;
  LayerReport report_;
};

// make(group, parameters, case) is the layer: PlayedFunctions, or the first of them.
inline Bytes play_layer(sim::PlayerCase& played, const auto& make) {
  return play_computing<LayerCase>(
      played, [&](comm::ProcessGroup& group, const LayerCase& c, Device& device, sim::Port& port) {
        PlayedLayer layer(c, device, port);
        return layer.run(PlayedFunctions{make(group, layer.parameters(), c)});
      });
}

}  // namespace lockstep::grader
