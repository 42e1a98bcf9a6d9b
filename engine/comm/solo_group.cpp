// Every operation is complete when it starts; messages cannot be sent, since no rank but oneself
// exists and Peers refuses oneself.
#include "engine/comm/solo_group.hpp"

#include <utility>

namespace lockstep::comm {

namespace {

class SoloGroup final : public ProcessGroup {
 public:
  explicit SoloGroup(RankNames names) : ProcessGroup(0, 1, std::move(names)) {}
  std::string_view backend() const override { return "solo"; }
  bool carries(const Device&) const override { return true; }  // a copy is the device's work
  Traffic traffic() const override { return {}; }

 protected:
  Work start(const Collective& c, const Where&) override {
    const bool in_place = !c.output.defined() || !c.input.defined() || c.output.numel() == 0 ||
                          c.output.same_place(c.input);
    if (!in_place) c.output.view({c.output.numel()}).copy_(c.input.view({c.input.numel()}));
    return {};
  }
  std::unique_ptr<ProcessGroup> start_split(int color, int, const Where&) override {
    return color == no_color ? nullptr : make_solo_group(names());
  }
  Work start_send(const Tensor&, int dst, int, const Where&) override { no_peer(dst); }
  Work start_recv(Tensor, int src, int, const Where&) override { no_peer(src); }

 private:
  [[noreturn]] static void no_peer(int peer) {
    throw ContractError(text("a group of one rank has no rank ", peer, " to talk to"));
  }
};

}  // namespace

std::unique_ptr<ProcessGroup> make_solo_group(RankNames names) {
  return std::make_unique<SoloGroup>(std::move(names));
}

}  // namespace lockstep::comm
