// The engine's operations by the names that expected.py gives them, and one way to run a case.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "tests/parity/expected.hpp"

namespace lockstep::test {

// What an operation is given: values with a gradient, and tensors that have none (labels, heads).
struct Inputs {
  std::map<std::string, Value> values;
  const Case& constants;

  const Value& operator[](const std::string& name) const { return values.at(name); }
  std::int64_t integer(const std::string& name) const;
};

using Operation = std::function<Value(Tape&, const Inputs&)>;
const std::map<std::string, Operation>& operations();

// Runs the case in `dtype`, forward and backward: y and each gradient, measured.
std::vector<Measured> run(const Case& one, DType dtype);

}  // namespace lockstep::test
