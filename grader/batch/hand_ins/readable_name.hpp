// Names that strangers chose, as text that is safe wherever a report puts it. Pure functions.
//
// A person's name is composed (Unicode's NFC): a Mac unpacks "ë" as two code points, a spreadsheet
// saves one, and both are one name. What a table, a page or a file's name needs besides is escaped
// there (export/escaped.hpp), so that a name is itself everywhere else.
#pragma once

#include <map>
#include <set>
#include <string>

namespace lockstep::grader {

// A name, any bytes, composed and fit to print; different names stay different. Bytes that cannot
// be printed become %XX, and so does a % that two hexadecimal digits follow.
std::string readable_name(const std::string& bytes);

// Composed (NFC), if it is UTF-8; else as it is.
std::string composed(const std::string& text);

std::string lower_case(std::string bytes);  // A to Z only

// Finds the slash in "STUDENT/EXERCISE"; npos for "STUDENT". In "Kumar s/o Raman" it
// is part of the name: no exercise has a blank.
std::size_t slash_before_exercise(const std::string& text);

// Hand-ins whose names are not on the roster, beside the roster's students without a hand-in.
struct LookAlikes {
  // Names that differ from one name of the roster, and no other, in case, width, blanks, or the
  // kind of apostrophe or dash: the same person.
  std::map<std::string, std::string> taken_for;
  // Names that are only similar, for a person to decide.
  std::map<std::string, std::string> perhaps;
};
LookAlikes look_alikes(const std::set<std::string>& handed_in, const std::set<std::string>& roster);

}  // namespace lockstep::grader
