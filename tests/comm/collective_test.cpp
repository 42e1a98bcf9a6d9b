// The table of collectives, held against what ProcessGroup makes of its calls.
#include "engine/comm/collective.hpp"

#include "engine/comm/process_group.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::comm;

namespace {

constexpr int ranks = 3, root = 1, n = 5;

// Carries nothing out, and keeps what it was asked for.
class Asked final : public ProcessGroup {
 public:
  explicit Asked(int rank) : ProcessGroup(rank, ranks) {}
  std::string_view backend() const override { return "none"; }
  Traffic traffic() const override { return {}; }
  Collective last;

 protected:
  Work start(const Collective& collective, const Where&) override {
    last = collective;
    return {};
  }
  Work start_send(const Tensor&, int, int, const Where&) override { return {}; }
  Work start_recv(Tensor, int, int, const Where&) override { return {}; }
  std::unique_ptr<ProcessGroup> start_split(int, int, const Where&) override { return nullptr; }
};

Collective asked_of(CollectiveKind kind, int rank, Device& host) {
  const Tensor one = zeros({n}, DType::float32, host);
  const Tensor each = zeros({ranks * n}, DType::float32, host);
  const Tensor other = zeros({ranks * n}, DType::float32, host);
  Asked group(rank);
  switch (kind) {
    case CollectiveKind::broadcast:
      group.broadcast(one, root);
      break;
    case CollectiveKind::reduce:
      group.reduce(one, root, ReduceOp::sum);
      break;
    case CollectiveKind::all_reduce:
      group.all_reduce(one, ReduceOp::sum);
      break;
    case CollectiveKind::gather:
      group.gather(one, each, root);
      break;
    case CollectiveKind::scatter:
      group.scatter(each, one, root);
      break;
    case CollectiveKind::all_gather:
      group.all_gather(one, each);
      break;
    case CollectiveKind::reduce_scatter:
      group.reduce_scatter(each, one, ReduceOp::sum);
      break;
    case CollectiveKind::all_to_all:
      group.all_to_all(each, other);
      break;
    case CollectiveKind::barrier:
      group.barrier();
      break;
  }
  return group.last;
}

std::int64_t elements(sim::Parts parts) {
  return parts == sim::Parts::none ? 0 : parts == sim::Parts::one ? n : ranks * n;
}

}  // namespace

TEST_CASE("collectives: the table says who brings and who gets how much, of every kind") {
  CpuDevice host;
  for (std::size_t i = 0; i < sim::collective_traits.size(); ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    const sim::CollectiveTraits& traits = sim::traits_of(kind);
    for (int rank = 0; rank < ranks; ++rank) {
      const Collective asked = asked_of(kind, rank, host);
      INFO(traits.name << " of rank " << rank);
      CHECK(asked.kind == kind);
      CHECK((asked.root == root) == traits.has_root());
      CHECK(asked.input.defined() == traits.gives(rank, root));
      if (asked.input.defined()) CHECK(asked.input.numel() == elements(traits.given));
      CHECK(asked.output.defined() == traits.takes(rank, root));
      if (asked.output.defined()) CHECK(asked.output.numel() == elements(traits.taken));
      const bool both = asked.input.defined() && asked.output.defined();
      if (both) CHECK(asked.input.same_place(asked.output) == traits.in_place());
      const bool empty = traits.givers == sim::Ranks::none;
      CHECK(asked.count(ranks) == (empty ? 0 : n));
      CHECK((text_of(asked, ranks).find("(sum)") != std::string::npos) == traits.reduces);
    }
  }
}

TEST_CASE("collectives: the small tensor may be its rank's part of the large one, and no other") {
  CpuDevice host;
  const Tensor all = zeros({ranks * n}, DType::float32, host);
  const auto told = [&](int rank, const Tensor& mine, CollectiveKind kind) -> std::string {
    Asked group(rank);
    constexpr std::int64_t uneven[] = {n - 1, n, n + 1};
    try {
      if (kind == CollectiveKind::gather) group.gather(mine, all, root);
      if (kind == CollectiveKind::scatter) group.scatter(all, mine, root);
      if (kind == CollectiveKind::all_gather && mine.numel() == n) group.all_gather(mine, all);
      if (kind == CollectiveKind::all_gather && mine.numel() != n) {
        group.all_gather(mine, all, uneven);
      }
      if (kind == CollectiveKind::reduce_scatter) group.reduce_scatter(all, mine, ReduceOp::sum);
    } catch (const ContractError& error) {
      return error.what();
    }
    return "";
  };
  for (const CollectiveKind kind : {CollectiveKind::gather, CollectiveKind::scatter,
                                    CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    CAPTURE(sim::name_of(kind));
    CHECK(told(root, all.narrow(root * n, n), kind) == "");
    CHECK(told(root, zeros({n}, DType::float32, host), kind) == "");
    CHECK_THAT(
        told(root, all.narrow(2, n), kind),
        test::contains("of rank 1 lies in the large one from element 2 on, but its part there "
                       "begins at 5; pass that part"));
    CHECK_THAT(told(root, all.narrow(root * n + 1, n), kind), test::contains("from element 6 on"));
  }
  CHECK(told(2, all.narrow(2 * n - 1, n + 1), CollectiveKind::all_gather) == "");
  CHECK_THAT(told(2, all.narrow(2 * n - 2, n + 1), CollectiveKind::all_gather),
             test::contains("its part there begins at 9"));
}
