// Reading what AddressSanitizer and UndefinedBehaviorSanitizer print: the mistake, and the line of
// the student's file where it was made. Pure functions of text.
#pragma once

#include <optional>
#include <string>

namespace lockstep::grader {

struct SanitizerFinding {
  std::string message;  // "writes 8 bytes behind the end of … at work/…/ring.cpp:27"
  std::string place;    // "work/…/ring.cpp:27"; empty when no line of the file is in it
  std::string output;   // what the rank printed before, and the lines that matter
};

// `file` is the student's as the compiler was given it. nullopt when no sanitizer spoke.
std::optional<SanitizerFinding> sanitizer_finding(const std::string& output,
                                                  const std::string& file);

}  // namespace lockstep::grader
