// The case format of power_sgd, shared by adapter and exam. What a rank keeps of a bucket is the
// residual and behind it all Q, in one tensor.
#pragma once

#include "engine/tensor/shape.hpp"
#include "grader/play/lossy_play.hpp"

namespace lockstep::grader {

inline Shape shape_of_sizes(const std::vector<std::int64_t>& sizes) {
  Shape shape;
  for (const std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

struct PowerSgdSettings {
  std::vector<std::vector<std::int64_t>> shapes{};  // of the gradients in a bucket
  std::int64_t rank = 1;
  std::int64_t buckets = 1;  // calls are about one after the other
  std::uint64_t seed = 0;
  std::int64_t q_count = 0;  // elements of all Q
  double compression_min = 2;

  std::string text() const {
    std::string all;
    for (const auto& sizes : shapes) {
      all += (all.empty() ? "" : ", ") + text_of(shape_of_sizes(sizes));
    }
    return lockstep::text(
        "in ", all, ", rank ", rank,
        compression_min == 2 ? "" : lockstep::text(", that shrink by more than ", compression_min));
  }
  bool any_count() const { return false; }  // the shapes say how many
};
template <typename Archive>
void fields(Archive& archive, PowerSgdSettings& settings) {
  archive(settings.shapes, settings.rank, settings.buckets, settings.seed, settings.q_count,
          settings.compression_min);
}

}  // namespace lockstep::grader
