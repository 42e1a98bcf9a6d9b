// Operations that run one after the other on a strand, and what becomes of them when it ends.
#include "engine/comm/ordered_strand.hpp"

#include <future>
#include <memory>

#include "engine/comm/solo_group.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::contains;

namespace {

std::string error_of(Work& work) {
  try {
    work.wait();
  } catch (const CommError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("ordered strand: what never began holds nothing when the strand has ended") {
  const auto strands = make_thread_strands();
  const auto clock = make_solo_group();
  CpuDevice device;
  std::promise<void> may_end;
  std::future<std::string> second_error;
  std::weak_ptr<const Tensor> of_third;
  Work third;
  {
    OrderedStrand queue(*strands, *clock);
    Work first = queue.start([&] { may_end.get_future().wait(); });
    // The first ends once the end of the strand has failed the second.
    second_error = std::async(std::launch::async, [&may_end, work = queue.start([] {})]() mutable {
      std::string error = error_of(work);
      may_end.set_value();
      return error;
    });
    const auto tensor = std::make_shared<const Tensor>(zeros({1000}, DType::float32, device));
    of_third = tensor;
    third = queue.start([tensor] {});
  }
  CHECK(of_third.expired());
  CHECK_THAT(second_error.get(), contains("ended before this operation began"));
  CHECK_THAT(error_of(third), contains("ended before this operation began"));
}
