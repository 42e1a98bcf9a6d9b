// A group that writes down its collectives and leaves them to another one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/comm/group_in_front.hpp"

namespace lockstep::test {

class RecordedGroup final : public comm::GroupInFront {
 public:
  using GroupInFront::GroupInFront;

  // "all_reduce (sum) of 100 float64", since the last call of this.
  std::vector<std::string> taken() { return std::exchange(calls_, {}); }

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    calls_.push_back(text_of(collective, size()));
    return GroupInFront::start(collective, where);
  }
  void run(const comm::Collective& collective, const comm::Where& where) override {
    calls_.push_back(text_of(collective, size()));
    GroupInFront::run(collective, where);
  }

 private:
  std::vector<std::string> calls_;
};

}  // namespace lockstep::test
