// Which gradients travel together, by Horovod's rule and by DDP's:
//   build/release/bin/fusion LIMIT SIZE…     in kB; float32, or float16 with an h, such as 600h
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/ddp/assign_buckets.hpp"
#include "engine/parallel/horovod/tensor_fusion.hpp"

using namespace lockstep;

namespace {

struct Gradient {
  std::string word;
  std::int64_t bytes = 0;
  DType dtype = DType::float32;
  std::int64_t count() const { return bytes / static_cast<std::int64_t>(bytes_of(dtype)); }
};

Gradient gradient_of(const std::string& word) {
  const bool half = word.back() == 'h';
  return {word, std::stoll(word) * 1000, half ? DType::float16 : DType::float32};
}

void print(const std::vector<Gradient>& gradients,
           const std::vector<std::vector<std::size_t>>& groups) {
  for (const auto& group : groups) {
    std::int64_t bytes = 0;
    std::cout << " ";
    for (const std::size_t member : group) {
      std::cout << " " << gradients[member].word;
      bytes += gradients[member].bytes;
    }
    std::cout << " = " << bytes / 1000 << " kB\n";
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count < 3) throw UsageError("usage: fusion LIMIT SIZE…, all in kB");
    const std::int64_t limit = std::stoll(words[1]) * 1000;
    std::vector<Gradient> gradients;
    std::vector<horovod::Ready> ready;
    std::vector<ddp::ParamInfo> expected;
    for (int i = 2; i < count; ++i) {
      const Gradient& gradient = gradients.emplace_back(gradient_of(words[i]));
      ready.push_back({gradient.count(), gradient.dtype});
      expected.push_back({gradient.count(), gradient.dtype});
    }
    std::cout << "Horovod\n";
    print(gradients, horovod::fuse(ready, limit).groups);
    std::cout << "DDP\n";
    print(gradients, ddp::assign_buckets(expected, {limit, limit}).buckets);
  } catch (const std::exception& error) {
    std::cerr << "fusion: " << error.what() << "\n";
    return 2;
  }
}
