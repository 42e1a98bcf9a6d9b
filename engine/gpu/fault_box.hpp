// Reports of kernels about faults in their data: an index outside its table, a value that an
// element cannot hold. A kernel cannot throw; it leaves the first such fault in a record of the
// device's memory, and the host throws it when it waits for the device anyway.
//
// Invariants
//   1. The record holds the fault of the earliest check that found one, and of that check the one
//      at the lowest place. Kernels of one stream run one after the other, so that a check that
//      finds the record taken leaves it alone.
//   2. After tell() the record is empty: a fault is told once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/tensor/kernels.hpp"

namespace lockstep::gpu {

// In the device's memory.
struct Fault {
  std::uint64_t check = 0;      // number of the check that found it; 0: none did
  std::int64_t place = 0;       // of the element, or -1: the check missed something altogether
  std::int64_t index = 0;       // what stands there: an index …
  double value = 0;             // … or a number
  std::uint64_t candidate = 0;  // of the check that runs: the lowest place that is wrong
};
constexpr std::uint64_t no_candidate = ~std::uint64_t{0};

//   Thread  one at a time
class FaultBox {
 public:
  // Memory for the record, and the host's copy of it.   Throws  GpuError
  explicit FaultBox(cudaStream_t stream);
  FaultBox(const FaultBox&) = delete;
  FaultBox& operator=(const FaultBox&) = delete;

  // The record that kernels write.
  Fault* record() const { return record_.get(); }
  // The number of a check that is about to be launched: of indices, or of values of a dtype.
  std::uint64_t expect(const IndexRule& rule);
  std::uint64_t expect(DType dtype);

  // Queues the record's way to the host. Then the stream is waited for; then tell() throws what
  // the rule of the first fault says, or does_not_fit (convert.hpp).
  void collect();
  void tell();

 private:
  struct Check {
    std::uint64_t number;
    IndexRule rule;
    DType dtype;
  };

  struct OfDevice {
    void operator()(Fault* record) const { cudaFree(record); }
  };
  struct Pinned {
    void operator()(Fault* record) const { cudaFreeHost(record); }
  };

  void clear();

  cudaStream_t stream_;
  // Pinned, so that the copy need not be waited for. It outlives the record: if the constructor
  // fails, cudaFree waits for a copy that still uses both.
  std::unique_ptr<Fault, Pinned> seen_;
  std::unique_ptr<Fault, OfDevice> record_;
  std::uint64_t last_ = 0;
  std::vector<Check> checks_;  // launched since the last tell()
};

}  // namespace lockstep::gpu
