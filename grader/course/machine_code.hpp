// Finds what a hand-in says to the assembler, which could be any program as bytes: the keyword asm
// in each spelling, also out of macros, and attributes whose texts reach the assembler as they are.
// Pure functions of text.
//
// The search reads the preprocessor's output, whose markers say of each line which file it comes
// from, because headers may use asm. A source could write such a marker itself, or #line, and pass
// its own lines off as a header's. So these directives are refused as well.
#pragma once

#include <optional>
#include <string>

namespace lockstep::grader {

// The sentence about the first of these in the student's own lines: "work/…/ring.cpp:12: …".
//   preprocessed  what the compiler makes of the file with -E
//   file          as the compiler was given it
std::optional<std::string> machine_code_in(const std::string& preprocessed,
                                           const std::string& file);

// True if it is worth preprocessing the source to find any: most sources do not even hold the
// letters or paste names together. For a student's own check, which nobody has a reason to deceive.
bool may_hold_machine_code(const std::string& source);

// The source without line splices, and without the # of what looks like #line or a line marker. It
// may stand in a comment or a text, where it does nothing: then both sources lead to the same
// markers of other files when they are preprocessed.
//   Returns  nullopt when nothing in the source looks like one
std::optional<std::string> without_line_directives(const std::string& source);
// One a line; `file` is the name under which the source was preprocessed.
std::string foreign_markers(const std::string& preprocessed, const std::string& file);
std::string refused_line_directive(const std::string& file);

// True if the preprocessed file changes, as it goes, how it is compiled, so that macros such as
// __OPTIMIZE__ can have other values then. Such a file is compiled from its preprocessed form.
bool changes_its_compiler(const std::string& preprocessed);

}  // namespace lockstep::grader
