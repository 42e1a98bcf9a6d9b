#include "engine/comm/worlds/shm/agreement.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/sim/wire/printable.hpp"

namespace lockstep::comm::shm {

namespace {

std::span<const std::int64_t> counts_of(const Control& control, int rank, int size,
                                        std::uint64_t number) {
  if (control.record(rank, number).unequal == 0) return {};
  return {control.counts(rank, number), static_cast<std::size_t>(size)};
}

bool agree(const Control& control, int one, int other, int size, std::uint64_t number) {
  const SharedCallRecord& a = control.record(one, number);
  const SharedCallRecord& b = control.record(other, number);
  if (a.kind != b.kind || a.op != b.op || a.dtype != b.dtype || a.root != b.root ||
      a.unequal != b.unequal || a.number != b.number) {
    return false;
  }
  if (a.unequal == 0) return a.count == b.count;
  return traits_of(static_cast<CollectiveKind>(a.kind)).is_exchange() ||
         std::ranges::equal(counts_of(control, one, size, number),
                            counts_of(control, other, size, number));
}

// Finds, for an all_to_all with unequal parts, who sends another number of elements than is
// expected.
std::string unequal_pair(const Control& control, int size, const RankNames& names,
                         std::uint64_t number) {
  if (control.record(0, number).unequal == 0) return {};
  for (int src = 0; src < size; ++src) {
    for (int dst = 0; dst < size; ++dst) {
      const std::int64_t sent = control.counts(src, number)[dst];
      const std::int64_t expected = control.counts(dst, number)[size + src];
      if (sent == expected) continue;
      return text(names.name(src), " sends ", sent, " elements to ", names.name(dst),
                  ", which expects ", expected, "; ");
    }
  }
  return {};
}

}  // namespace

SharedCallRecord& write_record(const Control& control, int rank, int size, const Call& call) {
  const Collective& c = call.collective;
  SharedCallRecord& record = control.record(rank, call.number);
  record.number = call.number;
  record.count = c.count(size);
  record.root = c.root;
  record.kind = static_cast<std::uint8_t>(c.kind);
  record.op = static_cast<std::uint8_t>(c.op);
  record.dtype = static_cast<std::uint8_t>(c.dtype());
  record.unequal = c.output_counts.empty() ? 0 : 1;
  std::int64_t* const counts = control.counts(rank, call.number);
  if (traits_of(c.kind).is_exchange()) {
    std::ranges::copy(c.output_counts, std::ranges::copy(c.input_counts, counts).out);
  } else {
    std::ranges::copy(c.output_counts, counts);
  }
  std::string_view file(call.where.file_name());
  const std::size_t room = sizeof record.file - 1;
  if (file.size() > room) file.remove_prefix(file.size() - room);
  std::memcpy(record.file, file.data(), file.size());
  record.file[file.size()] = 0;
  record.line = static_cast<std::int32_t>(call.where.line());
  record.input_placement = record.output_placement = Placement::none;
  return record;
}

std::string disagreement(const Control& control, int rank, int size, const RankNames& names,
                         std::uint64_t number) {
  int other = 0;
  while (other < size && agree(control, rank, other, size, number)) ++other;
  std::string calls;
  if (other == size) {
    const auto kind = static_cast<CollectiveKind>(control.record(rank, number).kind);
    if (!traits_of(kind).is_exchange()) return {};
    calls = unequal_pair(control, size, names, number);
    if (calls.empty()) return {};
  }
  for (int r = 0; r < size; ++r) {
    calls += text(r == 0 ? "" : "; ", names.name(r), " calls ", text_of(control, r, size, number));
  }
  return "the ranks call different things: " + calls;
}

std::string text_of(const Control& control, int rank, int size, std::uint64_t number) {
  const SharedCallRecord& record = control.record(rank, number);
  const auto counts = counts_of(control, rank, size, number);
  const Outline outline{static_cast<CollectiveKind>(record.kind),
                        static_cast<ReduceOp>(record.op),
                        record.root,
                        static_cast<DType>(record.dtype),
                        record.count,
                        {counts.begin(), counts.end()}};
  return text("collective no. ", record.number, ", ", comm::text_of(outline), " at ",
              sim::place_of(record.file, record.line));
}

std::string last_deed(const Control& control, int rank, int size, const RankNames& names,
                      std::uint64_t number) {
  const RankLine& line = control.line(rank);
  std::string deed = text("rank ", rank, " (");
  if (const std::string global = names.global_name(rank); !global.empty()) deed += global + ", ";
  deed += text("pid ", line.pid.load(), ") ");
  // A record is whole once its rank arrived, and stays until two calls later.
  if (number <= 1) {
    deed += "has called no collective";
  } else {
    const bool finished = line.finished.load(std::memory_order_acquire) >= number - 1;
    deed +=
        text(finished ? "has finished " : "is still in ", text_of(control, rank, size, number - 1));
  }
  if (const std::string now = doing(line); !now.empty()) deed += ", and is in " + now;
  return deed;
}

void say_doing(RankLine& line, const std::string& what) {
  std::uint64_t words[std::size(decltype(RankLine::doing){})] = {};
  std::memcpy(words, what.data(), std::min(what.size(), sizeof words - 1));
  line.doing_version.fetch_add(1);
  for (std::size_t i = 0; i < std::size(words); ++i) {
    line.doing[i].store(words[i], std::memory_order_release);
  }
  line.doing_version.fetch_add(1);
}

std::string doing(const RankLine& line) {
  std::uint64_t words[std::size(decltype(RankLine::doing){})];
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::uint32_t before = line.doing_version.load();
    for (std::size_t i = 0; i < std::size(words); ++i) {
      // acquire: who sees a word sees that the version became odd before.
      words[i] = line.doing[i].load(std::memory_order_acquire);
    }
    if (before % 2 == 0 && line.doing_version.load() == before) {
      return reinterpret_cast<const char*>(words);
    }
  }
  return {};
}

}  // namespace lockstep::comm::shm
