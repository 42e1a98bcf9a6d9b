// Store: the small shared dictionary through which ranks find each other (c10d's Store).
//   get blocks until the key exists; add keeps decimal text; every wait has a deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep::comm {

class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  virtual std::string get(const std::string& key) = 0;  // waits
  virtual std::int64_t add(const std::string& key,
                           std::int64_t amount) = 0;  // returns the new value
  virtual bool check(const std::string& key) = 0;     // exists now?
  // Throws CommError naming the first missing key when the deadline passes.
  virtual void wait(std::span<const std::string> keys, double timeout_s) = 0;
};

}  // namespace lockstep::comm
