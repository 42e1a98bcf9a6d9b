// Data are bytes to Gloo, except in reductions, which need to know where an element ends.
#include "engine/comm/worlds/tcp/gloo_collectives.hpp"

#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>

#include <cstring>

namespace lockstep::comm {

namespace {

char* start_of(const Tensor& tensor) {
  return tensor.numel() == 0 ? nullptr : reinterpret_cast<char*>(tensor.raw_bytes().data());
}

// Options of one call, tagged and timed.
template <typename Options>
Options options_of(const GlooRound& round) {
  Options options(round.context);
  options.setTag(round.tag);
  options.setTimeout(round.timeout);
  return options;
}

auto combine_of(const Collective& c) {
  return
      [dtype = c.dtype(), op = c.op](void* out, const void* a, const void* b, std::size_t count) {
        const void* other = out == b ? a : b;  // in place of either operand
        if (out != a && out != b) std::memcpy(out, a, count * bytes_of(dtype));
        reduce_elements(dtype, op, static_cast<std::byte*>(out),
                        static_cast<const std::byte*>(other), static_cast<std::int64_t>(count));
      };
}

void broadcast(const Collective& c, const GlooRound& round) {
  auto options = options_of<::gloo::BroadcastOptions>(round);
  options.setOutput(start_of(c.output), c.output.bytes());
  options.setRoot(c.root);
  ::gloo::broadcast(options);
}

void reduce(const Collective& c, const GlooRound& round) {
  auto options = options_of<::gloo::ReduceOptions>(round);
  const auto count = static_cast<std::size_t>(c.input.numel());
  std::vector<std::byte> scratch(c.output.defined() ? 0 : c.input.bytes());
  visit_dtype(c.dtype(), [&]<typename T>() {
    if (c.output.defined()) {
      options.setOutput(reinterpret_cast<T*>(start_of(c.output)), count);
    } else {
      options.setInput(reinterpret_cast<T*>(start_of(c.input)), count);
      options.setOutput(reinterpret_cast<T*>(scratch.data()), count);
    }
  });
  options.setRoot(c.root);
  options.setReduceFunction(combine_of(c));
  ::gloo::reduce(options);
}

void all_reduce(const Collective& c, const GlooRound& round) {
  auto options = options_of<::gloo::AllreduceOptions>(round);
  visit_dtype(c.dtype(), [&]<typename T>() {
    options.setOutput(reinterpret_cast<T*>(start_of(c.output)),
                      static_cast<std::size_t>(c.output.numel()));
  });
  options.setAlgorithm(::gloo::AllreduceOptions::Algorithm::RING);
  options.setReduceFunction(combine_of(c));
  ::gloo::allreduce(options);
}

void gather(const Collective& c, const GlooRound& round) {
  auto options = options_of<::gloo::GatherOptions>(round);
  options.setInput(start_of(c.input), c.input.bytes());
  if (c.output.defined()) options.setOutput(start_of(c.output), c.output.bytes());
  options.setRoot(c.root);
  ::gloo::gather(options);
}

void scatter(const Collective& c, const GlooRound& round) {
  auto options = options_of<::gloo::ScatterOptions>(round);
  std::vector<char*> parts;
  if (c.input.defined()) {
    for (int i = 0; i < round.context->size; ++i) {
      parts.push_back(start_of(c.input) + static_cast<std::size_t>(i) * c.output.bytes());
    }
    options.setInputs(parts, c.output.bytes());
  }
  options.setOutput(start_of(c.output), c.output.bytes());
  options.setRoot(c.root);
  ::gloo::scatter(options);
}

std::vector<std::int64_t> bytes_of_parts(const std::vector<std::int64_t>& counts,
                                         const Tensor& whole, int size) {
  std::vector<std::int64_t> bytes;
  for (int i = 0; i < size; ++i) {
    bytes.push_back(part_count(counts, whole, i, size) *
                    static_cast<std::int64_t>(bytes_of(whole.dtype())));
  }
  return bytes;
}

void all_gather(const Collective& c, const GlooRound& round) {
  if (c.output_counts.empty()) {
    auto options = options_of<::gloo::AllgatherOptions>(round);
    options.setInput(start_of(c.input), c.input.bytes());
    options.setOutput(start_of(c.output), c.output.bytes());
    return ::gloo::allgather(options);
  }
  auto options = options_of<::gloo::AllgathervOptions>(round);
  const auto bytes = bytes_of_parts(c.output_counts, c.output, round.context->size);
  options.setInput(start_of(c.input), c.input.bytes());
  options.setOutput(start_of(c.output), std::vector<std::size_t>(bytes.begin(), bytes.end()));
  ::gloo::allgatherv(options);
}

void all_to_all(const Collective& c, const GlooRound& round) {
  if (c.input_counts.empty()) {
    auto options = options_of<::gloo::AlltoallOptions>(round);
    options.setInput(start_of(c.input), c.input.bytes());
    options.setOutput(start_of(c.output), c.output.bytes());
    return ::gloo::alltoall(options);
  }
  auto options = options_of<::gloo::AlltoallvOptions>(round);
  const int size = round.context->size;
  options.setInput(start_of(c.input), bytes_of_parts(c.input_counts, c.input, size));
  options.setOutput(start_of(c.output), bytes_of_parts(c.output_counts, c.output, size));
  ::gloo::alltoallv(options);
}

void reduce_scatter(const Collective& c, const GlooRound& round) {
  const Tensor parts = c.input.empty_like(c.input.numel());
  all_to_all({.kind = CollectiveKind::all_to_all, .input = c.input, .output = parts}, round);
  const std::int64_t share = c.output.numel();
  const Tensor sum = c.output.view({share});
  sum.copy_(parts.narrow(0, share));
  for (int i = 1; i < round.context->size; ++i) sum.reduce_(parts.narrow(i * share, share), c.op);
}

}  // namespace

void run_on_gloo(const Collective& c, const GlooRound& round) {
  if (c.is_empty(round.context->size)) return;
  switch (c.kind) {
    case CollectiveKind::broadcast:
      return broadcast(c, round);
    case CollectiveKind::reduce:
      return reduce(c, round);
    case CollectiveKind::all_reduce:
      return all_reduce(c, round);
    case CollectiveKind::gather:
      return gather(c, round);
    case CollectiveKind::scatter:
      return scatter(c, round);
    case CollectiveKind::all_gather:
      return all_gather(c, round);
    case CollectiveKind::reduce_scatter:
      return reduce_scatter(c, round);
    case CollectiveKind::all_to_all:
      return all_to_all(c, round);
    case CollectiveKind::barrier:
      break;
  }
  auto options = options_of<::gloo::BarrierOptions>(round);
  ::gloo::barrier(options);
}

std::vector<std::uint64_t> all_gather_number(std::uint64_t mine, const GlooRound& round) {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(round.context->size));
  auto options = options_of<::gloo::AllgatherOptions>(round);
  options.setInput(&mine, 1);
  options.setOutput(all.data(), all.size());
  ::gloo::allgather(options);
  return all;
}

std::vector<std::int64_t> exchange_numbers(const std::vector<std::int64_t>& for_each,
                                           const GlooRound& round) {
  std::vector<std::int64_t> mine = for_each, theirs(for_each.size());
  auto options = options_of<::gloo::AlltoallOptions>(round);
  options.setInput(mine.data(), mine.size());
  options.setOutput(theirs.data(), theirs.size());
  ::gloo::alltoall(options);
  return theirs;
}

}  // namespace lockstep::comm
