#include "engine/parallel/expert/exchange_rows.hpp"

#include <algorithm>
#include <numeric>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/tensor/gather.hpp"

namespace lockstep::expert_parallel {
namespace {

using Counts = std::vector<std::int64_t>;

// True of a matrix with so many rows.
bool has_rows(const Value& x, std::int64_t rows) {
  const Shape& shape = x.tensor.shape();
  return shape.size() == 2 && shape.front() == rows;
}

Tensor indices_of(std::span<const std::int64_t> numbers, Device& device) {
  return written_by_host(
      {std::ssize(numbers)}, DType::int64, device, MemoryKind::buffers,
      [&](const Tensor& to) { std::ranges::copy(numbers, to.data<std::int64_t>().begin()); });
}

Tensor exchanged(comm::ProcessGroup& group, const Tensor& x, const Counts& to, const Counts& from) {
  const std::int64_t columns = x.size(1);
  const auto elements = [&](const Counts& rows) {
    Counts all;
    for (const std::int64_t count : rows) all.push_back(count * columns);
    return all;
  };
  Tensor came = empty({std::accumulate(from.begin(), from.end(), std::int64_t{0}), columns},
                      x.dtype(), x.device(), MemoryKind::activations);
  group.all_to_all(x, came, elements(to), elements(from));
  return came;
}

}  // namespace

Value take_rows(Tape& tape, const Value& x, std::span<const std::int64_t> numbers) {
  return autograd::embedding(tape, x, indices_of(numbers, x.tensor.device()));
}

Value add_rows(Tape& tape, const Value& x, std::span<const std::int64_t> numbers,
               std::int64_t rows) {
  LOCKSTEP_CHECK(has_rows(x, std::ssize(numbers)), "add_rows: x has shape ",
                 text_of(x.tensor.shape()), ", and there are ", numbers.size(), " numbers of rows");
  const Tensor indices = indices_of(numbers, x.tensor.device());
  return tape.record(
      ops::embedding_backward(x.tensor, indices, rows), {x},
      [indices](const Tensor& grad) { return std::vector<Tensor>{ops::embedding(grad, indices)}; });
}

Value exchange_rows(Tape& tape, comm::ProcessGroup& group, const Value& x,
                    std::span<const std::int64_t> to_ranks,
                    std::span<const std::int64_t> from_ranks) {
  const auto rows = std::accumulate(to_ranks.begin(), to_ranks.end(), std::int64_t{0});
  const std::ptrdiff_t ranks = group.size();
  LOCKSTEP_CHECK(std::ssize(to_ranks) == ranks && std::ssize(from_ranks) == ranks,
                 "exchange_rows: to_ranks has ", to_ranks.size(), " counts, and from_ranks ",
                 from_ranks.size(), ", in a group of ", ranks);
  LOCKSTEP_CHECK(has_rows(x, rows), "exchange_rows: the counts of to_ranks add up to ", rows,
                 " rows, and x is ", text_of(x.tensor.shape()), " on ", group.own_name());
  const Counts to(to_ranks.begin(), to_ranks.end()), from(from_ranks.begin(), from_ranks.end());
  return tape.record(exchanged(group, x.tensor, to, from), {x},
                     [&group, to, from](const Tensor& grad) {
                       return std::vector<Tensor>{exchanged(group, grad, from, to)};
                     });
}

}  // namespace lockstep::expert_parallel
