// The home of a module's variables.
#include <algorithm>
#include <cstring>

#include "engine/paper/machine/machine.hpp"

namespace lockstep::paper {

std::vector<std::uint64_t> place(const ptx::Module& module, Memory& memory, Operation operation) {
  std::vector<std::uint64_t> addresses;
  for (const ptx::Variable& variable : module.variables) {
    const std::size_t bytes = std::max<std::size_t>(1, variable.bytes);
    const std::uint64_t address = memory.allocate(bytes, Memory::Owner::module);
    if (address == 0) {
      for (const std::uint64_t given : addresses) memory.release(given, operation);
      return {};
    }
    memory.touch_range(Touch::write, address, bytes, operation, "the loading of " + variable.name);
    if (variable.bytes != 0)
      std::memcpy(memory.alias(address), variable.content.data(), variable.bytes);
    addresses.push_back(address);
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    for (const ptx::Variable::Address& pointer : module.variables[i].addresses) {
      const auto target =
          std::ranges::find(module.variables, pointer.variable, &ptx::Variable::name);
      if (target == module.variables.end()) continue;
      const std::uint64_t value =
          addresses[static_cast<std::size_t>(target - module.variables.begin())] + pointer.addend;
      std::memcpy(memory.alias(addresses[i]) + pointer.offset, &value, sizeof value);
    }
  }
  return addresses;
}

}  // namespace lockstep::paper
