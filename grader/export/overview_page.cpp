#include "grader/export/overview_page.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "engine/base/text.hpp"
#include "grader/export/escaped.hpp"
#include "grader/export/whole_page.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

// Of one exercise or lesson, over all students.
struct Tally {
  std::array<int, 5> by_status{};  // by RowStatus
  int points = 0, max_points = 0;
  void add(const json& row) {
    ++by_status[static_cast<std::size_t>(status_of(row))];
    if (is_open(row)) return;
    points += row.at("points").get<int>();
    max_points += row.at("max_points").get<int>();
  }
  int rows() const { return std::accumulate(by_status.begin(), by_status.end(), 0); }
  int of(RowStatus status) const { return by_status[static_cast<std::size_t>(status)]; }
};

constexpr std::array<std::pair<const char*, const char*>, 5> shown_statuses{
    {{"good", "all points"},
     {"part", "some points"},
     {"bad", "no points"},
     {"none", "not handed in"},
     {"open", "not judged yet"}}};  // in the order of RowStatus

std::string bar_of(const Tally& tally) {
  std::string out = "<div class=\"bar\">";
  for (std::size_t i = 0; i < shown_statuses.size(); ++i) {
    if (tally.by_status[i] == 0) continue;
    out += text("<i class=\"", shown_statuses[i].first,
                "\" style=\"width:", percent(tally.by_status[i], tally.rows()), "%\" title=\"",
                tally.by_status[i], " ", shown_statuses[i].second, "\"></i>");
  }
  return out + "</div>";
}

std::string key_of_bars() {
  std::string out = "<ul class=\"key\">";
  for (const auto& [colour, meaning] : shown_statuses) {
    out += text("<li><i class=\"", colour, "\"></i>", meaning, "</li>");
  }
  return out + "</ul>\n";
}

// How many students have how many percent, in tenths; all points are in the last.
std::string histogram(const json& students) {
  std::array<int, 10> bins{};
  for (const json& student : students) {
    const int most = std::max(1, student.at("max_points").get<int>());
    ++bins[static_cast<std::size_t>(std::min(9, 10 * student.at("points").get<int>() / most))];
  }
  const int highest = std::max(1, *std::max_element(bins.begin(), bins.end()));
  std::string bars, scale;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    bars += text("<div>", bins[i] > 0 ? text(bins[i]) : "",
                 "<i style=\"height:", percent(bins[i] * 85, highest * 100), "%\"></i></div>");
    scale += text("<span>", 10 * i, "–", 10 * (i + 1), "</span>");
  }
  return "<div class=\"histogram\">" + bars + "</div>\n<div class=\"scale\">" + scale + "</div>\n";
}

std::string exercises_table(const ClassBook& book, const std::map<std::string, Tally>& tallies) {
  std::string out =
      "<table>\n<tr><th>exercise</th><th class=\"number\">points</th><th class=\"number\">mean</th>"
      "<th class=\"number\">all points</th><th class=\"number\">handed in</th><th>students</th>"
      "</tr>\n";
  std::string lesson;
  for (const json& exercise : book.grades.at("exercises")) {
    const std::string address = exercise.at("exercise");
    const Tally tally = tallies.contains(address) ? tallies.at(address) : Tally{};
    if (lesson_of(address) != lesson) {
      lesson = lesson_of(address);
      out += "<tr class=\"lesson\"><th colspan=\"6\">" +
             escaped_markup(lesson_heading(book, lesson)) + "</th></tr>\n";
    }
    out += text("<tr><td><code>", escaped_markup(name_in(address)), "</code></td><td ",
                "class=\"number\">", exercise.at("points").get<int>(), "</td><td class=\"number\">",
                percent(tally.points, tally.max_points), " %</td><td class=\"number\">",
                tally.of(RowStatus::full), "</td><td class=\"number\">",
                tally.rows() - tally.of(RowStatus::missing), "</td><td>", bar_of(tally),
                "</td></tr>\n");
  }
  return out + "</table>\n";
}

// What went wrong, by exercise, verdict and the check that showed it.
std::string causes_table(const ClassBook& book) {
  constexpr std::size_t shown_max = 25;
  std::map<std::array<std::string, 4>, int> counts;
  for (const json& report : book.reports) {
    for (const json& row : report.at("rows")) {
      if (row.at("verdict") == "pass" || row.at("verdict") == "missing") continue;
      const json* check = first_failing(row);
      ++counts[{row.at("exercise"), row.at("verdict"), row.at("cause"),
                check != nullptr ? check->value("name", "") : ""}];
    }
  }
  std::vector<std::pair<std::array<std::string, 4>, int>> all(counts.begin(), counts.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (all.empty()) return "<p class=\"muted\">None: all that was handed in passed.</p>\n";
  std::string out =
      "<table>\n<tr><th class=\"number\">students</th><th>exercise</th><th>verdict</th><th>cause"
      "</th><th>first failing check</th></tr>\n";
  for (std::size_t i = 0; i < std::min(all.size(), shown_max); ++i) {
    const auto& [what, count] = all[i];
    out +=
        text("<tr><td class=\"number\">", count, "</td><td><code>", escaped_markup(what[0]),
             "</code></td><td class=\"verdict\">", escaped_markup(what[1]), "</td><td><code>",
             escaped_markup(what[2]), "</code></td><td>", escaped_markup(what[3]), "</td></tr>\n");
  }
  if (all.size() > shown_max) {
    out += text("<tr><td></td><td colspan=\"4\" class=\"muted\">and ", all.size() - shown_max,
                " rarer ones</td></tr>\n");
  }
  return out + "</table>\n";
}

// What a person should look at: rows that are late, by hand or not final.
std::string remarks_on(const json& student) {
  int late = 0, by_hand = 0, lost = 0;
  for (const json& row : student.at("rows")) {
    late += row.at("days_late") > 0 ? 1 : 0;
    by_hand += row.at("by_hand") == true ? 1 : 0;
    lost += is_open(row) ? 1 : 0;
  }
  std::string out;
  const auto add = [&](int count, const char* what) {
    if (count > 0) out += text(out.empty() ? "" : ", ", count, " ", what);
  };
  add(late, "late");
  add(by_hand, "by hand");
  add(lost, "not judged");
  if (!student.at("reason").get_ref<const std::string&>().empty()) {
    out += (out.empty() ? "" : ", ") + student.at("reason").get<std::string>();
  }
  return out;
}

std::string students_table(const ClassBook& book, const std::vector<std::string>& lessons) {
  std::string out =
      "<div class=\"wide\"><table>\n<tr><th>student</th><th class=\"number\">points</th>"
      "<th class=\"number\">percent</th>";
  for (const std::string& lesson : lessons) {
    out += "<th class=\"number\" title=\"" + escaped_markup(lesson_heading(book, lesson)) + "\">" +
           escaped_markup(lesson.substr(0, 2)) + "</th>";
  }
  out += "<th>remarks</th></tr>\n";
  for (const json& student : book.grades.at("students")) {
    const std::string name = student.at("student");
    std::map<std::string, int> points;
    for (const json& row : student.at("rows")) {
      points[lesson_of(row.at("exercise"))] += row.at("points").get<int>();
    }
    const int all = student.at("points"), most = student.at("max_points");
    out += text("<tr><td><a href=\"students/", escaped_address(file_stem(name)), ".html\">",
                escaped_markup(name), "</a></td><td class=\"number\">", all,
                "</td><td class=\"number\">", percent(all, most), "</td>");
    for (const std::string& lesson : lessons) {
      out += text("<td class=\"number\">", points[lesson], "</td>");
    }
    out += "<td class=\"muted\">" + escaped_markup(remarks_on(student)) + "</td></tr>\n";
  }
  return out + "</table></div>\n";
}

std::string median_percent(const json& students) {
  std::vector<std::pair<double, std::string>> all;
  for (const json& student : students) {
    const int points = student.at("points"), most = student.at("max_points");
    all.emplace_back(most > 0 ? static_cast<double>(points) / most : 0, percent(points, most));
  }
  std::sort(all.begin(), all.end());
  return all.empty() ? "0" : all[(all.size() - 1) / 2].second;
}

}  // namespace

std::string overview_page(const ClassBook& book) {
  const json& students = book.grades.at("students");
  std::map<std::string, Tally> tallies;
  Tally whole;
  std::size_t active = 0;
  for (const json& student : students) {
    bool handed_in = false;
    for (const json& row : student.at("rows")) {
      tallies[row.at("exercise")].add(row);
      whole.add(row);
      handed_in = handed_in || row.at("verdict") != "missing";
    }
    active += handed_in ? 1 : 0;
  }
  std::vector<std::string> lessons;
  for (const json& exercise : book.grades.at("exercises")) {
    const std::string lesson = lesson_of(exercise.at("exercise"));
    if (lessons.empty() || lessons.back() != lesson) lessons.push_back(lesson);
  }
  const auto figure = [](const char* what, const std::string& value) {
    return text("<div><dt>", what, "</dt><dd>", value, "</dd></div>\n");
  };
  std::string body =
      text("<h1>Lockstep: the class</h1>\n<dl class=\"figures\">\n",
           figure("students", text(students.size())), figure("handed in something", text(active)),
           figure("exercises", text(book.grades.at("exercises").size())),
           figure("mean", percent(whole.points, whole.max_points) + " %"),
           figure("median", median_percent(students) + " %"), "</dl>\n");
  body += "<h2>Percent of all points, and how many students have them</h2>\n" + histogram(students);
  body += "<h2>Exercises</h2>\n" + key_of_bars() + exercises_table(book, tallies);
  body += "<h2>Commonest causes</h2>\n" + causes_table(book);
  body += "<h2>Students</h2>\n" + students_table(book, lessons);
  return whole_page("Lockstep: the class", body);
}

}  // namespace lockstep::grader
