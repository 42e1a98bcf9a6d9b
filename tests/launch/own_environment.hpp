// The variables of this process, some of them replaced.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lockstep::test {

// "NAME=value" each; those given come instead of ours.
inline std::vector<std::string> own_environment_with(std::vector<std::string> variables) {
  const auto replaced = variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string one = *entry;
    const std::string name = one.substr(0, one.find('=') + 1);
    const auto has_name = [&](const std::string& other) { return other.starts_with(name); };
    if (std::ranges::none_of(replaced, has_name)) variables.push_back(one);
  }
  return variables;
}

}  // namespace lockstep::test
