// The grades of a class as pages and exports read them. All texts in it are fit to print already
// (batch/run/unit_report.hpp), and are still escaped wherever they are written.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "grader/export/hidden_cases.hpp"

namespace lockstep::grader {

struct ClassBook {
  nlohmann::json grades;                // grades_of() in batch/reports/grades.hpp
  std::vector<nlohmann::json> reports;  // StudentReports of each student, in the same order
  std::map<std::string, std::string> lesson_titles;  // by folder
  Cases cases = Cases::hidden;  // in what platforms show; pages always tell their cases
};

// A file to be written, below the folder for the grades.
struct BookFile {
  std::filesystem::path path;
  std::string content;
};

// All files of a format: "html", "csv", "gradescope", "autolab", "prairielearn" or "junit"; none
// for another.
std::vector<BookFile> files_of(const ClassBook& book, const std::string& format);

// A student's name as the stem of a file's name, which may not be as long.
std::string file_stem(const std::string& student);

// How a row fared, for people: it earned all, some or none of its points, or was not handed in. A
// row is open if the lab failed and no points were set by hand; it is exported without points.
enum class RowStatus : unsigned char { full, part, nothing, missing, open };
RowStatus status_of(const nlohmann::json& row);
bool is_open(const nlohmann::json& row);

// Names the open rows of a student; empty when there is none.
std::string note_on_open_rows(const nlohmann::json& rows);

// The first check that failed, or nullptr: nothing was judged, or all passed.
const nlohmann::json* first_failing(const nlohmann::json& row);

// Why the row has not all of its points, in a sentence; empty when there is none to say.
std::string sentence_of(const nlohmann::json& row);

std::string lesson_of(const std::string& address);  // "05_data_parallel" of "05_data_parallel/x"
std::string name_in(const std::string& address);    // "x" of it
// Unique in the course, and what a person types: the name, but the address of a quiz.
std::string handle_of(const std::string& address);
std::string percent(int points, int max_points);  // "66.7"; of nothing "0"

// "05 Data parallelism".
std::string lesson_heading(const ClassBook& book, const std::string& lesson);

}  // namespace lockstep::grader
