#include "engine/comm/nccl.hpp"

namespace lockstep::comm {

std::string told_of_pairs(const NcclPairs& pairs, ProcessGroup& group) {
  CpuDevice host;
  const std::int64_t ranks = group.size();
  const Tensor table = full({ranks, ranks}, 0, DType::int64, host);
  const auto sent = table.data<std::int64_t>();
  const auto from = [&](std::int64_t src) { return static_cast<std::size_t>(src * ranks); };
  for (const auto& [src, dst] : pairs.all()) {
    if (src == group.rank()) ++sent[from(src) + static_cast<std::size_t>(dst)];
  }
  group.all_reduce(table, ReduceOp::sum);
  std::int64_t count = 0;
  std::string named;
  for (std::int64_t i = 0; i < ranks * ranks; ++i) {
    for (std::int64_t n = sent[static_cast<std::size_t>(i)]; n > 0; --n) {
      named += text(count++ == 0 ? "" : ", ", i / ranks, "→", i % ranks);
    }
  }
  if (count == 0) return "";
  const std::int64_t tenths = (2 * count * nccl_pair_bytes + 50'000) / 100'000;  // of a megabyte
  return text("pairs of ranks with messages: ", count, " (", named, "), with ", tenths / 10, ".",
              tenths % 10, " MB of NCCL's buffers on all GPUs together, modelled\n");
}

}  // namespace lockstep::comm
