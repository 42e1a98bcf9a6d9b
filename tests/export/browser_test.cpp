// The pages in a browser: light or dark as the reader's system is, and nothing is fetched. Without
// chromium there is nothing to do, and the test is skipped.
#include <zlib.h>

#include <array>
#include <iostream>

#include "engine/base/text.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/export/overview_page.hpp"
#include "grader/export/student_page.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/export/made_up_book.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

using Colour = std::array<int, 3>;

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes.at(at + i));
  }
  return number;
}

// Of a PNG with eight bits a channel. Whatever a line is filtered by, its first pixel in the first
// line is as it is, since nothing is to its left or above.
Colour first_pixel(const fs::path& picture) {
  const std::string png = read_text(picture);
  constexpr std::size_t begin = 8, head = 8, tail = 4;  // of the file, of a chunk
  std::string packed;
  for (std::size_t at = begin; at + head <= png.size();) {
    const std::size_t length = number_at(png, at);
    if (png.compare(at + 4, 4, "IDAT") == 0) packed += png.substr(at + head, length);
    at += head + length + tail;
  }
  std::array<unsigned char, 4> first{};  // the line's filter, then the colour
  z_stream stream{};
  REQUIRE(inflateInit(&stream) == Z_OK);
  stream.next_in = reinterpret_cast<unsigned char*>(packed.data());
  stream.avail_in = static_cast<unsigned>(packed.size());
  stream.next_out = first.data();
  stream.avail_out = static_cast<unsigned>(first.size());
  inflate(&stream, Z_SYNC_FLUSH);
  CHECK(stream.avail_out == 0);
  inflateEnd(&stream);
  return {first[1], first[2], first[3]};
}

struct Seen {
  Colour background;
  std::string requests;  // addresses that are neither a file's nor the browser's own
};

enum class Scheme : unsigned char { dark = 0, light = 1 };  // as chromium counts them

// Chromium asks its maker for updates and accounts, whatever the page.
bool is_browsers_own(const std::string& address) {
  const std::size_t begin = address.find("://");
  if (begin == std::string::npos) return false;
  const std::string host = address.substr(begin + 3, address.find('/', begin + 3) - begin - 3);
  return host.ends_with(".google.com") || host.ends_with(".googleapis.com");
}

// What starts a program where there is no network, if this user may do so.
std::vector<std::string> without_network() {
  for (const char* how : {"-n", "-rn"}) {
    if (run_command({"unshare", how, "true"}, "/", {}).exit_code == 0) return {"unshare", how};
  }
  return {};
}

Seen look_at(const fs::path& page, Scheme scheme, const fs::path& folder) {
  const fs::path picture = folder / "picture.png", log = folder / "net.json";
  const std::string setting =
      text("--blink-settings=preferredColorScheme=", static_cast<int>(scheme));
  std::vector<std::string> words = without_network();
  for (const std::string& word : std::vector<std::string>{
           "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
           "--no-first-run", "--disable-background-networking", "--disable-component-update",
           "--disable-sync", "--virtual-time-budget=2000", "--window-size=1000,800", setting,
           "--user-data-dir=" + (folder / "profile").string(), "--screenshot=" + picture.string(),
           "--log-net-log=" + log.string(), "file://" + page.string()}) {
    words.push_back(word);
  }
  const CommandResult shown = run_command(words, folder, lockstep::test::patient);
  INFO(shown.output);
  REQUIRE(shown.exit_code == 0);
  const auto events = nlohmann::json::parse(read_text(log)).at("events");
  std::string requests;
  for (const auto& event : events) {
    const auto said = event.find("params");
    if (said == event.end() || !said->contains("url")) continue;
    const std::string address = said->at("url");
    if (!address.starts_with("file:") && !is_browsers_own(address)) requests += address + "\n";
  }
  return {first_pixel(picture), requests};
}

}  // namespace

TEST_CASE("pages in a browser: light or dark as the system is, and nothing is requested") {
  const test::Scratch scratch;
  const CommandResult there = run_command({"sh", "-c", "command -v chromium || exit 1"},
                                          scratch.path(), lockstep::test::patient);
  if (there.exit_code != 0) {
    std::cout << "NO BROWSER HERE: the pages are not looked at (apt-get install chromium)\n";
    return;
  }
  const ClassBook book = test::made_up_book();
  const fs::path overview = scratch.path() / "overview.html", student = scratch.path() / "amy.html";
  write_text(overview, overview_page(book));
  write_text(student, student_page(book, book.reports[0]));
  for (const fs::path& page : {overview, student}) {
    INFO(page);
    const Seen light = look_at(page, Scheme::light, scratch.path());
    const Seen dark = look_at(page, Scheme::dark, scratch.path());
    CHECK(light.background == Colour{0xff, 0xff, 0xff});  // --paper of page.css
    CHECK(dark.background == Colour{0x14, 0x17, 0x1c});
    CHECK(light.requests.empty());
    CHECK(dark.requests.empty());
  }
  SECTION("a page that fetches a picture is found out") {
    const fs::path fetching = scratch.path() / "fetching.html";
    write_text(fetching, "<!doctype html><img src=\"http://127.0.0.1:9/x.png\">");
    CHECK_THAT(look_at(fetching, Scheme::light, scratch.path()).requests,
               test::contains("http://127.0.0.1:9/x.png"));
  }
}
