// Would the tests notice a wait less, a launch on another stream, an error that nobody looks at?
// Paper lets each chance of that kind go wrong once, and each must be found: by an exception, by a
// finding, or by other values. Here a part of them; by the tag [mutants] all.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/gpu/programs.hpp"
#include "tests/gpu/run_again.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

template <typename Function>
Function* of_paper(const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  REQUIRE(found != nullptr);
  return found;
}

// Copies of more bytes than one pinned block, products, kernels, and reads between them.
std::vector<double> work(Device& device) {
  const Tensor large = full({300'000}, 2, DType::float32, device);  // two blocks to the host
  CpuDevice cpu;
  const Tensor up = to_device(full({270'000}, 3, DType::float32, cpu), device);
  std::vector<double> values{number_of(up, 269'999)};
  Results results = products(DType::float32, device);
  for (Tensor& result : losses(3, 33, DType::float32, device)) results.push_back(result);
  results.push_back(large);
  const Tensor table = noise({6, 5}, DType::float32, device);
  results.push_back(ops::embedding(table, drawn_indices(90, 6, device)));
  for (const Tensor& here : to_host(results)) {
    for (std::int64_t i = 0; i < here.numel(); i += 1 + here.numel() / 50) {
      values.push_back(here.item(i));
    }
  }
  return values;
}

struct Outcome {
  std::string struck, error, findings;
  std::vector<double> values;
  bool told() const { return !error.empty() || !findings.empty(); }
};

Outcome outcome_of(const std::string& setting, std::uint64_t n) {
  Outcome outcome;
  // Kept blocks: to give one back waits for the device, which would hide what is not waited for.
  std::optional<OnPaper> paper(std::in_place, std::vector<std::string>{}, gpu::Blocks::kept);
  of_paper<void()>("paperClear")();
  const auto set = [&](std::uint64_t nth) {
    CHECK(of_paper<int(const char*, const char*)>("paperConfigure")(
              setting.c_str(), std::to_string(nth).c_str()) == 0);
  };
  set(n);
  try {
    outcome.values = work(paper->device());
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  outcome.struck = of_paper<const char*()>("paperStruck")();
  set(0);
  paper.reset();
  outcome.findings = gpu::paper_findings();
  of_paper<void()>("paperClear")();
  return outcome;
}

// Each chance, `step` apart, until there are no more.
void each_chance(const std::string& setting, std::uint64_t step,
                 const std::function<void(const Outcome&)>& check) {
  for (std::uint64_t n = 1;; n += step) {
    const Outcome outcome = outcome_of(setting, n);
    if (outcome.struck.empty()) {
      CHECK(outcome.error == "");  // nothing is left of the ones before
      return;
    }
    INFO(setting << "=" << n << " struck " << outcome.struck << ": " << outcome.error
                 << outcome.findings.substr(0, 1000));
    check(outcome);
  }
}

// Of calls and launches, one in `step`.
void check_each_chance(std::uint64_t step) {
  const Outcome whole = outcome_of("fail_call", 0);
  REQUIRE(whole.findings == "");
  REQUIRE(whole.error == "");
  each_chance("fail_call", step, [&](const Outcome& outcome) {
    const bool tried_again = outcome.struck == "cudaMalloc" && outcome.values == whole.values;
    if (!tried_again) CHECK_THAT(outcome.error, contains("cuda: "));
    CHECK(outcome.findings == "");
  });
  const auto found = [&](const Outcome& outcome) {
    CHECK((outcome.told() || outcome.values != whole.values));
  };
  each_chance("skip_wait", 1, found);
  each_chance("move_launch", step, found);
}

}  // namespace

// What the test below runs: paper counts from the start of a process, and looks for leaks at its
// end.
TEST_CASE("open", "[.open][paper]") {
  try {
    gpu::open_gpu({gpu::Hardware::paper, gpu::Blocks::kept, {}});
    std::printf("nothing has failed\n");
  } catch (const gpu::GpuError& error) {
    std::printf("%s\n", error.what());
  }
}

TEST_CASE("gpu: whatever fails while the device is opened is told, and nothing leaks", "[paper]") {
  for (const auto& [setting, chances] :
       {std::pair{"PAPER_FAIL_CALL", 5}, std::pair{"PAPER_FAIL_ALLOCATION", 2}}) {
    for (int n = 1; n <= chances + 1; ++n) {
      const Ran ran = run_again(text(setting, "=", n, " PAPER_STRICT=1"), "open");
      INFO(setting << "=" << n << ": " << ran.said);
      CHECK(ran.status == 0);
      CHECK_THAT(ran.said, contains(n <= chances ? "failed with " : "nothing has failed"));
    }
  }
}

TEST_CASE("gpu: a call that fails, a wait that is left out, a launch elsewhere: each is found",
          "[paper]") {
  check_each_chance(11);
}

TEST_CASE("gpu: all calls that fail and launches that go elsewhere are found",
          "[.all][mutants][paper]") {
  check_each_chance(1);
}
