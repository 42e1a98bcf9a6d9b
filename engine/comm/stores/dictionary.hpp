// The contents of every store, keys with values, and the meaning of each operation on them. This
// file defines the meaning once; a store adds how others reach it and how they wait.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "engine/comm/store.hpp"

namespace lockstep::comm {

// The operations are those of Store; none of them waits, and one that throws has changed nothing.
//   Throws  ContractError, as Store says
//   Thread  one at a time
class Dictionary {
 public:
  void set(const std::string& key, const std::string& value);
  std::int64_t add(const std::string& key, std::int64_t amount);
  void append(const std::string& key, const std::string& value);
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired);
  bool erase(const std::string& key) { return values_.erase(key) != 0; }
  std::int64_t count(const std::string& prefix) const;
  // Valid until the next change; nullptr when the key does not exist.
  const std::string* find(const std::string& key) const;
  // The first of `keys` that does not exist, or keys.size().
  std::size_t first_missing(std::span<const std::string> keys) const;

 private:
  std::map<std::string, std::string> values_;
};

// For all stores alike: a key with a value of so many bytes can be kept (ContractError).
void require_fits(const char* verb, const std::string& key, std::size_t value_bytes);
// A deadline is a number of seconds that a clock can hold (ContractError).
void require_seconds(const char* verb, double timeout_s);
// Throws the error of a deadline that has passed. `place` says where the store is: "at HOST:PORT".
[[noreturn]] void refuse_late(const char* verb, const std::string& key, const std::string& place,
                              double waited_s);

}  // namespace lockstep::comm
