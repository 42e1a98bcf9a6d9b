// Finds what a hand-in says to the assembler, which could be any program as bytes. Pure functions
// of text. A hand-in is searched at each step on its way to an object, and the next step gets
// exactly what was searched (inspection.hpp):
//
//   1. The source: bytes that an editor does not show.
//   2. The preprocessed text, headers included, since a macro can change a header: asm, attributes
//      whose texts the assembler reads as they are, and directives. No C++ is read here. The
//      preprocessor runs once more, over a text without directives in which these words are macros
//      and become marks: what is a word, and what lies in a text, is the compiler's own opinion.
//      Headers may have asm that the next step would see.
//   3. The assembly (assembly_text.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep::grader {

// The sentence about a NUL, a byte-order mark or a carriage return by itself: compilers and people
// see different lines.
//   shown  the file as messages name it
std::optional<std::string> hidden_bytes_in(const std::string& source, const std::string& shown);

// A text to preprocess once more with these words behind the compiler's flags.
struct MarkedText {
  std::string text;
  std::vector<std::string> words;
};
//   mark  a name that nobody can have foreseen
MarkedText marked_text(const std::string& preprocessed, const std::string& mark);

// The sentence about the first machine code: "work/…/ring.cpp:12: …".
//   marks  what the preprocessor makes of the marked text
std::optional<std::string> machine_code_in(const std::string& preprocessed,
                                           const std::string& marks, const std::string& mark,
                                           const std::string& shown);

// True if it is worth preprocessing the source to find any: most sources do not even hold the
// letters or paste names together. For a student's own check, which nobody has a reason to deceive.
bool may_hold_machine_code(const std::string& source);

}  // namespace lockstep::grader
