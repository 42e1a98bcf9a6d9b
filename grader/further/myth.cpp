// ./lab myth: claims that are often taught, each beside a measurement that contradicts it. The
// programs are lessons/NN_lesson/myths/NAME.cpp (lessons/myth.hpp, cmake/myths.cmake).
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/further/commands.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/shown_run.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

struct Myth {
  std::string name, claim;
  const Lesson* lesson = nullptr;
  fs::path source;
};

Options myth_options() {
  Options options(
      "./lab myth",
      "Shows claims that are often taught, each with a measurement that contradicts it.");
  options.words("[NAME]", "the myth to measure; without NAME, list all claims")
      .flag("json", "print one JSON document instead of text");
  return options;
}

// The text that the program hands to myth::claim("…"): one string, or several that are put
// together.
std::string claim_in(const std::string& source) {
  std::smatch call;
  const std::regex claim(R"re(myth::claim\(((?:\s*"(?:[^"\\\n]|\\.)*")+)\s*\))re");
  if (!std::regex_search(source, call, claim)) return "";
  std::string words;
  bool inside = false;
  const std::string literals = call[1].str();
  for (std::size_t i = 0; i < literals.size(); ++i) {
    if (inside && literals[i] == '\\') {
      words += literals[++i];
    } else if (literals[i] == '"') {
      inside = !inside;
    } else if (inside) {
      words += literals[i];
    }
  }
  return words;
}

// Lesson by lesson, and by name.
std::vector<Myth> myths_of(const Lab& lab) {
  std::vector<Myth> myths;
  for (const Lesson& lesson : lab.course.lessons) {
    const fs::path folder = lab.places.lesson(lesson) / "myths";
    std::vector<fs::path> files;
    if (fs::is_directory(folder)) {
      for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".cpp") files.push_back(entry.path());
      }
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      myths.push_back({file.stem().string(), claim_in(read_text(file)), &lesson, file});
    }
  }
  return myths;
}

std::string list_of_myths(const Lab& lab, const std::vector<Myth>& myths) {
  std::string out;
  const Lesson* lesson = nullptr;
  for (const Myth& myth : myths) {
    if (myth.lesson != lesson) {
      out += text(lesson == nullptr ? "" : "\n", bold(lab.paint, myth.lesson->number()), "  ",
                  bold(lab.paint, myth.lesson->title), "\n");
    }
    lesson = myth.lesson;
    out += text("  ", padded(myth.name, 28), "\"", myth.claim, "\"\n");
  }
  return out + "\n./lab myth NAME measures one\n";
}

const Myth& myth_named(const std::vector<Myth>& myths, const std::string& name) {
  std::vector<std::string> known;
  for (const Myth& myth : myths) {
    if (myth.name == name) return myth;
    known.push_back(myth.name);
  }
  throw UsageError(
      text("there is no myth '", name, "'", did_you_mean(name, known), " (./lab myth lists all)"));
}

nlohmann::json json_of_myth(const Lab& lab, const Myth& myth) {
  return {{"name", myth.name},
          {"lesson", myth.lesson->folder},
          {"claim", myth.claim},
          {"source", lab.places.shown(myth.source)}};
}

}  // namespace

Exit myth_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(myth_options(), words);
  if (arguments.asks_help()) return print_help(myth_options());
  if (arguments.words().size() > 1) throw UsageError("name one myth; ./lab myth lists them");
  const std::vector<Myth> myths = myths_of(lab);
  const bool as_json = arguments.flag("json");
  if (arguments.words().empty()) {
    if (as_json) {
      auto all = nlohmann::json::array();
      for (const Myth& myth : myths) all.push_back(json_of_myth(lab, myth));
      std::cout << all.dump(2) << "\n";
    } else {
      std::cout << wrapped(list_of_myths(lab, myths), lab.columns);
    }
    return Exit::passed;
  }
  const Myth& myth = myth_named(myths, arguments.words().front());
  const ShownRun ran = run_shown(lab, "build/release/bin/myth-" + myth.name, Shown::not_at_all);
  if (as_json) {
    nlohmann::json document = json_of_myth(lab, myth);
    document["output"] = ran.output;
    std::cout << document.dump(2) << "\n";
    return Exit::passed;
  }
  std::cout << wrapped(ran.output, lab.columns)
            << faint(lab.paint, text("\nmeasured by ", lab.places.shown(myth.source),
                                     ", from lesson ", myth.lesson->number(), "\n"));
  return Exit::passed;
}

}  // namespace lockstep::grader
