// Other programs write such files too, so nothing in one is taken for granted.
#include "engine/launch/error_file.hpp"

#include <sys/stat.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/json_text.hpp"
#include "engine/base/standard_errors.hpp"

namespace lockstep::launch {

namespace {

using nlohmann::json;

double time_of_file(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return seconds_since_1970();
  return static_cast<double>(info.st_mtim.tv_sec) +
         1e-9 * static_cast<double>(info.st_mtim.tv_nsec);
}

void write_file(const std::string& path, const std::string& message, json extra) {
  const double now = seconds_since_1970();
  extra["timestamp"] = text(static_cast<long long>(now));
  extra["seconds"] = now;
  // The message may hold bytes of any kind; they must not cause a second failure.
  std::ofstream(path) << write_any_json({{"message", {{"message", message}, {"extraInfo", extra}}}})
                      << "\n";
}

void write_error_file(const std::string& path, const std::exception& error) {
  json extra{{"blames_peers", dynamic_cast<const CommError*>(&error) != nullptr}};
  if (const auto* few = dynamic_cast<const TooFewRanks*>(&error)) {
    extra["ranks_needed"] = few->ranks_needed;
  }
  write_file(path, error.what(), std::move(extra));
}

}  // namespace

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::optional<ErrorReport> read_error_file(const std::string& path) {
  std::ifstream file(path);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const json all = read_json_or_discard(content);
  if (!all.is_object() || !all.contains("message")) return std::nullopt;
  const json& message = all["message"];
  ErrorReport report{"", time_of_file(path)};
  if (message.is_string()) {
    report.message = message;
    return report;
  }
  if (!message.is_object()) return std::nullopt;
  if (message.contains("message") && message["message"].is_string()) {
    report.message = message["message"];
  }
  const json extra = message.value("extraInfo", json::object());
  if (!extra.is_object()) return report;
  if (extra.contains("seconds") && extra["seconds"].is_number()) report.seconds = extra["seconds"];
  if (extra.contains("ranks_needed") && extra["ranks_needed"].is_number_integer()) {
    report.ranks_needed = extra["ranks_needed"];
  }
  report.saved = extra.contains("saved") && extra["saved"] == true;
  report.blames_peers = extra.contains("blames_peers") && extra["blames_peers"] == true;
  return report;
}

void say_saved(const Lookup& lookup) {
  const auto path = lookup("TORCHELASTIC_ERROR_FILE");
  if (path && !path->empty()) write_file(*path, "", {{"saved", true}});
}

int with_error_file(const Lookup& lookup, const std::function<int()>& run) {
  const auto path = lookup("TORCHELASTIC_ERROR_FILE");
  try {
    return in_our_words(run);
  } catch (const std::exception& error) {
    if (path && !path->empty()) write_error_file(*path, error);
    throw;
  }
}

}  // namespace lockstep::launch
