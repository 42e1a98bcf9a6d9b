// Operations of a warp's lanes together. Each waits for the lanes that its mask names; lanes that
// have ended are not waited for. Lanes with different masks at one instruction form groups of their
// own.
#include <algorithm>

#include "engine/paper/lanes/apply.hpp"

namespace lockstep::paper {
namespace {

using U32 = std::uint32_t;

std::string lanes_text(U32 lanes) {
  std::string text;
  each_lane(lanes, [&](U32 lane) { text += (text.empty() ? "" : ",") + std::to_string(lane); });
  return text;
}

// True where all lanes that are named are here; else the warp is to wait.
bool gathered(Warp& warp, const Instruction& instruction, std::size_t mask_slot) {
  const auto* masks = at<U32>(warp, instruction.at[mask_slot]);
  U32 named = 0, outside = 0;
  each_lane(warp.lanes, [&](U32 lane) {
    named |= masks[lane];
    if ((masks[lane] >> lane & 1U) == 0) outside |= 1U << lane;
  });
  const U32 missing = named & warp.alive & ~warp.lanes;
  if (missing != 0 && !warp.forced) {
    warp.event = Event::wait;
    return false;
  }
  const auto tell = [&](U32 lanes, const std::string& sentence) {
    const auto first = static_cast<U32>(__builtin_ctz(lanes));
    warp.block->tell(Kind::wrong_mask, warp.thread(first), sentence);
  };
  if (outside != 0) {
    tell(outside, "lanes " + lanes_text(outside) +
                      " take part in a warp operation whose mask does not name them; the result is "
                      "undefined: every lane that comes here must be in the mask");
  }
  if (missing != 0) {
    tell(warp.lanes, "the mask of a warp operation names lanes " + lanes_text(missing) +
                         ", which wait elsewhere and never come here; a GPU hangs or computes "
                         "nonsense: the mask must be the lanes that reach this line");
  }
  return true;
}

enum class Shuffle { up, down, bfly, idx };

template <Shuffle kind>
void shuffle(Warp& warp, const Instruction& instruction) {  // at: d, p or no place, a, b, c, mask
  if (!gathered(warp, instruction, 5)) return;
  const auto& place = instruction.at;
  const auto* a = at<U32>(warp, place[2]);
  const auto* masks = at<U32>(warp, place[5]);
  U32 result[warp_lanes] = {}, valid = 0, absent = 0;
  each_lane(warp.lanes, [&](U32 lane) {
    const auto b = static_cast<std::int32_t>(at<U32>(warp, place[3])[lane] & 31U);
    const U32 c = at<U32>(warp, place[4])[lane];
    const U32 segment = c >> 8 & 31U, clamp = c & 31U;
    const auto self = static_cast<std::int32_t>(lane);
    const auto last = static_cast<std::int32_t>((lane & segment) | (clamp & ~segment));
    std::int32_t from = self;
    bool in_range = false;
    switch (kind) {
      case Shuffle::up:
        from = self - b, in_range = from >= last;
        break;
      case Shuffle::down:
        from = self + b, in_range = from <= last;
        break;
      case Shuffle::bfly:
        from = self ^ b, in_range = from <= last;
        break;
      case Shuffle::idx:
        from = static_cast<std::int32_t>((lane & segment) | (static_cast<U32>(b) & ~segment));
        in_range = from <= last;
        break;
    }
    if (!in_range) from = self;
    valid |= U32{in_range} << lane;
    const U32 source = 1U << (static_cast<U32>(from) & 31U);
    if ((source & warp.lanes & masks[lane]) == 0) absent |= 1U << lane;
    result[lane] = a[from & 31];
  });
  if (absent != 0) {
    warp.block->tell(
        Kind::wrong_mask, warp.thread(static_cast<U32>(__builtin_ctz(absent))),
        "lanes " + lanes_text(absent) +
            " read by a shuffle from lanes that do not take part (ended, absent or not "
            "in the mask); the value is undefined");
  }
  auto* d = at<U32>(warp, place[0]);
  each_lane(warp.lanes, [&](U32 lane) { d[lane] = result[lane]; });
  if (place[1] != Instruction::unguarded) set_predicate(warp, place[1], valid);
}

enum class Vote { all, any, uni, ballot };

template <Vote kind>
void vote(Warp& warp, const Instruction& instruction) {  // at: d, a, mask
  if (!gathered(warp, instruction, 2)) return;
  const U32 bits = predicate(warp, instruction.at[1]);
  const auto* masks = at<U32>(warp, instruction.at[2]);
  U32 flags = 0;
  U32 ballots[warp_lanes] = {};
  each_lane(warp.lanes, [&](U32 lane) {
    const U32 group = masks[lane] & warp.lanes;
    ballots[lane] = bits & group;
    const bool set = kind == Vote::all   ? ballots[lane] == group
                     : kind == Vote::any ? ballots[lane] != 0
                                         : ballots[lane] == group || ballots[lane] == 0;
    flags |= U32{set} << lane;
  });
  if constexpr (kind == Vote::ballot) {
    auto* d = at<U32>(warp, instruction.at[0]);
    each_lane(warp.lanes, [&](U32 lane) { d[lane] = ballots[lane]; });
  } else {
    set_predicate(warp, instruction.at[0], flags);
  }
}

template <typename T>
void match_any(Warp& warp, const Instruction& instruction) {  // at: d, a, mask
  if (!gathered(warp, instruction, 2)) return;
  const auto* a = at<T>(warp, instruction.at[1]);
  const auto* masks = at<U32>(warp, instruction.at[2]);
  U32 result[warp_lanes] = {};
  each_lane(warp.lanes, [&](U32 lane) {
    each_lane(masks[lane] & warp.lanes, [&](U32 other) {
      if (a[other] == a[lane]) result[lane] |= 1U << other;
    });
  });
  auto* d = at<U32>(warp, instruction.at[0]);
  each_lane(warp.lanes, [&](U32 lane) { d[lane] = result[lane]; });
}

template <typename T>
void match_all(Warp& warp, const Instruction& instruction) {  // at: d, p or no place, a, mask
  if (!gathered(warp, instruction, 3)) return;
  const auto* a = at<T>(warp, instruction.at[2]);
  const auto* masks = at<U32>(warp, instruction.at[3]);
  U32 flags = 0;
  U32 result[warp_lanes] = {};
  each_lane(warp.lanes, [&](U32 lane) {
    bool same = true;
    each_lane(masks[lane] & warp.lanes, [&](U32 other) { same = same && a[other] == a[lane]; });
    result[lane] = same ? masks[lane] : 0;
    flags |= U32{same} << lane;
  });
  auto* d = at<U32>(warp, instruction.at[0]);
  each_lane(warp.lanes, [&](U32 lane) { d[lane] = result[lane]; });
  if (instruction.at[1] != Instruction::unguarded) set_predicate(warp, instruction.at[1], flags);
}

template <typename T, typename F>
void reduce_warp(Warp& warp, const Instruction& instruction) {  // at: d, a, mask
  if (!gathered(warp, instruction, 2)) return;
  const auto* a = at<T>(warp, instruction.at[1]);
  const auto* masks = at<U32>(warp, instruction.at[2]);
  T result[warp_lanes] = {};
  each_lane(warp.lanes, [&](U32 lane) {
    T sum = a[lane];
    each_lane(masks[lane] & warp.lanes & ~(1U << lane),
              [&](U32 other) { sum = F{}(sum, a[other]); });
    result[lane] = sum;
  });
  auto* d = at<T>(warp, instruction.at[0]);
  each_lane(warp.lanes, [&](U32 lane) { d[lane] = result[lane]; });
}

template <typename T, typename F>
void add_reduction(Table& table, const std::string& what, F) {
  const Slot to{Role::destination, type_of<T>()}, from{Role::source, type_of<T>()};
  table.emplace("redux.sync." + what,
                entry_of(&reduce_warp<T, F>, {to, from, {Role::source, Type::u32}}));
}

void meet(Warp& warp, const Instruction& instruction) { gathered(warp, instruction, 0); }

void active_mask(Warp& warp, const Instruction& instruction) {
  auto* d = at<U32>(warp, instruction.at[0]);
  each_lane(warp.lanes, [&](U32 lane) { d[lane] = warp.lanes; });
}

}  // namespace

void add_warp_operations(Table& table) {
  const Slot d{Role::destination, Type::u32}, second{Role::second, Type::pred};
  const Slot a{Role::source, Type::u32}, wide{Role::source, Type::u64};
  const auto put = [&](const char* name, Handler run, std::vector<Slot> slots) {
    table.emplace(name, entry_of(run, std::move(slots)));
  };
  put("shfl.sync.up.b32", &shuffle<Shuffle::up>, {d, second, a, a, a, a});
  put("shfl.sync.down.b32", &shuffle<Shuffle::down>, {d, second, a, a, a, a});
  put("shfl.sync.bfly.b32", &shuffle<Shuffle::bfly>, {d, second, a, a, a, a});
  put("shfl.sync.idx.b32", &shuffle<Shuffle::idx>, {d, second, a, a, a, a});
  const Slot p{Role::destination, Type::pred}, q{Role::source, Type::pred};
  put("vote.sync.all.pred", &vote<Vote::all>, {p, q, a});
  put("vote.sync.any.pred", &vote<Vote::any>, {p, q, a});
  put("vote.sync.uni.pred", &vote<Vote::uni>, {p, q, a});
  put("vote.sync.ballot.b32", &vote<Vote::ballot>, {d, q, a});
  put("match.any.sync.b32", &match_any<U32>, {d, a, a});
  put("match.any.sync.b64", &match_any<std::uint64_t>, {d, wide, a});
  put("match.all.sync.b32", &match_all<U32>, {d, second, a, a});
  put("match.all.sync.b64", &match_all<std::uint64_t>, {d, second, wide, a});
  using S = std::int32_t;
  add_reduction<U32>(table, "add.u32", [](U32 x, U32 y) { return x + y; });
  add_reduction<U32>(table, "add.s32", [](U32 x, U32 y) { return x + y; });
  add_reduction<U32>(table, "min.u32", [](U32 x, U32 y) { return std::min(x, y); });
  add_reduction<U32>(table, "max.u32", [](U32 x, U32 y) { return std::max(x, y); });
  add_reduction<S>(table, "min.s32", [](S x, S y) { return std::min(x, y); });
  add_reduction<S>(table, "max.s32", [](S x, S y) { return std::max(x, y); });
  add_reduction<U32>(table, "and.b32", [](U32 x, U32 y) { return x & y; });
  add_reduction<U32>(table, "or.b32", [](U32 x, U32 y) { return x | y; });
  add_reduction<U32>(table, "xor.b32", [](U32 x, U32 y) { return x ^ y; });
  put("bar.warp.sync", &meet, {a});
  put("activemask.b32", &active_mask, {d});
}

}  // namespace lockstep::paper
