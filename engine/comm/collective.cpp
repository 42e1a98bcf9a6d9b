#include "engine/comm/collective.hpp"

#include <bit>
#include <numeric>

namespace lockstep::comm {

namespace {

const Tensor& small_of(const Collective& c) {
  switch (c.kind) {
    case CollectiveKind::scatter:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::broadcast:
    case CollectiveKind::all_reduce:
      return c.output;
    default:
      return c.input;
  }
}

std::string list_of(const std::vector<std::int64_t>& counts) {
  std::string list = "[";
  for (const std::int64_t count : counts) list += text(list.size() > 1 ? ", " : "", count);
  return list + "]";
}

// The children in a binomial tree of the rank at `distance` from the root: distance + 2^k for each
// 2^k > distance in reach.
std::int64_t children_of(int distance, int size) {
  std::int64_t children = 0;
  const auto from = static_cast<unsigned>(distance), n = static_cast<unsigned>(size);
  for (unsigned step = std::bit_ceil(from + 1); from + step < n; step *= 2) ++children;
  return children;
}

}  // namespace

std::int64_t Collective::count(int size) const {
  if (kind == CollectiveKind::barrier) return 0;
  if (kind == CollectiveKind::all_to_all) return input_counts.empty() ? input.numel() / size : 0;
  return small_of(*this).numel();
}

DType Collective::dtype() const {
  if (input.defined()) return input.dtype();
  return output.defined() ? output.dtype() : DType::uint8;
}

bool Collective::is_empty(int size) const {
  if (kind == CollectiveKind::barrier || !input_counts.empty()) return false;
  if (!output_counts.empty()) return output.numel() == 0;
  return count(size) == 0;
}

std::int64_t part_count(std::span<const std::int64_t> counts, const Tensor& whole, int i,
                        int size) {
  return counts.empty() ? whole.numel() / size : counts[static_cast<std::size_t>(i)];
}

std::int64_t part_start(std::span<const std::int64_t> counts, const Tensor& whole, int i,
                        int size) {
  if (counts.empty()) return whole.numel() / size * i;
  return std::accumulate(counts.begin(), counts.begin() + i, std::int64_t{0});
}

Tensor part_of(std::span<const std::int64_t> counts, const Tensor& whole, int i, int size) {
  const std::int64_t count = part_count(counts, whole, i, size);
  if (count == 0) return {};
  return whole.view({whole.numel()}).narrow(part_start(counts, whole, i, size), count);
}

Outline outline_of(const Collective& c, int size) {
  Outline outline{c.kind, c.op, c.root, c.dtype(), c.count(size), {}};
  if (c.kind == CollectiveKind::all_gather) outline.counts = c.output_counts;
  if (c.kind == CollectiveKind::all_to_all) outline.counts = c.input_counts;
  return outline;
}

std::string text_of(const Outline& c) {
  const std::string name(sim::name_of(c.kind));
  const std::string elements = text(" of ", c.count, " ", lockstep::name_of(c.dtype));
  switch (c.kind) {
    case CollectiveKind::barrier:
      return name;
    case CollectiveKind::all_reduce:
      return text(name, " (", lockstep::name_of(c.op), ")", elements);
    case CollectiveKind::reduce_scatter:
      return text(name, " (", lockstep::name_of(c.op), ")", elements, " a rank");
    case CollectiveKind::reduce:
      return text(name, " (", lockstep::name_of(c.op), ") to rank ", c.root, elements);
    case CollectiveKind::broadcast:
      return text(name, " from rank ", c.root, elements);
    case CollectiveKind::scatter:
      return text(name, " from rank ", c.root, elements, " a rank");
    case CollectiveKind::gather:
      return text(name, " to rank ", c.root, elements, " a rank");
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
      break;
  }
  if (!c.counts.empty()) {
    return text(name, " of ", list_of(c.counts), " ", lockstep::name_of(c.dtype));
  }
  return text(name, elements, c.kind == CollectiveKind::all_gather ? " a rank" : " to each rank");
}

std::string text_of(const Collective& c, int size) { return text_of(outline_of(c, size)); }

Sent modelled_sent(const Collective& c, int rank, int size) {
  const std::int64_t others = size - 1;
  const auto width = static_cast<std::int64_t>(bytes_of(c.dtype()));
  const std::int64_t share = c.count(size) * width;
  Sent sent;
  switch (c.kind) {
    case CollectiveKind::barrier:
      return {};
    case CollectiveKind::broadcast:
      sent.messages = children_of((rank + size - c.root) % size, size);
      sent.bytes = sent.messages * share;
      break;
    case CollectiveKind::reduce:
    case CollectiveKind::gather:
      if (rank != c.root) sent = {share, 1};
      break;
    case CollectiveKind::scatter:
      if (rank == c.root) sent = {others * share, others};
      break;
    case CollectiveKind::all_reduce:
      sent = {2 * others * share / size, 2 * others};
      break;
    case CollectiveKind::reduce_scatter:
      sent = {others * share, others};
      break;
    case CollectiveKind::all_gather: {
      // Round the ring a rank passes on all parts but that of its right neighbour.
      const std::int64_t last = part_count(c.output_counts, c.output, (rank + 1) % size, size);
      sent = {(c.output.numel() - last) * width, others};
      break;
    }
    case CollectiveKind::all_to_all: {
      const std::int64_t own = part_count(c.input_counts, c.input, rank, size);
      sent = {(c.input.numel() - own) * width, others};
      break;
    }
  }
  return sent.bytes == 0 ? Sent{} : sent;
}

}  // namespace lockstep::comm
