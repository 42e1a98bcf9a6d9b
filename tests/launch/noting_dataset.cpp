// Linked into a trainer in place of make_synthetic: the data is smaller, and each rank notes in a
// file of its own which samples it trains on, a line a batch, before it has them. The folder is
// named by NOTED_SAMPLES, the file by round and rank: "2_0". Training is in float64.
#include <filesystem>
#include <fstream>

#include "engine/base/text.hpp"
#include "engine/data/dataset.hpp"
#include "engine/launch/environment.hpp"

namespace lockstep::test {
namespace {

class Noting final : public data::Dataset {
 public:
  Noting(std::unique_ptr<data::Dataset> inner, const std::filesystem::path& file)
      : inner_(std::move(inner)), file_(file, std::ios::app) {}
  std::int64_t size() const override { return inner_->size(); }
  std::int64_t inputs() const override { return inner_->inputs(); }
  std::int64_t classes() const override { return inner_->classes(); }
  data::Batch batch(std::span<const std::int64_t> indices, DType dtype,
                    Device& device) const override {
    // Before they train, ranks compare their data in float32.
    if (dtype == DType::float32) return inner_->batch(indices, dtype, device);
    std::string line;
    for (const std::int64_t index : indices) line += text(index, " ");
    file_ << line + "\n" << std::flush;
    return inner_->batch(indices, dtype, device);
  }

 private:
  std::unique_ptr<data::Dataset> inner_;
  mutable std::ofstream file_;
};

}  // namespace

// The linker's --wrap leads calls of make_synthetic to the second, which is given the first.
std::unique_ptr<data::Dataset> real_synthetic(
    std::int64_t, std::int64_t, std::int64_t,
    std::uint64_t) __asm__("__real__ZN8lockstep4data14make_syntheticElllm");
std::unique_ptr<data::Dataset> noting_synthetic(
    std::int64_t size, std::int64_t inputs, std::int64_t classes,
    std::uint64_t seed) __asm__("__wrap__ZN8lockstep4data14make_syntheticElllm");

std::unique_ptr<data::Dataset> noting_synthetic(std::int64_t size, std::int64_t inputs,
                                                std::int64_t classes, std::uint64_t seed) {
  auto smaller = real_synthetic(size / 10, inputs, classes, seed);
  const launch::Lookup lookup = launch::process_environment();
  const auto folder = lookup("NOTED_SAMPLES");
  if (!folder || seed != 0) return smaller;  // the test data has seed 1
  const std::string name =
      lookup("LOCKSTEP_ROUND").value_or("") + "_" + lookup("RANK").value_or("");
  return std::make_unique<Noting>(std::move(smaller), std::filesystem::path(*folder) / name);
}

}  // namespace lockstep::test
