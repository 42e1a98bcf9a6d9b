#include "grader/sandbox/sandbox.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// Debian leaves these to whoever asks for them at run time; nobody's files belong to them.
constexpr const char* first_player_uid = "60001";
constexpr const char* scratch_bytes = "268435456";  // /tmp of a compiler, in memory

// A compiler needs a twentieth of the time and a quarter of the memory. The wall clock allows for a
// busy machine: processor time is what a bomb uses up.
constexpr CommandLimits build_limits{.deadline_s = 60,
                                     .flood_bytes = 16 << 20,
                                     .memory_bytes = std::size_t{2} << 30,
                                     .cpu_s = 20,
                                     .file_bytes = 64 << 20};

std::vector<fs::path> headers_of(const fs::path& engine) {
  std::vector<fs::path> headers;
  for (const auto& entry : fs::recursive_directory_iterator(engine)) {
    if (entry.is_regular_file() && entry.path().extension() == ".hpp") {
      headers.push_back(entry.path());
    }
  }
  return headers;
}

// Their times are kept: a precompiled header knows its parts by them.
void copy_headers(const fs::path& engine, const fs::path& to) {
  for (const fs::path& header : headers_of(engine)) {
    const fs::path copy = to / header.lexically_relative(engine);
    fs::create_directories(copy.parent_path());
    fs::copy_file(header, copy, fs::copy_options::overwrite_existing);
    fs::last_write_time(copy, fs::last_write_time(header));
  }
}

// True if every user can go there and read it.
bool is_open(const fs::path& file) {
  std::error_code gone;
  const auto has = [&](const fs::path& path, fs::perms right) {
    return (fs::status(path, gone).permissions() & right) == right;
  };
  if (!has(file, fs::perms::others_read)) return false;
  for (fs::path folder = file.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (!has(folder, fs::perms::others_exec)) return false;
  }
  return true;
}

}  // namespace

std::string name_of(Profile profile) {
  return profile == Profile::namespaces ? "namespaces (bubblewrap)" : "landlock (no namespaces)";
}

PrivateFolder::PrivateFolder() {
  std::string name = prefix() + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    throw Error("cannot make a folder below /tmp: is it full?");
  path_ = name;
  // Others may pass through, if they know the names inside, but not look around.
  if (::geteuid() == 0) ::chmod(name.c_str(), 0711);
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Sandbox::Sandbox(Profile profile, const Places& places, const fs::path& area,
                 const std::string& compiler, std::string mark)
    : profile_(profile),
      places_(places),
      box_(area / "lab-box"),
      headers_(area / "headers"),
      nothing_(area / "nothing"),
      toolchain_(toolchain_of(compiler)),
      mark_(std::move(mark)),
      root_(::geteuid() == 0) {
  const fs::path built = places.build / "bin" / "lab-box";
  if (!fs::exists(built)) {
    throw Error(
        "this build has no lab-box, which confines players: apt-get install libseccomp-dev "
        "bubblewrap, then configure and build again (./lab start)");
  }
  if (!fs::exists(box_)) fs::copy_file(built, box_);
  fs::permissions(box_, fs::perms(0755));
  fs::create_directory(nothing_);
  fs::permissions(nothing_, fs::perms(0555));
  closed_ = !is_open(places.root / "engine/base/error.hpp") || !is_open(built);
  if (profile == Profile::namespaces) copy_headers(places.root / "engine", headers_);
}

std::vector<std::string> Sandbox::player_launcher(Filter filter) const {
  std::vector<std::string> words{box_.string()};
  if (profile_ == Profile::namespaces) words.emplace_back("--namespaces");
  if (profile_ == Profile::landlock) {
    words.insert(words.end(), {"--root", nothing_.string(), "--landlock"});
  }
  if (root_) words.insert(words.end(), {"--uid", first_player_uid});
  if (filter == Filter::off) words.emplace_back("--no-filter");
  if (!mark_.empty()) words.insert(words.end(), {"--mark", mark_});
  words.emplace_back("--");
  return words;
}

CommandResult Sandbox::build(const std::vector<std::string>& argv,
                             const std::vector<fs::path>& reads, const fs::path& folder,
                             Filter filter) const {
  std::vector<std::string> words = profile_ == Profile::namespaces
                                       ? in_namespaces(reads, folder)
                                       : under_landlock(reads, folder, filter);
  words.insert(words.end(), argv.begin(), argv.end());
  return run_command(words, folder, build_limits);
}

std::vector<std::string> Sandbox::in_namespaces(const std::vector<fs::path>& reads,
                                                const fs::path& folder) const {
  std::vector<std::string> words{"/usr/bin/bwrap",
                                 "--unshare-user",
                                 "--unshare-all",
                                 "--disable-userns",
                                 "--die-with-parent",
                                 "--new-session",
                                 "--cap-drop",
                                 "ALL",
                                 "--clearenv",
                                 "--setenv",
                                 "PATH",
                                 "/usr/local/bin:/usr/bin",
                                 "--size",
                                 scratch_bytes,
                                 "--tmpfs",
                                 "/tmp"};
  const auto bind = [&](const char* how, const fs::path& path) {
    words.insert(words.end(), {how, path.string(), path.string()});
  };
  for (const fs::path& path : toolchain_.folders) bind("--ro-bind", path);
  for (const fs::path& path : toolchain_.files) bind("--ro-bind", path);
  for (const auto& [link, target] : toolchain_.links) {
    words.insert(words.end(), {"--symlink", target.string(), link.string()});
  }
  for (const char* name : {"bin", "lib", "lib64"}) {
    words.insert(words.end(), {"--symlink", std::string("usr/") + name, std::string("/") + name});
  }
  words.insert(words.end(), {"--ro-bind", headers_.string(), (places_.root / "engine").string()});
  for (const fs::path& path : reads) bind("--ro-bind", path);
  bind("--bind", folder);
  words.insert(words.end(), {"--chdir", folder.string(), "--"});
  return words;
}

std::vector<std::string> Sandbox::under_landlock(const std::vector<fs::path>& reads,
                                                 const fs::path& folder, Filter filter) const {
  std::vector<std::string> words{box_.string(), "--command"};
  if (root_) words.insert(words.end(), {"--uid", first_player_uid});
  if (root_ && closed_) words.emplace_back("--reach");
  if (filter == Filter::off) words.emplace_back("--no-filter");
  if (!mark_.empty()) words.insert(words.end(), {"--mark", mark_});
  const auto read = [&](const fs::path& path) {
    words.insert(words.end(), {"--read", path.string()});
  };
  for (const fs::path& path : toolchain_.folders) read(path);
  for (const fs::path& path : toolchain_.files) read(path);
  for (const fs::path& path : headers_of(places_.root / "engine")) read(path);
  for (const fs::path& path : reads) read(path);
  words.insert(words.end(), {"--write", folder.string(), "--write", "/dev/null", "--"});
  return words;
}

}  // namespace lockstep::grader
