#include "engine/comm/worlds/sim/sim_store.hpp"

#include "engine/base/error.hpp"
#include "engine/sim/core/services.hpp"

namespace lockstep::comm {

namespace {

using sim::StoreCall;
using StoreCallKind = StoreCall::Kind;

class SimStore final : public Store {
 public:
  SimStore(sim::Port& port, double timeout_s) : port_(port), timeout_s_(timeout_s) {}

  void set(const std::string& key, const std::string& value) override {
    ask({.kind = StoreCallKind::set, .key = key, .value = value}, "set");
  }
  std::string get(const std::string& key) override {
    return text_in(ask({.kind = StoreCallKind::get, .key = key, .timeout_s = timeout_s_}, "get"));
  }
  std::int64_t add(const std::string& key, std::int64_t amount) override {
    const auto reply = ask({.kind = StoreCallKind::add, .key = key, .amount = amount}, "add");
    return ByteReader(reply.data.bytes).get<std::int64_t>();
  }
  bool check(const std::string& key) override {
    const auto reply = ask({.kind = StoreCallKind::check, .key = key}, "check");
    return ByteReader(reply.data.bytes).get<std::uint8_t>() != 0;
  }
  void wait(std::span<const std::string> keys, double timeout_s) override {
    if (keys.empty()) return;
    ask({.kind = StoreCallKind::wait, .keys = {keys.begin(), keys.end()}, .timeout_s = timeout_s},
        "wait");
  }
  void append(const std::string& key, const std::string& value) override {
    ask({.kind = StoreCallKind::append, .key = key, .value = value}, "append");
  }
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override {
    return text_in(ask(
        {.kind = StoreCallKind::compare_set, .key = key, .value = desired, .expected = expected},
        "compare_set"));
  }
  bool delete_key(const std::string& key) override {
    const auto reply = ask({.kind = StoreCallKind::delete_key, .key = key}, "delete_key");
    return ByteReader(reply.data.bytes).get<std::uint8_t>() != 0;
  }
  std::int64_t count_keys(const std::string& prefix) override {
    const auto reply = ask({.kind = StoreCallKind::count_keys, .key = prefix}, "count_keys");
    return ByteReader(reply.data.bytes).get<std::int64_t>();
  }

 private:
  static std::string text_in(const sim::Reply& reply) {
    return {reinterpret_cast<const char*>(reply.data.bytes.data()), reply.data.bytes.size()};
  }

  sim::Reply ask(const StoreCall& call, const char* verb) {
    const Bytes argument = bytes_of(call);
    sim::Request request;
    request.op = sim::Op::service;
    request.name = "store";
    request.data.bytes = argument;
    sim::Reply reply = port_.call(request);
    if (reply.status != sim::Status::ok) {
      throw CommError(text("store ", verb, ": ", reply.error));
    }
    return reply;
  }

  sim::Port& port_;
  double timeout_s_;
};

}  // namespace

std::unique_ptr<Store> make_sim_store(sim::Port& port, double timeout_s) {
  return std::make_unique<SimStore>(port, timeout_s);
}

}  // namespace lockstep::comm
