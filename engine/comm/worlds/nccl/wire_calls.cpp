#include "engine/comm/worlds/nccl/wire_calls.hpp"

namespace lockstep::comm {
namespace {

using gpu::WireCall;
using gpu::WireVerb;

// Tensors of any shape as NCCL sees them.
Tensor flat(const Tensor& data) { return data.defined() ? data.view({data.numel()}) : data; }

void add_message(std::vector<WireCall>& calls, WireVerb verb, const Tensor& data, int peer) {
  if (!data.defined()) return;
  const bool sends = verb == WireVerb::send;
  calls.push_back(
      {.verb = verb, .from = sends ? data : Tensor(), .to = sends ? Tensor() : data, .peer = peer});
}

void add_own(std::vector<WireCall>& calls, const Tensor& from, const Tensor& to) {
  if (!from.defined() || from.same_place(to)) return;
  calls.push_back({.verb = WireVerb::copy, .from = from, .to = to});
}

void add_gather(std::vector<WireCall>& calls, const Collective& c, int rank, int size) {
  if (rank != c.root) return add_message(calls, WireVerb::send, flat(c.input), c.root);
  add_own(calls, flat(c.input), part_of({}, c.output, rank, size));
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    add_message(calls, WireVerb::recv, part_of({}, c.output, peer, size), peer);
  }
}

void add_scatter(std::vector<WireCall>& calls, const Collective& c, int rank, int size) {
  if (rank != c.root) return add_message(calls, WireVerb::recv, flat(c.output), c.root);
  add_own(calls, part_of({}, c.input, rank, size), flat(c.output));
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    add_message(calls, WireVerb::send, part_of({}, c.input, peer, size), peer);
  }
}

void add_all_gather(std::vector<WireCall>& calls, const Collective& c, int rank, int size) {
  if (c.output_counts.empty()) {
    calls.push_back({.verb = WireVerb::all_gather, .from = flat(c.input), .to = flat(c.output)});
    return;
  }
  for (int root = 0; root < size; ++root) {
    const Tensor part = part_of(c.output_counts, c.output, root, size);
    if (!part.defined()) continue;
    const Tensor from = root == rank ? flat(c.input) : part;
    calls.push_back({.verb = WireVerb::broadcast, .from = from, .to = part, .peer = root});
  }
}

void add_all_to_all(std::vector<WireCall>& calls, const Collective& c, int rank, int size) {
  for (int peer = 0; peer < size; ++peer) {
    const Tensor out = part_of(c.input_counts, c.input, peer, size);
    const Tensor in = part_of(c.output_counts, c.output, peer, size);
    if (peer == rank) {
      add_own(calls, out, in);
      continue;
    }
    add_message(calls, WireVerb::send, out, peer);
    add_message(calls, WireVerb::recv, in, peer);
  }
}

}  // namespace

std::vector<WireCall> wire_calls_of(const Collective& c, int rank, int size) {
  std::vector<WireCall> calls;
  if (c.kind == CollectiveKind::barrier || c.is_empty(size)) return calls;
  switch (c.kind) {
    case CollectiveKind::broadcast:
      calls.push_back({.verb = WireVerb::broadcast,
                       .from = flat(c.output),
                       .to = flat(c.output),
                       .peer = c.root});
      break;
    case CollectiveKind::reduce:
      calls.push_back({.verb = WireVerb::reduce,
                       .from = flat(c.input),
                       .to = flat(c.output),
                       .op = c.op,
                       .peer = c.root});
      break;
    case CollectiveKind::all_reduce:
      calls.push_back(
          {.verb = WireVerb::all_reduce, .from = flat(c.input), .to = flat(c.output), .op = c.op});
      break;
    case CollectiveKind::reduce_scatter:
      calls.push_back({.verb = WireVerb::reduce_scatter,
                       .from = flat(c.input),
                       .to = flat(c.output),
                       .op = c.op});
      break;
    case CollectiveKind::gather:
      add_gather(calls, c, rank, size);
      break;
    case CollectiveKind::scatter:
      add_scatter(calls, c, rank, size);
      break;
    case CollectiveKind::all_gather:
      add_all_gather(calls, c, rank, size);
      break;
    case CollectiveKind::all_to_all:
      add_all_to_all(calls, c, rank, size);
      break;
    case CollectiveKind::barrier:
      break;
  }
  return calls;
}

}  // namespace lockstep::comm
