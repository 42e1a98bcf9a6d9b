#include "tests/train/thread_group.hpp"

#include <algorithm>
#include <barrier>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::test {
namespace {

constexpr const char* reason = "the training loop has no use for this";

struct Meeting {
  explicit Meeting(int ranks) : barrier(ranks), brought(static_cast<std::size_t>(ranks)) {}
  std::barrier<> barrier;
  // Bytes by rank; written before one barrier, read before the next. No tensor is shared, since a
  // device's counters belong to one rank.
  std::vector<std::vector<std::byte>> brought;
};

class ThreadGroup final : public comm::ProcessGroup {
 public:
  ThreadGroup(int rank, int size, Meeting& meeting) : ProcessGroup(rank, size), meeting_(meeting) {}

  std::string_view backend() const override { return "threads"; }
  comm::Traffic traffic() const override { return {bytes_sent_, 0, false}; }

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where&) override {
    const Tensor& output = collective.output;
    switch (collective.kind) {
      case comm::CollectiveKind::all_reduce:
        bytes_sent_ += static_cast<std::int64_t>(output.bytes());
        bring(collective.input);
        std::ranges::copy(meeting_.brought[0], output.raw_bytes().begin());
        for (std::size_t r = 1; r < meeting_.brought.size(); ++r) {
          reduce_elements(output.dtype(), collective.op, output.raw_bytes().data(),
                          meeting_.brought[r].data(), output.numel());
        }
        break;
      case comm::CollectiveKind::broadcast:
        bring(rank() == collective.root ? collective.input : output);
        std::ranges::copy(meeting_.brought[static_cast<std::size_t>(collective.root)],
                          output.raw_bytes().begin());
        break;
      case comm::CollectiveKind::barrier:
        break;
      case comm::CollectiveKind::all_gather: {
        bring(collective.input);
        auto to = output.raw_bytes().begin();
        for (const auto& bytes : meeting_.brought) to = std::ranges::copy(bytes, to).out;
        break;
      }
      default:
        return refuse();
    }
    meeting_.barrier.arrive_and_wait();
    return {};
  }
  comm::Work start_send(const Tensor&, int, int, const comm::Where&) override { return refuse(); }
  comm::Work start_recv(Tensor, int, int, const comm::Where&) override { return refuse(); }
  std::unique_ptr<ProcessGroup> start_split(int, int, const comm::Where&) override {
    throw Error(reason);
  }

 private:
  void bring(const Tensor& tensor) {
    const auto bytes = tensor.raw_bytes();
    meeting_.brought[static_cast<std::size_t>(rank())].assign(bytes.begin(), bytes.end());
    meeting_.barrier.arrive_and_wait();
  }
  static comm::Work refuse() { throw Error(reason); }

  Meeting& meeting_;
  std::int64_t bytes_sent_ = 0;
};

}  // namespace

void on_ranks(int ranks, const std::function<void(comm::ProcessGroup&)>& body) {
  Meeting meeting(ranks);
  std::exception_ptr first;
  std::mutex guards_first;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          ThreadGroup group(rank, ranks, meeting);
          body(group);
        } catch (...) {
          const std::scoped_lock lock(guards_first);
          if (!first) first = std::current_exception();
        }
        meeting.barrier.arrive_and_drop();
      });
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace lockstep::test
