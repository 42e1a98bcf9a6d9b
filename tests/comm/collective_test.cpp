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
