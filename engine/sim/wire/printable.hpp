// Makes what comes from a rank fit to print: its text, and its place in the source.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::sim {

// "work/06_all_reduce/ring_all_reduce.cpp:21": a line as diagnoses name it, without the machine's
// own folders. Empty when there is no file.
std::string place_of(std::string_view file, int line);

// Text from a stranger, made fit for a terminal and JSON: control characters but newline and tab,
// marks that turn text around, and bytes that are no UTF-8 become '?'; `length_max` bytes at most.
std::string printable(std::string_view text, std::size_t length_max);

}  // namespace lockstep::sim
