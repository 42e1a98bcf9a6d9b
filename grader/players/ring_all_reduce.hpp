// The case format of all-reduce parts over messages, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/dtype.hpp"
#include "grader/players/part.hpp"

namespace lockstep::grader {

struct AllReduceCase {
  GroupChoice group;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  std::vector<Bytes> calls;  // this rank's elements, one entry a call in the same run
};

inline Bytes encode(const AllReduceCase& c) {
  ByteWriter out;
  write(out, c.group);
  out.put(c.dtype).put(c.op).put(static_cast<std::uint32_t>(c.calls.size()));
  for (const Bytes& call : c.calls) out.put_bytes(call);
  return out.take();
}

inline AllReduceCase decode_all_reduce_case(ByteReader& in) {
  AllReduceCase c;
  c.group = read_group_choice(in);
  c.dtype = in.get<DType>();
  c.op = in.get<ReduceOp>();
  const auto calls = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < calls; ++i) {
    const auto part = in.get_bytes();
    c.calls.emplace_back(part.begin(), part.end());
  }
  return c;
}

}  // namespace lockstep::grader
