#include "engine/trace/data.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/trace/chrome.hpp"
#include "tests/catch.hpp"
#include "tests/trace/example.hpp"

using namespace lockstep;
using namespace lockstep::test;
using nlohmann::json;

namespace {

std::string data_of(const trace::Timeline& run) {
  std::ostringstream out;
  write_data(out, run);
  return out.str();
}

json events_of(const trace::Timeline& run) {
  std::ostringstream out;
  write_chrome(out, run);
  return json::parse(out.str()).at("traceEvents");
}

std::vector<json> of_phase(const json& events, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : events) {
    if (event.at("ph") == phase) found.push_back(event);
  }
  return found;
}

}  // namespace

TEST_CASE("data: what is written is read back as it was") {
  const trace::Timeline run = ordered(small_run());
  const trace::Timeline read = trace::read_data(data_of(run));
  REQUIRE(read.spans == run.spans);
  REQUIRE(read.messages == run.messages);
  REQUIRE(read.series == run.series);
  REQUIRE(read.ranks == run.ranks);
  REQUIRE(read.clock == run.clock);
  REQUIRE(read.finding->waiting == run.finding->waiting);
  REQUIRE(data_of(read) == data_of(trace::read_data(data_of(read))));
}

TEST_CASE("data: times keep every bit") {
  for (const double value : {0.1, 1e-9 / 3, 123456.789, 2.3e-308, 0.0}) {
    REQUIRE(std::strtod(trace::number(value).c_str(), nullptr) == value);
  }
  REQUIRE(trace::number(1.0 / 0.0) == "0");
}

TEST_CASE("data: no text can leave its quotes, nor a script element") {
  const std::string quoted = trace::json_text(hostile_name);
  for (const char c : {'<', '>', '&'}) REQUIRE(quoted.find(c) == std::string::npos);
  for (const char c : quoted) REQUIRE((c >= ' ' && c <= '~'));
  REQUIRE(json::parse(quoted).get<std::string>().starts_with("</script><script>alert(1)"));
  const std::string data = data_of(small_run());
  REQUIRE(data.find('<') == std::string::npos);
}

TEST_CASE("data: what is no timeline is refused in a sentence") {
  const std::string good = data_of(small_run());
  REQUIRE_THROWS_AS(trace::read_data(""), Error);
  REQUIRE_THROWS_AS(trace::read_data("{}"), Error);
  REQUIRE_THROWS_AS(trace::read_data(good.substr(0, good.size() / 2)), Error);
  json wrong = json::parse(good);
  wrong["spans"][0][0] = 2;  // a rank that is not there
  REQUIRE_THROWS_AS(trace::read_data(wrong.dump()), Error);
  wrong = json::parse(good);
  wrong["messages"][0][6] = 99;  // a name that is not there
  REQUIRE_THROWS_AS(trace::read_data(wrong.dump()), Error);
}

TEST_CASE(
    "chrome: a rank is a process, with a slice for each span and for both ends of a message") {
  const json events = events_of(small_run());
  const auto slices = of_phase(events, "X");
  REQUIRE(slices.size() == 4);
  REQUIRE(slices.at(0).at("name") == "forward");
  REQUIRE(slices.at(0).at("pid") == 0);
  REQUIRE(slices.at(0).at("dur").get<double>() == 3e6);
  REQUIRE(slices.at(3).at("name") == "from rank 0");
  REQUIRE(slices.at(3).at("pid") == 1);
  REQUIRE(slices.at(3).at("args").at("bytes") == 8);
  REQUIRE(of_phase(events, "C").size() == 2);
  REQUIRE(of_phase(events, "i").size() == 1);
}

TEST_CASE("chrome: a flow begins in the sender's slice and ends in the receiver's") {
  const json events = events_of(small_run());
  const auto slices = of_phase(events, "X");
  const auto begins = of_phase(events, "s"), ends = of_phase(events, "f");
  REQUIRE(begins.size() == 1);
  REQUIRE(ends.size() == 1);
  REQUIRE(begins[0].at("id") == ends[0].at("id"));
  const auto lies_in = [](const json& point, const json& slice) {
    const double at = point.at("ts"), start = slice.at("ts"), length = slice.at("dur");
    return point.at("pid") == slice.at("pid") && point.at("tid") == slice.at("tid") &&
           at >= start && at < start + length;
  };
  REQUIRE(lies_in(begins[0], slices.at(2)));
  REQUIRE(lies_in(ends[0], slices.at(3)));
}

TEST_CASE("chrome: slices of one thread never overlap") {
  trace::Timeline run = small_run();
  for (int i = 0; i < 5; ++i) {
    trace::Message message = run.messages.front();
    message.start_s += 0.1 * i;
    run.add(message);
  }
  const auto slices = of_phase(events_of(run), "X");
  for (const json& a : slices) {
    for (const json& b : slices) {
      if (a == b || a.at("pid") != b.at("pid") || a.at("tid") != b.at("tid")) continue;
      const double a_start = a.at("ts"), b_start = b.at("ts");
      const double a_end = a_start + a.at("dur").get<double>();
      REQUIRE((b_start >= a_end || b_start < a_start));
    }
  }
}
