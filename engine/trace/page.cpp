#include "engine/trace/page.hpp"

#include <fstream>
#include <string_view>

#include "engine/base/error.hpp"
#include "engine/trace/chrome.hpp"
#include "engine/trace/data.hpp"
#include "engine/trace/page_source.hpp"

namespace lockstep::trace {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace

void write_page(std::ostream& out, const Timeline& timeline) {
  // The page has each of these marks once, in this order.
  std::string_view rest = page_html;
  const auto up_to = [&](std::string_view mark) {
    const auto at = rest.find(mark);
    LOCKSTEP_CHECK(at != std::string_view::npos, "page.html lacks ", mark);
    out << rest.substr(0, at);
    rest.remove_prefix(at + mark.size());
  };
  up_to("{{title}}");
  out << escaped(timeline.title);
  up_to("{{style}}");
  out << page_css;
  up_to("{{data}}");
  write_data(out, timeline);
  up_to("{{script}}");
  out << page_js;
  out << rest;
}

void check_file_name(const std::string& path) {
  if (path.ends_with(".html") || path.ends_with(".json")) return;
  throw UsageError(text("a timeline is written as .html (to look at) or .json (for Perfetto); '",
                        path, "' is neither"));
}

void write_file(const std::string& path, const Timeline& timeline) {
  check_file_name(path);
  std::ofstream out(path, std::ios::binary);
  path.ends_with(".html") ? write_page(out, timeline) : write_chrome(out, timeline);
  if (!out.flush()) throw UsageError("cannot write the timeline to " + path);
}

}  // namespace lockstep::trace
