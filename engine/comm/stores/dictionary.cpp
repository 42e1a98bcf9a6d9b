#include "engine/comm/stores/dictionary.hpp"

#include <charconv>
#include <optional>

#include "engine/base/error.hpp"

namespace lockstep::comm {

namespace {

std::optional<std::int64_t> decimal_of(const std::string& value) {
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// A value as a sentence can hold it.
std::string shown(const std::string& value) {
  constexpr std::size_t most = 60;
  return value.size() <= most ? value : value.substr(0, most) + "…";
}

}  // namespace

void Dictionary::set(const std::string& key, const std::string& value) {
  require_fits("set", key, value.size());
  values_[key] = value;
}

std::int64_t Dictionary::add(const std::string& key, std::int64_t amount) {
  const std::string* held = find(key);
  const auto old = held == nullptr ? std::optional<std::int64_t>(0) : decimal_of(*held);
  std::int64_t sum = 0;
  if (!old || __builtin_add_overflow(*old, amount, &sum)) {
    throw ContractError(text("store add: key \"", key, "\" holds \"", shown(*held), "\", to which ",
                             amount, " cannot be added; add() keeps 64-bit decimal numbers, so ",
                             "use another key for text"));
  }
  set(key, std::to_string(sum));
  return sum;
}

void Dictionary::append(const std::string& key, const std::string& value) {
  const std::string* held = find(key);
  require_fits("append", key, value.size() + (held == nullptr ? 0 : held->size()));
  values_[key] += value;
}

std::string Dictionary::compare_set(const std::string& key, const std::string& expected,
                                    const std::string& desired) {
  require_fits("compare_set", key, desired.size());
  const std::string* held = find(key);
  if (held == nullptr && !expected.empty()) return expected;
  if (held != nullptr && *held != expected) return *held;
  values_[key] = desired;
  return desired;
}

std::int64_t Dictionary::count(const std::string& prefix) const {
  std::int64_t keys = 0;
  for (auto at = values_.lower_bound(prefix); at != values_.end(); ++at, ++keys) {
    if (!at->first.starts_with(prefix)) break;
  }
  return keys;
}

const std::string* Dictionary::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::size_t Dictionary::first_missing(std::span<const std::string> keys) const {
  std::size_t at = 0;
  while (at < keys.size() && find(keys[at]) != nullptr) ++at;
  return at;
}

void require_fits(const char* verb, const std::string& key, std::size_t value_bytes) {
  LOCKSTEP_CHECK(key.size() + value_bytes <= store_bytes_max, "store ", verb, ": key \"",
                 shown(key), "\" with its value takes ", key.size() + value_bytes,
                 " bytes, more than ", store_bytes_max,
                 "; a store holds addresses and small reports, so send data through the group");
}

void require_seconds(const char* verb, double timeout_s) {
  LOCKSTEP_CHECK(timeout_s >= 0 && timeout_s <= 1e6, "store ", verb, ": a deadline of ", timeout_s,
                 " s; pass 0 to 1000000 seconds");
}

void refuse_late(const char* verb, const std::string& key, const std::string& place,
                 double waited_s) {
  throw CommError(text("store ", verb, ": no rank set key \"", shown(key), "\" ", place, " within ",
                       waited_s, " s; a rank is missing or ended early, look at its output"));
}

}  // namespace lockstep::comm
