// The case format of data_parallel_step, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/dtype.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class OptimizerKind : std::uint8_t { momentum, adam };

struct StepCase {
  GroupChoice group;
  DType dtype = DType::float64;
  OptimizerKind optimizer = OptimizerKind::momentum;
  double clip_norm = 0;
  std::uint8_t unused = 0;     // the model has a parameter that forward does not use
  std::uint8_t peer_dies = 0;  // then a rank reports only how its steps ended
  std::uint64_t model_seed = 0;
  std::vector<std::int64_t> widths;
  std::int64_t batch = 0;            // samples of this rank in each step
  std::vector<double> inputs;        // [steps · batch · widths.front()]
  std::vector<std::int64_t> labels;  // [steps · batch]
};

inline Bytes encode(const StepCase& c) {
  ByteWriter out;
  write(out, c.group);
  out.put(c.dtype)
      .put(c.optimizer)
      .put(c.clip_norm)
      .put(c.peer_dies)
      .put(c.unused)
      .put(c.model_seed);
  out.put_list(std::span<const std::int64_t>(c.widths)).put(c.batch);
  out.put_list(std::span<const double>(c.inputs));
  out.put_list(std::span<const std::int64_t>(c.labels));
  return out.take();
}

inline StepCase decode_step_case(ByteReader& in) {
  StepCase c;
  c.group = read_group_choice(in);
  c.dtype = in.get<DType>();
  c.optimizer = in.get<OptimizerKind>();
  c.clip_norm = in.get<double>();
  c.peer_dies = in.get<std::uint8_t>();
  c.unused = in.get<std::uint8_t>();
  c.model_seed = in.get<std::uint64_t>();
  c.widths = in.get_list<std::int64_t>();
  c.batch = in.get<std::int64_t>();
  c.inputs = in.get_list<double>();
  c.labels = in.get_list<std::int64_t>();
  return c;
}

}  // namespace lockstep::grader
