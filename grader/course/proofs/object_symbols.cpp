#include "grader/course/proofs/object_symbols.hpp"

#include <algorithm>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of_nm(const fs::path& object, const std::string& flag) {
  const CommandResult nm =
      run_command({"nm", flag, "-p", "--defined-only", object.string()}, object.parent_path(),
                  {.output_bytes = std::size_t{64} << 20});
  if (nm.exit_code != 0) throw Error("nm failed on " + object.string() + ": " + nm.output);
  std::vector<std::string> lines;
  std::istringstream in(nm.output);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool is_global_function(const Symbol& symbol) { return symbol.type == 'T' || symbol.type == 'W'; }

std::string without(std::string name, const std::string& inner) {
  const std::string qualifier = inner + "::";
  for (std::size_t at; (at = name.find(qualifier)) != std::string::npos;) {
    name.erase(at, qualifier.size());
  }
  return name;
}

}  // namespace

// A line is "0000000000000000 T name", and nm tells them twice in the same order.
std::vector<Symbol> symbols_of(const fs::path& object) {
  constexpr std::size_t type_at = 17, name_at = 19;
  const auto linked = lines_of_nm(object, "--no-demangle");
  const auto written = lines_of_nm(object, "-C");
  LOCKSTEP_CHECK(linked.size() == written.size(), "nm lists ", linked.size(), " names but ",
                 written.size(), " demangled ones");
  std::vector<Symbol> symbols;
  for (std::size_t i = 0; i < linked.size(); ++i) {
    if (linked[i].size() <= name_at || written[i].size() <= name_at) continue;
    symbols.push_back({linked[i][type_at], linked[i].substr(name_at), written[i].substr(name_at)});
  }
  return symbols;
}

LinkedNames linked_names(const std::vector<Symbol>& symbols,
                         const std::vector<std::string>& wanted) {
  LinkedNames names;
  for (const Symbol& symbol : symbols) {
    const bool asked_for = std::ranges::find(wanted, symbol.written) != wanted.end();
    if (asked_for && is_global_function(symbol)) names[symbol.written] = symbol.linked;
  }
  return names;
}

LinkedNames linked_names_of(const std::vector<Symbol>& symbols, const std::string& inner) {
  LinkedNames names;
  for (const Symbol& symbol : symbols) {
    if (!is_global_function(symbol) || !symbol.names(inner)) continue;
    names[without(symbol.written, inner)] = symbol.linked;
  }
  return names;
}

}  // namespace lockstep::grader
