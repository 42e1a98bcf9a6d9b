// Services that the trusted side offers to ranks: a store, numbered items, scripted events. A rank
// asks with Op::service and the service's name; the argument and the answer are bytes.
//
// What a service saw (who asked for what, in which order) is evidence: it was recorded here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/sim/core.hpp"

namespace lockstep::sim {

// One call of the store, as it crosses the line.
struct StoreCall {
  enum class Kind : std::uint8_t { set, get, add, check, wait };
  Kind kind = Kind::get;
  std::string key;
  std::string value;              // set
  std::int64_t amount = 0;        // add
  std::vector<std::string> keys;  // wait
};
Bytes bytes_of(const StoreCall& call);

// The store of the world, named "store": set, get (waits for the key), add (decimal text), check
// (exists now), wait (for all keys). Answers: nothing, the value, an i64, a u8, nothing.
class StoreService final : public Service {
 public:
  std::string_view name() const override { return "store"; }
  std::optional<Answer> serve(const Actor& who, const Request& request, double now) override;

 private:
  std::map<std::string, std::string> values_;
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
