// An environment that a test makes up.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/launch/environment.hpp"

namespace lockstep::test {

using Variables = std::map<std::string, std::string>;

inline launch::Lookup lookup_in(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

}  // namespace lockstep::test
