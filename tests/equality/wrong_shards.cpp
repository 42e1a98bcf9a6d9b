#include "tests/equality/wrong_shards.hpp"

#include <utility>

namespace lockstep::test {
namespace {

class WrongGroup final : public comm::ProcessGroup {
 public:
  WrongGroup(comm::ProcessGroup& inner, WrongShard fault)
      : ProcessGroup(inner.rank(), inner.size()), inner_(inner), fault_(fault) {}

  std::string_view backend() const override { return inner_.backend(); }
  comm::Traffic traffic() const override { return inner_.traffic(); }
  double now_s() const override { return inner_.now_s(); }
  void wait_until(double seconds) const override { inner_.wait_until(seconds); }
  comm::Clock clock() const override { return inner_.clock(); }

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    spoil(collective);
    return start_in(inner_, collective, where);
  }
  void run(const comm::Collective& collective, const comm::Where& where) override {
    if (is_norm(collective)) return;
    spoil(collective);
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
  // In a step with a clip, the first all-reduce of one number is the norm's, the second the loss's.
  bool is_norm(const comm::Collective& collective) {
    if (collective.kind != comm::CollectiveKind::all_reduce || collective.input.numel() != 1) {
      return false;
    }
    return ++numbers_ % 2 == 1 && fault_ == WrongShard::local_norm;
  }

  void spoil(const comm::Collective& collective) const {
    if (collective.kind != comm::CollectiveKind::reduce_scatter) return;
    const Tensor& all = collective.input;
    const std::int64_t count = all.numel();
    if (fault_ == WrongShard::leaking_padding) all.narrow(count - 1, 1).fill_(1);
    if (fault_ == WrongShard::averaged_twice) all.scale_(1.0 / size());
    if (fault_ == WrongShard::shifted) {
      const Tensor copy = all.clone();
      all.narrow(0, count - 1).copy_(copy.narrow(1, count - 1));
    }
  }

  comm::ProcessGroup& inner_;
  WrongShard fault_;
  int numbers_ = 0;
};

}  // namespace

std::unique_ptr<comm::ProcessGroup> make_wrong_shards(comm::ProcessGroup& inner, WrongShard fault) {
  return std::make_unique<WrongGroup>(inner, fault);
}

}  // namespace lockstep::test
