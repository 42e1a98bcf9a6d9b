// Kernels begin at ".entry NAME(" and end at a brace in the first column.
#include "engine/paper/cudart/ptx_edit.hpp"

#include <array>
#include <charconv>

namespace lockstep::paper {
namespace {

// The place at which the n-th `find` of `text` begins; npos if there are fewer.
std::size_t nth(std::string_view text, std::string_view find, int n) {
  std::size_t at = text.find(find);
  for (int i = 1; i < n && at != std::string_view::npos; ++i)
    at = text.find(find, at + find.size());
  return at;
}

}  // namespace

EditedPtx edited_ptx(std::string_view ptx, std::string_view edit) {
  std::array<std::string_view, 4> parts;
  std::string_view rest = edit;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t end = rest.find('~');
    if (end == std::string_view::npos) return {{}, "ptx_edit is kernel~n~find~put", 0};
    parts[i] = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  parts[3] = rest;
  const auto [kernel, number, find, put] = parts;
  int n = 0;
  std::from_chars(number.data(), number.data() + number.size(), n);
  if (n < 1 || find.empty()) return {{}, "ptx_edit counts from 1, and finds something", 0};

  constexpr std::string_view entry = ".entry ";
  EditedPtx edited;
  std::size_t at = 0, kernels = 0;
  while (at < ptx.size()) {
    const std::size_t begin = ptx.find(entry, at);
    edited.text += ptx.substr(at, begin - at);
    if (begin == std::string_view::npos) break;
    const std::size_t name = begin + entry.size(), end = ptx.find("\n}", begin);
    std::string_view body = ptx.substr(begin, end - begin);
    at = begin + body.size();
    const bool meant =
        ptx.substr(name, ptx.find('(', name) - name).find(kernel) != std::string_view::npos;
    kernels += meant ? 1 : 0;
    const std::size_t place = meant ? nth(body, find, n) : std::string_view::npos;
    if (place == std::string_view::npos) {
      edited.text += body;
      continue;
    }
    edited.text += body.substr(0, place);
    edited.text += put;
    edited.text += body.substr(place + find.size());
    ++edited.changes;
  }
  if (kernels > 0 && edited.changes == 0) {
    edited.refusal = "ptx_edit: no kernel named like '" + std::string(kernel) + "' has '" +
                     std::string(find) + "' " + std::string(number) + " times";
  }
  return edited;
}

}  // namespace lockstep::paper
