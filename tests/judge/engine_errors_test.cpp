// What an exception of the engine says of the mistake behind it.
#include "grader/judge/engine_errors.hpp"

#include "grader/exam/function/wrong_ending.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

std::string cause(const std::string& text) {
  const auto found = cause_of_error(text);
  return found ? found->name : "";
}

Failure crash(const std::string& message) {
  return {.verdict = Verdict::crash, .cause = "crash", .message = message};
}

}  // namespace

TEST_CASE("engine errors: the mistake behind each usual one is named") {
  CHECK(cause("narrow: start 0 and length -647483649 leave the first axis of [2999999997]") ==
        "overflow");
  CHECK(cause("shape [-2147483648] has a negative size") == "overflow");
  CHECK(cause("narrow: start -1 and length 2 leave the first axis of [7]") == "piece_outside");
  CHECK(cause("narrow: start 6 and length 3 leave the first axis of [2999999997]") == "overflow");
  CHECK(cause("picked_logits: 2 of 4 from number 4 on are not what 2 places can hold") ==
        "columns_outside");
  CHECK(cause("backward: the loss depends on no parameter of this tape") == "inputs_not_recorded");
  CHECK(cause("reduce_: the tensor that is read is undefined; make it with empty") ==
        "undefined_tensor");
  CHECK(cause("narrow: the tensor is undefined") == "undefined_tensor");
  CHECK(cause("isend: rank 0 names itself as the peer at work/x.cpp:3; a rank") ==
        "peer_is_oneself");
  CHECK(cause("send: rank 4 is not in this group of 4 ranks (0 to 3), asked by") == "peer_outside");
  CHECK(cause("a backward pass through part 0 was given no gradient for micro-batch 2") ==
        "missing_gradient");
  CHECK(cause("write_entry: a value of 8 bytes, and a block of 64 bytes for 8 entries") ==
        "element_size");
  CHECK(cause("write_entry: entry 2 of 2; entries count from 0") == "index_outside");
  CHECK(cause("item: index 1 in a tensor of shape [1]") == "index_outside");
  CHECK(cause("copy_: float32 [3] cannot take float32 [4]; both need") == "shapes_differ");
  CHECK(cause("vector::_M_range_check: __n (which is 7) >= this->size() (which is 7)") ==
        "index_outside");
  CHECK(cause("map::at") == "index_outside");
  CHECK(cause("bad optional access") == "empty_optional");
  CHECK(cause("bad_function_call") == "empty_function");
  CHECK(cause("the dataset has no sample 12") == "");
  CHECK(cause("horovod: a gradient is on its way [work/08_horovod/x.cpp:99: !sent]") ==
        "own_check");
  CHECK(cause("view: 5 elements as [2, 3] [engine/tensor/tensor.cpp:99: same]") == "");
  CHECK(cause("no rank [0, 1] of this world, says work/08_horovod/x.cpp:99") == "");
}

TEST_CASE("engine errors: the cause is told behind the sentence, of a crash that has none") {
  const Failure told = with_cause_of_error(crash("rank 1 threw: narrow: the tensor is undefined"));
  CHECK(told.verdict == Verdict::crash);
  CHECK(told.cause == "undefined_tensor");
  CHECK_THAT(told.message, test::contains("; likely cause: a handle is used before"));
  CHECK(with_cause_of_error(crash("rank 1 died by signal 11")).cause == "crash");
  Failure known = crash("rank 1 threw: narrow: the tensor is undefined");
  known.cause = "exited";
  CHECK(with_cause_of_error(known).cause == "exited");
}

TEST_CASE("engine errors: a tensor that is cut at a wrong place stays a wrong answer") {
  Failure found = with_cause_of_error(
      crash("rank 0 threw: narrow: start 0 and length -647483649 leave the first axis of [9]"));
  tell_wrong_size(found);
  CHECK(found.verdict == Verdict::wrong_answer);
  CHECK(found.cause == "overflow");
  Failure plain = with_cause_of_error(
      crash("rank 0 threw: narrow: start 4 and length 8 leave the first axis of [9]"));
  tell_wrong_size(plain);
  CHECK(plain.verdict == Verdict::wrong_answer);
  CHECK(plain.cause == "piece_outside");
}
