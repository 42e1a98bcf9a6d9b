#include "grader/course/proofs/mutants.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/text/toml_file.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;
using Keys = std::vector<std::string>;
const Keys keys_of_edit{"find", "through", "put"};
const Keys keys_of_mutant{"name", "verdict", "says", "likely", "first", "find", "through", "put"};
const Keys keys_beside_edits{"name", "verdict", "says", "likely", "first", "edit"};

constexpr const char* usual_verdict = "wrong answer";

// Names become files and are spoken with spaces.
bool in_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Reads one [[mutant]]; the first thing that is wrong with it ends the reading.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : file_(file.string()) {}

  Mutant read(const json& table) const {
    if (!table.is_object()) throw UsageError(file_ + ": [[mutant]] must be a table");
    const auto edits = table.find("edit");
    const bool several = edits != table.end();
    only(table, several ? keys_beside_edits : keys_of_mutant);
    Mutant mutant;
    mutant.name = words(table, "name");
    if (!std::ranges::all_of(mutant.name, in_name)) {
      fail(table, "name", "a mutant's name consists of a to z, 0 to 9 and _");
    }
    mutant.verdict = table.contains("verdict") ? words(table, "verdict") : usual_verdict;
    if (table.contains("verdict") && mutant.verdict == usual_verdict) {
      fail(table, "verdict", text("'", usual_verdict, "' is understood: leave this line out"));
    }
    mutant.likely = table.contains("likely") ? words(table, "likely") : "";
    mutant.first = table.contains("first") ? words(table, "first") : "";
    mutant.says = mutant.likely.empty() || table.contains("says") ? words(table, "says") : "";
    if (several && (!edits->is_array() || edits->empty())) {
      fail(table, "edit", "edits must be [[mutant.edit]] tables");
    }
    if (!several) mutant.edits.push_back(edit(table));
    for (const json& one : several ? *edits : json::array()) {
      if (!one.is_object()) fail(table, "edit", "an edit must be a [[mutant.edit]] table");
      only(one, keys_of_edit);
      mutant.edits.push_back(edit(one));
    }
    return mutant;
  }

  [[noreturn]] void fail(const json& table, const std::string& key, const std::string& what) const {
    throw UsageError(where(table, key) + ": " + what);
  }

 private:
  std::string where(const json& table, const std::string& key) const {
    const json& lines = table.at(toml_lines);
    return text(file_, ":", lines.value(lines.contains(key) ? key : "", 0));
  }

  // A text that must be there, and must not be empty.
  std::string words(const json& table, const std::string& key) const {
    if (!table.contains(key)) fail(table, "", "the mutant has no '" + key + "'");
    std::string value = optional(table, key);
    if (value.empty()) fail(table, key, "'" + key + "' is empty");
    return value;
  }

  std::string optional(const json& table, const std::string& key) const {
    const auto found = table.find(key);
    if (found == table.end()) return "";
    if (!found->is_string()) fail(table, key, "'" + key + "' must be a string in quotes");
    return found->get<std::string>();
  }

  Edit edit(const json& table) const {
    Edit edit;
    edit.find = words(table, "find");
    edit.where = where(table, "find");
    if (!table.contains("put"))
      fail(table, "", "the mutant has no 'put' (to delete the text: put = '')");
    edit.put = optional(table, "put");
    edit.through = optional(table, "through");
    if (edit.through.empty() && edit.put == edit.find) {
      fail(table, "put", "'put' is the same text as 'find'");
    }
    return edit;
  }

  void only(const json& table, const Keys& known) const {
    for (const auto& [key, value] : table.items()) {
      if (key == toml_lines || std::ranges::find(known, key) != known.end()) continue;
      fail(table, key, "a mutant has no key '" + key + "'" + did_you_mean(key, known));
    }
  }

  std::string file_;
};

struct Passage {
  std::size_t begin = 0, end = 0;
  const Edit* edit = nullptr;
};

Passage passage_of(std::string_view reference, const Edit& edit) {
  const std::size_t at = reference.find(edit.find);
  if (at == std::string_view::npos) {
    throw UsageError(edit.where + ": the reference does not contain this text");
  }
  if (reference.find(edit.find, at + 1) != std::string_view::npos) {
    throw UsageError(edit.where + ": the reference contains this text more than once");
  }
  std::size_t end = at + edit.find.size();
  if (!edit.through.empty()) {
    const std::size_t last = reference.find(edit.through, end);
    if (last == std::string_view::npos) {
      throw UsageError(edit.where + ": in the reference, no 'through' follows this text");
    }
    end = last + edit.through.size();
  }
  return {at, end, &edit};
}

}  // namespace

MutantList read_mutants(const std::filesystem::path& file) {
  const json content = read_toml_with_lines(file);
  const Reader reader(file);
  MutantList list;
  std::set<std::string> names;
  const auto take = [&](const json& table) {
    Mutant mutant = reader.read(table);
    if (!names.insert(mutant.name).second) {
      reader.fail(table, "name", "there are two mutants '" + mutant.name + "'");
    }
    list.mutants.push_back(std::move(mutant));
  };
  const auto noting = [&list](const auto& act) {
    try {
      act();
    } catch (const UsageError& error) {
      list.problems.emplace_back(error.what());
    }
  };
  for (const auto& entry : content.items()) {
    const std::string& key = entry.key();
    const json& value = entry.value();
    if (key == toml_lines) continue;
    noting([&] {
      if (key != "mutant") reader.fail(content, key, "unexpected '" + key + "' beside the mutants");
      if (!value.is_array()) reader.fail(content, key, "mutants must be [[mutant]] tables");
    });
    if (key != "mutant" || !value.is_array()) continue;
    for (const json& table : value) noting([&] { take(table); });
  }
  return list;
}

std::string mutated(const std::string& reference, const Mutant& mutant) {
  std::vector<Passage> passages;
  for (const Edit& edit : mutant.edits) passages.push_back(passage_of(reference, edit));
  std::ranges::sort(passages, {}, &Passage::begin);
  std::string result;
  std::size_t done = 0;
  for (const Passage& passage : passages) {
    if (passage.begin < done) {
      throw UsageError(passage.edit->where + ": this edit overlaps another edit of its mutant");
    }
    result += reference.substr(done, passage.begin - done) + passage.edit->put;
    done = passage.end;
  }
  result += reference.substr(done);
  if (result == reference) {
    throw UsageError(
        text(mutant.edits.front().where, ": the mutant '", mutant.name, "' equals the reference"));
  }
  return result;
}

}  // namespace lockstep::grader
