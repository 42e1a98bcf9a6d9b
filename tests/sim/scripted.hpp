// A host without processes: each rank is a list of requests, asked one after the other. The
// thinnest thing that can drive a core, and the story of what a rank did can be read from top to
// bottom.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/sim/core/core.hpp"

namespace lockstep::test {

using namespace lockstep::sim;

inline Payload floats(const std::vector<float>& values) {
  ByteWriter out;
  for (const float value : values) out.put(value);
  return payload_of(out.take());
}

inline std::vector<float> floats_of(const Payload& payload) {
  std::vector<float> values(payload.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), payload.bytes.data(), payload.bytes.size());
  return values;
}

inline Request request_of(Op op, int line) {
  Request request;
  request.op = op;
  request.file = "/home/student/lab/work/ring.cpp";
  request.line = line;
  return request;
}

inline Request message(Op op, int peer, std::int64_t count, int line = 1, int tag = 0) {
  Request request = request_of(op, line);
  request.peer = peer;
  request.count = count;
  request.tag = tag;
  if (op == Op::send || op == Op::isend) {
    request.data = floats(std::vector<float>(static_cast<std::size_t>(count), 1.0f));
  }
  return request;
}

inline Request collective(Collective kind, const std::vector<float>& values, int line = 1,
                          int root = 0) {
  Request request = request_of(Op::collective, line);
  request.collective = kind;
  request.peer = root;
  request.count = static_cast<std::int64_t>(values.size());
  request.data = floats(values);
  return request;
}

inline Request wait_for(std::uint64_t handle, const Payload& buffer, int line = 1) {
  Request request = request_of(Op::wait, line);
  request.handle = handle;
  request.checksum = checksum_of(buffer.bytes);
  return request;
}

// A rank: given the replies so far, its next request, or nullopt when it returns.
using Script = std::function<std::optional<Request>(const std::vector<Reply>& replies)>;

inline Script list(std::vector<Request> requests) {
  return [requests = std::move(requests)](const std::vector<Reply>& replies) {
    return replies.size() < requests.size() ? std::optional(requests[replies.size()])
                                            : std::nullopt;
  };
}

// Runs until all have returned or something was found; the replies by rank.
inline std::vector<std::vector<Reply>> run(Core& core, const std::vector<Script>& scripts) {
  std::vector<std::vector<Reply>> replies(scripts.size());
  const auto go = [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (auto request = scripts[at](replies[at])) {
      core.ask({rank, 0}, std::move(*request));
    } else {
      core.end({rank, 0});
    }
  };
  for (int rank = 0; rank < core.ranks(); ++rank) go(rank);
  while (!core.finished() && !core.finding()) {
    for (auto& [actor, reply] : core.advance()) {
      replies[static_cast<std::size_t>(actor.rank)].push_back(reply);
      go(actor.rank);
    }
  }
  return replies;
}

inline Options world(int ranks, std::uint64_t seed = 0) {
  Options options;
  options.ranks = ranks;
  options.seed = seed;
  return options;
}

inline std::optional<FindingKind> kind_found(const Core& core) {
  if (!core.finding()) return {};
  return core.finding()->kind;
}

}  // namespace lockstep::test
