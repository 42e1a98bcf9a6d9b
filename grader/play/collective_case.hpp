// The case format of the collectives over messages, shared by adapters and exams: what one rank
// holds before each call. What it must hold afterwards only the judge knows.
#pragma once

#include <vector>

#include "engine/base/dtype.hpp"
#include "engine/base/fields.hpp"
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

// `given`: buffers have elements. `none`: they have only a count, so a case may have more elements
// than memory.
enum class Elements : std::uint8_t { given, none };

struct CollectiveCase {
  GroupChoice group;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  Elements elements = Elements::given;
  Peer peer = Peer::stays;
  std::vector<CollectiveCall> calls;  // one after the other in the same run
};

template <typename Archive>
void fields(Archive& archive, HeldBuffer& buffer) {
  archive(buffer.count, buffer.given);
}
template <typename Archive>
void fields(Archive& archive, CollectiveCall& call) {
  archive(call.root, call.buffers, call.to_each, call.from_each, call.in_node, call.across);
}
template <typename Archive>
void fields(Archive& archive, CollectiveCase& c) {
  archive(c.group, c.dtype, c.op, c.elements, c.peer, c.calls);
}

}  // namespace lockstep::grader
