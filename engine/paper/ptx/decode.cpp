// From text to module: variables with their contents, and a kernel for each entry.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/paper/ptx/assembler.hpp"
#include "engine/paper/ptx/module.hpp"

namespace lockstep::paper::ptx {
namespace {

void put_value(Variable& variable, std::size_t offset, std::size_t bytes, const std::string& text) {
  std::uint64_t bits = 0;
  if (text.starts_with("0f") || text.starts_with("0d") || text.starts_with("0F") ||
      text.starts_with("0D")) {
    std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  } else if (!text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'))) {
    const bool hex = text.starts_with("0x");
    bits = text[0] == '-' ? static_cast<std::uint64_t>(std::strtoll(text.c_str(), nullptr, 10))
                          : std::strtoull(text.c_str(), nullptr, hex ? 16 : 10);
  } else {  // name, name+4, generic(name) or generic(name)+4
    std::string name = text;
    if (name.starts_with("generic(")) {
      name.erase(0, 8);
      name.erase(name.find(')'), 1);
    }
    Variable::Address address{offset, name, 0};
    if (const auto plus = name.find('+'); plus != std::string::npos) {
      address.addend = std::strtoull(name.c_str() + plus + 1, nullptr, 10);
      address.variable.resize(plus);
    }
    if (bytes != 8) throw std::runtime_error("a part of an address is not known to paper");
    variable.addresses.push_back(std::move(address));
    return;
  }
  std::memcpy(variable.content.data() + offset, &bits, bytes);
}

Variable variable_of(const Declaration& declaration) {
  Variable made;
  made.name = declaration.name;
  made.space = declaration.space == ".const" ? Variable::Space::constant : Variable::Space::global;
  const std::size_t bytes = bytes_of_type(declaration.type);
  made.bytes = bytes * std::max<std::size_t>(1, declaration.count);
  made.align = std::max(declaration.align, bytes);
  made.content.resize(made.bytes);
  if (declaration.values.size() > std::max<std::size_t>(1, declaration.count)) {
    throw std::runtime_error("'" + declaration.name + "' has more values than places");
  }
  for (std::size_t i = 0; i < declaration.values.size(); ++i) {
    put_value(made, i * bytes, bytes, declaration.values[i]);
  }
  return made;
}

void check_addresses(const Module& module, const Variable& variable) {
  for (const Variable::Address& address : variable.addresses) {
    if (std::ranges::find(module.variables, address.variable, &Variable::name) ==
        module.variables.end()) {
      throw std::runtime_error("'" + variable.name + "' holds the address of '" + address.variable +
                               "', which is no variable");
    }
  }
}

}  // namespace

Decoder::Decoder(std::string_view text) : text_(std::make_unique<Text>(read_text(text))) {
  module_.error = text_->error;
  if (!module_.error.empty()) return;
  try {
    for (const Declaration& declaration : text_->variables) {
      if (declaration.space != ".shared") module_.variables.push_back(variable_of(declaration));
    }
    for (const Variable& variable : module_.variables) check_addresses(module_, variable);
  } catch (const std::exception& error) {
    module_.error = error.what();
  }
}

Decoder::~Decoder() = default;

const Kernel* Decoder::kernel(const std::string& name) {
  if (!module_.error.empty()) return nullptr;
  if (const auto made = module_.kernels.find(name); made != module_.kernels.end()) {
    return &made->second;
  }
  const auto found = text_->functions.find(name);
  if (found == text_->functions.end() || !found->second.entry || !found->second.defined) {
    return nullptr;
  }
  Kernel kernel = Assembler(*text_, module_.variables).assemble(found->second);
  return &module_.kernels.emplace(name, std::move(kernel)).first->second;
}

std::vector<std::string> Decoder::names_of_kernels() const {
  std::vector<std::string> names;
  for (const auto& [name, function] : text_->functions) {
    if (function.entry && function.defined) names.push_back(name);
  }
  return names;
}

Module decode(std::string_view text) {
  Decoder decoder(text);
  for (const std::string& name : decoder.names_of_kernels()) decoder.kernel(name);
  return decoder.module();
}

}  // namespace lockstep::paper::ptx
