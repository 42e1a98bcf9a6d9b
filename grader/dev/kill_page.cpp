// How the kill matrix is written: an exercise's own page, which is read back, and that of all.
#include "grader/dev/kill_matrix.hpp"

#include <algorithm>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

constexpr std::string_view fails_mark = "●", holds_mark = "·", not_asked_mark = "";
constexpr std::string_view no_check = "none: ";
constexpr std::string_view kills_heading = "# Kills of ", accepted = "Accepted: ";
const std::string nothing_done = "*returns at once*";

// Names are file names: words joined by underscores.
std::string spoken(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}
std::string written(std::string words) {
  std::replace(words.begin(), words.end(), ' ', '_');
  return words;
}

std::string row_of(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

std::string_view written(Mark mark) {
  if (mark == Mark::not_asked) return not_asked_mark;
  return mark == Mark::fails ? fails_mark : holds_mark;
}
Mark mark_in(std::string_view cell) {
  if (cell == not_asked_mark) return Mark::not_asked;
  return cell == fails_mark ? Mark::fails : Mark::holds;
}

// The cells of a row; a bar inside a cell is written \|.
std::vector<std::string> cells_of(std::string_view row) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i] == '|' && row[i - 1] != '\\') {
      cells.push_back(cell.size() >= 2 ? cell.substr(1, cell.size() - 2) : "");
      cell.clear();
    } else {
      cell += row[i];
    }
  }
  return cells;
}

std::string escaped(const std::string& sentence) {
  std::string safe;
  for (const char c : sentence) {
    if (c == '|' || c == '<' || c == '*' || c == '_') safe += '\\';
    safe += c;
  }
  return safe;
}
std::string unescaped(const std::string& cell) {
  std::string plain;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == '\\' && i + 1 < cell.size()) ++i;
    plain += cell[i];
  }
  return plain;
}

std::string checks_table(const ExerciseKills& kills) {
  std::string table = "|   | check | kills | first |\n|--:|:------|--:|--:|\n";
  for (std::size_t c = 0; c < kills.checks.size(); ++c) {
    table += row_of({text(c + 1), escaped(kills.checks[c]), text(kills.kills_of(c)),
                     text(kills.first_kills_of(c))});
  }
  return table;
}

std::string mutants_table(const ExerciseKills& kills) {
  std::vector<std::string> head{"mutant", "verdict", "cause"};
  std::string line = "|:-------|:--------|:------|";
  for (std::size_t c = 0; c < kills.checks.size(); ++c) {
    head.push_back(text(c + 1));
    line += ":-:|";
  }
  std::string table = row_of(head) + line + "\n";
  const auto add = [&table](std::vector<std::string> cells, const std::vector<Mark>& all) {
    for (const Mark mark : all) cells.emplace_back(written(mark));
    table += row_of(cells);
  };
  if (!kills.nothing_done.empty()) add({nothing_done, "", ""}, kills.nothing_done);
  for (const MutantRow& mutant : kills.mutants) {
    add({spoken(mutant.name), mutant.verdict, spoken(mutant.cause)}, mutant.marks);
  }
  return table;
}

// "" for a quiz.
std::string situations_table(const ExerciseKills& kills) {
  if (kills.situations.empty()) return "";
  std::string table = "\n| situation | cases | not asked |\n|:----------|--:|:------|\n";
  for (const SituationRow& situation : kills.situations) {
    table += row_of({spoken(situation.name), text(situation.cases), escaped(situation.because)});
  }
  return table;
}

// The same.
std::string sentences_table(const ExerciseKills& kills) {
  if (kills.sentences.empty()) return "";
  std::string table = "\n| of the contract | sentence | checks |\n|:------|:------|:------|\n";
  for (const SentenceRow& sentence : kills.sentences) {
    std::string checks;
    for (const int check : sentence.checks) checks += text(checks.empty() ? "" : ", ", check);
    if (checks.empty()) checks = text(no_check, escaped(sentence.unchecked));
    table += row_of({escaped(sentence.address), escaped(sentence.words), checks});
  }
  return table;
}

std::string tables_of(const ExerciseKills& kills) {
  std::string names;
  for (const std::string& name : kills.alternatives) {
    names += (names.empty() ? "" : ", ") + spoken(name);
  }
  return text(checks_table(kills), "\n", mutants_table(kills), "\n", accepted, names, ".\n",
              situations_table(kills), sentences_table(kills));
}

std::string overview_of(const std::vector<ExerciseKills>& all) {
  std::string table =
      "| exercise | checks | with a kill | mutants | killed | alternatives | situations asked | "
      "excepted | sentences | unchecked |\n"
      "|:---------|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
  for (const ExerciseKills& kills : all) {
    const KillTotals t = totals_of({kills});
    table += row_of({escaped(kills.handle), text(t.checks), text(t.checks_with_kill),
                     text(t.mutants), text(t.killed), text(t.alternatives), text(t.asked),
                     text(t.excepted), text(t.sentences), text(t.unchecked)});
  }
  return table;
}

// "" or a list under a title.
std::string checks_where(const std::string& title, const std::vector<ExerciseKills>& all,
                         bool (*holds)(const ExerciseKills&, std::size_t)) {
  std::string list;
  for (const ExerciseKills& kills : all) {
    for (std::size_t c = 0; c < kills.checks.size(); ++c) {
      if (holds(kills, c)) {
        list += text("- ", escaped(kills.handle), ": ", escaped(kills.checks[c]), "\n");
      }
    }
  }
  return list.empty() ? "" : title + "\n\n" + list + "\n";
}

std::string weak_checks(const std::vector<ExerciseKills>& all) {
  return checks_where("Checks that no mutant fails:", all,
                      [](const ExerciseKills& k, std::size_t c) { return k.kills_of(c) == 0; }) +
         checks_where("Checks that are never the first to fail:", all,
                      [](const ExerciseKills& k, std::size_t c) {
                        return k.kills_of(c) > 0 && k.first_kills_of(c) == 0;
                      });
}

std::string not_known(const std::vector<std::string>& unproved) {
  std::string names;
  for (const std::string& name : unproved) names += (names.empty() ? "" : ", ") + escaped(name);
  return names.empty() ? "" : text("Not proved here yet (`./lab dev prove`): ", names, ".\n\n");
}

// Reads what kills_text wrote, line by line.
class Reader {
 public:
  explicit Reader(std::string_view file) : lines_(std::string(file)) {}

  ExerciseKills read() {
    std::string line;
    while (std::getline(lines_, line)) {
      ++number_;
      if (number_ == 1 && line.rfind(kills_heading, 0) != 0) fail();
      if (number_ == 1) {
        kills_.handle = line.substr(kills_heading.size());
      } else {
        take(line);
      }
    }
    if (number_ == 0) fail();
    return std::move(kills_);
  }

 private:
  using Rows = void (Reader::*)(const std::vector<std::string>&);

  void take(const std::string& line) {
    static const std::vector<std::pair<std::string_view, Rows>> heads{
        {"|   |", &Reader::take_check},
        {"| mutant |", &Reader::take_mutant},
        {"| situation |", &Reader::take_situation},
        {"| of the contract |", &Reader::take_sentence}};
    for (const auto& [head, rows] : heads) {
      if (!line.starts_with(head)) continue;
      rows_ = rows;
      return;
    }
    if (line.starts_with("| ")) {
      (this->*rows_)(cells_of(line));
    } else if (line.rfind(accepted, 0) == 0 && line.size() > accepted.size() + 1) {
      take_alternatives(line.substr(accepted.size(), line.size() - accepted.size() - 1));
    }
  }

  void take_check(const std::vector<std::string>& cells) {
    if (cells.size() != 4) fail();
    kills_.checks.push_back(unescaped(cells[1]));
  }

  void take_mutant(const std::vector<std::string>& cells) {
    if (cells.size() != kills_.checks.size() + 3) fail();
    std::vector<Mark> marks;
    for (std::size_t i = 3; i < cells.size(); ++i) marks.push_back(mark_in(cells[i]));
    if (cells[0] == nothing_done) {
      kills_.nothing_done = std::move(marks);
    } else {
      kills_.mutants.push_back({written(cells[0]), cells[1], written(cells[2]), marks});
    }
  }

  void take_situation(const std::vector<std::string>& cells) {
    if (cells.size() != 3) fail();
    kills_.situations.push_back({written(cells[0]), number(cells[1]), unescaped(cells[2])});
  }

  void take_sentence(const std::vector<std::string>& cells) {
    if (cells.size() != 3) fail();
    SentenceRow row{unescaped(cells[0]), unescaped(cells[1]), {}, {}};
    if (cells[2].starts_with(no_check)) {
      row.unchecked = unescaped(cells[2].substr(no_check.size()));
    } else {
      std::istringstream checks(cells[2]);
      for (std::string one; std::getline(checks, one, ',');) row.checks.push_back(number(one));
    }
    kills_.sentences.push_back(std::move(row));
  }

  int number(const std::string& words) const {
    int value = 0;
    if (!(std::istringstream(words) >> value)) fail();
    return value;
  }

  void take_alternatives(const std::string& names) {
    std::size_t start = 0;
    while (start < names.size()) {
      const std::size_t end = std::min(names.find(", ", start), names.size());
      kills_.alternatives.push_back(written(names.substr(start, end - start)));
      start = end + 2;
    }
  }

  [[noreturn]] void fail() const { throw UsageError(text("line ", number_, " is malformed")); }

  std::istringstream lines_;
  int number_ = 0;
  Rows rows_ = &Reader::take_check;
  ExerciseKills kills_;
};

}  // namespace

std::string kills_text(const ExerciseKills& kills) {
  return text(kills_heading, kills.handle,
              "\n\nWhich check fails (●) which mutant. Every check of values runs on every mutant, "
              "and those "
              "of costs on those whose values are right.\n\n",
              tables_of(kills));
}

ExerciseKills read_kills(std::string_view page) { return Reader(page).read(); }

std::string kill_page(const std::vector<ExerciseKills>& all,
                      const std::vector<std::string>& unproved) {
  const KillTotals totals = totals_of(all);
  std::string page = text(
      "# The kill matrix\n\n**",
      all.empty() ? "Nothing is proved here yet: `./lab dev prove` does it." : sentence_of(totals),
      "**\n\n"
      "A check that rejects no wrong answer proves nothing. So every exercise has *mutants*, wrong "
      "answers\nthat a student might write, and *alternatives*, right answers that differ from the "
      "reference. Every\ncheck of values ran on every mutant, even after another one had failed; a "
      "check of costs, such as\nmessages or memory, ran on those whose values are right, since the "
      "costs of a wrong answer prove\nnothing. ● means that the check fails and *kills* the "
      "mutant, "
      "· that it holds; without a mark, it\ndid not run. Verdict and cause are what a student "
      "would "
      "read.\n*First* counts the mutants that a check is the first to kill:\n",
      totals.checks_first, " of the ", totals.checks,
      " checks are the first for at least one. The first row, if present, is not a mutant\nbut the "
      "part with an empty body, made from the stub. Mutants are in `tests/exercises/`. The proof "
      "of\nan exercise (`./lab dev prove`) demands that each mutant is rejected for its stated "
      "reason, and\nthat every check kills at least one.\n\n"
      "An exam asks the situations of its kind (`grader/judge/situation.hpp`), or its manifest "
      "says "
      "why it\ndoes not: ",
      totals.asked, " are asked, ", totals.excepted,
      " excepted. The last table of an exercise has the sentences of\nits contract, and the checks "
      "that break when a sentence is ignored (`contract.toml` beside the\nmutants): ",
      totals.sentences, " sentences, ", totals.unchecked, " of which nothing can check.\n\n",
      overview_of(all), "\n", weak_checks(all), not_known(unproved));
  for (std::size_t i = 0; i < all.size(); ++i) {
    page += text(i ? "\n" : "", "## ", all[i].handle, "\n\n", tables_of(all[i]));
  }
  return page;
}

}  // namespace lockstep::grader
