// The case format of activation_checkpoint, and the model that it is about, shared by adapter and
// exam: blocks of two layers with dropout, some of which form a segment. Both train it; how a
// segment is run is what they differ in. So is where masks come from: each run of a block needs
// one, each gradient of a block's last bias another, and both are the judge's. In a player, each is
// a request, so the judge knows which blocks ran, and when.
//   B samples; W width; H width of the hidden layer
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/random.hpp"
#include "engine/tensor/ops.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/gradients.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class CheckpointWalk : std::uint8_t { whole, in_halves, none };  // none: inference
// tied: all blocks share one weight; none: blocks use no parameter
enum class CheckpointWeights : std::uint8_t { own, tied, none };
enum class CheckpointInput : std::uint8_t { constant, wanted };  // wanted: its gradient is
// The odd value that the input of each pass holds once.
enum class CheckpointHolds : std::uint8_t { numbers, not_a_number, infinity };
enum class CheckpointNesting : std::uint8_t { flat, nested };  // nested: blocks are segments, too

struct CheckpointQuestion {
  int batch = 3, width = 4, hidden = 24;
  std::vector<int> blocks{};  // of each segment
  int passes = 1;             // all forward, then all back
  double dropout = 0;
  CheckpointWalk walk = CheckpointWalk::whole;
  CheckpointWeights weights = CheckpointWeights::own;
  CheckpointInput input = CheckpointInput::constant;
  CheckpointNesting nesting = CheckpointNesting::flat;
  CheckpointHolds holds = CheckpointHolds::numbers;
  int products = 0;          // in each block, beside its layers: operations that keep their input
  std::uint64_t seed = 0;    // of the model and its inputs; says which question it is
  std::uint64_t secret = 0;  // of the judge, which draws masks; not sent

  int block_count() const {
    int count = 0;
    for (const int of_segment : blocks) count += of_segment;
    return count;
  }
  std::int64_t bytes_of_x() const { return 4L * batch * width; }
  // Its tensors are so large that the system's count of a process shows them.
  bool measured() const { return products > 0; }
};

struct CheckpointAnswer {
  std::vector<double> losses{};    // by pass
  std::vector<Bytes> gradients{};  // by parameter, four to a block; empty: none
  std::vector<Bytes> to_inputs{};  // by pass, where it is wanted; empty: none
  std::vector<int> fired{};        // hooks, by parameter
  // Memory of any kind that came since the model and its inputs were made, without the parameters'
  // gradients. Of a player, it is advice (decision 0055).
  std::int64_t kept_bytes = 0;     // after the forward passes
  std::int64_t between_bytes = 0;  // between the two halves of the last pass
  std::int64_t left_bytes = 0;     // after the backward passes, while the tapes are there
};

// A request of the model while it trains.
struct SegmentCall {
  static constexpr const char* service = "segments";
  enum class Kind : std::uint8_t {
    run,                 // a block runs: answered with the mask of its result
    weights,             // the gradient of its last bias is made: answered with the mask of that
    forward_is_over,     // all passes are: answered with what the gradients of losses begin at
    first_half_is_over,  // of a pass: answered with a number that `weights` says from here on
    all_is_over
  };
  Kind kind = Kind::run;
  std::uint64_t seed = 0;  // of the question
  int pass = 0, block = 0;
  std::uint8_t records = 0;  // run: the block's tape does, says the player
  std::uint64_t token = 0;
};
struct SegmentAnswer {
  std::vector<float> mask{};
  double begin_at = 1;
  std::uint64_t token = 0;
};

template <typename Archive>
void fields(Archive& archive, CheckpointQuestion& q) {
  archive(q.batch, q.width, q.hidden, q.blocks, q.passes, q.dropout, q.walk, q.weights, q.input,
          q.nesting, q.holds, q.products, q.seed);
}
template <typename Archive>
void fields(Archive& archive, CheckpointAnswer& answer) {
  archive(answer.losses, answer.gradients, answer.to_inputs, answer.fired, answer.kept_bytes,
          answer.between_bytes, answer.left_bytes);
}
template <typename Archive>
void fields(Archive& archive, SegmentCall& call) {
  archive(call.kind, call.seed, call.pass, call.block, call.records, call.token);
}
inline void check_fields(SegmentCall& call) {
  if (call.kind > SegmentCall::Kind::all_is_over) throw MalformedMessage("no such call");
}
template <typename Archive>
void fields(Archive& archive, SegmentAnswer& answer) {
  archive(answer.mask, answer.begin_at, answer.token);
}

class CheckpointedModel {
 public:
  using Body = std::function<Value(Tape&, const Value&)>;
  // How a segment is run: body(tape, x), or the same with less memory.
  using Run = std::function<Value(Tape&, const Value&, Body)>;
  using Ask = std::function<SegmentAnswer(const SegmentCall&)>;

  CheckpointedModel(const CheckpointQuestion& q, Device& device, Run run, Ask ask)
      : q_(q), device_(device), run_(std::move(run)), ask_(std::move(ask)) {
    const std::int64_t w = q.width, h = q.hidden;
    for (int block = 0; block < q.block_count(); ++block) {
      for (const Shape& shape : {Shape{h, w}, Shape{h}, Shape{w, h}, Shape{w}}) {
        parameters_.push_back(std::make_unique<Parameter>());
        parameters_.back()->value = drawn(shape, parameters_.size(), MemoryKind::parameters);
      }
    }
    answer_.fired.assign(parameters_.size(), 0);
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
      if (q_.holds == CheckpointHolds::numbers) continue;
      using Limits = std::numeric_limits<float>;
      given.back().data<float>().front() =
          q_.holds == CheckpointHolds::infinity ? Limits::infinity() : Limits::quiet_NaN();
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
    const double begin_at = ask_({Kind::forward_is_over, q_.seed}).begin_at;
    for (std::size_t pass = 0; pass < tapes.size() && !infers; ++pass) {
      go_back(*tapes[pass], losses[pass], begin_at, static_cast<int>(pass));
      if (q_.input == CheckpointInput::constant) continue;
      const Tensor gradient = tapes[pass]->gradient_of(inputs[pass]);
      answer_.to_inputs.push_back(gradient.defined() ? copy_of(gradient) : Bytes{});
    }
    answer_.left_bytes = bytes_that_came();
    ask_({Kind::all_is_over, q_.seed});
    for (const auto& parameter : parameters_) {
      answer_.gradients.push_back(parameter->grad.defined() ? copy_of(parameter->grad) : Bytes{});
    }
    return std::move(answer_);
  }

 private:
  using Kind = SegmentCall::Kind;

  // Numbers between -1 and 1; of large models' parameters much smaller, so that all stay finite.
  Tensor drawn(const Shape& shape, std::uint64_t place, MemoryKind kind) const {
    Tensor made = empty(shape, DType::float32, device_, kind);
    std::vector<float> values(static_cast<std::size_t>(made.numel()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint64_t bits = random_bits(q_.seed + place, i) >> 40;
      values[i] = static_cast<float>(bits) / static_cast<float>(1 << 23) - 1;
      if (q_.measured() && kind == MemoryKind::parameters) values[i] /= 64;
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

  Tensor mask_of(const SegmentCall& call, Shape shape) const {
    const SegmentAnswer given = ask_(call);
    Tensor mask = empty(std::move(shape), DType::float32, device_, MemoryKind::activations);
    LOCKSTEP_CHECK(std::ssize(given.mask) == mask.numel(), "a mask of ", given.mask.size(),
                   " numbers for ", mask.numel());
    std::memcpy(mask.raw_bytes().data(), given.mask.data(), mask.bytes());
    return mask;
  }

  // x ∘ mask of this run. Where the block has a bias b, b is added; its gradient, which no stage
  // waits for, has a mask of its own and comes with the second half of a walk.
  Value masked(Tape& tape, const Value& x, Parameter* b, int number, int pass) {
    const auto records = static_cast<std::uint8_t>(tape.mode() == GradMode::record ? 1 : 0);
    const SegmentCall run{Kind::run, q_.seed, pass, number, records};
    const Tensor mask = mask_of(run, {q_.batch, q_.width});
    Tensor y = ops::multiply(x.tensor, mask);
    if (b == nullptr) {
      return tape.record(std::move(y), {x}, [mask](const Tensor& grad) {
        return std::vector<Tensor>{ops::multiply(grad, mask)};
      });
    }
    const Value bias = tape.leaf(*b);
    return tape.record(
        ops::add(y, b->value), {x, bias},
        [mask](const Tensor& grad) {
          return std::vector<Tensor>{ops::multiply(grad, mask), Tensor()};
        },
        [this, number, pass](const Tensor& grad) {
          const SegmentCall call{Kind::weights, q_.seed, pass, number, 0, token_};
          const Tensor weighed = ops::multiply(grad, mask_of(call, {q_.batch, q_.width}));
          const Tensor sum = zeros({q_.width}, DType::float32, device_, MemoryKind::activations);
          for (std::int64_t row = 0; row < q_.batch; ++row) {
            sum.reduce_(weighed.narrow(row, 1).view({q_.width}), ReduceOp::sum);
          }
          return std::vector<Tensor>{Tensor(), sum};
        });
  }

  Value block(Tape& tape, const Value& x, int number, int pass) {
    Value y = x;
    for (int k = 0; k < q_.products; ++k) {
      y = autograd::multiply(tape, y, autograd::activate(tape, y, autograd::Activation::gelu));
    }
    if (q_.weights == CheckpointWeights::none) return masked(tape, y, nullptr, number, pass);
    const auto parameter = [&](int which) {
      const bool shared = which == 0 && q_.weights == CheckpointWeights::tied;
      const int owner = shared ? 0 : number;
      return parameters_[static_cast<std::size_t>(4 * owner + which)].get();
    };
    const Value w1 = tape.leaf(*parameter(0)), b1 = tape.leaf(*parameter(1));
    Value h = autograd::linear(tape, y, w1, b1);
    h = autograd::activate(tape, h, autograd::Activation::gelu);
    if (q_.dropout > 0) {
      const auto place = static_cast<std::uint64_t>(1 + number);
      h = autograd::dropout(tape, h, {q_.dropout, q_.seed ^ (place << 32), pass * q_.batch, 1});
    }
    const Value w2 = tape.leaf(*parameter(2));
    return autograd::add(tape, x,
                         masked(tape, autograd::linear(tape, h, w2), parameter(3), number, pass));
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

  void go_back(Tape& tape, Value& loss, double begin_at, int pass) {
    const Tensor grad = full({1}, begin_at, DType::float32, device_, MemoryKind::buffers);
    if (q_.walk == CheckpointWalk::whole) return tape.backward(std::exchange(loss, {}), grad);
    token_ = 0;
    tape.backward_inputs(loss, grad);
    loss = {};
    answer_.between_bytes = bytes_that_came();
    token_ = ask_({Kind::first_half_is_over, q_.seed, pass}).token;
    tape.backward_weights();
  }

  const CheckpointQuestion& q_;
  Device& device_;
  Run run_;
  Ask ask_;
  std::uint64_t token_ = 0;  // of the walk at hand, from the end of its first half on
  std::vector<std::unique_ptr<Parameter>> parameters_;
  CheckpointAnswer answer_;
  std::int64_t before_bytes_ = 0;
};

}  // namespace lockstep::grader
