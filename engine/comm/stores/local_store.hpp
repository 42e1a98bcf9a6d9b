// A store whose dictionary this process has at hand: what its subclasses say is how a change is
// made known and how one waits for it.
#pragma once

#include <functional>

#include "engine/comm/stores/dictionary.hpp"
#include "engine/comm/stores/socket.hpp"

namespace lockstep::comm {

class LocalStore : public Store {
 public:
  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;
  void append(const std::string& key, const std::string& value) override;
  bool check(const std::string& key) override;
  void wait(std::span<const std::string> keys, double timeout_s) override;
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override;
  bool delete_key(const std::string& key) override;
  std::int64_t count_keys(const std::string& prefix) override;

 protected:
  // `place` ends the sentence "no rank set key K …"; `timeout_s` is how long get() waits.
  LocalStore(std::string place, double timeout_s);

  using Change = std::function<void(Dictionary&)>;
  using Look = std::function<bool(const Dictionary&)>;
  // Makes a change of one key, alone, and wakes who waits. What `how` throws changes nothing.
  virtual void change(const std::string& key, const Change& how) = 0;
  // Looks now and after each change until `enough` says so; false when the deadline has passed.
  // It looks at least once.
  virtual bool await(Deadline deadline, const Look& enough) = 0;

  const std::string& place() const { return place_; }
  double timeout_s() const { return timeout_s_; }

 private:
  std::string place_;
  double timeout_s_;
};

}  // namespace lockstep::comm
