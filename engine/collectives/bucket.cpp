#include "engine/collectives/bucket.hpp"

#include "engine/base/text.hpp"

namespace lockstep::collectives {

std::string text_of(const BucketPlan& plan) {
  std::string all;
  for (const auto& bucket : plan.buckets) {
    std::string one;
    for (const std::size_t parameter : bucket) one += text(one.empty() ? "" : ", ", parameter);
    all += text(all.empty() ? "[" : ", [", one, "]");
  }
  return text("[", all, "]");
}

}  // namespace lockstep::collectives
