// The rules for one training of activation_checkpoint.
#pragma once

#include <optional>
#include <string>

#include "grader/judge/case_runner.hpp"
#include "grader/parts/11_sharding/activation_checkpoint/segments.hpp"

namespace lockstep::grader::activation_checkpoint {

// The property that a check asks for.
enum class Property : std::uint8_t { values, memory, halves, runs, freed };

std::string text_of_question(const CheckpointQuestion& q);

// Finds what is wrong with values, or with the property; nothing if they are right.
//   Throws  MalformedMessage for an answer that no adapter gives
std::optional<Failure> wrong(Property asked_for, const CheckpointQuestion& q,
                             const CheckpointAnswer& seen, const SegmentsSeen& segments);

}  // namespace lockstep::grader::activation_checkpoint
