// Replicas on threads: which are one model, and what makes them equal. The sentences of every kind
// of difference are in tests/ddp/wrap_test.cpp.
#include "engine/replicas/agree.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/nn/mlp.hpp"
#include "tests/catch.hpp"
#include "tests/train/thread_group.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::on_ranks;

namespace {

// A replica of rank `seed`'s own numbers.
std::unique_ptr<nn::Module> mlp(std::int64_t hidden, Device& device, std::uint64_t seed) {
  const std::array<std::int64_t, 3> widths{4, hidden, 2};
  return nn::make_mlp(widths, DType::float32, device, seed);
}

// What each rank learns when `differing` builds another model than the others.
std::vector<std::string> told(int ranks, int differing) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto model = mlp(group.rank() == differing ? 5 : 3, device, 0);
    try {
      replicas::make_equal(group, *model);
    } catch (const ContractError& error) {
      errors[static_cast<std::size_t>(group.rank())] = error.what();
    }
  });
  return errors;
}

}  // namespace

TEST_CASE("replicas: made equal, they have rank 0's bits, whatever each began with") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 7, 8);
  on_ranks(ranks, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto of_rank_0 = mlp(3, device, 0);
    const auto model = mlp(3, device, static_cast<std::uint64_t>(group.rank()));
    replicas::make_equal(group, *model);
    for (std::size_t i = 0; i < model->parameters().size(); ++i) {
      const Tensor& value = model->parameters()[i]->value;
      const Tensor& wanted = of_rank_0->parameters()[i]->value;
      LOCKSTEP_CHECK(std::ranges::equal(value.raw_bytes(), wanted.raw_bytes()), "parameter ", i,
                     " differs on rank ", group.rank());
    }
  });
}

TEST_CASE("replicas: a rank with another model is named to all, before anything is broadcast") {
  for (const int ranks : {2, 3, 4}) {
    for (const int differing : {1, ranks - 1}) {
      for (const std::string& error : told(ranks, differing)) {
        CHECK_THAT(error, contains("not one model") && contains(text("where rank ", differing)) &&
                              contains("[5, 4]") && contains("[3, 4]"));
      }
    }
  }
  // When rank 0 is the odd one, the first of the others is named.
  for (const std::string& error : told(3, 0)) CHECK_THAT(error, contains("where rank 1"));
}
