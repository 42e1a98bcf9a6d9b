// Branches, ends, barriers and fences; and the table itself.
#include <array>

#include "engine/paper/lanes/apply.hpp"

namespace lockstep::paper {
namespace {

void branch(Warp& warp, const Instruction&) {
  warp.event = Event::branch;
  warp.taken = warp.lanes;
}
void leave(Warp& warp, const Instruction&) { warp.event = Event::exit; }
void nothing(Warp&, const Instruction&) {}

void trap(Warp& warp, const Instruction&) {
  warp.block->tell(Kind::trap, warp.thread(static_cast<std::uint32_t>(__builtin_ctz(warp.lanes))),
                   "the kernel stopped itself: __trap(), or an assertion that does not hold");
  warp.event = Event::fault;
  warp.block->fault = Fault::trap;
}

void barrier(Warp& warp, const Instruction&) { warp.event = Event::barrier; }

void voting_barrier(Warp& warp, const Instruction& instruction) {  // at: d, the barrier, p
  Block& block = *warp.block;
  const std::uint32_t bits = predicate(warp, instruction.at[2]) & warp.lanes;
  block.votes_true += static_cast<std::uint32_t>(__builtin_popcount(bits));
  block.votes += static_cast<std::uint32_t>(__builtin_popcount(warp.lanes));
  warp.event = Event::barrier;
}
void count_votes(Warp& warp, const Instruction& instruction) {
  auto* d = at<std::uint32_t>(warp, instruction.at[0]);
  each_lane(warp.lanes, [&](std::uint32_t lane) { d[lane] = warp.block->result_true; });
}
void all_votes(Warp& warp, const Instruction& instruction) {
  const bool all = warp.block->result_true == warp.block->result_votes;
  set_predicate(warp, instruction.at[0], all ? ~0U : 0U);
}
void any_vote(Warp& warp, const Instruction& instruction) {
  set_predicate(warp, instruction.at[0], warp.block->result_true != 0 ? ~0U : 0U);
}

constexpr std::array<std::string_view, 16> type_names{
    "none", "pred", "u8",  "u16",  "u32",   "u64",    "s8",  "s16",
    "s32",  "s64",  "f16", "bf16", "f16x2", "bf16x2", "f32", "f64"};
constexpr std::array<std::size_t, 16> type_widths{0, 0, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 4, 4, 8};

}  // namespace

std::string_view name(Type type) { return type_names[static_cast<std::size_t>(type)]; }
std::size_t width(Type type) { return type_widths[static_cast<std::size_t>(type)]; }

void add_control(Table& table) {
  const auto put = [&](const std::string& opcode, Form form, Handler run,
                       std::vector<Slot> slots = {}, Handler after = nullptr) {
    Entry entry = entry_of(run, std::move(slots));
    entry.form = form;
    entry.after = after;
    table.emplace(opcode, std::move(entry));
  };
  for (const char* uniform : {"", ".uni"}) {
    put(std::string("bra") + uniform, Form::branch, &branch);
    put(std::string("call") + uniform, Form::call, &nothing);
    put(std::string("ret") + uniform, Form::ret, &leave);
  }
  put("exit", Form::exit, &leave);
  put("trap", Form::plain, &trap);
  const Slot number{Role::source, Type::u32}, vote{Role::source, Type::pred};
  for (const char* sync : {"bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.cta.sync",
                           "barrier.cta.sync", "barrier.cta.sync.aligned"}) {
    put(sync, Form::barrier, &barrier, {number});
  }
  for (const char* red : {"bar.red", "bar.cta.red", "barrier.cta.red.aligned"}) {
    put(std::string(red) + ".popc.u32", Form::barrier, &voting_barrier,
        {{Role::destination, Type::u32}, number, vote}, &count_votes);
    put(std::string(red) + ".and.pred", Form::barrier, &voting_barrier,
        {{Role::destination, Type::pred}, number, vote}, &all_votes);
    put(std::string(red) + ".or.pred", Form::barrier, &voting_barrier,
        {{Role::destination, Type::pred}, number, vote}, &any_vote);
  }
  for (const char* scope : {"cta", "gl", "sys"}) {
    put(std::string("membar.") + scope, Form::plain, &nothing);
  }
  for (const char* scope : {".cta", ".gpu", ".sys"}) {
    for (const char* order : {"", ".acq_rel", ".sc"}) {
      put(std::string("fence") + order + scope, Form::plain, &nothing);
    }
  }
  put("nanosleep.u32", Form::plain, &nothing, {{Role::source, Type::u32}});
}

const Table& table() {
  static const Table all = [] {
    Table made;
    for (const auto add :
         {add_integers, add_carries, add_bits, add_floats, add_approximations, add_halves,
          add_comparisons, add_selections, add_integer_conversions, add_float_conversions,
          add_moves, add_accesses, add_atomics, add_warp_operations, add_control}) {
      add(made);
    }
    return made;
  }();
  return all;
}

}  // namespace lockstep::paper
