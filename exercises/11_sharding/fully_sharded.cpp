// Task: keep a shard of each unit, and have the unit whole while it computes. The hooks around a
// unit's passes gather its parameters, free them, and reduce its gradients; the strategy says in
// which of them. The contract is in engine/parallel/zero/fully_sharded.hpp.
#include "engine/parallel/zero/fully_sharded.hpp"

#include "engine/base/error.hpp"

namespace lockstep::zero {
namespace {

class FullySharded final : public nn::UnitWatch {
 public:
  FullySharded(comm::ProcessGroup& group, std::vector<UnitShard>& units, Sharding sharding)
      : group_(group), units_(units), sharding_(sharding), whole_(units.size()) {}

  void before_forward(std::size_t unit) override;
  void after_forward(std::size_t unit) override;
  void before_backward(std::size_t unit) override;
  void after_backward(std::size_t unit) override;

 private:
  // The part of a flat tensor of the unit, [N·S], that is parameter p, in its shape.
  static Tensor part_of(const Tensor& flat, const UnitShard& unit, std::size_t p) {
    return flat.narrow(unit.cut.starts[p], numel_of(unit.shapes[p])).view(unit.shapes[p]);
  }

  // Gives the unit's parameters their values, unless they have them.
  void gather(std::size_t unit);
  // Takes them away.
  void free(std::size_t unit);
  // Averages the unit's gradients, adds this rank's range to `gradients`, and lets the rest go.
  void reduce(std::size_t unit);

  comm::ProcessGroup& group_;
  std::vector<UnitShard>& units_;
  Sharding sharding_;
  std::vector<Tensor> whole_;  // [N·S] by unit, the values while they are there
};

void FullySharded::gather(std::size_t unit) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)unit;
  throw NotImplemented("fully_sharded");
  // <<< your code
}

void FullySharded::free(std::size_t unit) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)unit;
  throw NotImplemented("fully_sharded");
  // <<< your code
}

void FullySharded::reduce(std::size_t unit) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)unit;
  throw NotImplemented("fully_sharded");
  // <<< your code
}

void FullySharded::before_forward(std::size_t unit) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)unit;
  throw NotImplemented("fully_sharded");
  // <<< your code
}

void FullySharded::after_forward(std::size_t unit) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)unit;
  throw NotImplemented("fully_sharded");
  // <<< your code
}

void FullySharded::before_backward(std::size_t unit) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)unit;
  throw NotImplemented("fully_sharded");
  // <<< your code
}

void FullySharded::after_backward(std::size_t unit) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)unit;
  throw NotImplemented("fully_sharded");
  // <<< your code
}

}  // namespace

std::unique_ptr<nn::UnitWatch> make_fully_sharded(comm::ProcessGroup& group,
                                                  std::vector<UnitShard>& units,
                                                  Sharding sharding) {
  return std::make_unique<FullySharded>(group, units, sharding);
}

}  // namespace lockstep::zero
