// Planted faults in addresses, contents, barriers and warps, each with its sentence.
#include "tests/paper/faults.hpp"
#include "tests/catch.hpp"

namespace lockstep::paper::test {
namespace {

TEST_CASE("paper: an address that is wrong is named with its line, allocation and distance") {
  check_faults({
      {"a bound that is one too large",
       "add.s32 %b, %index, 1;\n"
       "mad.wide.u32 %x, %b, 4, %data;\n"
       "ld.global.u32 %c, [%x];\n",
       "add.s32 %b, %index, 1;\n"
       "mad.wide.u32 %x, %b, 4, %data;\n"
       "setp.lt.u32 %p, %b, 128;\n"
       "@%p ld.global.u32 %c, [%x];\n",
       "out of bounds in k at faults.cu:12, block (1,0,0), thread (63,0,0): a read of 4 bytes at ",
       Outcome::illegal_address},
      {"how far it is",
       "add.s32 %b, %index, 2;\n"
       "mad.wide.u32 %x, %b, 4, %data;\n"
       "st.global.u32 [%x], %b;\n",
       "st.global.u32 [%own], %index;\n",
       " bytes past the end of allocation #2 (512 bytes); a bound or an index is wrong",
       Outcome::illegal_address},
      {"before the begin",
       "sub.s64 %x, %data, 4;\n"
       "st.global.u32 [%x], %tid;\n",
       "st.global.u32 [%own], %tid;\n",
       "4 bytes before allocation #2 (512 bytes); a bound or an index is wrong",
       Outcome::illegal_address},
      {"memory that was freed",
       "sub.s64 %x, %own, 1024;\n"
       "ld.global.u32 %b, [%x];\n",
       "ld.global.u32 %b, [%own];\n",
       " of allocation #1 (512 bytes), which was freed; a pointer outlives its memory",
       Outcome::illegal_address},
      {"a null pointer", "mov.b64 %x, 0;\nld.global.u32 %b, [%x+8];\n",
       "ld.global.u32 %b, [%data+8];\n",
       "a read of 4 bytes at 0x8, which is no address of this device: a null pointer with an "
       "offset",
       Outcome::illegal_address},
      {"a pointer of the host", "mov.b64 %x, 0x10000000;\nst.global.u32 [%x], %tid;\n",
       "st.global.u32 [%own], %tid;\n",
       "a write of 4 bytes at 0x10000000, which is no address of this device: a pointer of the "
       "host?",
       Outcome::illegal_address},
      {"two words at once from an odd one",
       "ld.global.v2.u32 {%b, %c}, [%own];\n",
       "and.b32 %b, %index, 126;\nmad.wide.u32 %x, %b, 4, %data;\nld.global.v2.u32 {%b, %c}, "
       "[%x];\n",
       "misaligned in k at faults.cu:10, block (0,0,0), thread (1,0,0): an access of 8 bytes at an "
       "address that is 4 past a multiple of 8; a pointer was cast to a wider type",
       Outcome::misaligned_address,
       {1, 1, 1},
       {32, 1, 1}},
      {"past the block's shared memory",
       "mov.u64 %x, board;\n"
       "mad.wide.u32 %x, %tid, 32, %x;\n"
       "st.shared.u32 [%x], %tid;\n",
       "mov.u64 %x, board;\n"
       "mad.wide.u32 %x, %tid, 16, %x;\n"
       "st.shared.u32 [%x], %tid;\n",
       "writes 4 bytes at byte 1024 of shared memory, of which the block has 1024 bytes; an index "
       "or "
       "the launch's shared size is wrong",
       Outcome::illegal_address},
      {"past a local array",
       "mov.u64 %x, own;\n"
       "st.local.u32 [%x+32], %tid;\n",
       "mov.u64 %x, own;\n"
       "st.local.u32 [%x+28], %tid;\n",
       "an access of 4 bytes at byte 32 of the thread's local memory of 32 bytes; the index of a "
       "local "
       "array is wrong",
       Outcome::illegal_address},
  });
}

TEST_CASE("paper: what nobody has written is no value") {
  check_faults({
      {"device memory", "ld.global.u32 %b, [%other+12];\n",
       "st.global.u32 [%own], %tid;\nld.global.u32 %b, [%own];\n",
       "uninitialised in k at faults.cu:10, block (", Outcome::done},
      {"its place", "ld.global.u32 %b, [%other+12];\n", "ld.global.u32 %b, [%data+12];\n",
       "a read of byte 12 of allocation #3 (512 bytes), which nothing has written; its content is "
       "arbitrary on a GPU"},
      {"shared memory", "mov.u64 %x, board;\nld.shared.u32 %b, [%x+8];\n",
       "mov.u64 %x, board;\nmad.wide.u32 %x, %tid, 4, %x;\nst.shared.u32 [%x], 0;\n"
       "ld.shared.u32 %b, [%x];\n",
       "a read of byte 8 of shared memory, which no thread of the block has written"},
      {"an atomic on memory that was never set", "red.global.add.u32 [%other], 1;\n",
       "red.global.add.u32 [%data], 1;\n",
       "a read of byte 0 of allocation #3 (512 bytes), which nothing has written"},
  });
}

TEST_CASE("paper: a barrier is reached by all threads, and the same one") {
  check_faults({
      {"a thread that returned before",
       "setp.eq.u32 %p, %tid, 5;\n"
       "@%p exit;\n"
       "bar.sync 0;\n",
       "bar.sync 0;\n"
       "setp.eq.u32 %p, %tid, 5;\n"
       "@%p exit;\n",
       "divergent barrier in k at faults.cu:12, block ("},
      {"its sentence", "setp.lt.u32 %p, %tid, 60;\n@%p bar.sync 0;\n",
       "setp.lt.u32 %p, %tid, 60;\nbar.sync 0;\n",
       "60 of 64 threads wait at this barrier, the others have ended; a return or a condition "
       "before "
       "__syncthreads() must be the same for all"},
      {"two branches with a barrier each",
       "setp.lt.u32 %p, %tid, 32;\n"
       "@%p bra first;\n"
       "bar.sync 0;\n"
       "bra over;\n"
       "first:\n"
       "bar.sync 0;\n"
       "over:\n",
       "bar.sync 0;\n"
       "setp.lt.u32 %p, %tid, 32;\n"
       "@%p add.s32 %b, %tid, 1;\n"
       "bar.sync 0;\n",
       "threads of the block wait at different barriers; each __syncthreads() must be reached by "
       "all of "
       "them"},
  });
}

TEST_CASE("paper: the mask of a warp operation names the lanes that come") {
  check_faults({
      {"more lanes than come",
       "setp.lt.u32 %p, %tid, 16;\n"
       "@%p bra half;\n"
       "bra over;\n"
       "half:\n"
       "shfl.sync.bfly.b32 %b, %tid, 1, 31, -1;\n"
       "bra over;\n"
       "over:\n"
       "bar.warp.sync -1;\n",
       "setp.lt.u32 %p, %tid, 16;\n"
       "@!%p bra over;\n"
       "shfl.sync.bfly.b32 %b, %tid, 1, 31, 65535;\n"
       "over:\n"
       "bar.warp.sync -1;\n",
       "wrong mask in k at faults.cu:14, block (0,0,0), thread (0,0,0): the mask of a warp "
       "operation "
       "names lanes 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31, which wait elsewhere and "
       "never come "
       "here; a GPU hangs or computes nonsense: the mask must be the lanes that reach this line",
       Outcome::done,
       {1, 1, 1},
       {32, 1, 1}},
      {"fewer lanes than come",
       "vote.sync.ballot.b32 %b, 1, 32767;\n",
       "vote.sync.ballot.b32 %b, 1, 65535;\n",
       "wrong mask in k at faults.cu:10, block (0,0,0), thread (15,0,0): lanes 15 take part in a "
       "warp "
       "operation whose mask does not name them; the result is undefined",
       Outcome::done,
       {1, 1, 1},
       {16, 1, 1}},
      {"a value from a lane that has ended",
       "setp.gt.u32 %p, %tid, 23;\n"
       "@%p exit;\n"
       "shfl.sync.down.b32 %b, %tid, 8, 31, -1;\n",
       "setp.gt.u32 %p, %tid, 23;\n"
       "shfl.sync.down.b32 %b, %tid, 8, 31, -1;\n",
       "lanes 16,17,18,19,20,21,22,23 read by a shuffle from lanes that do not take part (ended, "
       "absent "
       "or not in the mask); the value is undefined",
       Outcome::done,
       {1, 1, 1},
       {32, 1, 1}},
      {"a warp that is not full",
       "shfl.sync.idx.b32 %b, %tid, 20, 31, -1;\n",
       "shfl.sync.idx.b32 %b, %tid, 19, 31, -1;\n",
       "read by a shuffle from lanes that do not take part",
       Outcome::done,
       {1, 1, 1},
       {20, 1, 1}},
  });
}

TEST_CASE("paper: a kernel that does not end, or stops itself, is a finding") {
  check_faults({
      {"a loop without an end", "again:\nadd.s32 %b, %b, 1;\nbra again;\n",
       "mov.u32 %b, 0;\nagain:\nadd.s32 %b, %b, 1;\nsetp.lt.u32 %p, %b, 9;\n@%p bra again;\n",
       " this launch has not ended; a loop without an end, or one that waits for what another "
       "block is "
       "to write?",
       Outcome::timeout},
      {"a block that waits for the next one",
       "setp.ne.u32 %p, %ctaid, 0;\n"
       "@%p bra writes;\n"
       "again:\n"
       "atom.global.or.b32 %b, [%data], 0;\n"
       "setp.lt.u32 %p, %b, 1;\n"
       "@%p bra again;\n"
       "setp.ne.u32 %p, %ctaid, 0;\n"
       "writes:\n"
       "setp.ge.u32 %q, %ctaid, 4;\n"
       "@%q atom.global.or.b32 %b, [%data], 1;\n",
       "atom.global.or.b32 %b, [%data], 1;\n", "hang in k at faults.cu:1", Outcome::timeout},
      {"an assertion",
       "setp.eq.u32 %p, %tid, 40;\n"
       "@%p trap;\n",
       "setp.eq.u32 %p, %tid, 64;\n"
       "@%p trap;\n",
       "trap in k at faults.cu:11, block ", Outcome::illegal_instruction},
      {"a finding of many lanes is one",
       "ld.global.u32 %b, [%other];\nmad.wide.u32 %x, %tid, 4, %other;\n"
       "ld.global.u32 %b, [%x+4];\n",
       "ld.global.u32 %b, [%own];\n", " (seen "},
  });
}

}  // namespace
}  // namespace lockstep::paper::test
