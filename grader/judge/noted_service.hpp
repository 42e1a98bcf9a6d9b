// Notes what each rank asks of a service: it is as much evidence of a part as what the rank
// returns.
#pragma once

#include <span>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/sim/core/core.hpp"

namespace lockstep::grader {

class NotedService final : public sim::Service {
 public:
  NotedService(sim::Service& inner, std::vector<Bytes>& asked) : inner_(inner), asked_(asked) {}
  std::string_view name() const override { return inner_.name(); }
  std::optional<Answer> serve(const sim::Actor& who, const sim::Request& request,
                              double now) override {
    auto answer = inner_.serve(who, request, now);
    if (answer) note(who, request);
    return answer;
  }
  double deadline_s(const sim::Request& request, double asked_s) const override {
    return inner_.deadline_s(request, asked_s);
  }
  Answer expire(const sim::Actor& who, const sim::Request& request, double now) override {
    note(who, request);
    return inner_.expire(who, request, now);
  }

 private:
  void note(const sim::Actor& who, const sim::Request& request) {
    const std::span<const std::byte> words = request.data.bytes;
    Bytes& asked = asked_.at(static_cast<std::size_t>(who.rank));
    asked.insert(asked.end(), words.begin(), words.end());
  }

  sim::Service& inner_;
  std::vector<Bytes>& asked_;
};

}  // namespace lockstep::grader
