#include "engine/gpu/fault_box.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/convert.hpp"
#include "engine/gpu/cuda_check.hpp"

namespace lockstep::gpu {

FaultBox::FaultBox(cudaStream_t stream) : stream_(stream) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, sizeof(Fault)), "cudaMalloc");
  record_.reset(static_cast<Fault*>(memory));
  check(cudaMallocHost(&memory, sizeof(Fault)), "cudaMallocHost");
  seen_.reset(static_cast<Fault*>(memory));
  clear();
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

std::uint64_t FaultBox::expect(const IndexRule& rule) {
  checks_.push_back({++last_, rule, DType::int64});
  return last_;
}

std::uint64_t FaultBox::expect(DType dtype) {
  checks_.push_back({++last_, {}, dtype});
  return last_;
}

// From what the host has in seen_, which stays as it is until the copy has been made.
void FaultBox::clear() {
  *seen_ = Fault{};
  seen_->candidate = no_candidate;
  check(cudaMemcpyAsync(record_.get(), seen_.get(), sizeof(Fault), cudaMemcpyHostToDevice, stream_),
        "cudaMemcpyAsync");
}

void FaultBox::collect() {
  if (checks_.empty()) return;
  check(cudaMemcpyAsync(seen_.get(), record_.get(), sizeof(Fault), cudaMemcpyDeviceToHost, stream_),
        "cudaMemcpyAsync");
}

void FaultBox::tell() {
  const auto launched = std::exchange(checks_, {});
  if (launched.empty() || seen_->check == 0) return;
  const Fault fault = *seen_;
  clear();
  const auto found = std::ranges::find(launched, fault.check, &Check::number);
  LOCKSTEP_CHECK(found != launched.end(), "a kernel tells of check ", fault.check,
                 ", and none of that number was launched since the device was last waited for");
  if (found->rule.outside == nullptr) does_not_fit(fault.value, found->dtype);
  found->rule.outside(found->rule.operation, fault.place, fault.index, found->rule.limit);
}

}  // namespace lockstep::gpu
