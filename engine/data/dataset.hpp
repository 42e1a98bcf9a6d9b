// Datasets: numbered samples, and batches made of chosen ones.
// B batch, I inputs of one sample, T tokens of one sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/tensor/tensor.hpp"

namespace lockstep::data {

struct Batch {
  Tensor inputs;  // [B, I] floating point, or [B, T] int64 tokens
  Tensor labels;  // [B] int64, or [B, T]: the token that follows each
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t inputs() const = 0;           // I, or T
  virtual std::int64_t labels() const { return 1; }  // of one sample: 1, or T
  virtual std::int64_t classes() const = 0;  // labels lie in [0, classes): kinds, or the vocabulary
  // Samples in the order of `indices`.
  //   Requires  a device with numbers; on a symbolic one make tensors of these shapes instead
  //   Throws    ContractError on an index outside [0, size), and on a device without numbers
  virtual Batch batch(std::span<const std::int64_t> indices, DType dtype, Device& device) const = 0;
};

enum class Split : std::uint8_t { train, test };

// Fashion-MNIST (28×28 grey images, ten kinds of clothes), 60,000 + 10,000 samples, pixels
// standardised with the training set's mean 0.2860 and deviation 0.3530. Reads the four .gz files
// of Debian's package dataset-fashion-mnist; `folder` holds them.
//   Throws  UsageError naming the file when one is missing, truncated or no IDX file
//   Source  [XRV17]
inline constexpr const char* fashion_mnist_folder = "/usr/share/datasets/fashion-mnist";
std::unique_ptr<Dataset> open_fashion_mnist(Split split,
                                            const std::string& folder = fashion_mnist_folder);

// Labelled clouds, one a class, learnable by an MLP; for tests and for machines without the data.
// The clouds' centres depend on (inputs, classes) only, sample i on (seed, i): two seeds give two
// samples of one problem, one to train on and one to test on.
std::unique_ptr<Dataset> make_synthetic(std::int64_t size, std::int64_t inputs,
                                        std::int64_t classes, std::uint64_t seed);

}  // namespace lockstep::data
