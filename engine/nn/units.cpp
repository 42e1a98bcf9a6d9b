#include "engine/nn/units.hpp"

#include "engine/base/error.hpp"

namespace lockstep::nn {

void check_range(const UnitRange& range, std::int64_t units) {
  LOCKSTEP_CHECK(range.first >= 0 && range.count >= 0 && range.first <= units - range.count,
                 "units ", range.first, " to ", range.first, " + ", range.count,
                 " of a model that has ", units);
}

Value Chain::forward(Tape& tape, const Value& input) {
  Value x = input;
  for (Unit& unit : units_) x = unit.module->forward(tape, x);
  return x;
}

void Chain::prepare(const Occasion& occasion) {
  for (Unit& unit : units_) unit.module->prepare(occasion);
}

std::vector<Parameter*> Chain::parameters() {
  std::vector<Parameter*> all;
  for (Unit& unit : units_) {
    const auto of_unit = unit.module->parameters();
    all.insert(all.end(), of_unit.begin(), of_unit.end());
  }
  return all;
}

std::vector<Buffer*> Chain::buffers() {
  std::vector<Buffer*> all;
  for (Unit& unit : units_) {
    const auto of_unit = unit.module->buffers();
    all.insert(all.end(), of_unit.begin(), of_unit.end());
  }
  return all;
}

}  // namespace lockstep::nn
