#include "grader/judge/causes.hpp"

#include <algorithm>
#include <array>

namespace lockstep::grader {
namespace {

// By who finds them: the values themselves, the wire, the core, the compiler, the lab.
constexpr auto causes = std::to_array<CauseMeaning>({
    {"averaged", "N times too small: divided by the number of ranks where a sum is asked for"},
    {"summed_not_averaged", "N times too large: summed where a mean is asked for"},
    {"divided_twice", "N times too small: divided by the number of ranks twice"},
    {"divided_only", "this rank's own values divided by N: nothing was added"},
    {"not_averaged", "this rank's own values where a mean is asked for"},
    {"wrong_divisor", "divided by another number than that of the ranks in the group"},
    {"zero", "everything is 0: often 1 / N in whole numbers"},
    {"no_number", "a NaN or an infinity"},
    {"unchanged", "what the rank held before the call: nothing was added to it"},
    {"unwritten", "nothing was ever received or copied into that place"},
    {"adds_empty_room", "room that nothing was written to was added to a sum"},
    {"scribbled", "something was written to a buffer that the contract leaves unchanged"},
    {"stale", "the values of an earlier call: something is kept from one call to the next"},
    {"rank_missing", "one rank's value is missing in a sum"},
    {"rank_twice", "one rank's value came twice"},
    {"provenance", "several ranks' values are missing, or came more often than once"},
    {"off_by_one_chunk", "every block stands one place too early or too late"},
    {"permuted", "every block is right, and they stand in another order"},
    {"transposed", "columns are where rows belong"},
    {"tail_lost", "only the elements that N equal blocks leave over are wrong"},
    {"rounded", "nearly right everywhere: a narrower type on the way"},
    {"wrong_place", "a value that belongs to another place, rank or call"},
    {"operator", "another operator was used than the one that was given"},
    {"value", "a value that no rank brought"},
    {"length", "a buffer or a list has another length"},
    {"overflow", "a number that an int was too small for"},
    {"posted_room", "what was read had been posted for a receive before"},
    {"not_refused", "a value was taken that the contract has the part refuse"},
    {"wrong_error", "an error of another type than the contract names"},
    {"peer_lost", "a peer died, and a rank returned as if all were well"},
    {"other_values", "other values, for no reason that the numbers tell"},
    {"bits_differ", "ranks hold results that differ in their last bits"},
    {"order_of_arrival", "values are added in the order in which they happen to arrive"},
    {"gradient_lost", "a parameter lost its gradient"},
    {"gradient_invented", "a parameter has a gradient that no rank had"},
    {"value_changed", "a parameter's value changed where only gradients may"},
    {"too_many_bytes", "right, and more bytes on the wire than it takes"},
    {"too_many_elements_sent", "right, and a rank sends more than it needs to"},
    {"too_few_elements_sent", "a rank sends less than the algorithm has it send"},
    {"too_many_messages", "right, and too many messages, or too long a chain of them"},
    {"too_slow", "right, and slower on the virtual clock than it needs to be"},
    {"not_neighbours", "a message to a rank that is no neighbour on the ring"},
    {"native_collective", "a collective of the group itself where messages are asked for"},
    {"cycle", "ranks wait for each other in a circle"},
    {"waits_for_nobody", "a rank waits for what nobody will do"},
    {"ranks_disagree", "ranks call different things, or the same with other counts"},
    {"never_received", "a message was sent that nobody received"},
    {"buffer_in_flight", "a buffer was changed while it was being sent or received"},
    {"exited", "a rank ended its process"},
    {"crash", "a signal, or an exception that left the part"},
    {"sanitizer", "a sanitizer found a wrong access or wrong arithmetic"},
    {"unreadable_result", "the player sent something that is no result"},
    {"time", "a rank neither communicated nor returned for seconds"},
    {"memory", "more memory than a rank may have"},
    {"output", "far too much was printed"},
    {"traffic_limit", "the hard cap of a case on bytes, messages or requests"},
    {"stub", "the part is not written yet"},
    {"syntax", "the compiler refuses the file"},
    {"missing_symbol", "the part is not defined as its header declares it"},
    {"link", "the linker refuses the file"},
    {"compile_time", "the compiler needs too long"},
    {"too_few_cases", "the lab's own failure: an exam played less than it declares"},
});

}  // namespace

std::span<const CauseMeaning> common_causes() { return causes; }

std::string_view meaning_of_cause(std::string_view name) {
  const auto found = std::ranges::find(causes, name, &CauseMeaning::name);
  return found == causes.end() ? std::string_view() : found->meaning;
}

}  // namespace lockstep::grader
