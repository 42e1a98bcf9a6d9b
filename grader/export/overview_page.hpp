// The class at a glance, for the instructor: how far it is, points of each exercise, the commonest
// causes, and every student with a link to their page.
#pragma once

#include <string>

#include "grader/export/class_book.hpp"

namespace lockstep::grader {

std::string overview_page(const ClassBook& book);  // HTML

}  // namespace lockstep::grader
