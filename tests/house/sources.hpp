// The files of this repository, as the tests of the house read them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::house {

struct Source {
  std::string path;  // from the root: "engine/comm/peers.hpp"
  std::vector<std::string> lines;
};

// A line of a file that breaks a rule, as "path:line: why".
using Complaints = std::vector<std::string>;

// The tree that is read: the one that this test was built from, or the one that the environment's
// LOCKSTEP_HOUSE names (setup/hooks/pre-commit).
std::filesystem::path root();

Source source_of(std::string path, const std::string& text);

// Every C++ file under the given folders of the root, sorted by path. Folders that do not exist
// are skipped.
std::vector<Source> sources_under(const std::vector<std::string>& folders);

// The line without a trailing // comment and with the insides of its string literals blanked.
std::string code_of(const std::string& line);

// "path:12: why", counting lines from 1.
std::string complaint(const Source& source, std::size_t line_index, const std::string& why);

std::string joined(const Complaints& complaints);  // one a line

}  // namespace lockstep::house
