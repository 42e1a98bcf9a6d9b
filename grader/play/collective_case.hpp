// The case format of the collectives over messages, shared by adapters and exams: what one rank
// holds before each call. What it must hold afterwards only the judge knows.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/dtype.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct HeldBuffer {
  std::int64_t count = 0;  // elements
  Bytes given;             // empty: nothing is in it yet, the adapter poisons it
};

struct CollectiveCall {
  int root = 0;
  std::vector<HeldBuffer> buffers;               // in the order of the part's parameters
  std::vector<std::int64_t> to_each, from_each;  // counts, where a part takes them
  GroupChoice in_node, across;                   // of a part that takes a group for each level
};

// Whether buffers have elements, or only a count: then a case may have more of them than memory.
enum class Elements : std::uint8_t { given, none };
// Whether a rank dies during the case, so that the others have to say how their calls ended.
enum class Peer : std::uint8_t { stays, lost };

struct CollectiveCase {
  GroupChoice group;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  Elements elements = Elements::given;
  Peer peer = Peer::stays;
  std::vector<CollectiveCall> calls;  // one after the other in the same run
};

inline Bytes encode(const CollectiveCase& c) {
  ByteWriter out;
  write(out, c.group);
  out.put(c.dtype)
      .put(c.op)
      .put(c.elements)
      .put(c.peer)
      .put(static_cast<std::uint32_t>(c.calls.size()));
  for (const CollectiveCall& call : c.calls) {
    out.put(call.root).put(static_cast<std::uint32_t>(call.buffers.size()));
    for (const HeldBuffer& buffer : call.buffers) out.put(buffer.count).put_bytes(buffer.given);
    out.put_list(std::span<const std::int64_t>(call.to_each));
    out.put_list(std::span<const std::int64_t>(call.from_each));
    write(out, call.in_node);
    write(out, call.across);
  }
  return out.take();
}

inline CollectiveCase decode_collective_case(ByteReader& in) {
  CollectiveCase c;
  c.group = read_group_choice(in);
  c.dtype = in.get<DType>();
  c.op = in.get<ReduceOp>();
  c.elements = in.get<Elements>();
  c.peer = in.get<Peer>();
  const auto calls = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < calls; ++i) {
    CollectiveCall& call = c.calls.emplace_back();
    call.root = in.get<int>();
    const auto buffers = in.get<std::uint32_t>();
    for (std::uint32_t b = 0; b < buffers; ++b) {
      const auto count = in.get<std::int64_t>();
      const auto given = in.get_bytes();
      call.buffers.push_back({count, {given.begin(), given.end()}});
    }
    call.to_each = in.get_list<std::int64_t>();
    call.from_each = in.get_list<std::int64_t>();
    call.in_node = read_group_choice(in);
    call.across = read_group_choice(in);
  }
  return c;
}

}  // namespace lockstep::grader
