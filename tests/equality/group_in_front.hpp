// A group in front of another one, which hands on everything: the base of groups that plant a fault
// into some of it.
#pragma once

#include <utility>

#include "engine/comm/process_group.hpp"

namespace lockstep::test {

class GroupInFront : public comm::ProcessGroup {
 public:
  explicit GroupInFront(comm::ProcessGroup& inner)
      : ProcessGroup(inner.rank(), inner.size()), inner_(inner) {}

  std::string_view backend() const override { return inner_.backend(); }
  comm::Traffic traffic() const override { return inner_.traffic(); }
  double now_s() const override { return inner_.now_s(); }
  void wait_until(double seconds) const override { inner_.wait_until(seconds); }
  comm::Clock clock() const override { return inner_.clock(); }

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    return start_in(inner_, collective, where);
  }
  void run(const comm::Collective& collective, const comm::Where& where) override {
    run_in(inner_, collective, where);
  }
  comm::Work start_send(const Tensor& data, int dst, int tag, const comm::Where& where) override {
    return inner_.isend(data, dst, tag, where);
  }
  comm::Work start_recv(Tensor data, int src, int tag, const comm::Where& where) override {
    return inner_.irecv(std::move(data), src, tag, where);
  }
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const comm::Where& where) override {
    return inner_.split(color, key, where);
  }
  void give_up(const std::string& why) override { give_up_in(inner_, why); }

 private:
  comm::ProcessGroup& inner_;
};

}  // namespace lockstep::test
