// Which gradients share a bucket, for gradients that are ready in the order given:
//   build/release/bin/buckets FIRST CAP SIZE…     limits and sizes in kB, gradients in float32
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/ddp/assign_buckets.hpp"

using namespace lockstep;

int main(int count, char** words) {
  try {
    if (count < 4) throw UsageError("usage: buckets FIRST CAP SIZE…, all in kB");
    std::vector<std::int64_t> kilobytes;
    for (int i = 1; i < count; ++i) kilobytes.push_back(std::stoll(words[i]));
    std::vector<ddp::ParamInfo> gradients;
    for (std::size_t i = 2; i < kilobytes.size(); ++i) gradients.push_back({kilobytes[i] * 250});
    const auto plan = ddp::assign_buckets(gradients, {kilobytes[0] * 1000, kilobytes[1] * 1000});
    for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
      std::int64_t total = 0;
      std::cout << "bucket " << b << ":";
      for (const std::size_t member : plan.buckets[b]) {
        total += kilobytes[member + 2];
        std::cout << " " << kilobytes[member + 2];
      }
      std::cout << " = " << total << " kB\n";
    }
  } catch (const std::exception& error) {
    std::cerr << "buckets: " << error.what() << "\n";
    return 2;
  }
}
