#include "tests/site/site_text.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace lockstep::site {
namespace {

namespace fs = std::filesystem;

// What stands between every `open` and the next `close`.
std::vector<std::string> between(const std::string& text, const std::string& open, char close) {
  std::vector<std::string> found;
  for (auto at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    const auto end = text.find(close, at);
    if (end == std::string::npos) break;
    found.push_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

bool is_address(const std::string& target) {
  return target.find("://") != std::string::npos || target.rfind("//", 0) == 0;
}

}  // namespace

std::vector<Page> pages_of(const fs::path& site) {
  std::vector<Page> pages;
  for (const auto& entry : fs::recursive_directory_iterator(site)) {
    const auto kind = entry.path().extension();
    if (kind != ".html" && kind != ".css") continue;
    std::ifstream in(entry.path());
    std::ostringstream text;
    text << in.rdbuf();
    pages.push_back({entry.path(), text.str()});
  }
  std::ranges::sort(pages, {}, &Page::path);
  return pages;
}

std::vector<std::string> values_of(const std::string& text, const std::string& attribute) {
  return between(text, " " + attribute + "=\"", '"');
}

std::vector<std::string> loaded_from_elsewhere(const Page& page) {
  std::vector<std::string> loaded = values_of(page.text, "src");
  for (const std::string& tag : between(page.text, "<link ", '>')) {
    for (const std::string& target : between(tag, "href=\"", '"')) loaded.push_back(target);
  }
  for (const std::string& target : between(page.text, "url(", ')')) loaded.push_back(target);
  for (const std::string& target : between(page.text, "@import", ';')) loaded.push_back(target);
  std::erase_if(loaded, [](const std::string& target) { return !is_address(target); });
  return loaded;
}

std::set<std::string> anchors_of(const std::string& text) {
  std::set<std::string> anchors;
  for (const char* attribute : {"id", "name"}) {
    for (const std::string& value : values_of(text, attribute)) anchors.insert(value);
  }
  return anchors;
}

}  // namespace lockstep::site
