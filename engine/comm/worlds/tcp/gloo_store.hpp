// Our store as Gloo wants it, for the rendezvous of its context. Included where Gloo is there.
#pragma once

#include <gloo/rendezvous/store.h>

#include <string>
#include <vector>

#include "engine/comm/store.hpp"

namespace lockstep::comm {

// `store` must outlive it. Every wait has our deadline, whatever Gloo asks for.
class GlooStore final : public ::gloo::rendezvous::Store {
 public:
  GlooStore(comm::Store& store, double timeout_s) : store_(store), timeout_s_(timeout_s) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    store_.set(key, {data.begin(), data.end()});
  }
  std::vector<char> get(const std::string& key) override {
    wait({key});
    const std::string value = store_.get(key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override { store_.wait(keys, timeout_s_); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }

 private:
  comm::Store& store_;
  double timeout_s_;
};

}  // namespace lockstep::comm
