// Notes what each rank asks of a service: it is as much evidence of a part as what the rank
// returns. And what it is answered, which it may keep.
#pragma once

#include <span>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/sim/core/core.hpp"

namespace lockstep::grader {

class NotedService final : public sim::Service {
 public:
  //   asked, given  by rank; nothing is noted in one that is empty
  NotedService(sim::Service& inner, std::vector<Bytes>& asked, std::vector<Bytes>& given)
      : inner_(inner), asked_(asked), given_(given) {}
  std::string_view name() const override { return inner_.name(); }
  std::optional<Answer> serve(const sim::Actor& who, const sim::Request& request,
                              double now) override {
    auto answer = inner_.serve(who, request, now);
    if (!answer) return answer;
    note(asked_, who, request.data.bytes);
    note(given_, who, answer->data.bytes);
    return answer;
  }
  double deadline_s(const sim::Request& request, double asked_s) const override {
    return inner_.deadline_s(request, asked_s);
  }
  Answer expire(const sim::Actor& who, const sim::Request& request, double now) override {
    note(asked_, who, request.data.bytes);
    return inner_.expire(who, request, now);
  }

 private:
  static void note(std::vector<Bytes>& notes, const sim::Actor& who,
                   std::span<const std::byte> words) {
    if (notes.empty()) return;
    Bytes& mine = notes.at(static_cast<std::size_t>(who.rank));
    mine.insert(mine.end(), words.begin(), words.end());
  }

  sim::Service& inner_;
  std::vector<Bytes>& asked_;
  std::vector<Bytes>& given_;
};

}  // namespace lockstep::grader
