// The case format of fully_sharded, shared by adapter and exam. The judge is what a unit computes:
// in a pass, the adapter shows it the values that the unit's parameters have, and backward passes
// are answered with their gradients.
#pragma once

#include "engine/base/dtype.hpp"
#include "engine/parallel/zero/fully_sharded.hpp"
#include "grader/play/part.hpp"
#include "grader/play/shard_plan.hpp"

namespace lockstep::grader {

struct ShardedUnitCase {
  std::vector<std::int64_t> sizes{};  // of each parameter
  zero::FlatShards cut{};
  Bytes values{};  // this rank's range. Nobody is given another
};

struct ShardedCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float64;
  zero::Sharding sharding = zero::Sharding::full_shard;
  std::vector<ShardedUnitCase> units{};
  std::uint32_t steps = 1, passes = 1;  // passes of a step, before its update
  double rate = 0;                      // of the update: values - rate · gradients
};

// A pass of a unit, while it runs; or, after the passes of a step, its update.
struct UnitCall {
  static constexpr const char* service = "units";
  enum class Kind : std::uint8_t { forward, backward, update };
  Kind kind = Kind::forward;
  std::uint32_t unit = 0;
  // By parameter; of one without a value of its shape and type, nothing.
  enum There : std::uint8_t { no_value, right_shape, other_shape };
  std::vector<Bytes> values{};
  std::vector<std::uint8_t> there{};  // one of There
  // The rest is advice (decision 0055).
  // Units of which a parameter has a value now; or had one when a gather began since the pass
  // before.
  std::vector<std::uint8_t> whole{}, whole_at_gather{};
  // Tensors beside the adapter's: of now, and the most since the pass before.
  std::int64_t now_bytes = 0, most_bytes = 0;
};
struct UnitAnswer {
  // To a backward pass, by parameter; where there is none, backward makes none.
  std::vector<Bytes> gradients{};
  std::vector<std::uint8_t> made{};
};

struct ShardedReport {
  std::vector<std::vector<Bytes>> gradients{};  // by step and unit, of this rank's range
  std::vector<std::uint64_t> left{};            // by step: grads of parameters that are there still
};

template <typename Archive>
void fields(Archive& archive, ShardedUnitCase& unit) {
  archive(unit.sizes, unit.cut, unit.values);
}
template <typename Archive>
void fields(Archive& archive, ShardedCase& c) {
  archive(c.group, c.peer, c.dtype, c.sharding, c.units, c.steps, c.passes, c.rate);
}
template <typename Archive>
void fields(Archive& archive, UnitCall& call) {
  archive(call.kind, call.unit, call.values, call.there, call.whole, call.whole_at_gather,
          call.now_bytes, call.most_bytes);
}
inline void check_fields(UnitCall& call) {
  if (call.kind > UnitCall::Kind::update) throw MalformedMessage("no such call");
}
template <typename Archive>
void fields(Archive& archive, UnitAnswer& answer) {
  archive(answer.gradients, answer.made);
}
template <typename Archive>
void fields(Archive& archive, ShardedReport& report) {
  archive(report.gradients, report.left);
}

}  // namespace lockstep::grader
