// The lab's own words (docs/house_words.md) that a type may have as its name, each with the one
// file in which it does. Words without a file are no type: everybody who reads them thinks of
// something else, such as `Rank`, which is a number and a process.
#pragma once

#include "tests/house/names.hpp"

namespace lockstep::house {

inline HouseWords house_words() {
  return {{"Alternative", ""},
          {"Arena", "engine/comm/worlds/shm/arena.hpp"},
          {"Attempt", ""},
          {"Axis", "engine/parallel/mesh/axes.hpp"},
          {"Backend", "engine/launch/machine.hpp"},
          {"Bench", ""},
          {"Box", "engine/tensor/box.hpp"},
          {"Card", ""},
          {"Case", ""},
          {"Cause", "grader/judge/causes.hpp"},
          {"Check", "grader/judge/case_runner.hpp"},
          {"Cluster", "engine/sim/model/cluster.hpp"},
          {"Color", ""},
          {"Course", "grader/course/manifest.hpp"},
          {"Device", "engine/tensor/device.hpp"},
          {"Exam", "grader/judge/case_runner.hpp"},
          {"Exercise", "grader/course/manifest.hpp"},
          {"Floor", ""},
          {"Host", ""},
          {"Judge", ""},
          {"Leader", ""},
          {"Lesson", "grader/course/manifest.hpp"},
          {"Life", "grader/exam/lives/script.hpp"},
          {"Monitor", "engine/strand/monitor.hpp"},
          {"Mutant", "grader/course/proofs/mutants.hpp"},
          {"Paper", ""},
          {"Part", ""},
          {"Peers", "engine/comm/peers.hpp"},
          {"Piece", "engine/checkpoint/piece.hpp"},
          {"Player", "engine/sim/hosts/process_host_state.hpp"},
          {"ProcessGroup", "engine/comm/process_group.hpp"},
          {"Rank", ""},
          {"Reference", ""},
          {"Room", ""},
          {"Session", "engine/launch/setup_distributed.hpp"},
          {"Setting", ""},
          {"Store", "engine/comm/store.hpp"},
          {"Strand", "engine/strand/strand.hpp"},
          {"Strategy", "engine/train/strategy.hpp"},
          {"Stub", ""},
          {"Tape", "engine/autograd/tape.hpp"},
          {"Tensor", "engine/tensor/tensor.hpp"},
          {"Timeline", "engine/trace/timeline.hpp"},
          {"Transport", "engine/comm/gloo.hpp"},
          {"Unit", "engine/nn/units.hpp"},
          {"Verdict", "grader/judge/verdict.hpp"},
          {"Way", "engine/train/way.hpp"},
          {"World", "engine/launch/world.hpp"}};
}

// Students' answers to `negotiate` name this type, so it keeps its name.
inline std::vector<std::string> house_word_exceptions() {
  return {"engine/parallel/horovod/negotiate.hpp Verdict"};
}

}  // namespace lockstep::house
