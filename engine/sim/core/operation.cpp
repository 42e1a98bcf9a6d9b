#include "engine/sim/core/operation.hpp"

namespace lockstep::sim {

const Request& request_of(const Operation& operation) {
  if (operation.whole) return operation.whole->request;
  if (!operation.told) operation.told = std::make_unique<Request>(request_of(operation.request));
  return *operation.told;
}

void OperationPtr::take_back(Operation& operation) { operation.pool->take_back(operation); }

void OperationPool::take_back(Operation& operation) {
  if (!operation.kept.empty()) operation.kept.clear();
  if (operation.whole) operation.whole = nullptr;
  if (operation.told) operation.told = nullptr;
  operation.receive = nullptr;
  operation.received = 0;
  operation.ran_s = 0;
  operation.done = operation.met = operation.has_waiter = false;
  free_.push_back(&operation);
}

void OperationPool::grow() {
  chunks_.push_back(std::make_unique<std::array<Operation, chunk>>());
  places_ += chunk;
  for (std::uint32_t place = places_; place-- > places_ - chunk;) {
    at(place).place = place;
    at(place).pool = this;
    free_.push_back(&at(place));
  }
}

}  // namespace lockstep::sim
