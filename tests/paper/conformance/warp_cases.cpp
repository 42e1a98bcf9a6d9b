// What the lanes of a warp do together. In the second warp only the lower half takes part.
#include <algorithm>

#include "engine/paper/lanes/instruction.hpp"
#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

using Threads = std::vector<Words>;

std::uint32_t mask_of(std::size_t thread) { return thread < warp_lanes ? ~0U : 0xFFFFU; }

// Calls f(lane, the warp's first thread, its mask) for each thread that takes part.
template <typename F>
Threads by_lane(const Threads& threads, const F& f) {
  Threads results(threads.size());
  for (std::size_t n = 0; n < threads.size(); ++n) {
    const std::size_t lane = n % warp_lanes;
    if ((mask_of(n) >> lane & 1U) != 0) results[n] = f(lane, n - lane, mask_of(n));
  }
  return results;
}

Case together(const Opcode& o, std::vector<std::string> results,
              std::vector<std::string> operands) {
  Case made;
  made.opcode = o.text;
  made.results = std::move(results);
  made.operands = std::move(operands);
  made.guard = Case::Guard::half;
  return made;
}

// By the manual's pseudocode. Segments of 16 at most, so that no lane reads from an absent one.
Case shuffle_case(const Opcode& o, std::size_t results) {
  const std::string kind = o.parts[2];
  Case made = together(o, {"b32", "pred"}, {"b32", "b32", "b32", "b32"});
  made.results.resize(results);
  made.shape = [kind](Words& w, std::uint32_t n) {
    const std::uint32_t width = 2U << n / 64 % 4;  // 2, 4, 8, 16: each block its own
    w[1] = kind == "idx" ? w[1] : n / 3 % 16;
    if (kind == "bfly") w[1] = n / 64 % 4 + 1;
    w[2] = (32 - width) << 8 | (kind == "up" ? 0 : 31);
    w[3] = mask_of(n % block_threads);
  };
  made.block = [kind](const Threads& threads, const std::vector<char>&) {
    return by_lane(threads, [&](std::size_t lane, std::size_t first, std::uint32_t) {
      const Words& w = threads[first + lane];
      const auto self = static_cast<int>(lane);
      const int b = static_cast<int>(w[1] & 31), segment = static_cast<int>(w[2] >> 8 & 31);
      const int clamp = static_cast<int>(w[2] & 31);
      const int last = (self & segment) | (clamp & ~segment);
      int from = kind == "up"     ? self - b
                 : kind == "down" ? self + b
                 : kind == "bfly" ? self ^ b
                                  : (self & segment) | (b & ~segment);
      const bool inside = kind == "up" ? from >= last : from <= last;
      if (!inside) from = self;
      return Words{threads[first + static_cast<std::size_t>(from)][0], std::uint64_t{inside}};
    });
  };
  return made;
}

Case vote_case(const Opcode& o) {
  const std::string kind = o.parts[2];
  Case made = together(o, {kind == "ballot" ? "b32" : "pred"}, {"pred", "b32"});
  made.shape = [](Words& w, std::uint32_t n) {
    const std::uint32_t block = n / block_threads;  // all, none, some
    w[0] = block == 0 ? 1 : block == 1 ? 0 : w[0];
    w[1] = mask_of(n % block_threads);
  };
  made.block = [kind](const Threads& threads, const std::vector<char>&) {
    return by_lane(threads, [&](std::size_t, std::size_t first, std::uint32_t mask) {
      std::uint32_t bits = 0;
      for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
        bits |= static_cast<std::uint32_t>(threads[first + lane][0] & 1) << lane;
      bits &= mask;
      const bool set = kind == "all"   ? bits == mask
                       : kind == "any" ? bits != 0
                                       : bits == mask || bits == 0;
      return Words{kind == "ballot" ? bits : std::uint64_t{set}};
    });
  };
  return made;
}

Case match_case(const Opcode& o, std::size_t results) {
  const bool all = o.has("all");
  Case made = together(o, {"b32", "pred"}, {o.type(), "b32"});
  made.results.resize(results);
  made.shape = [](Words& w, std::uint32_t n) {
    w[0] = n / block_threads == 0 ? 7 : w[0] % 3;  // the same in all lanes, or one of three
    w[1] = mask_of(n % block_threads);
  };
  made.block = [all](const Threads& threads, const std::vector<char>&) {
    return by_lane(threads, [&](std::size_t lane, std::size_t first, std::uint32_t mask) {
      std::uint32_t equal = 0;
      for (std::uint32_t other = 0; other < warp_lanes; ++other) {
        if (threads[first + other][0] == threads[first + lane][0]) equal |= 1U << other;
      }
      equal &= mask;
      if (!all) return Words{equal};
      return Words{equal == mask ? mask : 0U, std::uint64_t{equal == mask}};
    });
  };
  return made;
}

Case reduction_case(const Opcode& o) {
  const std::string what = o.parts[2], type = o.type();
  Case made = together(o, {type}, {type, "b32"});
  made.shape = [](Words& w, std::uint32_t n) { w[1] = mask_of(n % block_threads); };
  made.block = [=](const Threads& threads, const std::vector<char>&) {
    return by_lane(threads, [&](std::size_t, std::size_t first, std::uint32_t mask) {
      std::uint64_t value = threads[first][0];
      for (std::size_t lane = 1; lane < warp_lanes; ++lane) {
        if ((mask >> lane & 1U) == 0) continue;
        const std::uint64_t next = threads[first + lane][0];
        const bool less = number_of(type, next) < number_of(type, value);
        if (what == "add") value += next;
        if (what == "and") value &= next;
        if (what == "or") value |= next;
        if (what == "xor") value ^= next;
        if (what == "min" && less) value = next;
        if (what == "max" && !less) value = next;
      }
      return Words{value};
    });
  };
  return made;
}

}  // namespace

std::vector<Case> warp_cases(const Opcode& o) {
  const std::string& name = o.name();
  if (name == "shfl") return {shuffle_case(o, 1), shuffle_case(o, 2)};
  if (name == "vote") return {vote_case(o)};
  if (name == "match") {
    if (!o.has("all")) return {match_case(o, 1)};
    return {match_case(o, 1), match_case(o, 2)};
  }
  if (name == "redux") return {reduction_case(o)};
  if (name == "activemask") {
    Case made = together(o, {"b32"}, {});
    made.lines = {o.text + " $0"};
    made.block = [](const Threads& threads, const std::vector<char>&) {
      return by_lane(threads,
                     [](std::size_t, std::size_t, std::uint32_t mask) { return Words{mask}; });
    };
    return {made};
  }
  if (o.text == "bar.warp.sync") {  // lanes pass a word on through shared memory
    Case made = together(o, {"b32"}, {"b32", "b32"});
    made.lines = {"st.shared.u32 [%board], #0", o.text + " #1",
                  "xor.b32 %w0, %w9, 1",        "and.b32 %w0, %w0, 63",
                  "mov.u64 %x0, board_~",       "mad.wide.u32 %x0, %w0, 32, %x0",
                  "ld.shared.u32 $0, [%x0]"};
    made.shape = [](Words& w, std::uint32_t n) { w[1] = mask_of(n % block_threads); };
    made.block = [](const Threads& threads, const std::vector<char>&) {
      return by_lane(threads, [&](std::size_t lane, std::size_t first, std::uint32_t) {
        return Words{threads[first + (lane ^ 1)][0]};
      });
    };
    return {made};
  }
  return {};
}

}  // namespace lockstep::paper::test
