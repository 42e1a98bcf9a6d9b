// Services that the trusted side offers to ranks: a store, numbered items, scripted events. A rank
// asks with Op::service and the service's name; the argument and the answer are bytes.
//
// What a service saw (who asked for what, in which order) is evidence: it was recorded here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/sim/core/core.hpp"

namespace lockstep::sim {

// One call of the store, as it crosses the line.
struct StoreCall {
  enum class Kind : std::uint8_t {
    set,          // answers with nothing
    get,          // waits for the key; answers with its value
    add,          // decimal text; answers with the sum, an i64
    check,        // exists now? answers with a u8
    wait,         // for all of `keys`; answers with nothing
    append,       // at the end of the value; answers with nothing
    compare_set,  // as comm::Store says; answers with a value
    delete_key,   // existed? answers with a u8
    count_keys,   // that begin with `key`; answers with an i64
  };
  Kind kind = Kind::get;
  std::string key{};
  std::string value{};                  // set, append, compare_set
  std::int64_t amount = 0;              // add
  std::vector<std::string> keys{};      // wait
  double timeout_s = Service::forever;  // get, wait
  std::string expected{};               // compare_set
};
Bytes bytes_of(const StoreCall& call);

// The store of the world, named "store". A value is there from the moment it was set: who waited
// for it goes on at that time, not before. A get or wait whose time is up fails at its deadline.
class StoreService final : public Service {
 public:
  // Each call takes `call_s` of the caller's time, so that asking again and again is not free.
  explicit StoreService(double call_s = 0) : call_s_(call_s) {}

  // The calls in the order in which they were answered (or failed), each counted once.
  struct Record {
    int rank;
    StoreCall call;
    double answered_s;
  };
  const std::vector<Record>& log() const { return log_; }

  std::string_view name() const override { return "store"; }
  std::optional<Answer> serve(const Actor& who, const Request& request, double now) override;
  double deadline_s(const Request& request, double asked_s) const override;
  Answer expire(const Actor& who, const Request& request, double now) override;

 private:
  std::optional<Payload> answer(const StoreCall& call);
  const std::string* missing_key(const StoreCall& call) const;
  std::int64_t added(const StoreCall& call);
  std::string compared_and_set(const StoreCall& call);

  double call_s_;
  std::map<std::string, std::string> values_;
  std::vector<Record> log_;
};

// Items by number: the argument is an i64 from 0 on, the answer the item. A number beyond the last
// fails the request.
class ItemService final : public Service {
 public:
  // Serving one item takes `seconds` of the asker's time.
  ItemService(std::string name, std::vector<Bytes> items, double seconds = 0);

  struct Asked {
    int rank;
    std::int64_t index;
    auto operator<=>(const Asked&) const = default;
  };
  const std::vector<Asked>& asked() const { return asked_; }  // in the order of serving

  std::string_view name() const override { return name_; }
  std::optional<Answer> serve(const Actor& who, const Request& request, double now) override;

 private:
  std::string name_;
  std::vector<Payload> items_;
  double seconds_;
  std::vector<Asked> asked_;
};

// A script of events per rank ("gradient 3 is ready at 0.2 s"): each call, without argument, waits
// for the rank's next event. Asking after the last one fails the request.
class EventService final : public Service {
 public:
  struct Event {
    double at_s;
    Bytes data;
  };
  EventService(std::string name, std::vector<std::vector<Event>> by_rank);

  // How many events each rank has taken, and when it asked for each.
  const std::vector<std::vector<double>>& asked_s() const { return asked_s_; }

  std::string_view name() const override { return name_; }
  std::optional<Answer> serve(const Actor& who, const Request& request, double now) override;

 private:
  std::string name_;
  std::vector<std::vector<Event>> by_rank_;
  std::vector<std::vector<double>> asked_s_;
};

}  // namespace lockstep::sim
