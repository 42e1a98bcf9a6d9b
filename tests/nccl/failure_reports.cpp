#include "tests/nccl/failure_reports.hpp"

#include "tests/catch.hpp"

namespace lockstep::test {

Tensor numbers(GpuRank& self, std::int64_t count, DType dtype) {
  return full({count}, self.rank() + 1, dtype, self.gpu);
}

std::string told_by(GpuRank& self, const std::function<void()>& call) {
  const Tensor more = numbers(self, 3);
  const std::string told = error_of([&] {
    call();
    self.gpu.settle();
  });
  const std::string again = error_of([&] { self.group.all_reduce(more, ReduceOp::sum); }),
                    on_host = error_of([&] { self.group.barrier(); });
  for (const std::string& refused : {again, on_host}) {
    expect(refused.find("has failed before: ") != std::string::npos, "again: " + refused);
  }
  return told;
}

std::string with_deadline(double timeout_s, comm::Transport words, comm::Store& store, int rank,
                          const GpuBody& body) {
  auto device = gpu_on_paper(rank);
  comm::GlooOptions of_host;
  of_host.timeout_s = timeout_s;
  of_host.transport = words;
  const auto group = comm::make_nccl_group(
      store, *device, comm::make_gloo_group(store, rank, 2, of_host), {.timeout_s = timeout_s});
  CpuDevice host;
  GpuRank self{*device, host, *group};
  return body(self);
}

void all_are_told(const std::vector<Outcome>& outcomes, const std::vector<std::string>& parts,
                  int dead, double seconds) {
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (static_cast<int>(rank) == dead) continue;
    INFO("rank " << rank << " after " << outcomes[rank].seconds
                 << " s: " << outcomes[rank].message);
    CHECK(outcomes[rank].ok);
    CHECK(outcomes[rank].seconds < seconds);
    for (const std::string& part : parts) CHECK_THAT(outcomes[rank].message, contains(part));
  }
}

}  // namespace lockstep::test
