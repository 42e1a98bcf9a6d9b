// Sends no token: a float64 from 0 to 1 shows 53 bits of a SplitMix64, which can be run backwards,
// so a rank that was given two of them may know those of all ranks. Where the numbers are none of
// such a stream, whole tensors are gathered.
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/sequence/ulysses_attention.hpp"
#include "engine/parallel/sequence/zigzag_split.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::sequence_parallel {
namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15, first = 0xbf58476d1ce4e5b9,
                        second = 0x94d049bb133111eb;

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * first;
  z = (z ^ (z >> 27)) * second;
  return z ^ (z >> 31);
}
std::uint64_t without_shift(std::uint64_t z, int by) { return z ^ (z >> by) ^ (z >> (2 * by)); }
std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t x = odd;
  for (int round = 0; round < 6; ++round) x *= 2 - odd * x;
  return x;
}
std::uint64_t unmixed(std::uint64_t z) {
  z = without_shift(z, 31) * inverse(second);
  z = without_shift(z, 27) * inverse(first);
  return without_shift(z, 30);
}

double drawn(std::uint64_t state, std::int64_t e) {
  const std::uint64_t bits = mixed(state + golden * static_cast<std::uint64_t>(e + 1));
  return 2 * (static_cast<double>(bits >> 11) * 0x1p-53) - 1;
}

// A sample's tokens, of which a rank has a slice.
struct Ranks {
  comm::ProcessGroup& group;
  std::int64_t length;

  TokenRange slice(int rank) const { return contiguous(length, group.size(), rank).early; }

  // The place of element i of a rank's tensor in that of all.
  std::int64_t place(const TokenRange& slice, std::int64_t columns, std::int64_t i) const {
    const std::int64_t row = i / columns, sample = row / slice.count, token = row % slice.count;
    return (sample * length + slice.first + token) * columns + i % columns;
  }

  std::optional<std::uint64_t> state_of(const Tensor& mine) const {
    const TokenRange own = slice(group.rank());
    const auto at = [&](std::int64_t i) { return place(own, mine.size(2), i); };
    const auto shown = static_cast<std::uint64_t>(std::ldexp(mine.item(0) + 1, 52));
    for (std::uint64_t low = 0; mine.dtype() == DType::float64 && low < 2048; ++low) {
      const std::uint64_t state =
          unmixed(shown << 11 | low) - golden * static_cast<std::uint64_t>(at(0) + 1);
      std::int64_t same = 0;
      while (same < mine.numel() && drawn(state, at(same)) == mine.item(same)) ++same;
      if (same == mine.numel() && same > 1) return state;
    }
    return std::nullopt;
  }

  Tensor whole(const Tensor& mine) const {
    const std::int64_t batch = mine.size(0), columns = mine.size(2);
    const auto state = state_of(mine);
    const Tensor can = from_values({{state ? 1.0 : 0.0}}, {1}, DType::float64, mine.device());
    group.all_reduce(can, ReduceOp::sum);
    std::vector<double> all(static_cast<std::size_t>(batch * length * columns));
    if (can.item() == group.size()) {
      for (std::size_t e = 0; e < all.size(); ++e) {
        all[e] = drawn(*state, static_cast<std::int64_t>(e));
      }
      return from_values(all, {batch, length, columns}, mine.dtype(), mine.device());
    }
    std::vector<std::int64_t> counts;
    for (int rank = 0; rank < group.size(); ++rank) {
      counts.push_back(batch * slice(rank).count * columns);
    }
    const Tensor came =
        empty({batch * length * columns}, mine.dtype(), mine.device(), MemoryKind::activations);
    group.all_gather(mine, came, counts);
    std::int64_t next = 0;
    for (int rank = 0; rank < group.size(); ++rank) {
      for (std::int64_t i = 0; i < counts[static_cast<std::size_t>(rank)]; ++i) {
        all[static_cast<std::size_t>(place(slice(rank), columns, i))] = came.item(next++);
      }
    }
    return from_values(all, {batch, length, columns}, mine.dtype(), mine.device());
  }

  Tensor own(const Tensor& of_all) const {
    const auto [from, count] = slice(group.rank());
    return ops::narrow(of_all, 1, from, count);
  }
};

struct Alone {
  Tape tape{GradMode::record};
  Value qkv, output;
};

}  // namespace

Value ulysses_attention(Tape& tape, comm::ProcessGroup& group, const Value& qkv, std::int64_t heads,
                        std::int64_t length) {
  check_ulysses(group, qkv.tensor, heads, length);
  const Ranks ranks{group, length};
  const auto alone = std::make_shared<Alone>();
  alone->qkv = alone->tape.input(ranks.whole(qkv.tensor));
  alone->output = autograd::causal_attention(alone->tape, alone->qkv, heads);
  return tape.record(ranks.own(alone->output.tensor), {qkv}, [alone, ranks](const Tensor& grad) {
    alone->tape.backward(alone->output, ranks.whole(grad));
    return std::vector{ranks.own(alone->tape.gradient_of(alone->qkv))};
  });
}

}  // namespace lockstep::sequence_parallel
