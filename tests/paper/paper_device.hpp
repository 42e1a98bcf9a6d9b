// A device on paper for tests: memory, findings and a machine, and launches by the kernel's name.
#pragma once

#include <cstring>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/paper/machine/machine.hpp"

namespace lockstep::paper::test {

// Operations one after another, but for the pairs that a test says nothing orders.
class Orders final : public Ordering {
 public:
  bool before(Operation earlier, Operation later) const override {
    return earlier <= later && !unordered.contains({earlier, later});
  }
  std::string describe(Operation operation) const override {
    return "operation #" + std::to_string(operation);
  }
  std::set<std::pair<Operation, Operation>> unordered;
};

class PaperDevice {
 public:
  explicit PaperDevice(std::string_view ptx, Settings chosen = {})
      : settings(chosen),
        memory(std::size_t{1} << 28, orders, findings,
               chosen.checks ? Memory::Checks::on : Memory::Checks::off),
        machine(memory, findings, settings),
        module(ptx::decode(ptx)) {
    if (!module.error.empty()) throw std::runtime_error(module.error);
    variables = place(module, memory, 0);
  }

  template <typename T>
  std::uint64_t upload(const std::vector<T>& values) {
    const std::uint64_t address = memory.allocate(values.size() * sizeof(T));
    memory.touch_range(Touch::write, address, values.size() * sizeof(T), operation, "the upload");
    std::memcpy(memory.alias(address), values.data(), values.size() * sizeof(T));
    return address;
  }
  template <typename T>
  std::vector<T> download(std::uint64_t address, std::size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), memory.alias(address), count * sizeof(T));
    return values;
  }
  template <typename... A>
  Outcome launch(const std::string& kernel, Dim3 grid, Dim3 block, std::size_t dynamic_shared,
                 const A&... arguments) {
    const ptx::Kernel& found = module.kernels.at(kernel);
    std::vector<std::byte> parameters(found.parameter_bytes + 8);
    std::size_t next = 0;
    [[maybe_unused]] const auto put = [&](const auto& argument) {
      if (next >= found.parameters.size()) throw std::runtime_error("too many arguments");
      std::memcpy(parameters.data() + found.parameters[next++].offset, &argument, sizeof argument);
    };
    (put(arguments), ...);
    Launch launch;
    launch.kernel = &found;
    launch.grid = grid, launch.block = block;
    launch.dynamic_shared = dynamic_shared;
    launch.parameters = std::span(parameters).first(found.parameter_bytes);
    launch.operation = ++operation;
    launch.variables = variables;
    return machine.run(launch);
  }

  Settings settings;
  Orders orders;
  Findings findings;
  Memory memory;
  Machine machine;
  ptx::Module module;
  std::vector<std::uint64_t> variables;
  Operation operation = 1;
};

}  // namespace lockstep::paper::test
