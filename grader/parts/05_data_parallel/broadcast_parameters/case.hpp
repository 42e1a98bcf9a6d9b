// The case format of broadcast_parameters, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/dtype.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct ReplicaTensor {
  DType dtype = DType::float32;
  Bytes values;  // this rank's; empty of a rank that sits out
};

// One model, to be made equal. A case has several, one call after the other.
struct Replica {
  int source = 0;
  std::uint64_t allocation_seed = 0;  // differs per rank: the order of addresses is no order
  std::vector<ReplicaTensor> parameters, buffers;
};

struct ReplicaCase {
  GroupChoice group;
  std::vector<Replica> replicas;
  std::uint8_t peer_dies = 0;  // then a rank reports only how its calls ended
};

inline void write(ByteWriter& out, const std::vector<ReplicaTensor>& tensors) {
  out.put(static_cast<std::uint32_t>(tensors.size()));
  for (const ReplicaTensor& tensor : tensors) out.put(tensor.dtype).put_bytes(tensor.values);
}

inline std::vector<ReplicaTensor> read_replica_tensors(ByteReader& in) {
  std::vector<ReplicaTensor> tensors(in.get<std::uint32_t>());
  for (ReplicaTensor& tensor : tensors) {
    tensor.dtype = in.get<DType>();
    const auto values = in.get_bytes();
    tensor.values.assign(values.begin(), values.end());
  }
  return tensors;
}

inline Bytes encode(const ReplicaCase& c) {
  ByteWriter out;
  write(out, c.group);
  out.put(c.peer_dies).put(static_cast<std::uint32_t>(c.replicas.size()));
  for (const Replica& replica : c.replicas) {
    out.put(replica.source).put(replica.allocation_seed);
    write(out, replica.parameters);
    write(out, replica.buffers);
  }
  return out.take();
}

inline ReplicaCase decode_replica_case(ByteReader& in) {
  ReplicaCase c;
  c.group = read_group_choice(in);
  c.peer_dies = in.get<std::uint8_t>();
  c.replicas.resize(in.get<std::uint32_t>());
  for (Replica& replica : c.replicas) {
    replica.source = in.get<int>();
    replica.allocation_seed = in.get<std::uint64_t>();
    replica.parameters = read_replica_tensors(in);
    replica.buffers = read_replica_tensors(in);
  }
  return c;
}

// What a rank reports of a tensor: the elements behind the handle that was there before the call,
// and what became of the parameter or buffer itself.
struct TensorReport {
  Bytes values;
  std::uint8_t same_tensor = 0;
  std::uint8_t gradient_kept = 0;  // true of buffers
};

inline void write(ByteWriter& out, const TensorReport& report) {
  out.put_bytes(report.values);
  out.put(report.same_tensor).put(report.gradient_kept);
}

inline TensorReport read_tensor_report(ByteReader& in) {
  TensorReport report;
  const auto values = in.get_bytes();
  report.values.assign(values.begin(), values.end());
  report.same_tensor = in.get<std::uint8_t>();
  report.gradient_kept = in.get<std::uint8_t>();
  return report;
}

}  // namespace lockstep::grader
