// The students' edition (./lab pack student): a folder that can lie anywhere, with programs that
// were built elsewhere. A program of it finds the folder by the file `edition` above itself.
#pragma once

#include <filesystem>
#include <optional>

namespace lockstep {

// The nearest folder above this program that has a file `edition`, a few levels up at most; nullopt
// for a program that runs where it was built.
std::optional<std::filesystem::path> folder_of_edition();

// The same above any file.
std::optional<std::filesystem::path> edition_above(const std::filesystem::path& file);

}  // namespace lockstep
