// A group in front of another one, to which it hands on everything. It is the base of groups that
// watch some of what passes, or do it in another way. A part that splits off is the inner group's:
// who wants to stand in front of it too overrides start_split.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/comm/process_group.hpp"

namespace lockstep::comm {

class GroupInFront : public ProcessGroup {
 public:
  //   inner  must outlive this
  explicit GroupInFront(ProcessGroup& inner)
      : ProcessGroup(inner.rank(), inner.size(), inner.names()), inner_(inner) {}
  explicit GroupInFront(std::unique_ptr<ProcessGroup> inner)
      : ProcessGroup(inner->rank(), inner->size(), inner->names()),
        own_(std::move(inner)),
        inner_(*own_) {}

  std::string_view backend() const override { return inner_.backend(); }
  bool carries(const Device& device) const override { return inner_.carries(device); }
  Traffic traffic() const override { return inner_.traffic(); }
  double now_s() const override { return inner_.now_s(); }
  void wait_until(double seconds) const override { inner_.wait_until(seconds); }
  Clock clock() const override { return inner_.clock(); }
  Averaging averaging(const Device& device) const override { return inner_.averaging(device); }
  Tensor allocate_buffer(std::int64_t count, DType dtype, Device& device) override {
    return inner_.allocate_buffer(count, dtype, device);
  }

 protected:
  ProcessGroup& inner() { return inner_; }

  Work start(const Collective& collective, const Where& where) override {
    return start_in(inner_, collective, where);
  }
  void run(const Collective& collective, const Where& where) override {
    run_in(inner_, collective, where);
  }
  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override {
    return inner_.isend(data, dst, tag, where);
  }
  Work start_recv(Tensor data, int src, int tag, const Where& where) override {
    return inner_.irecv(std::move(data), src, tag, where);
  }
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) override {
    return inner_.split(color, key, where);
  }
  void give_up(const std::string& why) override { give_up_in(inner_, why); }

 private:
  std::unique_ptr<ProcessGroup> own_;
  ProcessGroup& inner_;
};

}  // namespace lockstep::comm
