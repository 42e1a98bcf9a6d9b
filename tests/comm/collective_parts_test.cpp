// The collectives that lesson 03 makes of messages give what the group's own give, over TCP and in
// shared memory: what the simulator accepts also runs on real processes.
#include <algorithm>
#include <numeric>

#include "engine/collectives/all_gather.hpp"
#include "engine/collectives/all_to_all.hpp"
#include "engine/collectives/barrier.hpp"
#include "engine/collectives/broadcast.hpp"
#include "engine/collectives/exchange.hpp"
#include "engine/collectives/gather.hpp"
#include "engine/collectives/reduce.hpp"
#include "engine/collectives/reduce_scatter.hpp"
#include "engine/collectives/scatter.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::expect;

namespace {

// What a rank brings and what two ways of communicating made of it, for one count per rank.
class Bout {
 public:
  Bout(ProcessGroup& group, std::int64_t count) : group_(group), count_(count) {}

  void play() {
    const int n = group_.size(), root = n - 1;
    compare(
        "broadcast", count_,
        [&](Tensor in, Tensor out) {
          out.copy_(in);
          collectives::broadcast(group_, out, root);
        },
        [&](Tensor in, Tensor out) {
          out.copy_(in);
          group_.broadcast(out, root);
        });
    compare(
        "reduce", count_,
        [&](Tensor in, Tensor out) {
          collectives::reduce(group_, in, root, ReduceOp::sum);
          if (group_.rank() == root) out.copy_(in);
        },
        [&](Tensor in, Tensor out) {
          group_.reduce(in, root, ReduceOp::sum);
          if (group_.rank() == root) out.copy_(in);
        });
    compare(
        "all_gather", n * count_,
        [&](Tensor in, Tensor out) { collectives::all_gather(group_, in, out); },
        [&](Tensor in, Tensor out) { group_.all_gather(in, out); });
    compare(
        "exchange", count_, [&](Tensor in, Tensor out) { collectives::exchange(group_, in, out); },
        [&](Tensor in, Tensor out) {
          const Tensor all = in.empty_like(n * count_);
          group_.all_gather(in, all);
          out.copy_(all.narrow((group_.rank() + n - 1) % n * count_, count_));
        });
    blocks();
    collectives::barrier(group_, values(1));
  }

 private:
  // Parts whose input or output is a block for each rank.
  void blocks() {
    const int n = group_.size(), root = n / 2;
    const std::vector<std::int64_t> each(static_cast<std::size_t>(n), count_);
    const auto at_root = [&](const Tensor& t) {
      return group_.rank() == root ? t : t.narrow(0, 0);
    };
    compare(
        "reduce_scatter", count_,
        [&](Tensor, Tensor out) {
          collectives::reduce_scatter(group_, values(n * count_), out, ReduceOp::max);
        },
        [&](Tensor, Tensor out) { group_.reduce_scatter(values(n * count_), out, ReduceOp::max); });
    compare(
        "all_to_all", n * count_,
        [&](Tensor, Tensor out) {
          collectives::all_to_all(group_, values(n * count_), out, each, each);
        },
        [&](Tensor, Tensor out) { group_.all_to_all(values(n * count_), out); });
    compare(
        "scatter", count_,
        [&](Tensor, Tensor out) {
          collectives::scatter(group_, at_root(values(n * count_)), out, root);
        },
        [&](Tensor, Tensor out) { group_.scatter(at_root(values(n * count_)), out, root); });
    compare(
        "gather", n * count_,
        [&](Tensor in, Tensor out) { collectives::gather(group_, in, at_root(out), root); },
        [&](Tensor in, Tensor out) { group_.gather(in, at_root(out), root); });
  }

  Tensor values(std::int64_t count) {
    std::vector<double> elements(static_cast<std::size_t>(count));
    std::iota(elements.begin(), elements.end(), 1000.0 * (group_.rank() + 1));
    return from_values(elements, {count}, DType::int64, device_);
  }

  template <typename Part, typename Native>
  void compare(const std::string& name, std::int64_t out_count, Part part, Native native) {
    const Tensor ours = full({out_count}, -1, DType::int64, device_);
    const Tensor theirs = full({out_count}, -1, DType::int64, device_);
    part(values(count_), ours);
    native(values(count_), theirs);
    const auto a = ours.data<std::int64_t>(), b = theirs.data<std::int64_t>();
    expect(std::equal(a.begin(), a.end(), b.begin(), b.end()),
           text(name, " of ", count_, " elements differs from the group's own on rank ",
                group_.rank()));
  }

  ProcessGroup& group_;
  std::int64_t count_;
  CpuDevice device_;
};

std::string play_all(ProcessGroup& group) {
  for (const std::int64_t count : {0, 1, 13, 65537}) Bout(group, count).play();
  return {};
}

}  // namespace

TEST_CASE("the collectives made of messages agree with the group's own on real processes") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    INFO(ranks << " ranks");
    if (test::also_over_tcp(ranks)) CHECK(test::failures(test::run_gloo(ranks, play_all)) == "");
    CHECK(test::failures(test::run_gloo(ranks, play_all, test::late_s, Transport::shm)) == "");
  }
}
