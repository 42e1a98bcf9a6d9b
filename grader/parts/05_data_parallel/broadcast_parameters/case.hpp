// The case format of broadcast_parameters, shared by adapter and exam.
#pragma once

#include "engine/base/dtype.hpp"
#include "grader/play/gradients.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct ReplicaTensor {
  DType dtype = DType::float32;
  Bytes values;  // this rank's
};

// One model, to be made equal. A case has several, one call after the other.
struct Replica {
  int source = 0;
  std::uint64_t allocation_seed = 0;  // differs per rank: the order of addresses is no order
  std::vector<ReplicaTensor> parameters, buffers;
};

struct ReplicaCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  std::vector<Replica> replicas;
};

// A rank's report on a tensor: the elements behind the handle that was there before the call, and
// what became of the parameter or buffer itself.
struct TensorReport {
  Bytes values;
  bool same_tensor = false;
  bool gradient_kept = false;  // true of buffers
};
// The reports on a model: parameters, then buffers.
using ModelReport = std::vector<TensorReport>;

template <typename Archive>
void fields(Archive& archive, ReplicaTensor& tensor) {
  archive(tensor.dtype, tensor.values);
}
template <typename Archive>
void fields(Archive& archive, Replica& replica) {
  archive(replica.source, replica.allocation_seed, replica.parameters, replica.buffers);
}
template <typename Archive>
void fields(Archive& archive, ReplicaCase& c) {
  archive(c.group, c.peer, c.replicas);
}
template <typename Archive>
void fields(Archive& archive, TensorReport& report) {
  archive(report.values, report.same_tensor, report.gradient_kept);
}

}  // namespace lockstep::grader
