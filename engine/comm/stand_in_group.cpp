#include "engine/comm/stand_in_group.hpp"

#include <utility>
#include <vector>

namespace lockstep::comm {
namespace {

// Keeps what travels until it has been waited for.
class Carried final : public Pending {
 public:
  Carried(Work work, std::vector<Tensor> tensors)
      : work_(std::move(work)), tensors_(std::move(tensors)) {}
  void wait() override { work_.wait(); }
  std::optional<double> ran_s() const override { return work_.ran_s(); }

 private:
  Work work_;
  std::vector<Tensor> tensors_;
};

class StandInGroup final : public ProcessGroup {
 public:
  explicit StandInGroup(ProcessGroup& inner)
      : ProcessGroup(inner.rank(), inner.size(), inner.names()), inner_(inner) {}
  explicit StandInGroup(std::unique_ptr<ProcessGroup> inner)
      : ProcessGroup(inner->rank(), inner->size(), inner->names()),
        own_(std::move(inner)),
        inner_(*own_) {}

  std::string_view backend() const override { return inner_.backend(); }
  bool carries(const Device& device) const override {
    return !device.has_numbers() || inner_.carries(device);
  }
  Traffic traffic() const override { return inner_.traffic(); }
  double now_s() const override { return inner_.now_s(); }
  void wait_until(double seconds) const override { inner_.wait_until(seconds); }
  Clock clock() const override { return inner_.clock(); }

 protected:
  Work start(const Collective& collective, const Where& where) override {
    const Collective carried = standing_in(collective);
    return keep(start_in(inner_, carried, where), {carried.input, carried.output});
  }
  void run(const Collective& collective, const Where& where) override {
    run_in(inner_, standing_in(collective), where);
  }
  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override {
    const Tensor carried = standing_in(data);
    return keep(inner_.isend(carried, dst, tag, where), {carried});
  }
  Work start_recv(Tensor data, int src, int tag, const Where& where) override {
    const Tensor carried = standing_in(data);
    return keep(inner_.irecv(carried, src, tag, where), {carried});
  }
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) override {
    auto part = inner_.split(color, key, where);
    if (part == nullptr) return nullptr;
    return std::make_unique<StandInGroup>(std::move(part));
  }
  void give_up(const std::string& why) override { give_up_in(inner_, why); }

 private:
  static Work keep(Work work, std::vector<Tensor> tensors) {
    return Work(std::make_unique<Carried>(std::move(work), std::move(tensors)));
  }
  Tensor standing_in(const Tensor& data) {
    if (!data.defined() || data.device().has_numbers()) return data;
    return zeros(data.shape(), data.dtype(), host_);
  }
  Collective standing_in(Collective collective) {
    // If both are the same memory, they stay so.
    const bool one = collective.kind == CollectiveKind::broadcast ||
                     collective.kind == CollectiveKind::all_reduce;
    collective.input = standing_in(collective.input);
    collective.output =
        one && collective.input.defined() ? collective.input : standing_in(collective.output);
    return collective;
  }

  CpuDevice host_;  // outlives what travels
  std::unique_ptr<ProcessGroup> own_;
  ProcessGroup& inner_;
};

}  // namespace

std::unique_ptr<ProcessGroup> make_stand_in_group(ProcessGroup& inner) {
  return std::make_unique<StandInGroup>(inner);
}

}  // namespace lockstep::comm
