// The host that the judge plays for offload_optimizer: what it keeps for a player has an end.
#include "grader/parts/11_sharding/offload_optimizer/host.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using offload_optimizer::HostService;

namespace {

constexpr std::int64_t megabyte = 1 << 20;

struct Asked {
  HostService host{{}, 1, [] { return std::optional<std::int64_t>(0); }};

  void operator()(const HostCall& call) {
    sim::Request request;
    request.data = sim::payload_of(fields_to_bytes(call));
    host.serve({}, request, 0);
  }
  // How often the same is asked until it is refused; then, `why`.
  int times(const std::function<HostCall(int)>& call, const std::string& why) {
    for (int time = 0; time < 100'000; ++time) {
      try {
        (*this)(call(time));
      } catch (const Error& error) {
        CHECK_THAT(error.what(), test::contains(why));
        return time;
      }
    }
    return -1;
  }
};

}  // namespace

TEST_CASE("a host keeps 64 MiB of tensors, copies and updates, and no more") {
  const std::string full = "more than 64 MiB";
  const auto tensor = [](int number) -> HostCall {
    return {.kind = HostCall::Kind::allocate, .names = {text(number)}, .count = megabyte / 4};
  };
  CHECK(Asked().times(tensor, full) == 63);
  const auto empty = [](int number) -> HostCall {
    return {.kind = HostCall::Kind::allocate, .names = {text(number)}};
  };
  CHECK(Asked().times(empty, full) == 64 * megabyte / 4096);
  Asked asked;
  asked(tensor(0));
  const auto up = [](int) -> HostCall {
    return {.kind = HostCall::Kind::up, .names = {"0"}, .count = megabyte / 4};
  };
  CHECK(asked.times(up, full) == 62);
}

TEST_CASE("a host that is asked for no tensor says so") {
  for (const auto kind : {HostCall::Kind::down, HostCall::Kind::up}) {
    CHECK(Asked().times([&](int) { return HostCall{.kind = kind}; }, "no name of a tensor") == 0);
  }
}
