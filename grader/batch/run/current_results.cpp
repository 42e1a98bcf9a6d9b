#include "grader/batch/run/current_results.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace lockstep::grader {
namespace {

using nlohmann::json;

void end_versions(const json& now, std::map<std::string, std::string>& versions,
                  CurrentResults& current) {
  for (const auto& [exercise, version] : now.at("exercises").items()) {
    const auto known = versions.find(exercise);
    if (known != versions.end() && known->second != version.get_ref<const std::string&>()) {
      std::erase_if(current, [&](const auto& one) { return one.first.first == exercise; });
    }
    versions[exercise] = version;
  }
}

}  // namespace

CurrentResults current_results(const std::vector<json>& records) {
  CurrentResults current;
  std::map<std::string, std::string> versions;
  for (const json& record : records) {
    const auto& kind = record.at("record").get_ref<const std::string&>();
    if (kind == "result") {
      current[{record.at("exercise"), record.at("sha256")}] = &record;
    } else if (kind == "versions") {
      end_versions(record, versions, current);
    } else if (kind == "regrade") {
      for (const json& file : record.at("files")) current.erase({file.at(0), file.at(1)});
    }
  }
  return current;
}

}  // namespace lockstep::grader
