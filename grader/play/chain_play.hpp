// A model for parts that are about who computes what, and not about what is computed: parts in a
// row, each a square matrix of small whole numbers, so that every result is exact. A rank is given
// its own parts only.
// A tensor that a part is given, or gives, belongs to it until the part is done with the
// micro-batch: who writes to it meanwhile breaks a real model, and here is told so.
//   b rows of a micro-batch; W width, the same everywhere. What two parts exchange has b·W
//   elements, but its shape is not that of the next two: the room for one tensor does not fit
//   another
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "engine/base/fields.hpp"
#include "engine/tensor/tensor.hpp"
#include "grader/play/keyed_hash.hpp"

namespace lockstep::grader {

// The part of the chain that a rank holds.
struct ChainShare {
  int parts = 0;  // of the whole chain
  int width = 0;
  int shapes = 3;           // of what two parts exchange: 1 to 3 different ones, in turn
  std::vector<int> rows{};  // of each micro-batch
  std::vector<int> mine{};  // parts, in the order in which the rank has them
  std::vector<std::vector<double>> matrices{};  // of these, [W, W]
  std::vector<std::vector<double>> inputs{};    // [b, W], by micro-batch; who has the first part
  std::vector<std::vector<double>> coefficients{};  // [b, W]; who has the last: loss = Σ c · y
  // True if parts keep the tensors themselves, and not copies of their numbers. If so, what is held
  // for others cannot be measured.
  bool holds = true;
  DType dtype = DType::float64;  // of all tensors
  int loss_axes = 1;             // a loss has one element, and 1 or 0 dimensions
  // The tensors between parts have so many times their elements; the first b·W are the numbers.
  // If memory is counted, tensors are so large that the system's count of a process shows them.
  int filler = 1;
  std::uint64_t noise = 0;  // the key of the elements behind the numbers

  Shape loss_shape() const { return loss_axes == 0 ? Shape{} : Shape{1}; }
};
template <typename Archive>
void fields(Archive& archive, ChainShare& share) {
  archive(share.parts, share.width, share.shapes, share.rows, share.mine, share.matrices,
          share.inputs, share.coefficients, share.holds, share.dtype, share.loss_axes, share.filler,
          share.noise);
}

// The computer of a rank that does not have its parts' matrices: the judge, which then knows when
// each pass ran.
class ChainComputer {
 public:
  virtual ~ChainComputer() = default;
  // y of a forward pass; dx of a backward pass, or of its first half; then the second half.
  virtual std::vector<double> forward(std::size_t which, int micro_batch,
                                      const std::vector<double>& x) = 0;
  virtual std::vector<double> back(std::size_t which, int micro_batch,
                                   const std::vector<double>& gradient) = 0;
  virtual void weights(std::size_t which, int micro_batch) = 0;
};

// A tensor that a part keeps, and the numbers that were in it.
class HeldTensor {
 public:
  HeldTensor() = default;
  explicit HeldTensor(Tensor tensor) : tensor_(std::move(tensor)) {
    if (!tensor_.defined()) return;
    const auto now = tensor_.raw_bytes();
    was_.assign(now.begin(), now.end());
  }

  bool untouched() const {
    return !tensor_.defined() || std::ranges::equal(tensor_.raw_bytes(), was_);
  }

 private:
  Tensor tensor_;
  Bytes was_;
};

// The parts of a rank, at work. `which` counts the rank's own parts.
class HeldChain {
 public:
  //   part      what the task calls a part
  //   computer  who computes; nobody else does if there is none
  HeldChain(const ChainShare& share, Device& device, std::string part = "part",
            ChainComputer* computer = nullptr)
      : share_(share), device_(device), part_(std::move(part)), computer_(computer) {
    gradients_.assign(share.mine.size(),
                      std::vector<double>(static_cast<std::size_t>(share.width * share.width)));
  }

  bool begins(std::size_t which) const { return share_.mine.at(which) == 0; }
  bool ends(std::size_t which) const { return share_.mine.at(which) == share_.parts - 1; }
  // For what a part of this rank is given, and for what it gives on; uninitialised.
  Tensor room_before(std::size_t which, int micro_batch) const {
    return room_of(shape_before(share_.mine.at(which), micro_batch));
  }
  Tensor room_after(std::size_t which, int micro_batch) const {
    return room_of(shape_before(share_.mine.at(which) + 1, micro_batch));
  }

  Tensor forward(std::size_t which, int micro_batch, const Tensor& input) {
    const auto m = static_cast<std::size_t>(micro_batch);
    LOCKSTEP_CHECK(
        begins(which) != input.defined(), "forward(), ", name_of_part(which),
        begins(which) ? text(": the model's first ", part_, " has its own input, and was given one")
                      : text(": no input was given"));
    const int part = share_.mine[which];
    std::vector<double> x = begins(which)
                                ? share_.inputs.at(m)
                                : elements(input, shape_before(part, micro_batch), "an input");
    const auto added = kept_.emplace(std::pair(which, micro_batch), Kept{});
    LOCKSTEP_CHECK(added.second, "forward(): micro-batch ", micro_batch, " passed through ",
                   name_of_part(which), " before");
    Kept& kept = added.first->second;
    const std::vector<double> y = computer_ ? computer_->forward(which, micro_batch, x)
                                            : product(x, share_.matrices.at(which), Transposed::no);
    LOCKSTEP_CHECK(y.size() == x.size(), "forward() made ", y.size(), " numbers of ", x.size());
    if (!computer_) kept.input = std::move(x);
    hold(kept.given, input);
    if (!ends(which)) {
      const Tensor made = tensor_of(y, shape_before(part + 1, micro_batch));
      hold(kept.made, made);
      return made;
    }
    double loss = 0;
    for (std::size_t i = 0; i < y.size(); ++i) loss += share_.coefficients.at(m)[i] * y[i];
    // The memory is of another kind, so that it counts as the stage's.
    const Tensor made = full(share_.loss_shape(), loss, share_.dtype, device_, MemoryKind::buffers);
    kept.loss = {made, made.item()};
    return made;
  }

  // Adds to the part's gradient only when weight_gradient is called.
  Tensor input_gradient(std::size_t which, int micro_batch, const Tensor& gradient) {
    Kept& kept = kept_at(which, micro_batch, "a backward pass");
    LOCKSTEP_CHECK(kept.gradient.empty(), "micro-batch ", micro_batch, " went back through ",
                   name_of_part(which), " before");
    LOCKSTEP_CHECK(gradient.defined(), "a backward pass through ", name_of_part(which),
                   " was given no gradient", for_micro_batch(micro_batch));
    LOCKSTEP_CHECK(kept.given.untouched(), "the input of ", name_of_part(which),
                   for_micro_batch(micro_batch),
                   " was written to after forward() got it; it is kept for the backward pass");
    LOCKSTEP_CHECK(kept.made.untouched(), "what ", name_of_part(which), " made",
                   for_micro_batch(micro_batch),
                   " was written to after forward() returned it; it is kept for the backward pass");
    if (ends(which)) {
      const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
      LOCKSTEP_CHECK(bits(kept.loss.first.item()) == bits(kept.loss.second),
                     "the loss of micro-batch ", micro_batch,
                     " was written to after forward() returned it; it is the stage's");
      const double factor = elements(gradient, share_.loss_shape(), "the gradient of a loss")[0];
      kept.gradient = share_.coefficients.at(static_cast<std::size_t>(micro_batch));
      for (double& one : kept.gradient) one *= factor;
    } else {
      kept.gradient =
          elements(gradient, shape_before(share_.mine[which] + 1, micro_batch), "a gradient");
    }
    hold(kept.given_back, gradient);
    std::vector<double> back;
    if (computer_) back = computer_->back(which, micro_batch, kept.gradient);
    if (begins(which)) return {};
    if (!computer_) back = product(kept.gradient, share_.matrices.at(which), Transposed::yes);
    return tensor_of(back, shape_before(share_.mine[which], micro_batch));
  }

  void weight_gradient(std::size_t which, int micro_batch) {
    const Kept& kept = kept_at(which, micro_batch, "a weight gradient");
    LOCKSTEP_CHECK(!kept.gradient.empty(), "weight_gradient(): micro-batch ", micro_batch,
                   " did not go back through ", name_of_part(which), " before");
    LOCKSTEP_CHECK(kept.given.untouched() && kept.given_back.untouched(), "what ",
                   name_of_part(which), " was given", for_micro_batch(micro_batch),
                   " was written to before its weight gradient was made; it is kept until then");
    if (computer_) {
      computer_->weights(which, micro_batch);
      kept_.erase({which, micro_batch});
      return;
    }
    const auto width = static_cast<std::size_t>(share_.width);
    std::vector<double>& sum = gradients_[which];
    for (std::size_t row = 0; row < kept.input.size() / width; ++row) {
      for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t o = 0; o < width; ++o) {
          sum[i * width + o] += kept.input[row * width + i] * kept.gradient[row * width + o];
        }
      }
    }
    kept_.erase({which, micro_batch});
  }

  const std::vector<std::vector<double>>& gradients() const { return gradients_; }

 private:
  enum class Transposed : std::uint8_t { no, yes };
  struct Kept {
    std::vector<double> input{}, gradient{};
    std::pair<Tensor, double> loss{};  // of the last part, and what it was
    HeldTensor given{}, made{}, given_back{};
  };

  void hold(HeldTensor& place, const Tensor& tensor) const {
    if (share_.holds) place = HeldTensor(tensor);
  }
  std::string name_of_part(std::size_t which) const {
    return text(part_, " ", share_.mine.at(which));
  }
  // Nothing in a run that has no micro-batches.
  std::string for_micro_batch(int micro_batch) const {
    return share_.rows.size() > 1 ? text(" for micro-batch ", micro_batch) : "";
  }

  std::int64_t rows_of(int micro_batch) const {
    return share_.rows.at(static_cast<std::size_t>(micro_batch));
  }
  // The shape of what goes from the part before `part` to it.
  Shape shape_before(int part, int micro_batch) const {
    const std::int64_t rows = rows_of(micro_batch) * share_.filler, width = share_.width;
    const int which = part % share_.shapes;
    if (which == 0) return {rows, width};
    return which == 1 ? Shape{rows, 1, width} : Shape{rows, width, 1};
  }
  Tensor room_of(const Shape& shape) const {
    return empty(shape, share_.dtype, device_, MemoryKind::activations);
  }
  Kept& kept_at(std::size_t which, int micro_batch, const char* what) {
    const auto at = kept_.find({which, micro_batch});
    LOCKSTEP_CHECK(at != kept_.end(), what, " of micro-batch ", micro_batch, " through ",
                   name_of_part(which), ": its forward pass did not come before");
    return at->second;
  }
  // Writes the elements behind the numbers, which have no short form. They go by the numbers and a
  // key of the case, so that every rank knows them.
  void write_rest(std::span<double> all, std::size_t numbers) const {
    std::uint64_t key = share_.noise;
    for (const double number : all.first(numbers)) {
      key = keyed_hash(key, 1, std::bit_cast<std::uint64_t>(number));
    }
    constexpr std::uint64_t finite = ~(std::uint64_t{1} << 62);
    for (std::size_t i = numbers; i < all.size(); ++i) {
      all[i] = std::bit_cast<double>(keyed_hash(key, 0, i) & finite);
    }
  }
  std::vector<double> elements(const Tensor& tensor, const Shape& shape, const char* what) const {
    LOCKSTEP_CHECK(tensor.shape() == shape && tensor.dtype() == share_.dtype, what, " is ",
                   name_of(tensor.dtype()), " of shape ", text_of(tensor.shape()), ", expected ",
                   name_of(share_.dtype), " of shape ", text_of(shape));
    const std::int64_t filled = tensor.numel() == 1 ? 1 : share_.filler;  // a loss is one number
    std::vector<double> all(static_cast<std::size_t>(tensor.numel() / filled));
    if (share_.dtype != DType::float64) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = tensor.item(static_cast<std::int64_t>(i));
      }
      return all;
    }
    std::memcpy(all.data(), tensor.raw_bytes().data(), all.size() * sizeof(double));
    if (filled == 1) return all;
    std::vector<double> right = all;
    right.resize(static_cast<std::size_t>(tensor.numel()));
    write_rest(right, all.size());
    LOCKSTEP_CHECK(std::memcmp(right.data(), tensor.raw_bytes().data(), tensor.bytes()) == 0, what,
                   " is not what the ", part_, " beside made: it was changed on the way");
    return all;
  }
  Tensor tensor_of(const std::vector<double>& values, const Shape& shape) const {
    if (share_.dtype != DType::float64) {
      return from_values(values, shape, share_.dtype, device_, MemoryKind::activations);
    }
    Tensor made = empty(shape, DType::float64, device_, MemoryKind::activations);
    std::memcpy(made.raw_bytes().data(), values.data(), values.size() * sizeof(double));
    if (share_.filler > 1) write_rest(made.data<double>(), values.size());
    return made;
  }
  std::vector<double> product(const std::vector<double>& x, const std::vector<double>& matrix,
                              Transposed transposed) const {
    const auto width = static_cast<std::size_t>(share_.width);
    std::vector<double> y(x.size());
    for (std::size_t row = 0; row < x.size() / width; ++row) {
      for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t o = 0; o < width; ++o) {
          const bool back = transposed == Transposed::yes;
          y[row * width + o] += x[row * width + i] * matrix[back ? o * width + i : i * width + o];
        }
      }
    }
    return y;
  }

  const ChainShare& share_;
  Device& device_;
  std::string part_;
  ChainComputer* computer_;
  std::map<std::pair<std::size_t, int>, Kept> kept_;  // by part and micro-batch
  std::vector<std::vector<double>> gradients_;        // by part
};

}  // namespace lockstep::grader
