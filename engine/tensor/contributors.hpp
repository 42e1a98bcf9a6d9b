// A device whose elements are sets of ranks instead of numbers: who has contributed to what is
// here. A sum over a group is right when every element holds each rank exactly once, and that can
// be seen without any number, for any count and type.
//
//   fill_     with anything but 0 gives {this device's rank}; with 0, nobody (0 adds nothing)
//   copy_     copies sets; reduce_ unites them, and throws when a rank is in both
//   memory    runs of equal sets, not elements; a set is a few intervals of ranks
//
// The devices of all ranks share one world, so that a tensor can be copied from one to another.
//   Thread  one: the ranks are fibers
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace lockstep {

// Ranks as intervals [first, last], in order, none next to another.
class RankSet {
 public:
  RankSet() = default;
  explicit RankSet(int rank) : intervals_{{rank, rank}} {}
  static RankSet first(int ranks);

  // Throws  Error that names the first rank that is in both
  void unite(const RankSet& other);
  bool operator==(const RankSet&) const = default;
  std::string text() const;  // "ranks 0 to 3 and 7", "nobody"

 private:
  std::vector<std::pair<int, int>> intervals_;
};

// The memory that devices of one world share, and tensors on their way between ranks.
class ContributorWorld {
 public:
  std::byte* allocate(std::size_t bytes);
  void release(const std::byte* at);
  void fill(const std::byte* at, std::size_t bytes, const RankSet& set);
  void copy(const std::byte* to, const std::byte* from, std::size_t bytes);
  void unite(const std::byte* to, const std::byte* from, std::size_t bytes);

  // The runs of bytes of the tensor that was copied last, and the contributors in them.
  struct Run {
    std::int64_t end;  // bytes from the beginning
    RankSet set;
  };
  const std::vector<Run>& last_copied() const { return last_copied_; }

  // A route takes messages in the order in which they were sent: the k-th receive gets the k-th
  // message.
  using Route = std::array<int, 4>;  // group, source, destination, tag
  void send(const Route& route, const Tensor& data);
  std::uint64_t expect(const Route& route) { return mail_[route].expected++; }
  Tensor take(const Route& route, std::uint64_t index);

 private:
  using Memory = std::vector<Run>;  // without end 0, up to the allocation's size
  struct Place {
    std::size_t memory;
    std::int64_t offset;
  };
  struct Mail {
    std::deque<Tensor> sent;  // from the first-th on
    std::uint64_t first = 0, expected = 0;
  };
  static Place place_of(const std::byte* at);
  std::size_t cut(Memory& memory, std::int64_t offset);  // the run that begins there
  std::vector<Run> runs(const std::byte* at, std::size_t bytes);

  std::vector<Memory> memories_;
  std::vector<std::size_t> free_;
  std::vector<Run> last_copied_;
  std::map<Route, Mail> mail_;
};

class ContributorDevice final : public Device {
 public:
  ContributorDevice(ContributorWorld& world, int rank)
      : Device(Numbers::none), world_(world), rank_(rank) {}

  std::string_view name() const override { return "contributors"; }
  const Kernels& kernels() const override;
  std::byte* allocate(std::size_t bytes) override { return world_.allocate(bytes); }
  void release(std::byte* at, std::size_t) noexcept override { world_.release(at); }

  ContributorDevice* contributors() override { return this; }
  ContributorWorld& world() const { return world_; }
  int rank() const { return rank_; }
  // Throws Error, with the first element, when some element does not hold each of `ranks` once.
  void expect_all(const Tensor& tensor, int ranks) const;

 private:
  ContributorWorld& world_;
  int rank_;
};

// Nothing on any other device.
inline ContributorDevice* contributors_of(Device& device) { return device.contributors(); }

}  // namespace lockstep
