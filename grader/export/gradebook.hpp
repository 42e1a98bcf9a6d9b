// Tables for gradebooks: a line a student, a column an exercise, a column a lesson, all points, and
// percent. Exercises are not called by their names alone, since every lesson has a quiz.
#pragma once

#include <string>

#include "grader/export/class_book.hpp"

namespace lockstep::grader {

// For Moodle's import, where columns are mapped by hand, and for spreadsheets: the student, the
// roster's columns, and the points. Moodle takes an empty cell for no grade.
//   Source  https://docs.moodle.org/405/en/Grade_import, looked at on 2026-11-25;
//           moodle/moodle, grade/import/csv/classes/load_data.php
std::string gradebook_csv(const ClassBook& book);

// For Canvas: Student, ID, SIS User ID, SIS Login ID, Section as the roster has them, then the
// exercises, and a second line of Points Possible. Lessons, total and percent are left out: Canvas
// would take each for an assignment of its own.
//   Source  the export and the import of instructure/canvas-lms, lib/gradebook_exporter.rb and
//           lib/gradebook_importer.rb
std::string canvas_csv(const ClassBook& book);

}  // namespace lockstep::grader
