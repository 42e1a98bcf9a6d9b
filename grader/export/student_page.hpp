// The page that one student is handed back: points, the first failing check of each exercise, and
// how to see it again. It shows nothing of other students or of references.
#pragma once

#include <string>

#include "grader/export/class_book.hpp"

namespace lockstep::grader {

//   report   one of the book's
std::string student_page(const ClassBook& book, const nlohmann::json& report);      // HTML
std::string student_markdown(const ClassBook& book, const nlohmann::json& report);  // GitHub's

}  // namespace lockstep::grader
