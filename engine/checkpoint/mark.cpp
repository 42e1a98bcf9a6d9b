#include "engine/checkpoint/mark.hpp"

#include <algorithm>
#include <charconv>

#include "engine/checkpoint/index.hpp"
#include "engine/checkpoint/json_fields.hpp"
#include "engine/checkpoint/read_index.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr const char* mark_format = "lockstep mark 1";
constexpr int mark_levels = 3;

bool is_digit(char c) { return '0' <= c && c <= '9'; }

// "model-rank*.safetensors" stands for model-rank2.safetensors.
bool stands_for(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == name;
  const std::size_t count = name.size() + 1 - std::min(name.size() + 1, pattern.size());
  return count > 0 && name.starts_with(pattern.substr(0, star)) &&
         name.ends_with(pattern.substr(star + 1)) &&
         std::ranges::all_of(name.substr(star, count), is_digit);
}

// True of what a power failure, or a kill, may have left of a mark: it has the first letters, as
// far as they were not lost. No other file was written then.
bool is_torn_mark(const std::string& content) {
  const std::string first = text("{\"format\": \"", mark_format, "\"");
  for (std::size_t i = 0; i < std::min(content.size(), first.size()); ++i) {
    if (content[i] != '\0' && content[i] != first[i]) return false;
  }
  return true;
}

}  // namespace

std::string mark_name(int again) {
  return text("mark", again > 0 ? text(again_mark, again) : std::string(), ".json");
}

bool is_mark_name(const std::string& name) {
  if (name == removed_file || name == mark_name(0)) return true;
  const int again = again_of(name);
  return again > 0 && name == mark_name(again);
}

int again_of(const std::string& name) {
  int number = 0;
  const std::size_t at = name.find(again_mark);
  if (at == std::string::npos) return 0;
  std::from_chars(name.data() + at + std::string_view(again_mark).size(), name.data() + name.size(),
                  number);
  return number;
}

std::string mark_text(const SaveMark& mark) {
  std::string files;
  for (const std::string& file : mark.files) {
    files += text(files.empty() ? "\n  " : ",\n  ", Json(file).dump());
  }
  return text("{\"format\": ", Json(mark_format).dump(), ",\n\"run\": ", Json(mark.run).dump(),
              ",\n\"files\": [", files, "]}\n");
}

SaveMark parse_mark(const std::string& json, const std::string& where) {
  const Json parsed = parse_json(json, where, mark_levels);
  Fields fields(parsed, where);
  check_format(fields, mark_format, where);
  SaveMark mark{.run = fields.word("run")};
  for (const Json& file : fields.list("files")) {
    if (!file.is_string()) fields.refuse("names of files", file);
    mark.files.push_back(file.get<std::string>());
  }
  fields.done();
  return mark;
}

bool Written::has(const Stored& one) const {
  return (one.kind != StoredKind::folder || one.is_link) &&
         std::ranges::any_of(files, [&](const auto& file) { return stands_for(file, one.name); });
}

Written written_in(const Storage& storage, const std::string& folder,
                   const std::vector<Stored>& names, By by) {
  Written all;
  const auto add_index = [&](const std::string& content, const std::string& told) {
    const Index index = parse_index(content, told, Covers::all);
    for (const IndexedFile& file : index.files) all.files.push_back(file.name);
  };
  for (const Stored& one : names) {
    const bool is_mark = is_mark_name(one.name);
    const bool is_index = one.name == index_file && by == By::marks_and_index;
    if (one.name == state_file && by == By::marks_and_index) {
      all.files.insert(all.files.end(), {model_file, optimizer_file, state_file});
    }
    if ((!is_mark && !is_index) || one.kind != StoredKind::file) continue;
    const std::string file = within(folder, one.name), told = storage.told(file);
    const std::string content = read_text(storage, file, index_bytes_max);
    try {
      if (is_index || one.name == removed_file) {
        add_index(content, told);
      } else {
        const SaveMark mark = parse_mark(content, told);
        all.files.insert(all.files.end(), mark.files.begin(), mark.files.end());
        if (all.run.empty()) all.run = mark.run;
      }
    } catch (const NewerFormat&) {
      throw;
    } catch (const CheckpointError&) {  // damaged, or somebody else's
      if (is_index || !is_torn_mark(content)) continue;
    }
    if (is_mark) all.marks.push_back(one.name);
    if (is_index) all.files.emplace_back(index_file);
    all.indexed = all.indexed || is_index;
  }
  return all;
}

int remove_written(Storage& storage, const std::string& folder, const Written& written) {
  int removed = 0;
  for (const Stored& one : storage.list(folder)) {
    if (!written.has(one)) continue;
    storage.remove(within(folder, one.name));
    ++removed;
  }
  // A mark that goes before the files that it names would leave them to nobody. Only a power
  // failure reorders removals, so a storage that cannot sync any more is cleared all the same.
  try {
    if (removed > 0) storage.sync(folder);
  } catch (const CheckpointError&) {
  }
  for (const std::string& mark : written.marks) storage.remove(within(folder, mark));
  if (storage.list(folder).empty()) storage.remove(folder);
  return removed;
}

}  // namespace lockstep::checkpoint
