#include "engine/comm/collective.hpp"

#include <bit>
#include <numeric>

namespace lockstep::comm {

namespace {

// The one that every rank has.
const Tensor& small_of(const Collective& c) {
  const sim::CollectiveTraits& traits = traits_of(c.kind);
  return traits.takers == sim::Ranks::all && traits.taken == sim::Parts::one ? c.output : c.input;
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
  if (traits_of(kind).is_exchange()) return input_counts.empty() ? input.numel() / size : 0;
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
  const sim::CollectiveTraits& traits = traits_of(c.kind);
  std::string said(traits.name);
  if (traits.reduces) said += text(" (", lockstep::name_of(c.op), ")");
  if (traits.has_root()) {
    said += text(traits.givers == sim::Ranks::root ? " from rank " : " to rank ", c.root);
  }
  if (traits.givers == sim::Ranks::none) return said;
  said += text(" of ", c.counts.empty() ? text(c.count) : list_of(c.counts), " ",
               lockstep::name_of(c.dtype));
  if (traits.in_place() || !c.counts.empty()) return said;
  return said + (traits.is_exchange() ? " to each rank" : " a rank");
}

std::string text_of(const Collective& c, int size) { return text_of(outline_of(c, size)); }

Sent modelled_sent(const Collective& c, int rank, int size) {
  const sim::CollectiveTraits& traits = traits_of(c.kind);
  const std::int64_t others = size - 1;
  const auto width = static_cast<std::int64_t>(bytes_of(c.dtype()));
  const std::int64_t share = c.count(size) * width;
  Sent sent;
  if (traits.givers == sim::Ranks::none) return sent;
  if (traits.takers == sim::Ranks::root) {
    if (rank != c.root) sent = {share, 1};
  } else if (traits.givers == sim::Ranks::root) {
    const std::int64_t parts = rank == c.root ? others : 0;
    sent.messages =
        traits.given == sim::Parts::each ? parts : children_of((rank + size - c.root) % size, size);
    sent.bytes = sent.messages * share;
  } else if (traits.given == sim::Parts::each) {
    const std::int64_t own = part_count(c.input_counts, c.input, rank, size);
    sent = {(c.input.numel() - own) * width, others};
  } else if (traits.taken == sim::Parts::each) {
    // Round the ring a rank passes on all parts but that of its right neighbour.
    const std::int64_t last = part_count(c.output_counts, c.output, (rank + 1) % size, size);
    sent = {(c.output.numel() - last) * width, others};
  } else {
    sent = {2 * others * share / size, 2 * others};
  }
  return sent.bytes == 0 ? Sent{} : sent;
}

}  // namespace lockstep::comm
