// A group that writes down its collectives and leaves them to another one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/process_group.hpp"

namespace lockstep::test {

class RecordedGroup final : public comm::ProcessGroup {
 public:
  explicit RecordedGroup(ProcessGroup& inner)
      : ProcessGroup(inner.rank(), inner.size(), inner.names()), inner_(inner) {}

  // "all_reduce (sum) of 100 float64", since the last call of this.
  std::vector<std::string> taken() { return std::exchange(calls_, {}); }

  std::string_view backend() const override { return inner_.backend(); }
  bool carries(const Device& device) const override { return inner_.carries(device); }
  comm::Traffic traffic() const override { return inner_.traffic(); }
  double now_s() const override { return inner_.now_s(); }

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    calls_.push_back(text_of(collective, size()));
    return start_in(inner_, collective, where);
  }
  void run(const comm::Collective& collective, const comm::Where& where) override {
    calls_.push_back(text_of(collective, size()));
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

 private:
  ProcessGroup& inner_;
  std::vector<std::string> calls_;
};

}  // namespace lockstep::test
