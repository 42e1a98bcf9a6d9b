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
  for (std::size_t i = 0; i < units_.size(); ++i) {
    x = watch_ != nullptr ? watched(i, tape, x) : units_[i].module->forward(tape, x);
  }
  return x;
}

// The walk back passes the marks in the opposite order.
Value Chain::watched(std::size_t unit, Tape& tape, const Value& x) {
  UnitWatch* const watch = watch_;
  watch->before_forward(unit);
  tape.mark([watch, unit] { watch->after_backward(unit); });
  Value y = units_[unit].module->forward(tape, x);
  tape.mark([watch, unit] { watch->before_backward(unit); });
  watch->after_forward(unit);
  return y;
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
