#include "tests/comm/far_group.hpp"

#include <utility>

#include "tests/tensor/far_device.hpp"

namespace lockstep::test {

namespace {

// What was launched before has happened when the other group looks.
Tensor shown(const Tensor& data) {
  if (!data.defined()) return {};
  const auto& device = dynamic_cast<const FarDevice&>(data.device());
  device.catch_up();
  return device.alias_of(data);
}

comm::Collective shown(comm::Collective collective) {
  collective.input = shown(collective.input);
  collective.output = shown(collective.output);
  return collective;
}

class FarGroup final : public comm::ProcessGroup {
 public:
  explicit FarGroup(std::unique_ptr<comm::ProcessGroup> inner)
      : ProcessGroup(inner->rank(), inner->size()), inner_(std::move(inner)) {}

  std::string_view backend() const override { return "far"; }
  bool carries(const Device& device) const override {
    return dynamic_cast<const FarDevice*>(&device) != nullptr;
  }
  comm::Traffic traffic() const override { return inner_->traffic(); }

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    return start_in(*inner_, shown(collective), where);
  }
  void run(const comm::Collective& collective, const comm::Where& where) override {
    run_in(*inner_, shown(collective), where);
  }
  comm::Work start_send(const Tensor& data, int dst, int tag, const comm::Where& where) override {
    return inner_->isend(shown(data), dst, tag, where);
  }
  comm::Work start_recv(Tensor data, int src, int tag, const comm::Where& where) override {
    return inner_->irecv(shown(data), src, tag, where);
  }
  void send_now(const Tensor& data, int dst, int tag, const comm::Where& where) override {
    inner_->send(shown(data), dst, tag, where);
  }
  void recv_now(Tensor data, int src, int tag, const comm::Where& where) override {
    inner_->recv(shown(data), src, tag, where);
  }
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const comm::Where& where) override {
    auto part = inner_->split(color, key, where);
    return part ? make_far_group(std::move(part)) : nullptr;
  }
  void give_up(const std::string& why) override { give_up_in(*inner_, why); }

 private:
  std::unique_ptr<comm::ProcessGroup> inner_;
};

}  // namespace

std::unique_ptr<comm::ProcessGroup> make_far_group(std::unique_ptr<comm::ProcessGroup> inner) {
  return std::make_unique<FarGroup>(std::move(inner));
}

}  // namespace lockstep::test
