// Turns the output of compilers, linkers and nm into sentences for beginners. Every sentence that
// the lab says about a file that cannot be built is here. Pure functions of text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::grader {

// 1. The compiler (compiler_text.cpp). `file` is the student's, as the compiler was given it.

// The diagnostics of g++ or clang with what only the library's authors need left out: who included
// whom, notes in system headers, and `lockstep::`. An error inside a template is told by the
// student's line that led there. Three errors at most; what follows is often their consequence.
//   root  of the repository; paths below it lose it
std::string readable_diagnostics(const std::string& output, const std::string& file,
                                 const std::string& root);

// The first error as one sentence, "work/…/ring.cpp:12:3: 'chunk' was not declared in this scope",
// in the student's file where there is one; with what is likely to mend it, where that is known.
std::string first_error(const std::string& compiler_output, const std::string& file);

// True if an error lies in `file`, in what it instantiates or in what it includes.
bool finds_errors_in(const std::string& compiler_output, const std::string& file);

// Advice on an error, by its text: "; likely a ; is missing …". Empty if none is known.
std::string advice_for(std::string_view error);

// 2. The linker and nm (linker_text.cpp).

// Says what keeps a file from being linked, and what to do: the first symbol that is defined twice
// or nowhere, as mold and GNU ld name it.
std::string link_error(const std::string& linker_output);

// Reports the first of `symbols`, which a file has to define, that the output of `nm -C` lacks: the
// file, what it defines instead, and the header with the declaration. nullopt: none is missing.
std::optional<std::string> missing_symbol(const std::string& nm_output,
                                          std::span<const std::string> symbols,
                                          const std::string& file, const std::string& header);

// True if a line of `nm -C` output defines the symbol for other files to see.
bool defines(const std::string& nm_output, const std::string& symbol);

// When the object defines a function of that name which does not match, the words that say so.
std::string near_miss(const std::string& nm_output, const std::string& symbol);

// As a person writes it: "std::span<lockstep::Parameter* const>" without its default extent,
// "f(int)" without the mark that g++ puts behind names of functions that return texts.
std::string readable_symbol(const std::string& symbol);

// 3. Either's text.

// True if the output says that the machine or the compiler itself gave up: no space, no memory, a
// signal, an internal error. The file may have caused that, and then it says nothing about the
// machine.
bool gave_up(const std::string& output);

// Without the terminal's colour sequences (ESC [ … letter).
std::string plain_text(std::string_view line);

// At most 60 lines, then how many were left out.
std::string shortened(const std::string& output);

}  // namespace lockstep::grader
