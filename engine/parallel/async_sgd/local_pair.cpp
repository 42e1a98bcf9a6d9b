#include "engine/parallel/async_sgd/local_pair.hpp"

#include <array>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "engine/base/error.hpp"

namespace lockstep::async_sgd {
namespace {

// A message, from when it is sent until it is received.
struct Letter {
  Tensor data{};
  double sent_s = 0, taken_s = 0;
  bool taken = false;
};
using LetterPtr = std::shared_ptr<Letter>;

// The state that both ends share.
struct Mailbox {
  std::unique_ptr<Monitor> monitor;  // guards what follows
  std::array<std::deque<LetterPtr>, 2> to{};
  std::string given_up{};

  void check() const {
    if (!given_up.empty()) throw CommError(given_up);
  }
};

class LocalEnd final : public comm::ProcessGroup {
 public:
  LocalEnd(int rank, std::shared_ptr<Mailbox> box, const comm::ProcessGroup& clock)
      : ProcessGroup(rank, 2), box_(std::move(box)), clock_(clock) {}

  std::string_view backend() const override { return "messages within a rank"; }
  bool carries(const Device&) const override { return true; }
  comm::Traffic traffic() const override { return {}; }
  double now_s() const override { return clock_.now_s(); }
  void wait_until(double seconds) const override { clock_.wait_until(seconds); }
  comm::Clock clock() const override { return clock_.clock(); }

 protected:
  comm::Work start_send(const Tensor& data, int dst, int, const comm::Where&) override {
    const auto letter = std::make_shared<Letter>(Letter{.data = data, .sent_s = now_s()});
    const std::scoped_lock inside(*box_->monitor);
    box_->check();
    box_->to[static_cast<std::size_t>(dst)].push_back(letter);
    box_->monitor->notify_all();
    return comm::Work(std::make_unique<Sending>(*this, letter));
  }
  comm::Work start_recv(Tensor data, int, int, const comm::Where&) override {
    return comm::Work(std::make_unique<Receiving>(*this, std::move(data)));
  }
  comm::Work start(const comm::Collective&, const comm::Where&) override { refuse(); }
  std::unique_ptr<ProcessGroup> start_split(int, int, const comm::Where&) override { refuse(); }
  void give_up(const std::string& why) override {
    const std::scoped_lock inside(*box_->monitor);
    if (box_->given_up.empty()) box_->given_up = why;
    box_->monitor->notify_all();
  }

 private:
  class Sending final : public comm::Pending {
   public:
    Sending(const LocalEnd& end, LetterPtr letter) : end_(end), letter_(std::move(letter)) {}
    void wait() override {
      {
        const std::scoped_lock inside(*end_.box_->monitor);
        end_.box_->monitor->wait([&] { return letter_->taken || !end_.box_->given_up.empty(); });
        if (!letter_->taken) end_.box_->check();
      }
      end_.wait_until(letter_->taken_s);
    }

   private:
    const LocalEnd& end_;
    LetterPtr letter_;
  };

  class Receiving final : public comm::Pending {
   public:
    Receiving(const LocalEnd& end, Tensor data) : end_(end), data_(std::move(data)) {}
    void wait() override {
      Mailbox& box = *end_.box_;
      LetterPtr letter;
      {
        const std::scoped_lock inside(*box.monitor);
        auto& mine = box.to[static_cast<std::size_t>(end_.rank())];
        box.monitor->wait([&] { return !mine.empty() || !box.given_up.empty(); });
        if (mine.empty()) box.check();
        letter = mine.front();
        mine.pop_front();
      }
      end_.wait_until(letter->sent_s);
      data_.copy_(letter->data);  // its sender waits
      const double taken_s = end_.now_s();
      const std::scoped_lock inside(*box.monitor);
      letter->taken = true;
      letter->taken_s = taken_s;
      box.monitor->notify_all();
    }

   private:
    const LocalEnd& end_;
    Tensor data_;
  };

  [[noreturn]] static void refuse() {
    throw ContractError("a pair within a rank has messages only");
  }

  std::shared_ptr<Mailbox> box_;
  const comm::ProcessGroup& clock_;
};

}  // namespace

LocalPair make_local_pair(Strands& strands, const comm::ProcessGroup& clock) {
  const auto box = std::make_shared<Mailbox>(Mailbox{.monitor = strands.make_monitor()});
  return {std::make_unique<LocalEnd>(0, box, clock), std::make_unique<LocalEnd>(1, box, clock)};
}

}  // namespace lockstep::async_sgd
