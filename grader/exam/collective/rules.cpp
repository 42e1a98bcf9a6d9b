#include "grader/exam/collective/rules.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "engine/base/units.hpp"
#include "grader/exam/collective/causes.hpp"
#include "grader/exam/collective/places.hpp"
#include "grader/exam/collective/two_levels.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/ranks/lost_peer_rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

std::string place_of(int rank, std::size_t call, const Holding& held) {
  return text("rank ", rank, call ? ", second call" : "", ", ", held.name);
}

[[noreturn]] void fail_of_bits(CaseRunner& runner, const Played& played, int rank, std::size_t call,
                               const Holding& held) {
  const std::string differ =
      text("ranks 0 and ", rank, " hold results that differ in their last bits");
  runner.fail(played,
              because({"bits_differ",
                       "each rank adds in an order of its own. All ranks must add in the same "
                       "order, or one rank must finish an element and the others copy it"},
                      {.message = differ,
                       .expected = "the same bits on every rank",
                       .seen = "different bits",
                       .where = place_of(rank, call, held)}));
}

// The offset that was added to each value of a buffer; in a sum, by every rank.
std::int64_t offset_of(const CollectiveProblem& p, const Holding& held) {
  return held.reduced() && p.op == ReduceOp::sum ? p.size() * p.offset : p.offset;
}

Bytes bytes_before(const CollectiveProblem& p, const Holding& held) {
  return to_saturated_bytes(p.dtype, held.before, p.offset);
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
  if (!is_integer(p.dtype)) return number(value, p.dtype);
  if (value >= 0x1p63) return text(std::numeric_limits<std::int64_t>::max());
  const auto above = static_cast<std::uint64_t>(offset_of(p, held));
  return text(static_cast<std::int64_t>(
      static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) + above));
}

// True where a sum or a product of -0 lost its sign: it has one in whatever order ranks add.
bool lost_its_sign(const CollectiveProblem& p, double seen, double right) {
  const bool decides = p.op == ReduceOp::sum || p.op == ReduceOp::product;
  return decides && seen == 0 && right == 0 && std::signbit(right) && !std::signbit(seen);
}

// The first element that is not what it must be: to the bit where nothing is added.
std::optional<std::size_t> first_wrong(const CollectiveProblem& p, const Holding& held,
                                       std::span<const double> seen,
                                       std::span<const std::byte> raw) {
  if (!held.reduced() || is_integer(p.dtype)) {
    const Bytes wanted = to_saturated_bytes(p.dtype, held.after, offset_of(p, held));
    const auto at = std::ranges::mismatch(raw, wanted).in1 - raw.begin();
    if (std::cmp_equal(at, raw.size()) && raw.size() == wanted.size()) return std::nullopt;
    return static_cast<std::size_t>(at) / bytes_of(p.dtype);
  }
  for (std::size_t e = 0; e < std::min(seen.size(), held.after.size()); ++e) {
    const double right = held.after[e];
    const bool same = seen[e] == right || (std::isnan(seen[e]) && std::isnan(right));
    if (!same && !(std::fabs(seen[e] - right) <= held.tolerance[e])) return e;
    if (lost_its_sign(p, seen[e], right)) return e;
  }
  if (seen.size() == held.after.size()) return std::nullopt;
  return std::min(seen.size(), held.after.size());
}

// Finds what is wrong with a value that is no usual one.
std::optional<Cause> cause_of_special(const CollectiveProblem& p, const Holding& held, double seen,
                                      double right) {
  if (!std::isfinite(right) && !is_integer(p.dtype) && !(std::isnan(seen) && std::isnan(right))) {
    return Cause{"not_kept",
                 "NaN and infinity are values like others: a run that has diverged must not look "
                 "healthy, so leave nothing out and replace nothing"};
  }
  if (held.reduced() && lost_its_sign(p, seen, right)) {
    return Cause{"sign_of_zero",
                 "every rank brings -0 here, and so does their sum have its sign, but 0 + -0 is 0: "
                 "begin with a rank's own elements, not with zeros"};
  }
  if (seen == 0 && right == 0 && !is_integer(p.dtype)) {
    return Cause{"sign_of_zero",
                 text("0 and -0 are equal numbers with different bits, and ",
                      std::signbit(right) ? "-0 + 0 is 0" : "here the sign was changed",
                      "; copy what arrives, do not add it to anything")};
  }
  if (seen == 0 && is_subnormal(p.dtype, right)) {
    return Cause{"flushed", text("numbers below the smallest normal ", name_of(p.dtype),
                                 " became zero; they count like all others")};
  }
  if (p.values == Values::zeros && !held.reduced() && right == 0) {
    return Cause{"zero_taken_for_nothing",
                 "the right value is 0, as all of a rank's can be; a zero is no sign that nothing "
                 "has arrived"};
  }
  return std::nullopt;
}

Cause cause_of(const CollectiveProblem& p, const std::vector<Scene>& calls, std::size_t call,
               int rank, std::size_t buffer, std::span<const double> seen, std::size_t at) {
  const auto place = static_cast<std::size_t>(rank);
  const Holding& held = calls[call].ranks[place][buffer];
  // A double rounds the last bits of numbers of 58 bits and more away, a float those of 28 and
  // more.
  const double rounding = p.dtype == DType::int64 ? 1 << 12 : p.dtype == DType::int32 ? 1 << 10 : 0;
  if (p.offset != 0 && at < seen.size() && at < held.after.size() &&
      std::fabs(seen[at] - held.after[at]) <= rounding) {
    return {"rounded",
            text(name_of(p.dtype), " went through a floating-point type, in which integers beyond ",
                 p.dtype == DType::int64 ? "9,007,199,254,740,992" : "16,777,216",
                 " lose their last digits")};
  }
  if (at < seen.size() && at < held.after.size()) {
    if (auto cause = cause_of_special(p, held, seen[at], held.after[at])) return *std::move(cause);
  }
  if (auto cause = counted_from_root(p, held, seen)) return *std::move(cause);
  Cause cause = likely_cause(calls, p.dtype, call, place, buffer, seen, at);
  if (cause.name == "unwritten") {
    cause = own_block_elsewhere(p, held, rank, seen, at).value_or(std::move(cause));
  }
  if (cause.name == "wrong_place") {
    cause = block_of_another(p, calls[call], rank, buffer, seen).value_or(std::move(cause));
  }
  if (cause.name == "scribbled" && p.death && p.death->at_request > 0) {
    cause.sentence +=
        "; a peer is lost here, and a call that puts it back at its end does not come that far: "
        "never write to it";
  }
  return cause;
}

// Compares what ranks hold, buffer by buffer.
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
        const bool looked_at = whole || buffers[buffer].constant();
        if (looked_at && p_.elements == Elements::given) compare(rank, call, buffer, raw);
      }
    }
  }
  std::int64_t bytes_peak() const { return bytes_peak_; }

 private:
  // True if the rank holds a result, in a case in which another one dies.
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
    const auto at = first_wrong(p_, held, seen, raw);
    if (!at) return compare_bits(rank, call, held, seen);
    Failure failure;
    failure.seen = *at < seen.size() ? value_text(p_, held, seen[*at]) : "nothing";
    failure.expected = *at < held.after.size() ? value_text(p_, held, held.after[*at]) : "nothing";
    failure.where = text(place_of(rank, call, held), ", element ", *at);
    failure.message = text("element ", *at, " of ", held.name, " on rank ", rank, " is ",
                           failure.seen, " where ", failure.expected, " was expected");
    runner_.fail(played_, because(cause_of(p_, calls_, call, rank, buffer, seen, *at), failure));
  }

  // NaN has many bits, and which of them a sum has is the processor's.
  void compare_bits(int rank, std::size_t call, const Holding& held,
                    const std::vector<double>& seen) {
    if (held.bits == Bits::any) return;
    const auto& first = of_rank_0_.try_emplace({call, held.name}, seen).first->second;
    const auto same = [](double a, double b) {
      return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
    };
    if (!std::ranges::equal(seen, first, same)) fail_of_bits(runner_, played_, rank, call, held);
  }

  CaseRunner& runner_;
  const Played& played_;
  const CollectiveProblem& p_;
  const std::vector<Scene>& calls_;
  std::map<std::pair<std::size_t, std::string>, std::vector<double>> of_rank_0_;
  std::int64_t bytes_peak_ = 0;
};

// The groups of one rank: its node, and those that have its number in other nodes.
void choose_groups(CollectiveCall& asked, const Nodes& nodes, int rank) {
  const int node = rank / nodes.ranks_each, number = number_in_node(nodes, rank);
  asked.in_node = {.color = node, .key = number, .split = 1};
  asked.across = {.color = number, .key = node, .split = 1};
}

}  // namespace

namespace {

std::vector<Scene> scenes_of(const CollectiveProblem& p, std::uint64_t salt, const Oracle& oracle) {
  std::vector<Scene> calls;
  for (int call = 0; call < p.calls; ++call) calls.push_back(oracle(p, salt, call));
  return calls;
}

CaseSetup setup_of(const CollectiveProblem& p, const std::string& what,
                   const std::vector<Scene>& calls) {
  CaseSetup setup;
  setup.description =
      text(p.members.description(), ", ", what,
           p.death && p.death->at_request > 0 ? text(", rank ", p.death->rank, " dies") : "");
  setup.schedule_seed = p.schedule_seed;
  setup.players = p.players;
  setup.limits.bytes_max = 1 << 16;
  setup.network = p.nodes ? p.nodes->network : p.network;
  setup.situations = situations_of(p, calls);
  if (p.death && p.death->at_request > 0) {
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
  return setup;
}

// A view of a tensor that is too long or too short throws in the part; but what it is is a wrong
// place, and not a breakdown.
std::optional<Played> play_setup(CaseRunner& runner, const CollectiveProblem& p,
                                 const CaseSetup& setup, const std::vector<Scene>& calls) {
  try {
    const bool dies = p.death && p.death->at_request > 0;
    return dies ? play_with_a_death(runner, setup) : runner.play(setup);
  } catch (Failure& found) {
    tell_wrong_size(found);
    tell_sent_to_root(found, p, calls);
    tell_wrong_partner(found);
    tell_empty_buffer(found, p, calls);
    throw;
  }
}

}  // namespace

std::int64_t requests_of(CaseRunner& runner, const CollectiveProblem& p, const Oracle& oracle) {
  CollectiveProblem undisturbed = p;
  undisturbed.death->at_request = 0;
  const auto setup = setup_of(undisturbed, "", scenes_of(p, p.salt.value_or(0), oracle));
  return runner.rehearse(setup).ranks[static_cast<std::size_t>(p.death->rank)].requests;
}

std::optional<Played> play_collective(CaseRunner& runner, const CollectiveProblem& p,
                                      const std::string& what, const Oracle& oracle,
                                      std::int64_t* bytes_peak) {
  const std::uint64_t salt = p.salt ? *p.salt : runner.draw();
  if (!runner.plays_next()) {
    runner.pass_over();
    return std::nullopt;
  }
  const std::vector<Scene> calls = scenes_of(p, salt, oracle);
  auto played = play_setup(runner, p, setup_of(p, what, calls), calls);
  if (!played) return played;
  Comparison comparison(runner, *played, p, calls);
  for (int rank = 0; rank < p.size(); ++rank) comparison.rank(rank);
  if (bytes_peak != nullptr) *bytes_peak = comparison.bytes_peak();
  return played;
}

int tree_depth(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

}  // namespace lockstep::grader
