// The case format of activation_checkpoint, and the model that it is about, shared by adapter and
// exam: blocks of two layers with dropout, some of which form a segment. Both train it; how a
// segment is run is what they differ in.
//   B samples; W width; H width of the hidden layer
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/random.hpp"
#include "grader/play/gradients.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class CheckpointWalk : std::uint8_t { whole, in_halves, none };  // none: inference
// tied: all blocks share one weight; none: blocks use no parameter
enum class CheckpointWeights : std::uint8_t { own, tied, none };
enum class CheckpointInput : std::uint8_t { constant, wanted };  // wanted: its gradient is
enum class CheckpointNesting : std::uint8_t { flat, nested };    // nested: blocks are segments, too

struct CheckpointQuestion {
  int batch = 3, width = 4, hidden = 24;
  std::vector<int> blocks{};  // of each segment
  int passes = 1;             // all forward, then all back
  double dropout = 0;
  CheckpointWalk walk = CheckpointWalk::whole;
  CheckpointWeights weights = CheckpointWeights::own;
  CheckpointInput input = CheckpointInput::constant;
  CheckpointNesting nesting = CheckpointNesting::flat;
  std::uint64_t seed = 0;

  int block_count() const {
    int count = 0;
    for (const int of_segment : blocks) count += of_segment;
    return count;
  }
  std::int64_t bytes_of_x() const { return 4L * batch * width; }
};

struct CheckpointAnswer {
  std::vector<double> losses{};    // by pass
  std::vector<Bytes> gradients{};  // by parameter, four to a block; empty: none
  std::vector<Bytes> to_inputs{};  // by pass, where it is wanted; empty: none
  std::vector<int> fired{};        // hooks, by parameter
  std::vector<int> runs{};         // of each block, in all passes
  std::vector<int> recorded{};     // the same, of those on a tape that records
  std::vector<int> early{};        // by parameter: passes after whose first half it has a gradient
  // Memory of any kind that came since the model and its inputs were made, without the parameters'
  // gradients.
  std::int64_t kept_bytes = 0;     // after the forward passes
  std::int64_t between_bytes = 0;  // between the two halves of the last pass
  std::int64_t left_bytes = 0;     // after the backward passes, while the tapes are there
};

template <typename Archive>
void fields(Archive& archive, CheckpointQuestion& q) {
  archive(q.batch, q.width, q.hidden, q.blocks, q.passes, q.dropout, q.walk, q.weights, q.input,
          q.nesting, q.seed);
}
template <typename Archive>
void fields(Archive& archive, CheckpointAnswer& answer) {
  archive(answer.losses, answer.gradients, answer.to_inputs, answer.fired, answer.runs,
          answer.recorded, answer.early, answer.kept_bytes, answer.between_bytes,
          answer.left_bytes);
}

class CheckpointedModel {
 public:
  using Body = std::function<Value(Tape&, const Value&)>;
  // How a segment is run: body(tape, x), or the same with less memory.
  using Run = std::function<Value(Tape&, const Value&, Body)>;

  CheckpointedModel(const CheckpointQuestion& q, Device& device, Run run)
      : q_(q), device_(device), run_(std::move(run)) {
    const std::int64_t w = q.width, h = q.hidden;
    for (int block = 0; block < q.block_count(); ++block) {
      for (const Shape& shape : {Shape{h, w}, Shape{h}, Shape{w, h}, Shape{w}}) {
        parameters_.push_back(std::make_unique<Parameter>());
        parameters_.back()->value = drawn(shape, parameters_.size(), MemoryKind::parameters);
      }
    }
    answer_.fired.assign(parameters_.size(), 0);
    answer_.early.assign(parameters_.size(), 0);
    answer_.runs.assign(static_cast<std::size_t>(q.block_count()), 0);
    answer_.recorded = answer_.runs;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i]->hooks.emplace_back([this, i](Parameter&) { ++answer_.fired[i]; });
    }
  }

  CheckpointAnswer train() {
    std::vector<std::unique_ptr<Tape>> tapes;
    std::vector<Value> inputs, losses;
    std::vector<Tensor> given;
    const bool infers = q_.walk == CheckpointWalk::none;
    for (int pass = 0; pass < q_.passes; ++pass) {
      given.push_back(drawn({q_.batch, q_.width}, 1000 + static_cast<std::uint64_t>(pass),
                            MemoryKind::buffers));
    }
    before_bytes_ = device_.bytes_now();
    for (int pass = 0; pass < q_.passes; ++pass) {
      Tape& tape = *tapes.emplace_back(
          std::make_unique<Tape>(infers ? GradMode::inference : GradMode::record));
      const Tensor& x = given[static_cast<std::size_t>(pass)];
      inputs.push_back(q_.input == CheckpointInput::wanted ? tape.input(x) : tape.constant(x));
      losses.push_back(forward(tape, inputs.back(), pass));
      answer_.losses.push_back(losses.back().tensor.item());
    }
    answer_.kept_bytes = bytes_that_came();
    for (std::size_t pass = 0; pass < tapes.size() && !infers; ++pass) {
      go_back(*tapes[pass], losses[pass]);
      if (q_.input == CheckpointInput::constant) continue;
      const Tensor gradient = tapes[pass]->gradient_of(inputs[pass]);
      answer_.to_inputs.push_back(gradient.defined() ? copy_of(gradient) : Bytes{});
    }
    answer_.left_bytes = bytes_that_came();
    for (const auto& parameter : parameters_) {
      answer_.gradients.push_back(parameter->grad.defined() ? copy_of(parameter->grad) : Bytes{});
    }
    return std::move(answer_);
  }

 private:
  // Numbers between -1 and 1.
  Tensor drawn(const Shape& shape, std::uint64_t place, MemoryKind kind) const {
    Tensor made = empty(shape, DType::float32, device_, kind);
    std::vector<float> values(static_cast<std::size_t>(made.numel()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint64_t bits = random_bits(q_.seed + place, i) >> 40;
      values[i] = static_cast<float>(bits) / static_cast<float>(1 << 23) - 1;
    }
    std::memcpy(made.raw_bytes().data(), values.data(), values.size() * sizeof(float));
    return made;
  }

  std::int64_t bytes_that_came() const {
    std::int64_t bytes = device_.bytes_now() - before_bytes_;
    for (const auto& parameter : parameters_) {
      if (parameter->grad.defined()) {
        bytes -= static_cast<std::int64_t>(parameter->grad.bytes());
      }
    }
    return bytes;
  }

  Value block(Tape& tape, const Value& x, int number, int pass) {
    ++answer_.runs[static_cast<std::size_t>(number)];
    if (tape.mode() == GradMode::record) ++answer_.recorded[static_cast<std::size_t>(number)];
    if (q_.weights == CheckpointWeights::none) {
      Value y = x;
      for (int k = 0; k < 4; ++k) {
        y = autograd::multiply(tape, y, autograd::activate(tape, y, autograd::Activation::gelu));
      }
      return y;
    }
    const auto leaf = [&](int which) {
      const bool shared = which == 0 && q_.weights == CheckpointWeights::tied;
      const int owner = shared ? 0 : number;
      return tape.leaf(*parameters_[static_cast<std::size_t>(4 * owner + which)]);
    };
    const Value w1 = leaf(0), b1 = leaf(1);
    Value h = autograd::linear(tape, x, w1, b1);
    h = autograd::activate(tape, h, autograd::Activation::gelu);
    if (q_.dropout > 0) {
      const auto place = static_cast<std::uint64_t>(1 + number);
      h = autograd::dropout(tape, h, {q_.dropout, q_.seed ^ (place << 32), pass * q_.batch, 1});
    }
    const Value w2 = leaf(2), b2 = leaf(3);
    return autograd::add(tape, x, autograd::linear(tape, h, w2, b2));
  }

  Value segment(Tape& tape, const Value& x, int first, int count, int pass) {
    Value y = x;
    for (int number = first; number < first + count; ++number) {
      const Body body = [this, number, pass](Tape& on, const Value& in) {
        return block(on, in, number, pass);
      };
      y = q_.nesting == CheckpointNesting::nested ? run_(tape, y, body) : body(tape, y);
    }
    return y;
  }

  Value forward(Tape& tape, const Value& x, int pass) {
    Value y = x;
    int first = 0;
    for (const int count : q_.blocks) {
      y = run_(tape, y, [this, first, count, pass](Tape& on, const Value& in) {
        return segment(on, in, first, count, pass);
      });
      // Something that keeps nothing: who keeps y keeps what nobody needs.
      y = autograd::scale(tape, y, 0.5);
      first += count;
    }
    return autograd::mean(tape, autograd::multiply(tape, y, y));
  }

  void go_back(Tape& tape, Value& loss) {
    if (q_.walk == CheckpointWalk::whole) return tape.backward(std::exchange(loss, {}));
    tape.backward_inputs(loss, full({1}, 1.0, DType::float32, device_, MemoryKind::buffers));
    loss = {};
    answer_.between_bytes = bytes_that_came();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i]->grad.defined()) ++answer_.early[i];
    }
    tape.backward_weights();
  }

  const CheckpointQuestion& q_;
  Device& device_;
  Run run_;
  std::vector<std::unique_ptr<Parameter>> parameters_;
  CheckpointAnswer answer_;
  std::int64_t before_bytes_ = 0;
};

}  // namespace lockstep::grader
