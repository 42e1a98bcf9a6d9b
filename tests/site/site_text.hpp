// Reading the pages of the site: what they load and where they lead. No parser of HTML: Doxygen
// writes attributes in double quotes, and that is what is looked for.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace lockstep::site {

struct Page {
  std::filesystem::path path;
  std::string text;
};

// The pages and the style sheets of the site, in order of names.
std::vector<Page> pages_of(const std::filesystem::path& site);

// The values of an attribute: of href in <a href="…">, and of every other tag that has one.
std::vector<std::string> values_of(const std::string& text, const std::string& attribute);

// Whether something of this page comes from elsewhere: an address in what it loads (src, <link>,
// url() of a style sheet, @import). Links that a reader may click are none of these.
std::vector<std::string> loaded_from_elsewhere(const Page& page);

// Places of a page that a link may name: ids and names.
std::set<std::string> anchors_of(const std::string& text);

}  // namespace lockstep::site
