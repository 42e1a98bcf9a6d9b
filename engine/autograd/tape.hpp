// Reverse-mode differentiation on a tape. An operation (autograd/operations.hpp) appends a node
// that holds, by value, what its derivative needs; backward() walks the nodes once, last to first,
// without recursion.
//
// A derivative may come in two halves: what goes on to the inputs, and what only ends in weights.
// backward() makes both at once; a pipeline lets its neighbour go on after the first
// (backward_inputs, backward_weights).
//
// Left out: higher derivatives, graphs used twice (a tape is spent by backward()).
//
// Invariants
//   1. A node's inputs stand before it, so reverse order is a topological order.
//   2. A leaf's gradient is final when every use recorded before backward() has contributed; its
//      hooks fire then, once, also for a parameter used twice (tied weights).
//   3. Hooks fire in the order gradients become final, the same on every rank for the same program.
//      A node serves its inputs last to first: a layer's bias is final before its weight.
//   4. A parameter's uses in one pass are summed first, in the order of 3, then added to grad.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace lockstep {

// A trained tensor. `grad` is undefined until a backward pass reached it; backward passes add up.
struct Parameter {
  std::string name;
  Tensor value;
  Tensor grad;
  // Called when this backward pass's gradient is final, in order of registration. May communicate.
  std::vector<std::function<void(Parameter&)>> hooks;
  // The memory in which backward makes `grad` while there is none. It has value's shape and dtype;
  // if it is undefined, `grad` stays where the sum was made. Code that reduces gradients in one
  // piece sets it, so that they lie there from the beginning.
  Tensor grad_place = {};
  // The shape of the whole tensor, if this parameter is a part of one, such as a range of a
  // flattened matrix. Rules that go by dimensions ask for this shape.
  std::optional<Shape> whole = std::nullopt;

  const Shape& whole_shape() const { return whole ? *whole : value.shape(); }
};

// `record`: operations record what backward needs. The mode is passed, never global.
enum class GradMode : std::uint8_t { record, inference };

// Makes an activation anew from what is kept anyway, bit for bit.
using Remake = std::function<Tensor()>;

class Tape;
struct Value;
namespace ops {
struct CrossEntropyOptions;
}

// How the loss of some logits is computed, in place of what autograd::cross_entropy does.
using Loss = std::function<Value(Tape& tape, const Value& logits, const Tensor& labels,
                                 const ops::CrossEntropyOptions& options)>;

// A tensor inside a computation: its elements, and the node that made it (or none).
struct Value {
  Tensor tensor;
  std::int64_t node = -1;  // -1: a constant
  // Set by operations whose result costs less to make again than to keep (a norm, a GELU): an
  // operation that would save this value saves the recipe instead, see Saved.
  std::shared_ptr<const Remake> remake = nullptr;
  const Tape* tape = nullptr;  // of the node
  // The parameter of a leaf. An operation that would save the leaf's tensor reads the parameter
  // when backward comes, see Saved. So a value that is freed between two passes is free.
  const Parameter* parameter = nullptr;
  // Set on logits of which this rank has a part of each row only. cross_entropy calls it, so
  // whoever trains a model needs not know where its logits lie.
  std::shared_ptr<const Loss> loss = nullptr;
};

// A tensor that a derivative will read: the tensor itself, the parameter whose value it is, or the
// recipe that makes it again.
class Saved {
 public:
  explicit Saved(Tensor tensor) : tensor_(std::move(tensor)) {}
  explicit Saved(const Value& value)
      : tensor_(value.remake || value.parameter != nullptr ? Tensor() : value.tensor),
        remake_(value.remake),
        parameter_(value.parameter) {}
  //   Requires  a parameter that was freed since has its value again
  Tensor get() const {
    if (parameter_ != nullptr) return parameter_->value;
    return remake_ ? (*remake_)() : tensor_;
  }

 private:
  Tensor tensor_;
  std::shared_ptr<const Remake> remake_;  // shared with the value
  const Parameter* parameter_ = nullptr;
};

class Tape {
 public:
  explicit Tape(GradMode mode);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  GradMode mode() const { return mode_; }

  Value constant(Tensor tensor) const { return {std::move(tensor), -1}; }
  Value leaf(Parameter& parameter);
  // Calls `reached` in the walk back, between what was recorded after this call and what was
  // recorded before: no derivative of the former runs after it, none of the latter before. Every
  // walk reaches every mark, whether or not its output depends on what stands around; a walk in two
  // halves reaches it in the first. On a tape made for inference, nothing.
  void mark(std::function<void()> reached);
  // A constant whose gradient is wanted, such as what came from the stage before: gradient_of.
  Value input(Tensor tensor);

  // The parameters that leaf() was asked for, each once, in order of first use; in both modes.
  const std::vector<Parameter*>& leaves() const { return leaves_; }

  // Gradient of the output in, gradients of the inputs out (undefined for inputs without node).
  // Gradients may be shared between nodes: a Backward must not change the one it is given.
  using Backward = std::function<std::vector<Tensor>(const Tensor& grad)>;
  Value record(Tensor output, std::vector<Value> inputs, Backward backward);
  // The same in two halves: `rest` is called after `backward`, with the same gradient, and returns
  // those that `backward` left undefined, and only those. What it needs is its own to keep.
  Value record(Tensor output, std::vector<Value> inputs, Backward backward, Backward rest);
  // For a Backward while it runs: where it may make the gradient of an input, given as Value::node,
  // instead of in a tensor of its own: the grad_place of a parameter that has no grad yet and no
  // other use. Undefined otherwise.
  Tensor place_of(std::int64_t node) const;
  // The same: whether the walk is in two halves, so that what `rest` returns may wait.
  bool in_halves() const;

  // Adds d(loss)/d(parameter) to the grad of every leaf that the loss depends on; a grad made here
  // lies in its grad_place, or is of kind `gradients`. What a node saved is released as soon as it
  // was used.
  //   Throws  ContractError when the tape was made for inference, was already spent, or when
  //           `loss` has more than one element or depends on no leaf
  void backward(const Value& loss);
  // From now on, backward(loss) begins with this gradient of the loss, and not with 1: the loss is
  // scaled without being another number for whoever reads it.
  void start_from(double gradient) { start_ = gradient; }
  // The same from any output, given the gradient of something that was computed from it elsewhere.
  //   grad  of output's shape and dtype
  void backward(const Value& output, const Tensor& grad);
  // The same, but each leaf's sum is given to `sink` in the order of 3, and neither grad nor hooks
  // are touched: what a computation inside another one needs (inner_walk.hpp).
  using LeafSink = std::function<void(Parameter& parameter, const Tensor& sum)>;
  void backward(const Value& output, const Tensor& grad, const LeafSink& sink);

  // The first half of backward(output, grad): all but the `rest` of each node, which waits if the
  // gradients that it brings are all of parameters, and else comes at once: what a parameter was
  // turned into before its use (autograd::narrow) has nodes to walk on to. gradient_of is final
  // after this half; what the second half needs is kept, with the gradients it starts from.
  void backward_inputs(const Value& output, const Tensor& grad, const LeafSink& sink = nullptr);
  // The second half, once, in the order of the first. Both together give each parameter the
  // gradient of backward(), up to the order in which a parameter's uses are summed; hooks fire in
  // whichever half brings its last use.
  //   Throws  ContractError unless backward_inputs came before
  void backward_weights();

  // Told of the walk that backward() makes over this tape, if it makes one: before it, which
  // parameters it will bring a gradient to (in order of first use), and after it. In the order of
  // the calls; both may communicate. A walk inside another one (LeafSink) is no such walk.
  struct Watch {
    std::function<void(std::span<Parameter* const> reached)> begins;
    std::function<void()> ended;  // not when the walk was left by an exception
  };
  void watch(Watch watch) { watches_.push_back(std::move(watch)); }

  // After backward(): the gradient of an input(), undefined when the output did not depend on it.
  Tensor gradient_of(const Value& input) const;

 private:
  struct Node {
    std::vector<std::int64_t> inputs;
    Backward backward;
    Parameter* parameter = nullptr;  // leaves only
    Backward rest = nullptr;
    std::function<void()> mark = nullptr;
  };
  struct Pass;  // the state of one walk, in tape.cpp

  void check_walk(const Value& from) const;
  void begin_walk(const Value& output, const Tensor& grad, const LeafSink& sink);
  void deliver(std::size_t node, Tensor gradient);
  void deliver_all(const Node& node, std::vector<Tensor> gradients,
                   const std::vector<bool>& given = {});
  std::vector<bool> deliver_some(const Node& node, std::vector<Tensor> gradients);
  bool can_wait(const Node& node, const std::vector<Tensor>& gradients) const;
  bool passed_mark(std::size_t node);
  void end_walk();

  GradMode mode_;
  double start_ = 1;
  bool spent_ = false;
  std::vector<Node> nodes_;
  std::vector<Parameter*> leaves_;
  std::vector<Watch> watches_;
  std::unique_ptr<Pass> pass_;     // while one runs
  std::vector<Tensor> gradients_;  // by node; after backward() only those of inputs are left
};

}  // namespace lockstep
