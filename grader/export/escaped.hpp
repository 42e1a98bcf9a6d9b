// Strangers' texts as parts of a page, so that they are nothing but text there. Pure functions.
#pragma once

#include <string>

namespace lockstep::grader {

// For HTML and XML, also inside quotes. What XML cannot hold becomes a question mark.
std::string escaped_markup(const std::string& text);

// For a line of Markdown: no emphasis, link, cell, heading or tag; line ends become blanks.
std::string escaped_markdown(const std::string& text);

// As a relative address of a file of this name.
std::string escaped_address(const std::string& name);

// As the stem of a file's name on any system: what is not plain becomes %XX.
std::string escaped_file_name(const std::string& name);

// A cell of a CSV table: quoted where needed, and no part of it is taken for a formula, whichever
// separator the spreadsheet expects.
std::string cell(const std::string& text);

}  // namespace lockstep::grader
