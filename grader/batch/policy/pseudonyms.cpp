#include "grader/batch/policy/pseudonyms.hpp"

#include <nlohmann/json.hpp>

#include "grader/batch/processes/digest.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

bool is_of_a_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string renamed(const std::string& text, const std::string& from, const std::string& to) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at; (at = text.find(from, done)) != std::string::npos;) {
    const std::size_t end = at + from.size();
    const bool whole = (at == 0 || !is_of_a_word(text[at - 1])) &&
                       (end == text.size() || !is_of_a_word(text[end]));
    out += text.substr(done, at - done) + (whole ? to : from);
    done = end;
  }
  return out + text.substr(done);
}

json renamed_in(const json& value, const std::string& from, const std::string& to) {
  if (value.is_string()) return renamed(value.get<std::string>(), from, to);
  if (!value.is_structured()) return value;
  json out = value;
  for (auto& part : out) part = renamed_in(part, from, to);
  return out;
}

}  // namespace

std::string pseudonym(const std::string& secret, const std::string& student) {
  constexpr std::size_t digits = 10;
  return "student-" + sha256(secret + sha256(student)).substr(0, digits);
}

json under_pseudonym(const json& document, const std::string& secret) {
  const std::string name = document.at("student");
  json out = renamed_in(document, name, pseudonym(secret, name));
  out["student"] = pseudonym(secret, name);
  out["about"] = json::object();
  return out;
}

}  // namespace lockstep::grader
