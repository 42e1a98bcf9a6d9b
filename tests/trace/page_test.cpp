#include "engine/trace/page.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/trace/data.hpp"
#include "tests/catch.hpp"
#include "tests/trace/example.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

std::string page_of(const trace::Timeline& run) {
  std::ostringstream out;
  write_page(out, run);
  return out.str();
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string data_in(const std::string& page) {
  const std::string start = "<script type=\"application/json\" id=\"data\">";
  const auto from = page.find(start) + start.size();
  return page.substr(from, page.find("</script>", from) - from);
}

}  // namespace

TEST_CASE("page: it carries its data, its style and its script, and every mark is filled") {
  const std::string page = page_of(small_run());
  REQUIRE(trace::read_data(data_in(page)).spans == small_run().spans);
  REQUIRE_THAT(page, contains("prefers-color-scheme: dark"));
  REQUIRE_THAT(page, contains("function draw_lanes()"));
  REQUIRE(page.find("{{") == std::string::npos);
}

TEST_CASE("page: it asks nothing of any other file or machine") {
  const std::string page = page_of(small_run());
  for (const char* reference : {"http://", "https://", "src=", "<link", "@import", "url(", "fetch(",
                                "XMLHttpRequest", "import(", "WebSocket"}) {
    // The namespace of SVG is a name and no address; arrow heads are parts of the same picture.
    const int allowed = std::string(reference) == "http://"
                            ? count_of(page, "http://www.w3.org/2000/svg")
                        : std::string(reference) == "url(" ? count_of(page, "url(#head")
                                                           : 0;
    INFO(reference);
    REQUIRE(count_of(page, reference) == allowed);
  }
  REQUIRE_THAT(page, contains("default-src 'none'"));
}

TEST_CASE("page: hostile names end no element and begin none") {
  trace::Timeline tame = small_run();
  tame.title = "tame";
  tame.facts = {};
  tame.names.assign(tame.names.size(), "tame");
  tame.finding->message = "tame";
  for (const char* part : {"<script", "</script", "</title", "alert(1)</"}) {
    INFO(part);
    REQUIRE(count_of(page_of(small_run()), part) == count_of(page_of(tame), part));
  }
}

TEST_CASE("page: the script sets texts and never markup") {
  const std::string page = page_of(small_run());
  for (const char* unsafe :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("}) {
    REQUIRE(count_of(page, unsafe) == 0);
  }
}

TEST_CASE("page: the same run is the same bytes") {
  REQUIRE(page_of(ordered(small_run())) == page_of(ordered(small_run())));
}

TEST_CASE("page: a name says which kind of file is meant") {
  REQUIRE_NOTHROW(trace::check_file_name("run.html"));
  REQUIRE_NOTHROW(trace::check_file_name("run.json"));
  REQUIRE_THROWS_AS(trace::check_file_name("run.txt"), UsageError);
  REQUIRE_THROWS_AS(trace::write_file("/nowhere/at/all.html", small_run()), UsageError);
}
