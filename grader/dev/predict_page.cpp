#include "grader/dev/predict_page.hpp"

#include <charconv>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/predict_list.hpp"

namespace lockstep::grader {
namespace {

// The Markdown of a question as HTML on one line: `code` spans, paragraphs.
std::string html_of(const std::string& words) {
  std::string out;
  bool code = false;
  for (std::size_t i = words.find_first_not_of('\n'); i < words.size(); ++i) {
    const char letter = words[i];
    if (letter == '`') {
      code = !code;
      out += code ? "<code>" : "</code>";
    } else if (letter == '\n') {
      const bool paragraph = i + 1 < words.size() && words[i + 1] == '\n';
      out += paragraph ? "<br/><br/>" : " ";
      if (paragraph) ++i;
    } else {
      out += letter == '&'   ? "&amp;"
             : letter == '<' ? "&lt;"
             : letter == '>' ? "&gt;"
             : letter == '"' ? "&quot;"
                             : std::string(1, letter);
    }
  }
  return out;
}

std::string attribute(const std::string& name, const std::string& value) {
  return text(" ", name, "=\"", html_of(value), "\"");
}

// With as few digits as give the number back.
std::string full_number(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

std::string answers_markup(const std::string& id, const Prediction& prediction) {
  std::string out;
  for (std::size_t i = 0; i < prediction.choices.size(); ++i) {
    out += text("<label><input type=\"radio\" name=\"", id, "\" value=\"", letter_of(i), "\"/> ",
                html_of(prediction.choices[i].says), "</label>");
  }
  if (!prediction.asks_number()) return out;
  return text("<label>Your number: <input type=\"text\" name=\"", id,
              "\" inputmode=\"decimal\" autocomplete=\"off\" size=\"14\"/> ",
              html_of(prediction.unit), "</label>");
}

}  // namespace

std::string prediction_markup(const std::string& name, const PredictedRun& predicted) {
  const Prediction& prediction = predicted.prediction;
  const PredictedValue seen = value_in(prediction, predicted.run.expected);
  std::string id = "predict_" + name;
  id[id.find('.')] = '_';
  std::string form = "<form class=\"predict\"";
  if (prediction.asks_number()) {
    form += attribute("data-number", full_number(seen.number)) +
            attribute("data-close", full_number(prediction.close)) +
            attribute("data-unit", prediction.unit);
  } else {
    form += attribute("data-choice", std::string(1, letter_of(seen.choice)));
  }
  return text(form, "><fieldset><legend>Predict ", name, "</legend><p>",
              html_of(prediction.question), "</p>", answers_markup(id, prediction),
              "<button type=\"submit\">Show the output</button></fieldset></form>"
              "<p class=\"prediction\" role=\"status\"></p><div class=\"predicted\">\n",
              "<p class=\"why\">", html_of(prediction.why), "</p></div>\n");
}

Exit predictions_page_command(const Lab& lab, const Words& words) {
  if (words.size() != 1) throw UsageError("name one folder: ./lab dev predictions FOLDER");
  for (const PredictionRow& row : prediction_rows(lab)) {
    write_text(std::filesystem::path(words.front()) / (row.name() + ".html"),
               prediction_markup(row.name(), row.predicted));
  }
  return Exit::passed;
}

}  // namespace lockstep::grader
