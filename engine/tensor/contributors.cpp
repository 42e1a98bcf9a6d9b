#include "engine/tensor/contributors.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/tensor/no_kernels.hpp"

namespace lockstep {

namespace {

// An address is a number of a memory and an offset in it; nothing lies there.
constexpr int offset_bits = 44;  // 16 TiB; half a million tensors at once
constexpr std::uint64_t offset_mask = (std::uint64_t{1} << offset_bits) - 1;

}  // namespace

RankSet RankSet::first(int ranks) {
  RankSet set;
  if (ranks > 0) set.intervals_.emplace_back(0, ranks - 1);
  return set;
}

void RankSet::unite(const RankSet& other) {
  for (const auto& [first, last] : other.intervals_) {
    auto at =
        std::lower_bound(intervals_.begin(), intervals_.end(), first,
                         [](const auto& interval, int rank) { return interval.second < rank; });
    if (at != intervals_.end() && at->first <= last) {
      throw Error(lockstep::text("rank ", std::max(first, at->first),
                                 "'s contribution is there twice: in ", text(), ", and in ",
                                 other.text(), " that is added to it"));
    }
    at = intervals_.insert(at, {first, last});
    if (const auto next = at + 1; next != intervals_.end() && next->first == at->second + 1) {
      at->second = next->second;
      intervals_.erase(next);
    }
    if (at != intervals_.begin() && (at - 1)->second + 1 == at->first) {
      (at - 1)->second = at->second;
      intervals_.erase(at);
    }
  }
}

std::string RankSet::text() const {
  if (intervals_.empty()) return "nobody";
  const bool one = intervals_.size() == 1 && intervals_[0].first == intervals_[0].second;
  std::string result = one ? "rank " : "ranks ";
  for (std::size_t i = 0; i < intervals_.size(); ++i) {
    const auto& [first, last] = intervals_[i];
    if (i == 6) return result + lockstep::text(" and ", intervals_.size() - i, " more intervals");
    result += lockstep::text(i == 0 ? "" : ", ", first,
                             first == last ? "" : lockstep::text(" to ", last));
  }
  return result;
}

std::byte* ContributorWorld::allocate(std::size_t bytes) {
  LOCKSTEP_CHECK(bytes <= offset_mask, "a tensor of ", bytes, " bytes is too large to be followed");
  if (free_.empty()) {
    free_.push_back(memories_.size());
    memories_.emplace_back();
  }
  const std::size_t memory = free_.back();
  free_.pop_back();
  memories_[memory] = {{static_cast<std::int64_t>(bytes), {}}};
  return reinterpret_cast<std::byte*>((memory + 1) << offset_bits);
}

void ContributorWorld::release(const std::byte* at) {
  if (at == nullptr) return;
  const std::size_t memory = place_of(at).memory;
  memories_[memory].clear();
  free_.push_back(memory);
}

ContributorWorld::Place ContributorWorld::place_of(const std::byte* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return {(address >> offset_bits) - 1, static_cast<std::int64_t>(address & offset_mask)};
}

std::size_t ContributorWorld::cut(Memory& memory, std::int64_t offset) {
  const auto at =
      std::upper_bound(memory.begin(), memory.end(), offset,
                       [](std::int64_t where, const Run& run) { return where < run.end; });
  const auto index = static_cast<std::size_t>(at - memory.begin());
  const std::int64_t begin = index == 0 ? 0 : memory[index - 1].end;
  if (begin == offset || at == memory.end()) return index;
  memory.insert(at, {offset, at->set});
  return index + 1;
}

std::vector<ContributorWorld::Run> ContributorWorld::runs(const std::byte* at, std::size_t bytes) {
  const auto [number, offset] = place_of(at);
  Memory& memory = memories_[number];
  const std::size_t begin = cut(memory, offset);
  const std::size_t end = cut(memory, offset + static_cast<std::int64_t>(bytes));
  std::vector<Run> result(memory.begin() + static_cast<std::ptrdiff_t>(begin),
                          memory.begin() + static_cast<std::ptrdiff_t>(end));
  for (Run& run : result) run.end -= offset;
  return result;
}

void ContributorWorld::fill(const std::byte* at, std::size_t bytes, const RankSet& set) {
  if (bytes == 0) return;
  const auto [number, offset] = place_of(at);
  Memory& memory = memories_[number];
  const std::size_t begin = cut(memory, offset);
  const std::size_t end = cut(memory, offset + static_cast<std::int64_t>(bytes));
  for (std::size_t i = begin; i < end; ++i) memory[i].set = set;
}

void ContributorWorld::copy(const std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  last_copied_ = runs(from, bytes);
  std::int64_t begin = 0;
  for (const Run& run : last_copied_) {
    fill(to + begin, static_cast<std::size_t>(run.end - begin), run.set);
    begin = run.end;
  }
}

void ContributorWorld::unite(const std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  const auto [number, offset] = place_of(to);
  std::int64_t begin = 0;
  for (const Run& run : runs(from, bytes)) {
    Memory& memory = memories_[number];
    const std::size_t first = cut(memory, offset + begin);
    const std::size_t last = cut(memory, offset + run.end);
    for (std::size_t i = first; i < last; ++i) memory[i].set.unite(run.set);
    begin = run.end;
  }
}

void ContributorWorld::send(const Route& route, const Tensor& data) {
  mail_[route].sent.push_back(data.clone());
}

Tensor ContributorWorld::take(const Route& route, std::uint64_t index) {
  Mail& mail = mail_[route];
  Tensor taken = std::exchange(mail.sent.at(index - mail.first), Tensor());
  while (!mail.sent.empty() && !mail.sent.front().defined()) {
    mail.sent.pop_front();
    ++mail.first;
  }
  return taken;
}

void ContributorDevice::expect_all(const Tensor& tensor, int ranks) const {
  if (tensor.numel() == 0) return;
  static_cast<void>(tensor.clone());  // says what it holds
  const RankSet all = RankSet::first(ranks);
  std::int64_t begin = 0;
  for (const auto& run : world_.last_copied()) {
    if (!(run.set == all)) {
      const auto size = static_cast<std::int64_t>(bytes_of(tensor.dtype()));
      throw Error(text("elements ", begin / size, " to ", run.end / size - 1, " on rank ", rank_,
                       " hold contributions of ", run.set.text(), ", not of each of the ", ranks,
                       " ranks once"));
    }
    begin = run.end;
  }
}

namespace {

// Sets are copied, united and filled; nothing else is done with them.
class SetKernels final : public NoKernels {
 public:
  void copy(const Tensor& from, Out to) const override {
    world_of(to).copy(to.tensor.address(), from.address(), from.bytes());
  }
  void reduce(const Tensor& operand, ReduceOp, InOut into) const override {
    world_of(into).unite(into.tensor.address(), operand.address(), operand.bytes());
  }
  void fill(double value, Out to) const override {
    const auto* device = contributors_of(to.tensor.device());
    device->world().fill(to.tensor.address(), to.tensor.bytes(),
                         value == 0 ? RankSet() : RankSet(device->rank()));
  }

 private:
  template <typename Written>
  static ContributorWorld& world_of(const Written& to) {
    return contributors_of(to.tensor.device())->world();
  }
};

}  // namespace

const Kernels& ContributorDevice::kernels() const {
  static const SetKernels kernels;
  return kernels;
}

}  // namespace lockstep
