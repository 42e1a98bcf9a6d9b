#include "grader/exam/collective_rules.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "engine/base/random.hpp"
#include "grader/exam/collective_causes.hpp"
#include "grader/exam/lost_peer_rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

std::string place_of(int rank, std::size_t call, const Holding& held) {
  return text("rank ", rank, call ? ", second call" : "", ", ", held.name);
}

[[noreturn]] void fail_of_bits(CaseRunner& runner, const Played& played, int rank, std::size_t call,
                               const Holding& held) {
  Failure failure;
  failure.cause = "bits_differ";
  failure.message = text("ranks 0 and ", rank,
                         " hold results that differ in their last bits; likely cause: each rank "
                         "adds in an order of its own. All ranks must add in the same order, or "
                         "one rank must finish an element and the others copy it");
  failure.expected = "the same bits on every rank";
  failure.seen = "different bits";
  failure.where = place_of(rank, call, held);
  runner.fail(played, failure);
}

// What was added to each value of a buffer: of a sum, by every rank.
std::int64_t offset_of(const CollectiveProblem& p, const Holding& held) {
  return held.reduced() && p.op == ReduceOp::sum ? p.size() * p.offset : p.offset;
}

Bytes bytes_before(const CollectiveProblem& p, const Holding& held) {
  if (p.offset == 0) return to_bytes(p.dtype, held.before);
  return visit_dtype(p.dtype, [&]<typename T>() {
    Bytes bytes;
    for (const double value : held.before) {
      const T wide = static_cast<T>(static_cast<std::int64_t>(value) + p.offset);
      const auto raw = std::as_bytes(std::span(&wide, 1));
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    }
    return bytes;
  });
}

// Integers without the offset that was added to them. They are exact, however large the offset is.
std::vector<double> seen_values(const CollectiveProblem& p, const Holding& held,
                                std::span<const std::byte> raw) {
  if (p.offset == 0 || p.dtype != DType::int64) {
    auto values = as_doubles(p.dtype, raw);
    for (double& value : values) value -= static_cast<double>(offset_of(p, held));
    return values;
  }
  std::vector<double> values;
  for (const std::int64_t whole : as_integers(raw)) {
    const auto above = static_cast<std::uint64_t>(offset_of(p, held));
    values.push_back(
        static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(whole) - above)));
  }
  return values;
}

// The value as messages show it, with its offset.
std::string value_text(const CollectiveProblem& p, const Holding& held, double value) {
  if (!is_integer(p.dtype)) return number(value);
  const auto above = static_cast<std::uint64_t>(offset_of(p, held));
  return text(static_cast<std::int64_t>(
      static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) + above));
}

Cause cause_of(const CollectiveProblem& p, const std::vector<Scene>& calls, std::size_t call,
               int rank, std::size_t buffer, std::span<const double> seen, std::size_t at) {
  const auto place = static_cast<std::size_t>(rank);
  const Holding& held = calls[call].ranks[place][buffer];
  // Of numbers of 58 bits and more a double rounds the last ones away, of 28 and more a float.
  const double rounding = p.dtype == DType::int64 ? 1 << 12 : p.dtype == DType::int32 ? 1 << 10 : 0;
  if (p.offset != 0 && at < seen.size() && at < held.after.size() &&
      std::fabs(seen[at] - held.after[at]) <= rounding) {
    return {"rounded",
            text(name_of(p.dtype), " went through a floating-point type, in which integers beyond ",
                 p.dtype == DType::int64 ? "9,007,199,254,740,992" : "16,777,216",
                 " lose their last digits")};
  }
  return likely_cause(calls, p.dtype, call, place, buffer, seen, at);
}

// What ranks hold, buffer by buffer.
class Comparison {
 public:
  Comparison(CaseRunner& runner, const Played& played, const CollectiveProblem& p,
             const std::vector<Scene>& calls)
      : runner_(runner), played_(played), p_(p), calls_(calls) {}

  void rank(int rank) {
    const int member = p_.members.ranks[static_cast<std::size_t>(rank)];
    if (played_.results->killed(member)) return;
    ByteReader& result = played_.results->of(member);
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      const bool whole = !p_.death || returned(rank, result);
      bytes_peak_ = std::max(bytes_peak_, result.get<std::int64_t>());
      const auto& buffers = calls_[call].ranks[static_cast<std::size_t>(rank)];
      for (std::size_t buffer = 0; buffer < buffers.size(); ++buffer) {
        const auto raw = result.get_bytes();
        if (whole && p_.elements == Elements::given) compare(rank, call, buffer, raw);
      }
    }
  }
  std::int64_t bytes_peak() const { return bytes_peak_; }

 private:
  // Whether the rank holds a result, in a case in which another one dies.
  bool returned(int rank, ByteReader& result) {
    const LostPeerEnding seen = read_fields<LostPeerEnding>(result);
    if (auto failure = failure_of(seen, rank, *played_.results)) {
      runner_.fail(played_, std::move(*failure));
    }
    return seen.ending.kind == Ending::Kind::returned;
  }

  void compare(int rank, std::size_t call, std::size_t buffer, std::span<const std::byte> raw) {
    const Holding& held = calls_[call].ranks[static_cast<std::size_t>(rank)][buffer];
    if (held.after.empty() && held.count > 0) return;
    const auto seen = seen_values(p_, held, raw);
    const std::vector<double> exact(held.after.size(), 0.0);
    const auto at = first_difference(seen, held.after, held.reduced() ? held.tolerance : exact);
    if (!at) {
      if (held.bits == Bits::any) return;
      const auto first = of_rank_0_.try_emplace({call, held.name}, raw).first->second;
      if (std::ranges::equal(raw, first)) return;
      fail_of_bits(runner_, played_, rank, call, held);
    }
    const Cause guess = cause_of(p_, calls_, call, rank, buffer, seen, *at);
    Failure failure;
    failure.cause = guess.name;
    failure.seen = *at < seen.size() ? value_text(p_, held, seen[*at]) : "nothing";
    failure.expected = *at < held.after.size() ? value_text(p_, held, held.after[*at]) : "nothing";
    failure.where = text(place_of(rank, call, held), ", element ", *at);
    failure.message =
        text("element ", *at, " of ", held.name, " on rank ", rank, " is ", failure.seen, " where ",
             failure.expected, " was expected; likely cause: ", guess.sentence);
    runner_.fail(played_, failure);
  }

  CaseRunner& runner_;
  const Played& played_;
  const CollectiveProblem& p_;
  const std::vector<Scene>& calls_;
  std::map<std::pair<std::size_t, std::string>, std::span<const std::byte>> of_rank_0_;
  std::int64_t bytes_peak_ = 0;
};

// The groups of one rank: its node, and those that have its number in other nodes.
void choose_groups(CollectiveCall& asked, const Nodes& nodes, int rank) {
  const int node = rank / nodes.ranks_each, place = rank % nodes.ranks_each;
  const int number = nodes.turned && node % 2 == 1 ? nodes.ranks_each - 1 - place : place;
  asked.in_node = {.color = node, .key = number, .split = 1};
  asked.across = {.color = number, .key = node, .split = 1};
}

}  // namespace

std::vector<double> distinct(const CollectiveProblem& p, std::uint64_t salt, int call, int rank,
                             std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t e = 0; e < count; ++e) {
    const std::uint64_t bits = random_bits(
        salt, (static_cast<std::uint64_t>(e) * 32 + static_cast<std::uint64_t>(rank)) * 4 +
                  static_cast<std::uint64_t>(call));
    if (p.dtype == DType::int64) {
      values.push_back(static_cast<double>(1 + (bits >> 20)));
    } else if (p.dtype == DType::int32) {
      values.push_back(static_cast<double>(bits >> 41) * 2);
    } else if (is_integer(p.dtype)) {
      values.push_back(static_cast<double>(bits >> 57));
    } else {
      // 24 bits fit a float32 without rounding.
      values.push_back(static_cast<double>(1 + (bits >> 40)) * 0x1.0p-20);
    }
  }
  return values;
}

std::int64_t large_offset(DType dtype) {
  switch (dtype) {
    case DType::int64:
      return (std::int64_t{1} << 58) + 1;
    case DType::int32:
      return (std::int64_t{1} << 28) + 1;
    case DType::uint8:
      return 61;
    default:
      return 0;
  }
}

std::string beyond(const CollectiveProblem& p) {
  if (p.offset == 0 || p.dtype == DType::uint8) return {};
  return p.dtype == DType::int64 ? " beyond 2^53" : " beyond 2^24";
}

std::optional<Played> play_collective(CaseRunner& runner, const CollectiveProblem& p,
                                      const std::string& what, const Oracle& oracle,
                                      std::int64_t* bytes_peak) {
  const std::uint64_t salt = p.salt ? *p.salt : runner.draw();
  if (!runner.plays_next()) {
    runner.pass_over();
    return std::nullopt;
  }
  std::vector<Scene> calls;
  for (int call = 0; call < p.calls; ++call) calls.push_back(oracle(p, salt, call));
  CaseSetup setup;
  setup.description = text(p.members.description(), ", ", what,
                           p.death ? text(", rank ", p.death->rank, " dies") : "");
  setup.schedule_seed = p.schedule_seed;
  setup.players = p.players;
  setup.limits.bytes_max = 1 << 16;
  setup.network = p.nodes ? p.nodes->network : p.network;
  if (p.death) {
    setup.faults.kills.push_back({.rank = p.death->rank, .at_call = p.death->at_request});
  }
  for (int rank = 0; rank < p.members.world; ++rank) {
    CollectiveCase one;
    one.group = p.members.choice_of(rank);
    one.dtype = p.dtype;
    one.op = p.op;
    one.elements = p.elements;
    one.peer = p.death ? Peer::lost : Peer::stays;
    for (std::size_t call = 0; p.members.contain(rank) && call < calls.size(); ++call) {
      const auto place = static_cast<std::size_t>(p.members.group_rank(rank));
      CollectiveCall& asked = one.calls.emplace_back();
      asked.root = p.root;
      for (const Holding& held : calls[call].ranks[place]) {
        asked.buffers.push_back({held.count, bytes_before(p, held)});
        // The hard cap: a multiple of what the naive algorithm sends.
        setup.limits.bytes_max +=
            8 * p.size() * held.count * static_cast<std::int64_t>(bytes_of(p.dtype));
      }
      if (p.nodes) choose_groups(asked, *p.nodes, rank);
      if (p.sends.empty()) continue;
      asked.to_each = p.sends[place];
      for (const auto& row : p.sends) asked.from_each.push_back(row[place]);
    }
    setup.inputs.push_back(fields_to_bytes(one));
  }
  auto played = p.death ? play_with_a_death(runner, setup) : runner.play(setup);
  if (!played) return played;
  Comparison comparison(runner, *played, p, calls);
  for (int rank = 0; rank < p.size(); ++rank) comparison.rank(rank);
  if (bytes_peak != nullptr) *bytes_peak = comparison.bytes_peak();
  return played;
}

int tree_depth(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

}  // namespace lockstep::grader
