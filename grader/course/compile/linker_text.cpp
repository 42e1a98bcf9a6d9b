// Reads what linkers and nm print.
#include "grader/course/compile/compiler_text.hpp"

#include <sstream>
#include <string_view>

namespace lockstep::grader {
namespace {

// g++ marks functions that return a std::string, or what holds one.
constexpr std::string_view abi_tag = "[abi:cxx11]";

// "lockstep::(anonymous namespace)::f[abi:cxx11](int)" → "f"
std::string_view function_name(std::string_view symbol) {
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  const std::size_t hidden = symbol.rfind(unnamed, symbol.rfind('('));
  if (hidden != std::string_view::npos) symbol.remove_prefix(hidden + unnamed.size());
  std::string_view qualified = symbol.substr(0, symbol.find('('));
  if (qualified.ends_with(abi_tag)) qualified.remove_suffix(abi_tag.size());
  const std::size_t colon = qualified.rfind("::");
  return colon == std::string_view::npos ? qualified : qualified.substr(colon + 2);
}

struct NmLine {
  char type = ' ';
  std::string_view symbol;
};

// "0000000000000000 T lockstep::f(int)"
NmLine nm_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  if (first == std::string_view::npos || first + 3 > line.size()) return {};
  return {line[first + 1], line.substr(first + 3)};
}

}  // namespace

std::string link_error(const std::string& linker_output) {
  const auto symbol_after = [&](std::string_view mark, std::string_view until) {
    const std::size_t at = linker_output.find(mark);
    if (at == std::string::npos) return std::string();
    const std::size_t start = at + mark.size();
    const std::size_t end = linker_output.find_first_of(until, start);
    return readable_symbol(linker_output.substr(start, end - start));
  };
  std::string twice = symbol_after("multiple definition of `", "'\n");
  if (twice.empty()) twice = symbol_after("duplicate symbol: ", "\n");
  // mold names the two files first.
  if (const std::size_t files = twice.rfind(".o: "); files != std::string::npos) {
    twice.erase(0, files + 4);
  }
  if (twice == "main") return "it defines main(); the lab calls your function itself";
  if (!twice.empty()) {
    return "it defines " + twice +
           ", which the lab already defines; rename yours, or put it in an unnamed namespace";
  }
  std::string nowhere = symbol_after("undefined reference to `", "'\n");
  if (nowhere.empty()) nowhere = symbol_after("undefined symbol: ", "\n");
  if (!nowhere.empty()) {
    return "it uses " + nowhere +
           ", which is not defined; a part may call what its header and the rooms below it in the "
           "engine declare";
  }
  return "the linker's message is below";
}

std::optional<std::string> missing_symbol(const std::string& nm_output,
                                          std::span<const std::string> symbols,
                                          const std::string& file, const std::string& header) {
  for (const std::string& symbol : symbols) {
    if (defines(nm_output, symbol)) continue;
    return file + " does not define " + readable_symbol(symbol) + near_miss(nm_output, symbol) +
           ": the declaration is in " + header;
  }
  return std::nullopt;
}

bool defines(const std::string& nm_output, const std::string& symbol) {
  std::istringstream in(nm_output);
  for (std::string line; std::getline(in, line);) {
    const NmLine entry = nm_line(line);
    if ((entry.type == 'T' || entry.type == 'W') && entry.symbol == symbol) return true;
  }
  return false;
}

std::string near_miss(const std::string& nm_output, const std::string& symbol) {
  std::istringstream in(nm_output);
  const std::string_view wanted = function_name(symbol);
  for (std::string line; std::getline(in, line);) {
    const NmLine entry = nm_line(line);
    if (entry.symbol.find('(') == std::string_view::npos) continue;
    if (function_name(entry.symbol) != wanted) continue;
    return " (it defines " + readable_symbol(std::string(entry.symbol)) + " instead" +
           (entry.type == 't' ? ", which other files cannot see)" : ")");
  }
  return "";
}

std::string readable_symbol(const std::string& symbol) {
  std::string out = symbol;
  for (const std::string_view noise : {std::string_view(", 18446744073709551615ul"), abi_tag}) {
    for (std::size_t at; (at = out.find(noise)) != std::string::npos;) out.erase(at, noise.size());
  }
  return out;
}

}  // namespace lockstep::grader
