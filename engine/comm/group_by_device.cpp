// A decorator of two groups. The arguments are checked here, at the front; which of the two a
// collective goes to, its first tensor says. A Companion comes between the host's and this.
#include "engine/comm/group_by_device.hpp"

#include <string>
#include <utility>

namespace lockstep::comm {

namespace {

class GroupByDevice final : public ProcessGroup {
 public:
  GroupByDevice(std::unique_ptr<ProcessGroup> host, std::unique_ptr<ProcessGroup> away)
      : ProcessGroup(host->rank(), host->size(), host->names()),
        host_(std::move(host)),
        away_(std::move(away)),
        companion_(dynamic_cast<Companion*>(away_.get())),
        backend_(text("cpu:", host_->backend(), ",away:", away_->backend())) {
    if (companion_ != nullptr) companion_->accompany(*host_);
  }

  std::string_view backend() const override { return backend_; }
  bool carries(const Device& device) const override { return group_of(device).carries(device); }
  Traffic traffic() const override {
    const Traffic host = host_->traffic(), away = away_->traffic();
    return {host.bytes_sent + away.bytes_sent, host.messages_sent + away.messages_sent,
            host.modelled || away.modelled};
  }
  double now_s() const override { return host_->now_s(); }
  void wait_until(double seconds) const override { host_->wait_until(seconds); }
  Clock clock() const override { return host_->clock(); }
  Averaging averaging(const Device& device) const override {
    return group_of(device).averaging(device);
  }
  Tensor allocate_buffer(std::int64_t count, DType dtype, Device& device) override {
    return group_of(device).allocate_buffer(count, dtype, device);
  }

 protected:
  Work start(const Collective& collective, const Where& where) override {
    ProcessGroup& group = group_of(collective);
    if (is_accompanied(group)) return companion_->start_on_host(collective, where);
    return start_in(group, collective, where);
  }
  void run(const Collective& collective, const Where& where) override {
    ProcessGroup& group = group_of(collective);
    if (is_accompanied(group)) return companion_->run_on_host(collective, where);
    run_in(group, collective, where);
  }
  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override {
    return group_of(data.device()).isend(data, dst, tag, where);
  }
  Work start_recv(Tensor data, int src, int tag, const Where& where) override {
    ProcessGroup& group = group_of(data.device());
    return group.irecv(std::move(data), src, tag, where);
  }
  void send_now(const Tensor& data, int dst, int tag, const Where& where) override {
    group_of(data.device()).send(data, dst, tag, where);
  }
  void recv_now(Tensor data, int src, int tag, const Where& where) override {
    ProcessGroup& group = group_of(data.device());
    group.recv(std::move(data), src, tag, where);
  }

  std::unique_ptr<ProcessGroup> start_split(int color, int key, const Where& where) override {
    auto host = host_->split(color, key, where);
    auto away = away_->split(color, key, where);
    if (color == no_color) return nullptr;
    return make_group_by_device(std::move(host), std::move(away));
  }

  void give_up(const std::string& why) override {
    give_up_in(*away_, why);
    give_up_in(*host_, why);
  }

 private:
  ProcessGroup& group_of(const Device& device) const {
    return device.numbers() == Numbers::away ? *away_ : *host_;
  }
  // Both tensors of a collective are of one kind; a barrier has none.
  ProcessGroup& group_of(const Collective& collective) const {
    const Tensor& data = collective.input.defined() ? collective.input : collective.output;
    return data.defined() ? group_of(data.device()) : *host_;
  }

  bool is_accompanied(const ProcessGroup& group) const {
    return companion_ != nullptr && &group == host_.get();
  }

  std::unique_ptr<ProcessGroup> host_, away_;  // away_ goes first
  Companion* const companion_;                 // away_, or null
  std::string backend_;
};

}  // namespace

std::unique_ptr<ProcessGroup> make_group_by_device(std::unique_ptr<ProcessGroup> host,
                                                   std::unique_ptr<ProcessGroup> away) {
  LOCKSTEP_CHECK(host != nullptr && away != nullptr,
                 "make_group_by_device: a group is missing; it needs one for each kind of device");
  LOCKSTEP_CHECK(host->rank() == away->rank() && host->size() == away->size(),
                 "make_group_by_device: this is rank ", host->rank(), " of ", host->size(),
                 " in the host's group and rank ", away->rank(), " of ", away->size(),
                 " in the other; both groups need the same ranks in the same order");
  return std::make_unique<GroupByDevice>(std::move(host), std::move(away));
}

}  // namespace lockstep::comm
