// ./lab predict: what will a lesson's run print? An answer, the run, and whether the answer held.
#include <unistd.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/json_text.hpp"
#include "grader/judge/compare.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/predict_list.hpp"
#include "grader/lab/shown_run.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

Options predict_options() {
  Options options("./lab predict",
                  "Asks what a lesson's run will print, runs it, and says whether you were right. "
                  "It earns no points.");
  options
      .words("[NN[.K]]", "run K of lesson NN; without K, the lesson's predictions; without NN, all")
      .option("answer", "", "your prediction, instead of typing it when asked")
      .flag("json", "print one JSON document; for a run without --answer, only the question");
  return options;
}

// Six digits; whole numbers with all of theirs, in groups of three.
std::string number_shown(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  if (value == static_cast<double>(whole)) return grouped(whole);
  std::ostringstream out;
  out << std::setprecision(6) << value;
  return out.str();
}

std::string value_shown(const Prediction& prediction, const PredictedValue& value) {
  if (!prediction.asks_number()) {
    return text(letter_of(value.choice), "  ", prediction.choices[value.choice].says);
  }
  return number_shown(value.number) + (prediction.unit.empty() ? "" : " " + prediction.unit);
}

std::string asked(const Lab& lab, const PredictionRow& row) {
  const Prediction& prediction = row.predicted.prediction;
  std::string out = text(bold(lab.paint, row.name() + "  " + row.lesson->title), "\n\n",
                         prediction.question.substr(prediction.question.find_first_not_of('\n')));
  if (out.back() != '\n') out += '\n';
  out += '\n';
  for (std::size_t i = 0; i < prediction.choices.size(); ++i) {
    out += text("    ", letter_of(i), "  ", prediction.choices[i].says, "\n");
  }
  if (!prediction.asks_number()) out += '\n';
  if (row.made) {
    out += text("  you predicted this before: ", row.made->answer,
                row.made->held ? ", which was right" : ", which was not right",
                "; only the first prediction is kept\n");
  }
  return out + faint(lab.paint, expects_of(prediction)) + "\n";
}

std::string not_understood(const Prediction& prediction, const std::string& typed) {
  return text("'", typed, "' is not an answer here: ", expects_of(prediction));
}

// Reads until an answer is understood on a terminal; elsewhere the first line must be one.
std::string read_answer(const PredictionRow& row) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  for (std::string line; std::cout << "> " << std::flush, std::getline(std::cin, line);) {
    if (!terminal) std::cout << "\n";
    if (answer_of(row.predicted.prediction, line)) return line;
    if (!terminal) throw UsageError(not_understood(row.predicted.prediction, line));
    std::cout << not_understood(row.predicted.prediction, line) << "\n";
  }
  std::cout << "\n";
  throw UsageError(text("predict before you run; to answer without a prompt: ./lab predict ",
                        row.name(), " --answer ANSWER"));
}

// "0.5 times what the run says"
std::string ratio_text(double yours, double seen) {
  if (seen == 0) return "";
  std::ostringstream ratio;
  ratio << std::setprecision(3) << yours / seen;
  return text(" (yours is ", ratio.str(), " times that)");
}

std::string verdict_text(const Lab& lab, const Prediction& prediction, const PredictedValue& yours,
                         const PredictedValue& seen) {
  const bool held = holds(prediction, yours, seen);
  std::string out = held ? green(lab.paint, "Right") : yellow(lab.paint, "Not as predicted");
  out += text(": the run says ", value_shown(prediction, seen));
  if (!held) out += text("; you said ", value_shown(prediction, yours));
  if (prediction.asks_number() && yours.number != seen.number) {
    out += ratio_text(yours.number, seen.number);
  }
  return out + "\n";
}

nlohmann::json question_json(const PredictionRow& row) {
  const Prediction& prediction = row.predicted.prediction;
  auto choices = nlohmann::json::array();
  for (const PredictedChoice& choice : prediction.choices) choices.push_back(choice.says);
  return {{"run", row.name()},
          {"lesson", row.lesson->folder},
          {"question", prediction.question},
          {"choices", choices},
          {"unit", prediction.unit},
          {"expects", expects_of(prediction)},
          {"command", row.predicted.run.command}};
}

nlohmann::json value_json(const Prediction& prediction, const PredictedValue& value) {
  if (prediction.asks_number()) return value.number;
  return std::string(1, letter_of(value.choice));
}

PredictedValue run_and_see(const Prediction& prediction, const Run& run, const ShownRun& ran) {
  try {
    return value_in(prediction, comparable_output(run.expected, ran.output));
  } catch (const Error& error) {
    throw Error(text(error.what(), ", so your prediction was not judged"));
  }
}

Exit ask(const Lab& lab, const PredictionRow& row, const std::vector<PredictionRow>& rows,
         const Arguments& arguments) {
  const Prediction& prediction = row.predicted.prediction;
  const Run& lesson_run = row.predicted.run;
  const bool as_json = arguments.flag("json");
  if (as_json && !arguments.given("answer")) {
    std::cout << write_json(question_json(row), 2) << "\n";
    return Exit::passed;
  }
  if (!as_json) std::cout << reflowed(asked(lab, row), lab.columns);
  const std::string typed = arguments.given("answer") ? arguments.get("answer") : read_answer(row);
  const auto yours = answer_of(prediction, typed);
  if (!yours) throw UsageError(not_understood(prediction, typed));

  if (!as_json) std::cout << "\n" << faint(lab.paint, lesson_run.command) << std::flush;
  const ShownRun ran =
      run_shown(lab, lesson_run.command, as_json ? Shown::not_at_all : Shown::as_it_comes);
  const PredictedValue seen = run_and_see(prediction, lesson_run, ran);
  const bool held = holds(prediction, *yours, seen);
  if (!row.made) {
    note_prediction(lab.places.predictions(), row.lesson->folder, prediction.question,
                    {value_shown(prediction, *yours), held, seconds_now()});
  }
  if (as_json) {
    nlohmann::json document = question_json(row);
    document["answer"] = value_json(prediction, *yours);
    document["seen"] = value_json(prediction, seen);
    document["held"] = held;
    if (prediction.asks_number() && seen.number != 0) {
      document["ratio"] = yours->number / seen.number;
    }
    document["why"] = prediction.why;
    document["output"] = ran.output;
    document["seconds"] = ran.seconds;
    std::cout << write_any_json(document, 2) << "\n";
    return Exit::passed;
  }
  std::cout << "\n" << wrapped(verdict_text(lab, prediction, *yours, seen), lab.columns);
  std::cout << "\n"
            << reflowed(prediction.why.substr(prediction.why.find_first_not_of('\n')) + "\n",
                        lab.columns);
  const PredictionRow* next = open_prediction(rows, row.name());
  if (next != nullptr) std::cout << "\nnext      ./lab predict " << next->name() << "\n";
  return Exit::passed;
}

// "06.2" → the lesson's word and the run's number; 0 without one.
std::pair<std::string, int> lesson_and_number(const std::string& word) {
  const std::size_t point = word.rfind('.');
  if (point == std::string::npos) return {word, 0};
  const std::string number = word.substr(point + 1);
  const bool digits = !number.empty() && number.size() < 4 &&
                      number.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || std::stoi(number) == 0) {
    throw UsageError("'" + word +
                     "' is not a run: ./lab predict 06.1 asks about the first run of lesson 06");
  }
  return {word.substr(0, point), std::stoi(number)};
}

}  // namespace

Exit predict_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(predict_options(), words);
  if (arguments.asks_help()) return print_help(predict_options());
  if (arguments.words().size() > 1) throw UsageError("name one run: ./lab predict 06.1");
  const std::string word = arguments.words().empty() ? "" : arguments.words().front();
  const auto [lesson, number] = lesson_and_number(word);
  const std::vector<PredictionRow> rows = prediction_rows(lab, lesson);
  if (number == 0) {
    if (arguments.given("answer")) throw UsageError("--answer is for one run: ./lab predict 06.1");
    if (arguments.flag("json")) {
      std::cout << write_json(prediction_list_json(rows), 2) << "\n";
    } else if (rows.empty()) {
      std::cout << (lesson.empty() ? "no lesson asks for predictions\n"
                                   : "lesson " + lesson + " asks for no predictions\n");
    } else {
      std::cout << wrapped(prediction_list_text(lab, rows), lab.columns);
    }
    return Exit::passed;
  }
  if (rows.empty()) {
    throw UsageError(text("lesson ", lesson, " asks for no predictions; ./lab predict lists all"));
  }
  if (static_cast<std::size_t>(number) > rows.size()) {
    throw UsageError(text("there is no run ", word, "; the last one is ", rows.back().name()));
  }
  return ask(lab, rows[static_cast<std::size_t>(number - 1)], rows, arguments);
}

}  // namespace lockstep::grader
