#include "grader/export/student_page.hpp"

#include <array>

#include "engine/base/text.hpp"
#include "grader/export/escaped.hpp"
#include "grader/export/whole_page.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

const char* class_of(RowStatus status) {
  switch (status) {
    case RowStatus::full:
      return "good";
    case RowStatus::part:
      return "part";
    case RowStatus::nothing:
      return "bad";
    case RowStatus::missing:
      return "none";
    case RowStatus::open:
      return "open";
  }
  return "none";
}

std::string text_of(const json& row, const char* key) { return row.value(key, ""); }

std::string points_of(const json& row) {
  const int most = row.at("max_points");
  return is_open(row) ? text("? of ", most) : text(row.at("points").get<int>(), " of ", most);
}

// What a student should read of a row beside its points.
struct Detail {
  std::string sentence, check, where, replay, note, comment;
  std::size_t others = 0;  // checks that failed, too
  bool empty() const { return sentence.empty() && note.empty() && comment.empty(); }
};

//   whole   the reason for the whole hand-in, which is told once
Detail detail_of(const json& row, const std::string& whole) {
  Detail detail;
  detail.note = text_of(row, "note");
  detail.comment = text_of(row, "comment");
  const int judged = row.at("judged_points");
  if (row.at("verdict") == "pass" && judged == row.at("max_points").get<int>()) return detail;
  detail.sentence = sentence_of(row);
  // That a file is not there is in the table already.
  const bool plain =
      row.at("cause") == "missing" && detail.sentence.find("did you mean") == std::string::npos;
  if (plain || detail.sentence == whole) detail.sentence.clear();
  const json* check = first_failing(row);
  if (check == nullptr) return detail;
  detail.check = text_of(*check, "name");
  detail.where = text_of(*check, "where");
  detail.replay = text_of(*check, "replay");
  for (const json& one : row.at("checks")) {
    const std::string verdict = one.at("verdict");
    detail.others += &one != check && verdict != "pass" && verdict != "skipped" ? 1 : 0;
  }
  return detail;
}

std::string others_text(std::size_t others) {
  if (others == 0) return "";
  return text("; ", others, others == 1 ? " other check fails, too" : " other checks fail, too");
}

std::string paragraph(const char* label, const std::string& content) {
  if (content.empty()) return "";
  return text("<p>", *label == '\0' ? "" : text("<span class=\"muted\">", label, "</span> "),
              escaped_markup(content), "</p>\n");
}

std::string detail_markup(const Detail& detail) {
  std::string out =
      paragraph("", detail.sentence) +
      paragraph("First failing check:",
                detail.check.empty() ? "" : detail.check + others_text(detail.others)) +
      paragraph("Where:", detail.where);
  if (!detail.replay.empty()) {
    out += "<p><span class=\"muted\">To see it again:</span></p>\n<pre>" +
           escaped_markup(detail.replay) + "</pre>\n";
  }
  return out + paragraph("Points:", detail.note) + paragraph("Comment:", detail.comment);
}

std::string row_markup(const json& row, const std::string& whole) {
  const Detail detail = detail_of(row, whole);
  std::string out =
      text("<tr><td><code>", escaped_markup(name_in(row.at("exercise"))),
           "</code></td><td class=\"number\">", points_of(row), "</td><td class=\"",
           class_of(status_of(row)), "\">", escaped_markup(row.at("verdict")), "</td></tr>\n");
  if (!detail.empty()) {
    out += "<tr class=\"detail\"><td colspan=\"3\">" + detail_markup(detail) + "</td></tr>\n";
  }
  return out;
}

// On the whole hand-in.
std::array<std::string, 3> remarks_in(const json& report) {
  return {text_of(report, "comment"), text_of(report, "reason"),
          note_on_open_rows(report.at("rows"))};
}

std::size_t handed_in(const json& report) {
  std::size_t count = 0;
  for (const json& row : report.at("rows")) count += row.contains("sha256") ? 1 : 0;
  return count;
}

}  // namespace

std::string student_page(const ClassBook& book, const json& report) {
  const int points = report.at("points"), most = report.at("max_points");
  std::string body =
      text("<h1>", escaped_markup(report.at("student")), "</h1>\n<dl class=\"figures\">\n<div><dt>",
           "points</dt><dd>", points, " of ", most, "</dd></div>\n<div><dt>percent</dt><dd>",
           percent(points, most), " %</dd></div>\n<div><dt>exercises handed in</dt><dd>",
           handed_in(report), " of ", report.at("rows").size(), "</dd></div>\n</dl>\n");
  for (const std::string& said : remarks_in(report)) {
    if (!said.empty()) body += "<p class=\"said\">" + escaped_markup(said) + "</p>\n";
  }
  body += "<table>\n";
  std::string lesson;
  for (const json& row : report.at("rows")) {
    if (lesson_of(row.at("exercise")) != lesson) {
      lesson = lesson_of(row.at("exercise"));
      body += "<tr class=\"lesson\"><th colspan=\"3\">" +
              escaped_markup(lesson_heading(book, lesson)) + "</th></tr>\n";
    }
    body += row_markup(row, text_of(report, "reason"));
  }
  return whole_page("Lockstep: " + report.at("student").get<std::string>(), body + "</table>\n");
}

std::string student_markdown(const ClassBook& book, const json& report) {
  const int points = report.at("points"), most = report.at("max_points");
  std::string out = text("# ", escaped_markdown(report.at("student")), "\n\n**", points, " of ",
                         most, " points** (", percent(points, most), " %)\n");
  for (const std::string& said : remarks_in(report)) {
    if (!said.empty()) out += "\n> " + escaped_markdown(said) + "\n";
  }
  std::string details;
  std::string lesson;
  for (const json& row : report.at("rows")) {
    if (lesson_of(row.at("exercise")) != lesson) {
      lesson = lesson_of(row.at("exercise"));
      out += text("\n## ", escaped_markdown(lesson_heading(book, lesson)),
                  "\n\n| exercise | points | verdict |\n|---|---|---|\n");
    }
    const std::string name = name_in(row.at("exercise"));
    out += text("| ", escaped_markdown(name), " | ", points_of(row), " | ",
                escaped_markdown(row.at("verdict")), " |\n");
    const Detail detail = detail_of(row, text_of(report, "reason"));
    if (detail.empty()) continue;
    details += "\n### " + escaped_markdown(row.at("exercise")) + "\n\n";
    const auto line = [&](const char* label, const std::string& content) {
      if (!content.empty()) details += text("- ", label, escaped_markdown(content), "\n");
    };
    line("", detail.sentence);
    line("First failing check: ",
         detail.check.empty() ? "" : detail.check + others_text(detail.others));
    line("Where: ", detail.where);
    line("Points: ", detail.note);
    line("Comment: ", detail.comment);
    if (!detail.replay.empty()) details += "- To see it again:\n\n      " + detail.replay + "\n";
  }
  return out + details;
}

}  // namespace lockstep::grader
