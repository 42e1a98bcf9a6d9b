// Gradients on devices whose memory the host cannot read are reduced to the bits of those on the
// host; only what has to be chosen or coded there is read by the host.
#include <algorithm>

#include "engine/comm/group_by_device.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/parallel/compress/compression.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/comm/far_group.hpp"
#include "tests/compress/fixtures.hpp"
#include "tests/tensor/far_device.hpp"

using namespace lockstep;

namespace {

// Three passes with one hook.
std::vector<test::Values> far_or_near(comm::ProcessGroup& group, Device& device,
                                      const std::string& words) {
  const auto hook = compress::make_hook(compress::compression_of(words), 9);
  std::vector<Tensor> results;
  for (int pass = 0; pass < 3; ++pass) {
    const Tensor flat = test::tensor_of(test::numbers_of(group.rank(), 127, pass), device);
    hook->start(group, test::bucket_of(flat, {{12, 10}, {7}})).wait();
    results.push_back(flat);
  }
  std::vector<test::Values> values;
  for (const Tensor& result : results) values.push_back(test::values_of(result));
  return values;
}

}  // namespace

TEST_CASE("compress: gradients on far devices are reduced to the bits of those on the host") {
  const std::string words =
      GENERATE("fp16", "bf16", "int8", "topk:0.1", "randomk:0.1", "powersgd:2");
  const int ranks = GENERATE(1, 2, 3);
  CAPTURE(words, ranks);
  // Three reads are the test's own. A choice of entries and a coding read once a pass; PowerSGD
  // reads Q twice and P once, and its first pass is in full.
  const std::int64_t reads = words == "int8"         ? 3
                             : words == "topk:0.1"   ? 2
                             : words == "powersgd:2" ? 6
                                                     : 0;
  sim::Options options;
  options.ranks = ranks;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    test::FarDevice far;
    CpuDevice near;
    const auto whole = comm::make_sim_group(self.port, self.rank, self.ranks);
    auto host = whole->split(0, self.rank);
    const auto group = comm::make_group_by_device(std::move(host),
                                                  test::make_far_group(whole->split(0, self.rank)));
    const auto wanted = far_or_near(*group, near, words);
    const auto seen = far_or_near(*group, far, words);
    for (std::size_t pass = 0; pass < wanted.size(); ++pass) {
      if (test::same_bits(seen[pass], wanted[pass])) continue;
      throw Error(text("pass ", pass, " differs on rank ", self.rank));
    }
    if (far.host_reads() != reads + 3) {
      throw Error(text("the host read ", far.host_reads() - 3, " times, not ", reads));
    }
  });
  CHECK((result.finding ? result.finding->message : "") == "");
  CHECK(std::ranges::all_of(result.failures, [](const auto& each) { return each.empty(); }));
}
