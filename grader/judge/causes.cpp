#include "grader/judge/causes.hpp"

#include <algorithm>
#include <array>

namespace lockstep::grader {
namespace {

// In the order of who finds them: the values, the wire, the core, the compiler, the lab.
constexpr auto causes = std::to_array<CauseMeaning>({
    {"averaged", "N times too small: the sum is divided by the number of ranks"},
    {"summed_not_averaged", "N times too large: the sum instead of the mean"},
    {"divided_twice", "N times too small: divided by the number of ranks twice"},
    {"divided_only", "this rank's own values, divided by N: nothing was added"},
    {"not_averaged", "this rank's own values instead of the mean"},
    {"wrong_divisor", "divided by a number other than the number of ranks in the group"},
    {"scaled", "every value is too large or too small by the same factor"},
    {"zero", "every value is 0: often 1 / N as an integer division"},
    {"no_number", "a NaN or an infinity"},
    {"unchanged", "the rank's values from before the call: nothing was added to them"},
    {"unwritten", "nothing was ever received or copied into the element"},
    {"adds_empty_room", "an uninitialized tensor is added to a sum"},
    {"scribbled", "the part wrote to a buffer that the contract leaves unchanged"},
    {"stale", "the values of an earlier call: something is kept from one call to the next"},
    {"rank_missing", "one rank's value is missing from a sum"},
    {"rank_twice", "one rank's value is added twice"},
    {"term_weight", "a term of a sum is missing, or counts with another weight than its own"},
    {"provenance", "several ranks' values are missing, or added more than once"},
    {"off_by_one_chunk", "every block is one position too early or too late"},
    {"permuted", "every block is right, but the blocks are in another order"},
    {"transposed", "columns are where rows belong"},
    {"tail_lost", "only the elements left over by N equal blocks are wrong"},
    {"rounded", "every value is nearly right: the values went through a narrower type"},
    {"wrong_place", "a value that belongs to another element, rank or call"},
    {"operator", "the part used another operator than the one that it was given"},
    {"value", "a value that no rank's input contains"},
    {"length", "a buffer or a list has another length"},
    {"overflow", "a number that is too large for an int"},
    {"posted_room", "the part read a buffer after it posted a receive into it"},
    {"not_refused", "the part accepted a value that the contract tells it to refuse"},
    {"wrong_error", "an error of a type other than the contract names"},
    {"peer_lost", "a peer died, and a rank returned normally"},
    {"no_communication", "the ranks neither sent a message nor met in a collective"},
    {"nobody_lost", "no peer died, and a rank threw CommError"},
    {"other_values", "other values, for a reason that the numbers do not show"},
    {"bits_differ", "ranks hold results that differ in their last bits"},
    {"order_of_arrival", "values are added in order of arrival"},
    {"gradient_lost", "a parameter lost its gradient"},
    {"gradient_invented", "a parameter has a gradient that no rank had"},
    {"value_changed", "a parameter's value changed where only gradients may"},
    {"too_many_bytes", "right, but more bytes on the wire than necessary"},
    {"too_many_elements_sent", "right, but a rank sends more than it needs to"},
    {"too_few_elements_sent", "a rank sends less than the algorithm requires"},
    {"too_many_messages", "right, but with too many messages, or too long a chain of messages"},
    {"too_slow", "right, but slower on the virtual clock than necessary"},
    {"not_neighbours", "a message to a rank that is not a neighbour on the ring"},
    {"native_collective", "the group's own collective instead of messages"},
    {"cycle", "ranks wait for each other in a cycle"},
    {"returned_early", "a rank returned while others wait for a call of it"},
    {"waits_for_nobody", "a rank waits for a call that no rank will make"},
    {"ranks_disagree", "ranks make different calls, or the same call with different counts"},
    {"never_received", "no rank received a message that was sent"},
    {"buffer_in_flight", "a buffer changed while it was sent or received"},
    {"exited", "a rank ended its process"},
    {"crash", "a signal, or an exception that left the part"},
    {"element_size", "an element of another size than the tensor's was written"},
    {"peer_is_oneself", "a message from a rank to itself"},
    {"peer_outside", "a message to a rank that the group does not have"},
    {"missing_gradient", "a gradient that never came"},
    {"undefined_tensor", "a tensor was used before anything was in it"},
    {"shapes_differ", "two tensors of different sizes or types, in one operation"},
    {"index_outside", "an index beyond the end"},
    {"empty_optional", "value() of an optional that holds nothing"},
    {"empty_function", "a std::function that holds nothing was called"},
    {"wrong_size", "a tensor was cut where it has no elements, or left with another size"},
    {"integer_division", "a quotient of integers lost its fraction"},
    {"sanitizer", "a sanitizer found a wrong access or wrong arithmetic"},
    {"unreadable_result", "the player sent something other than a result"},
    {"killed", "a rank was ended from outside (SIGKILL)"},
    {"asleep", "a rank slept for seconds, outside the lab's operations"},
    {"time", "a rank neither communicated nor returned for seconds"},
    {"memory", "more memory than a rank may have"},
    {"output", "the part printed far too much"},
    {"traffic_limit", "the hard cap of a case on bytes, messages or requests"},
    {"stub", "the part is not written yet"},
    {"syntax", "the compiler refuses the file"},
    {"missing_symbol", "the part is not defined as its header declares it"},
    {"link", "the linker refuses the file"},
    {"compile_time", "the compiler takes too long, or prints too much"},
    {"compiler_gave_up",
     "the compiler ends without a result: too much memory, or an error of its own"},
    {"machine_code", "the file speaks to the assembler"},
    {"hidden_bytes", "the file holds bytes that no editor shows"},
    {"unreadable_object", "what the compiler made of the file cannot be read"},
    {"too_few_cases", "the lab's own failure: an exam played fewer cases than it declares"},
    {"no_cause", "the lab's own omission: the exam names no cause of this failure"},
});

}  // namespace

std::span<const CauseMeaning> common_causes() { return causes; }

std::string_view meaning_of_cause(std::string_view name) {
  const auto found = std::ranges::find(causes, name, &CauseMeaning::name);
  return found == causes.end() ? std::string_view() : found->meaning;
}

}  // namespace lockstep::grader
