#include "tests/comm/reference_parts.hpp"

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/random.hpp"
#include "engine/collectives/all_gather.hpp"
#include "engine/collectives/all_to_all.hpp"
#include "engine/collectives/barrier.hpp"
#include "engine/collectives/broadcast.hpp"
#include "engine/collectives/exchange.hpp"
#include "engine/collectives/gather.hpp"
#include "engine/collectives/halving_doubling_all_reduce.hpp"
#include "engine/collectives/hierarchical_all_reduce.hpp"
#include "engine/collectives/naive_all_reduce.hpp"
#include "engine/collectives/reduce.hpp"
#include "engine/collectives/reduce_scatter.hpp"
#include "engine/collectives/ring_all_reduce.hpp"
#include "engine/collectives/scatter.hpp"
#include "engine/collectives/tree_all_reduce.hpp"

namespace lockstep::test {

namespace {

class Parts {
 public:
  explicit Parts(comm::ProcessGroup& group) : group_(group) {
    const int r = group.rank();
    if (group.size() % 2 != 0) return;
    in_node_ = group.split(r / 2, r);
    across_ = group.split(r % 2, r);
  }

  void play(std::int64_t count) {
    const int n = group_.size(), r = group_.rank(), root = n - 1;
    const std::vector<std::int64_t> each(static_cast<std::size_t>(n), count);
    keep(count, [&](Tensor in) { collectives::broadcast(group_, in, root); });
    keep(count, [&](Tensor in) { collectives::reduce(group_, in, root, ReduceOp::sum); });
    keep(count, [&](Tensor in) { collectives::naive_all_reduce(group_, in, ReduceOp::sum); });
    keep(count, [&](Tensor in) { collectives::ring_all_reduce(group_, in, ReduceOp::sum); });
    keep(count, [&](Tensor in) { collectives::tree_all_reduce(group_, in, ReduceOp::sum); });
    keep(count,
         [&](Tensor in) { collectives::halving_doubling_all_reduce(group_, in, ReduceOp::sum); });
    move(count, count, [&](Tensor in, Tensor out) { collectives::exchange(group_, in, out); });
    move(count, n * count,
         [&](Tensor in, Tensor out) { collectives::all_gather(group_, in, out); });
    move(count, r == root ? n * count : 0,
         [&](Tensor in, Tensor out) { collectives::gather(group_, in, out, root); });
    move(r == root ? n * count : 0, count,
         [&](Tensor in, Tensor out) { collectives::scatter(group_, in, out, root); });
    move(n * count, count, [&](Tensor in, Tensor out) {
      collectives::reduce_scatter(group_, in, out, ReduceOp::sum);
    });
    move(n * count, n * count,
         [&](Tensor in, Tensor out) { collectives::all_to_all(group_, in, out, each, each); });
    if (in_node_) {
      keep(count, [&](Tensor in) {
        collectives::hierarchical_all_reduce(*in_node_, *across_, in, ReduceOp::sum);
      });
    }
    keep(1, [&](Tensor token) { collectives::barrier(group_, token); });
  }

  std::uint64_t hash() const { return hash_; }

 private:
  Tensor numbers(std::int64_t count) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(random_uniform(static_cast<std::uint64_t>(group_.rank()), drawn_++) - 0.5);
    }
    return from_values(values, {count}, DType::float32, device_);
  }
  template <typename Part>  // works in place
  void keep(std::int64_t count, Part part) {
    const Tensor data = numbers(count);
    part(data);
    add(data);
  }
  template <typename Part>
  void move(std::int64_t in_count, std::int64_t out_count, Part part) {
    const Tensor in = numbers(in_count), out = full({out_count}, -7, DType::float32, device_);
    part(in, out);
    add(out);
  }
  void add(const Tensor& data) {
    hash_ = (hash_ ^ checksum_of(data.raw_bytes())) * 0x9e3779b97f4a7c15ULL;
  }

  comm::ProcessGroup& group_;
  CpuDevice device_;
  std::unique_ptr<comm::ProcessGroup> in_node_, across_;  // nodes of two ranks, of an even number
  std::uint64_t drawn_ = 0, hash_ = 1;
};

}  // namespace

std::uint64_t bits_of_parts(comm::ProcessGroup& group) {
  Parts parts(group);
  for (const std::int64_t count : {0, 1, 13, 257}) parts.play(count);
  return parts.hash();
}

}  // namespace lockstep::test
