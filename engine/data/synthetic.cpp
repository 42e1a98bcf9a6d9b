// A problem made of random numbers: a centre for each class, and a cube of samples around it.
#include "engine/base/random.hpp"
#include "engine/data/batch.hpp"
#include "engine/data/dataset.hpp"

namespace lockstep::data {
namespace {

constexpr std::uint64_t centres_seed = 1;  // one problem, whatever the sample

// A number in [-1, 1).
double symmetric(std::uint64_t seed, std::uint64_t index) {
  return 2 * random_uniform(seed, index) - 1;
}

class Synthetic final : public Dataset {
 public:
  Synthetic(std::int64_t size, std::int64_t inputs, std::int64_t classes, std::uint64_t seed)
      : size_(size), inputs_(inputs), classes_(classes), seed_(seed) {}

  std::int64_t size() const override { return size_; }
  std::int64_t inputs() const override { return inputs_; }
  std::int64_t classes() const override { return classes_; }

  // Sample i has a class drawn from (seed, i) and lies in a cube around the centre of its class;
  // the cubes overlap.
  Batch batch(std::span<const std::int64_t> indices, DType dtype, Device& device) const override {
    const std::int64_t count = std::ssize(indices);
    const Batch made{empty({count, inputs_}, dtype, device.host()),
                     empty({count}, DType::int64, device.host())};
    write_inputs(made, device, [&]<typename T>() {
      T* to = made.inputs.data<T>().data();
      std::int64_t* to_label = made.labels.data<std::int64_t>().data();
      for (const std::int64_t index : indices) {
        LOCKSTEP_CHECK(index >= 0 && index < size_, "batch: sample ", index, " of a dataset of ",
                       size_, "; indices come from distributed_indices with its length");
        const std::uint64_t stream = random_bits(seed_, static_cast<std::uint64_t>(index));
        const std::uint64_t label = stream % static_cast<std::uint64_t>(classes_);
        for (std::int64_t i = 0; i < inputs_; ++i) {
          const auto axis = static_cast<std::uint64_t>(i);
          const double centre =
              symmetric(centres_seed, label * static_cast<std::uint64_t>(inputs_) + axis);
          *to++ = element_of<T>(centre + 1.5 * symmetric(stream, axis));
        }
        *to_label++ = static_cast<std::int64_t>(label);
      }
    });
    return to_device(made, device);
  }

 private:
  std::int64_t size_, inputs_, classes_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Dataset> make_synthetic(std::int64_t size, std::int64_t inputs,
                                        std::int64_t classes, std::uint64_t seed) {
  LOCKSTEP_CHECK(size >= 0 && inputs >= 1 && classes >= 1, "make_synthetic: ", size, " samples of ",
                 inputs, " inputs in ", classes,
                 " classes; each sample needs an input and a class");
  return std::make_unique<Synthetic>(size, inputs, classes, seed);
}

}  // namespace lockstep::data
