// Reading what linkers and nm print: what keeps a file from being linked, and whether an object
// defines a symbol. Pure functions of text; diagnostics.hpp reads what compilers print.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::grader {

// Without the terminal's colour sequences (ESC [ … letter).
std::string plain_text(std::string_view line);

// What keeps a file from being linked, and what to do: the first symbol that is defined twice or
// nowhere, as mold and GNU ld name it.
std::string link_error(const std::string& linker_output);

// At most 60 lines, then how many were left out.
std::string shortened(const std::string& output);

// Whether a line of `nm -C` output defines the symbol for other files to see.
bool defines(const std::string& nm_output, const std::string& symbol);

// When the object defines a function of that name which does not match, the words that say so.
std::string near_miss(const std::string& nm_output, const std::string& symbol);

// As a person writes it: "std::span<lockstep::Parameter* const>" without its default extent,
// "f(int)" without the mark that g++ puts behind names of functions that return texts.
std::string readable_symbol(const std::string& symbol);

}  // namespace lockstep::grader
