#include "grader/further/kept_objects.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iostream>
#include <map>
#include <span>
#include <sstream>
#include <thread>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

constexpr std::ptrdiff_t objects_kept = 8;  // of each part, the newest

std::string hexadecimal(const std::string& content) {
  std::ostringstream out;
  out << std::hex << checksum_of(std::as_bytes(std::span(content)));
  return out.str();
}

// The checksums of headers, each read once for all objects.
class Headers {
 public:
  explicit Headers(const fs::path& root) : root_(root) {}

  const std::string& sum_of(const std::string& header) {
    const auto [at, is_new] = sums_.try_emplace(header);
    const fs::path file = root_ / header;
    if (is_new) at->second = fs::is_regular_file(file) ? hexadecimal(read_text(file)) : "none";
    return at->second;
  }

 private:
  const fs::path& root_;
  std::map<std::string, std::string> sums_;
};

// "x.o: a.cpp b.hpp \" and further lines, as the compiler writes them → the files behind the colon.
// A blank in a path stands behind a backslash.
std::vector<std::string> files_in(const std::string& dependencies) {
  std::vector<std::string> files;
  std::string file;
  const std::size_t colon = dependencies.find(": ");
  if (colon == std::string::npos) return files;
  for (std::size_t at = colon + 2; at <= dependencies.size(); ++at) {
    const char c = at < dependencies.size() ? dependencies[at] : '\n';
    const char next = at + 1 < dependencies.size() ? dependencies[at + 1] : '\n';
    if (c == '\\' && next != '\n') {
      file += next;
      ++at;
    } else if (c != '\\' && c != ' ' && c != '\n') {
      file += c;
    } else if (!file.empty()) {
      files.push_back(std::exchange(file, ""));
    }
  }
  return files;
}

// One file, and where its object is or will be.
class Kept {
 public:
  Kept(const Lab& lab, const Replacement& replacement) : lab_(lab), replacement_(replacement) {
    if (is_object()) return;
    const Exercise& part = *replacement.part;
    recipe_ = read_recipe(lab.places.recipe(part));
    recipe_.compile_flags.insert(recipe_.compile_flags.end(), {"-O3", "-DNDEBUG"});
    // The precompiled header belongs to another level of optimisation (g++ 12 reads it all the
    // same, and crashes): its plain text is read instead.
    recipe_.pch = recipe_.plain_header;
    const std::string shown = lab.places.shown(replacement.source);
    std::string all = read_text(replacement.source) + compiler_state();
    for (const std::string& word : compile_words(recipe_, shown, "")) all += "\n" + word;
    stem_ = lab.places.students() / "objects" / (part.name + "-" + hexadecimal(all));
  }

  const std::string& name() const { return replacement_.part->name; }
  fs::path object() const {
    return is_object() ? replacement_.source : fs::path(stem_.string() + ".o");
  }

  // True if the object is there and would come out the same.
  bool is_there(Headers& headers) const {
    if (is_object()) return true;
    if (!fs::is_regular_file(object()) || !fs::is_regular_file(note())) return false;
    std::istringstream lines(read_text(note()));
    std::size_t read = 0;
    for (std::string sum, header; lines >> sum && std::getline(lines >> std::ws, header); ++read) {
      if (headers.sum_of(header) != sum) return false;
    }
    std::error_code unimportant;  // that it was used just now
    fs::last_write_time(note(), fs::file_time_type::clock::now(), unimportant);
    return read > 0;
  }

  // Two commands may compile the same at once: each does so under its own names.
  StudentBuild compile() const {
    fs::create_directories(stem_.parent_path());
    Recipe recipe = recipe_;
    recipe.compile_flags.insert(recipe.compile_flags.end(), {"-MMD", "-MF", dependencies()});
    return compile_student(lab_.places, recipe, *replacement_.part, replacement_.source,
                           unfinished(), lab_.paint);
  }

  // Moves what was compiled to its place. Without a list of headers, as of a file that was compiled
  // from preprocessed text, nobody can say later that the object is still right.
  void keep(Headers& headers) const {
    std::string read;
    if (fs::is_regular_file(dependencies())) {
      for (const std::string& file : files_in(read_text(dependencies()))) {
        if (file.ends_with(".hpp") || file.ends_with(".h")) {
          read += headers.sum_of(file) + " " + file + "\n";
        }
      }
      fs::remove(dependencies());
    }
    write_text(unfinished().string() + ".read", read);
    fs::rename(unfinished(), object());
    fs::rename(unfinished().string() + ".read", note());
    forget_older();
  }

 private:
  bool is_object() const { return replacement_.source.extension() == ".o"; }  // of the edition
  fs::path note() const { return stem_.string() + ".read"; }
  fs::path unfinished() const { return text(stem_.string(), "-", ::getpid()); }
  std::string dependencies() const { return unfinished().string() + ".d"; }

  std::string compiler_state() const {
    std::error_code unknown;
    const fs::path compiler = fs::canonical(recipe_.compiler, unknown);
    return text("\n", compiler.string(), " ", fs::file_size(compiler, unknown), " ",
                fs::last_write_time(compiler, unknown).time_since_epoch().count());
  }

  // A note's time is when its object was used last.
  void forget_older() const {
    std::vector<std::pair<fs::file_time_type, fs::path>> notes;
    std::error_code gone;  // another command may be tidying up as well
    for (const auto& entry : fs::directory_iterator(stem_.parent_path(), gone)) {
      const fs::path& file = entry.path();
      const bool ours = file.filename().string().starts_with(name() + "-");
      if (ours && file.extension() == ".read") {
        notes.emplace_back(fs::last_write_time(file, gone), file);
      }
    }
    if (std::ssize(notes) <= objects_kept) return;
    std::sort(notes.begin(), notes.end());
    for (auto at = notes.begin(); at != notes.end() - objects_kept; ++at) {
      fs::remove(at->second, gone);
      fs::remove(at->second.replace_extension(".o"), gone);
    }
  }

  const Lab& lab_;
  const Replacement replacement_;
  Recipe recipe_;
  fs::path stem_;
};

// "2 of 4 parts" on a line of a terminal that changes; elsewhere one line with their names.
class Told {
 public:
  explicit Told(const std::vector<const Kept*>& missing) : parts_(missing.size()) {
    std::string names;
    for (const Kept* one : missing) names += (names.empty() ? "" : ", ") + one->name();
    if (!terminal_) std::cerr << "  compiling  " << names << "\n";
  }
  ~Told() {
    if (terminal_) std::cerr << "\r\033[K" << std::flush;
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  void done(std::size_t parts) const {
    if (!terminal_) return;
    std::cerr << "\r  compiling your parts [" << parts << "/" << parts_ << "]\033[K" << std::flush;
  }

 private:
  std::size_t parts_;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
};

// Compiles all of these, as many at once as there are cores.
std::vector<StudentBuild> compiled(const std::vector<const Kept*>& missing) {
  std::vector<StudentBuild> builds(missing.size());
  std::vector<std::exception_ptr> failures(missing.size());
  std::atomic<std::size_t> next = 0, done = 0;
  const auto work = [&] {
    for (std::size_t at = next++; at < missing.size(); at = next++) {
      try {
        builds[at] = missing[at]->compile();
      } catch (...) {
        failures[at] = std::current_exception();
      }
      ++done;
      done.notify_one();
    }
  };
  const Told told(missing);
  {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < std::min(cores, missing.size()); ++i) workers.emplace_back(work);
    for (std::size_t seen = 0; seen < missing.size(); seen = done) {
      told.done(seen);
      done.wait(seen);
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return builds;
}

}  // namespace

std::vector<fs::path> kept_objects(const Lab& lab, const std::vector<Replacement>& parts) {
  Headers headers(lab.places.root);
  std::vector<Kept> all;
  for (const Replacement& part : parts) all.emplace_back(lab, part);
  std::vector<const Kept*> missing;
  std::vector<fs::path> objects;
  for (const Kept& one : all) {
    objects.push_back(one.object());
    if (!one.is_there(headers)) missing.push_back(&one);
  }
  if (missing.empty()) return objects;
  const std::vector<StudentBuild> builds = compiled(missing);
  for (std::size_t at = 0; at < missing.size(); ++at) {
    const StudentBuild& build = builds[at];
    if (!build.cause.empty()) throw UsageError(build.message + "\n" + build.compiler);
    missing[at]->keep(headers);
  }
  return objects;
}

}  // namespace lockstep::grader
