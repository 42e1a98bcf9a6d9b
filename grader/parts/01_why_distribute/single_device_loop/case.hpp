// The case format of single_device_loop, shared by adapter and exam, and the line over which the
// judge serves batches: it alone has the samples, and sees which epochs are read, and how far.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/dtype.hpp"
#include "grader/parts/05_data_parallel/data_parallel_step/case.hpp"

namespace lockstep::grader {

struct LoopCase {
  DType dtype = DType::float64;
  OptimizerKind optimizer = OptimizerKind::momentum;
  std::uint64_t model_seed = 0;
  std::vector<std::int64_t> widths;
  int epochs = 1;
};

inline Bytes encode(const LoopCase& c) {
  ByteWriter out;
  out.put(c.dtype).put(c.optimizer).put(c.model_seed);
  out.put_list(std::span<const std::int64_t>(c.widths)).put(c.epochs);
  return out.take();
}

inline LoopCase decode_loop_case(ByteReader& in) {
  LoopCase c;
  c.dtype = in.get<DType>();
  c.optimizer = in.get<OptimizerKind>();
  c.model_seed = in.get<std::uint64_t>();
  c.widths = in.get_list<std::int64_t>();
  c.epochs = in.get<int>();
  return c;
}

// The service "loader". A start carries its epoch and is answered by nothing; a next is answered by
// inputs and labels, flat, or by two empty lists at the end of the epoch.
inline constexpr const char* loader_service = "loader";
enum class LoaderCall : std::uint8_t { start, next };

}  // namespace lockstep::grader
