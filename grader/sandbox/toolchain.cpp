#include "grader/sandbox/toolchain.hpp"

#include <algorithm>

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

constexpr int links_max = 16;

// A program, and each link that leads to it.
void add_program(fs::path path, Toolchain& all) {
  std::error_code gone;
  for (int i = 0; i < links_max && fs::is_symlink(path, gone); ++i) {
    const fs::path target = fs::read_symlink(path, gone);
    all.links[path] = target;
    path = (path.parent_path() / target).lexically_normal();
  }
  const bool known = std::find(all.files.begin(), all.files.end(), path) != all.files.end();
  if (fs::is_regular_file(path, gone) && !known) all.files.push_back(path);
}

// As the PATH of a command in the sandbox has it.
void add_program_named(const std::string& name, Toolchain& all) {
  std::error_code gone;
  for (const char* folder : {"/usr/local/bin", "/usr/bin"}) {
    const fs::path path = fs::path(folder) / name;
    if (fs::exists(path, gone)) return add_program(path, all);
  }
}

bool lies_below(const fs::path& path, const std::vector<fs::path>& folders) {
  return std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) {
    return path.string().starts_with(folder.string() + "/");
  });
}

// Debian's folders of libraries are named for the machine: /usr/lib/x86_64-linux-gnu.
void add_libraries(Toolchain& all) {
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/usr/lib", gone)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(gone) && name.find("-linux-gnu") != std::string::npos) {
      all.folders.push_back(entry.path());
    }
  }
  for (const char* folder : {"/usr/lib/gcc", "/usr/libexec/gcc", "/usr/lib/locale", "/usr/lib64",
                             "/usr/lib32", "/usr/libx32", "/usr/include"}) {
    if (fs::is_directory(folder, gone)) all.folders.emplace_back(folder);
  }
}

}  // namespace

Toolchain toolchain_of(const std::string& compiler) {
  Toolchain all;
  std::error_code gone;
  add_libraries(all);
  const fs::path real = fs::weakly_canonical(compiler, gone);
  // A compiler that is not the system's brings its own: /opt/gcc-13/bin/g++,
  // /usr/lib/llvm-14/bin/….
  const fs::path home = real.parent_path().parent_path();
  if (home != "/usr" && home != "/" && !home.empty()) all.folders.push_back(home);
  add_program(compiler, all);
  for (const char* name :
       {"env", "c++", "g++", "nm", "as", "ld", "ld.bfd", "ld.mold", "mold", "ld.lld"}) {
    add_program_named(name, all);
  }
  std::erase_if(all.files, [&](const fs::path& file) { return lies_below(file, all.folders); });
  std::erase_if(all.links, [&](const auto& link) { return lies_below(link.first, all.folders); });
  if (fs::exists("/etc/ld.so.cache", gone)) all.files.emplace_back("/etc/ld.so.cache");
  return all;
}

}  // namespace lockstep::grader
