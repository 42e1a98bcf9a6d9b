#include "engine/parallel/compress/continuation.hpp"

#include <utility>

namespace lockstep::compress {
namespace {

class Followed final : public comm::Pending {
 public:
  Followed(comm::ProcessGroup& group, comm::Work first, std::function<void()> finish)
      : group_(group), first_(std::move(first)), finish_(std::move(finish)) {}

  void wait() override {
    first_.wait();
    const double began = group_.now_s();
    finish_();
    finished_s_ = group_.now_s() - began;
    finish_ = nullptr;  // lets go of the tensors that it held
  }
  // The continuation is part of the reduction: the rank waits for it as for the messages.
  std::optional<double> ran_s() const override {
    const auto first = first_.ran_s();
    return first ? std::optional(*first + finished_s_) : std::nullopt;
  }

 private:
  comm::ProcessGroup& group_;
  comm::Work first_;
  std::function<void()> finish_;
  double finished_s_ = 0;
};

}  // namespace

comm::Work then(comm::ProcessGroup& group, comm::Work first, std::function<void()> finish) {
  return comm::Work(std::make_unique<Followed>(group, std::move(first), std::move(finish)));
}

}  // namespace lockstep::compress
