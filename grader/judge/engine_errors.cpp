#include "grader/judge/engine_errors.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

namespace lockstep::grader {
namespace {

struct KnownError {
  std::string_view begins, contains;  // what its text has, in this order
  std::string_view cause, sentence;
};

constexpr std::string_view begins_without_gradient =
    "the pass begins without the gradient of what it computed: the last part begins with the loss, "
    "and every other part with what came from the part behind it";
constexpr auto known_errors = std::to_array<KnownError>({
    {"write_entry: a value of ", "", "element_size",
     "the value has another type than the tensor: a float times a double is a double. Store it in "
     "a variable of the tensor's type first"},
    {": ", "names itself as the peer", "peer_is_oneself",
     "where source and destination are one rank, as in a group of one, keep the data and send "
     "nothing; N - 1 steps are none there, and a loop of N is one too long. If they should be two, "
     "the peer's number is wrong: a place that is counted from the root, for example, is no rank "
     "yet"},
    {": rank ", "is not in this group of ", "peer_outside",
     "the group has no such rank: a ring wraps round, the first and the last rank of a line have "
     "one neighbour, and where a plan says who has the next part, that is the peer"},
    {"", "was given no gradient", "missing_gradient", begins_without_gradient},
    {"", "no gradient was given", "missing_gradient", begins_without_gradient},
    {"", "did not come", "missing_gradient",
     "a parameter took no part in the pass, or its gradient was counted twice or not at all"},
    {"load_into: ", "does not fit into", "checked_late",
     "a tensor is read that does not fit the model: compare the shape and the dtype of all of them "
     "before the first is read, and throw CheckpointError with the name of one that differs"},
    {"", "undefined", "undefined_tensor",
     "a handle is used before a tensor is in it. A grad is undefined until backward reaches its "
     "parameter, so ask grad.defined() first; what it counts as is in the contract"},
    {"", " cannot take ", "shapes_differ",
     "the two views differ in elements, or in type. Where N does not divide the size, what is "
     "written and what is read are cut at the same places, above all the last block"},
    {"loss depends on no parameter", "", "inputs_not_recorded",
     "this rank's output was recorded by no operation: it returned before record(), or record() "
     "was not told the values that the output was made of, parameters among them"},
    {"an operation returned no gradient for its input", "", "missing_gradient",
     "the derivative gives each such input its gradient; in a walk of two halves, a weight's may "
     "come in the second one, from what was put off"},
    {": ", " are not what ", "columns_outside",
     "the columns of a rank reach beyond the whole: those of padding are none of it, so count the "
     "real ones alone"},
    {"vector::_M_range_check", "", "index_outside",
     "an index of at() is not smaller than the size, or an unsigned number went below 0"},
    {"write_entry: entry ", "", "index_outside", "entries count from 0 to k − 1"},
    {"item: index ", "", "index_outside", "elements count from 0, and an empty tensor has none"},
    {"::at", "", "index_outside", "at() is asked for an index or a key that is not there"},
    {"joined before", "", "joined_twice",
     "a strand is joined once: take it out of its member before you join it"},
    {"bad optional access", "", "empty_optional", "value() of an optional that holds nothing"},
    {"bad_function_call", "", "empty_function", "a std::function that holds nothing is called"},
    {"cannot create std::vector larger than max_size()", "", "overflow",
     "a size is negative, and as an unsigned number it is huge"},
    {"vector::_M_default_append", "", "overflow",
     "a size is negative, and as an unsigned number it is huge"},
});

bool is(const KnownError& known, std::string_view text) {
  const std::size_t begin = text.find(known.begins);
  return begin != std::string_view::npos &&
         text.find(known.contains, begin + known.begins.size()) != std::string_view::npos;
}

// Further below zero than a modulus or a subtraction of places goes: it went past 2^31.
bool has_wrapped_number(std::string_view text) {
  constexpr std::size_t digits_of_24_bits = 8;
  for (std::size_t at = text.find('-'); at != std::string_view::npos; at = text.find('-', at + 1)) {
    std::size_t digits = 0;
    while (at + 1 + digits < text.size() && text[at + 1 + digits] >= '0' &&
           text[at + 1 + digits] <= '9') {
      ++digits;
    }
    if (digits > digits_of_24_bits) return true;
  }
  return false;
}

// A piece that does not lie in its tensor.
std::optional<Cause> cause_of_piece(std::string_view text) {
  const std::size_t begin = text.find("narrow: start ");
  long long start = 0, length = 0, size = 0;
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string piece(text.substr(begin));
  if (std::sscanf(piece.c_str(), "narrow: start %lld and length %lld leave the first axis of [%lld",
                  &start, &length, &size) != 3) {
    return std::nullopt;
  }
  if (size > std::numeric_limits<std::int32_t>::max()) {
    return Cause{"overflow",
                 "borders of so many elements do not fit into 32 bits; compute them in "
                 "std::int64_t, from the first factor on"};
  }
  if (start < 0) {
    return Cause{"piece_outside",
                 "the piece begins before its tensor: an index that goes down round a ring wraps, "
                 "and % of a negative number is negative, so add N first"};
  }
  return Cause{"piece_outside",
               "the piece ends behind its tensor: each block begins where the one before it ends, "
               "and they differ in length where N does not divide the whole; or there is no block "
               "of this number"};
}

// True if a check that stands in the student's file threw: its place is in the text,
// "[work/x.cpp:9:".
bool is_own_check(std::string_view text) {
  const std::size_t end = text.find(".cpp:");
  const std::size_t begin = end == std::string_view::npos ? end : text.rfind('[', end);
  return begin != std::string_view::npos && !text.substr(begin).starts_with("[engine/") &&
         text.substr(begin, end - begin).find(' ') == std::string_view::npos;
}

}  // namespace

std::optional<Cause> cause_of_error(std::string_view text) {
  const bool of_sizes = text.find("narrow: ") != std::string_view::npos ||
                        text.find("shape [") != std::string_view::npos;
  if (of_sizes && has_wrapped_number(text)) {
    return Cause{"overflow",
                 "a place or a length is computed in 32 bits, which end at 2,147,483,647: convert "
                 "the first factor to std::int64_t"};
  }
  if (auto cause = cause_of_piece(text)) return cause;
  const auto known =
      std::ranges::find_if(known_errors, [&](const KnownError& one) { return is(one, text); });
  if (known == known_errors.end()) {
    if (!is_own_check(text)) return std::nullopt;
    return Cause{"own_check",
                 "a check of your file refuses what the contract allows: what it looks at was set "
                 "too early or not set back, or it asks for too much"};
  }
  return Cause{std::string(known->cause), std::string(known->sentence)};
}

Failure with_cause_of_error(Failure found) {
  constexpr std::string_view threw = " threw";
  const std::size_t at = found.message.find(threw);
  if (found.verdict != Verdict::crash || found.cause != "crash" || at == std::string::npos) {
    return found;
  }
  const auto cause = cause_of_error(std::string_view(found.message).substr(at + threw.size()));
  return cause ? because(*cause, std::move(found)) : found;
}

}  // namespace lockstep::grader
