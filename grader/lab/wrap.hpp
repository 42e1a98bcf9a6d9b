// Long lines broken at the terminal's width, at spaces. Pure functions of text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::grader {

// The columns that a text takes: colours take none, and a letter takes one however many bytes it
// has.
std::size_t columns_of(const std::string& line);

// Wraps words to `columns`. The next line goes on below the column at which the words began: behind
// the indent and, where the line begins with a short label and at least two spaces, behind those ("
// where     4 ranks"). A word that alone is too long stays whole, and so do lines that quote source
// text (a compiler's, with its bar: "   12 | int x"). 0 columns: nothing is broken.
std::string wrapped(const std::string& words, std::size_t columns);

// The same for a text in Markdown whose paragraphs were broken for another width: their lines are
// joined first. Headings, lists, tables and what is indented by four keep their lines.
std::string reflowed(const std::string& markdown, std::size_t columns);

std::vector<std::string> lines_of(const std::string& words);

// With spaces behind it up to that many columns.
std::string padded(std::string words, std::size_t columns);

}  // namespace lockstep::grader
