#include "engine/base/error.hpp"

#include <string_view>

namespace lockstep {

void contract_failed(const char* condition, const char* file, int line,
                     const std::string& message) {
  std::string_view path(file);
  for (std::string_view root : {"engine/", "solutions/", "grader/", "tests/", "work/"}) {
    if (auto at = path.rfind(root); at != std::string_view::npos) path.remove_prefix(at);
  }
  throw ContractError(text(message, " [", path, ":", line, ": ", condition, "]"));
}

}  // namespace lockstep
