// The functions that an object file defines, by the names that they have in C++ and for the linker,
// when several versions of a part share a unit (grader/course/proofs/shared_unit.hpp).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::grader {

struct Symbol {
  char type = ' ';
  std::string linked, written;  // "_ZN8lockstep…", "lockstep::…"

  bool names(const std::string& inner) const {
    return written.find(inner + "::") != std::string::npos;
  }
};

//   Throws  Error when nm cannot read the file
std::vector<Symbol> symbols_of(const std::filesystem::path& object);

using LinkedNames = std::map<std::string, std::string>;  // as written → as linked

// Those of the functions `wanted` that an object defines.
LinkedNames linked_names(const std::vector<Symbol>& symbols,
                         const std::vector<std::string>& wanted);

// The functions of the version `inner` of a unit, as written without that namespace.
LinkedNames linked_names_of(const std::vector<Symbol>& symbols, const std::string& inner);

}  // namespace lockstep::grader
