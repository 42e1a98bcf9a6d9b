// What paper counted while kernels ran: whether a warp's lanes go to neighbours in memory. A warp's
// request moves 4 sectors of 32 bytes where each lane asks for 4 bytes, 8 for 8 and 16 for packets
// of 16; more where lanes lie apart. In shared memory a request takes one pass where no two lanes
// want different words of one bank.
#include <cstdio>
#include <string>

#include "tests/gpu/kernel_mutations.hpp"
#include "tests/gpu/programs.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// Sizes of a training: rows that begin at multiples of a packet.
void run_all(Device& device, DType dtype) {
  element_by_element(dtype, device, 256);
  activations(4096, dtype, device);
  global_norms(dtype, device);
  updates(4096, dtype, device);
  rows_by_number(256, dtype, device);
  losses(8, 1024, dtype, device);
  losses(2, 2048, dtype, device);
  norms(128, 256, dtype, device);
  norms(2, 2048, dtype, device);
  attention({1, 64, 2, 64}, dtype, device);
  attention({1, 64, 2, 32}, dtype, device);
  attention({1, 64, 2, 136}, dtype, device);
  const Tensor x = noise({64, 64}, dtype, device);
  ops::transpose(x, 0, 1);
  ops::narrow(x, 1, 0, 32);
  ops::sum_to(x, {64, 1});
  ops::sum_to(x, {64});
}

}  // namespace

TEST_CASE("gpu: the lanes of every kernel's warps go to neighbours in memory", "[paper]") {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    OnPaper paper({"counters=1"});
    run_all(paper.device(), dtype);
    CHECK(paper.findings() == "");
  }
  const auto all = counted_on_paper();
  for (const auto& [name, of] : all) {
    CAPTURE(name, of.sectors, of.passes);
    const bool in_packets = name.starts_with("map<") || name.find("uint4") != std::string::npos;
    // Positions of an embedding are int64: link_positions asks for 8 bytes, or for 4.
    CHECK(of.sectors <= (in_packets ? 16 : 4.15));
    // A tile of halves has two words in a bank; 16 lanes add squares that lie 16 doubles apart.
    CHECK(of.passes <= 1.4);
  }
  CHECK(all.size() > 80);
  const OnPaper
      off;  // the setting stays otherwise, and paper prints the table when the process ends
}

// The table, by: bin/test_gpu_kernels '[counters]'
TEST_CASE("gpu: sectors and passes a request of each kernel", "[.counters][paper]") {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    OnPaper paper({"counters=1"});
    run_all(paper.device(), dtype);
  }
  for (const auto& [name, of] : counted_on_paper()) {
    if (of.sectors > 0) std::printf("| %s | %.2f | %.2f |\n", name.c_str(), of.sectors, of.passes);
  }
}
