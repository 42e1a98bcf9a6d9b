// Numbers and their units as people type them, in answers to a quiz and in predictions. Pure
// functions of text.
#pragma once

#include <optional>
#include <string>

namespace lockstep::grader {

struct Quantity {
  double value = 0;
  std::string unit;  // what follows the number, blanks skipped
};

// "7 GB", "3,907", ".8", "7e9"; nullopt when it does not begin with a number as people write them.
std::optional<Quantity> quantity_of(const std::string& answer);

// Bytes of one unit; 0 for a unit that is none of bytes. GB is 10⁹, GiB 2³⁰ (docs/glossary.md).
double bytes_of_unit(const std::string& unit);

}  // namespace lockstep::grader
