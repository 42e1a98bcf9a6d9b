#include "grader/sandbox/probe.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/sim/core/core.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/sandbox/give_up.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// Somebody who listens on the loopback of this machine: whoever is inside must not reach it.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof here;
    auto* address = reinterpret_cast<sockaddr*>(&here);
    if (socket_ < 0 || ::bind(socket_, address, length) != 0 || ::listen(socket_, 8) != 0 ||
        ::getsockname(socket_, address, &length) != 0) {
      throw Error(text("no socket to probe the sandbox with: ", std::strerror(errno)));
    }
    port_ = ntohs(here.sin_port);
  }
  ~Listener() { ::close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int port() const { return port_; }

 private:
  int socket_;
  int port_ = 0;
};

std::string refusal(int error) { return error == 0 ? "it came through" : std::strerror(error); }

CommandResult compile(const Sandbox& sandbox, const fs::path& folder, const Places& places,
                      const std::string& compiler, const std::string& source) {
  write_text(folder / "probe.cpp", source);
  return sandbox.build({compiler, "-std=c++20", "-I" + places.root.string(), "-fsyntax-only",
                        "-fdiagnostics-color=never", "probe.cpp"},
                       {}, folder);
}

fs::path some_solution(const Places& places) {
  for (const auto& entry : fs::recursive_directory_iterator(places.root / "solutions")) {
    if (entry.path().extension() == ".cpp") return entry.path();
  }
  throw Error("there are no solutions in " + (places.root / "solutions").string());
}

Attempts attempts_in(const std::string& said) {
  Attempts attempts;
  std::istringstream lines(said);
  std::string name;
  for (int value; lines >> name >> value;) attempts[name] = value;
  return attempts;
}

// A copy of the probe that everybody may run.
fs::path probe_in(const Places& places, const fs::path& area) {
  const fs::path built = places.build / "bin" / "lab-probe";
  if (!fs::exists(built)) throw Error("this build has no lab-probe: build again (./lab start)");
  fs::path copy = area / "lab-probe";
  if (!fs::exists(copy)) fs::copy_file(built, copy);  // an earlier one may still run
  fs::permissions(copy, fs::perms(0755));
  return copy;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Why the profile cannot be used; empty when it can.
std::string try_profile(Profile profile, const Places& places, const fs::path& area,
                        const sim::PlayerLimits& limits, const std::string& compiler,
                        const std::string& mark, Proven& proven) {
  try {
    proven.sandbox = std::make_unique<Sandbox>(profile, places, area, compiler, mark);
    const Sandbox& sandbox = *proven.sandbox;
    using Filter = Sandbox::Filter;
    proven.layers =
        layers_shown(profile, attempt(places, area, sandbox.player_launcher(Filter::on), limits),
                     attempt(places, area, sandbox.player_launcher(Filter::off), limits));
    for (Layer& layer : compiler_layers(places, sandbox, area, compiler)) {
      proven.layers.push_back(std::move(layer));
    }
    for (const auto& [tried, error] : attempt_as_reader()) {
      proven.layers.push_back({"reader: " + tried, refusal(error), error == EPERM});
    }
  } catch (const Error& error) {
    return error.what();
  }
  std::string leaks;
  for (const Layer& layer : proven.layers) {
    if (!layer.holds) leaks += (leaks.empty() ? "" : "; ") + layer.name + ": " + layer.seen;
  }
  return leaks;
}

// Files that are no business of a stranger's source. Each is tried by itself, since the first may
// end the compiler.
Layer hidden_files(const Places& places, const Sandbox& sandbox, const fs::path& folder,
                   const std::string& compiler) {
  Layer layer{"compiler: files", "it sees none of the course's", true};
  for (const fs::path& path :
       {places.manifest(), places.root / "grader/judge/judge.hpp",
        places.root / "engine/sim/core/core.cpp", some_solution(places), fs::path("/etc/passwd")}) {
    const std::string name = path.string();
    const CommandResult sees =
        compile(sandbox, folder, places, compiler,
                "#if __has_include(\"" + name + "\")\n#error " + name + "\n#endif\n");
    // Landlock says that it refuses, where an empty root has nothing to refuse: it tells that a
    // file exists, not what is in it.
    const bool refused = sandbox.profile() == Profile::landlock &&
                         sees.output.find("Permission denied") != std::string::npos;
    if (sees.exit_code != 0) layer.seen = first_line(sees.output);
    layer.holds = layer.holds && fs::exists(path) && (sees.exit_code == 0 || refused);
    if (!layer.holds) break;
  }
  return layer;
}

// The probe in the compiler's place, and a program that is none of the compiler's.
std::vector<Layer> programs_of_a_compiler(const Places& places, const Sandbox& sandbox,
                                          const fs::path& area) {
  const Attempts tried = attempt_as_compiler(places, sandbox, area, Sandbox::Filter::on);
  const auto refused = [&](const std::string& name, const char* what) {
    return Layer{"compiler: " + name, refusal(tried.at(what)), tried.at(what) != 0};
  };
  std::vector<Layer> layers{refused("network", "connect"), refused("the judge", "signal_judge")};
  if (sandbox.profile() == Profile::landlock) {
    const bool root = tried.at("root") != 0;
    layers.push_back({"compiler: user", root ? "it is root" : "nobody", !root});
    layers.push_back(refused("sockets", "socket"));
  }
  const fs::path folder = area / "probe-compiler";
  const CommandResult shell = sandbox.build({"/bin/sh", "-c", "echo ran"}, {}, folder);
  layers.push_back({"compiler: other programs", first_line(shell.output),
                    fs::exists("/bin/sh") && shell.output.find("ran") == std::string::npos});
  return layers;
}

}  // namespace

Attempts attempt_as_compiler(const Places& places, const Sandbox& sandbox, const fs::path& area,
                             Sandbox::Filter filter) {
  const fs::path folder = area / "probe-compiler";
  fs::create_directories(folder);
  const fs::path probe = probe_in(places, area);
  const Listener listener;
  const CommandResult said =
      sandbox.build({probe.string(), std::to_string(listener.port()), std::to_string(::getpid())},
                    {probe}, folder, filter);
  if (said.exit_code != 0) throw Error("the probe did not run as a compiler: " + said.output);
  return attempts_in(said.output);
}

Attempts attempt(const Places& places, const fs::path& area,
                 const std::vector<std::string>& launcher, sim::PlayerLimits limits) {
  const fs::path player = probe_in(places, area);
  limits.launcher = launcher;

  const Listener listener;
  ByteWriter input;
  input.put(listener.port()).put(static_cast<int>(::getpid()));
  sim::Options options;
  options.ranks = 1;
  sim::Core core(options);
  sim::ProcessHost host({player.string()}, 1, limits);
  const sim::CaseResult result = host.run(core, {input.take()});
  if (result.finding) throw Error("the probe did not answer: " + result.finding->message);
  return attempts_in(ByteReader(result.results.at(0)).get_text());
}

std::vector<Layer> layers_shown(Profile profile, const Attempts& filtered, const Attempts& bare) {
  std::vector<Layer> layers;
  // The control is what must have come through, so that the refusal means something.
  const auto refused = [](const std::string& name, int error, int control = 0) {
    return Layer{name, refusal(error), error != 0 && control == 0};
  };
  // The filter refuses with EPERM what would otherwise have come through or failed differently.
  const auto filters = [&](const std::string& name, const std::string& tried) {
    const int error = filtered.at(tried);
    return Layer{"filter: " + name, refusal(error), error == EPERM && bare.at(tried) != EPERM};
  };
  layers.push_back(refused("files", bare.at("open_file")));
  layers.push_back(refused("names of files", bare.at("stat_file")));
  layers.push_back(refused("the judge's memory", bare.at("open_memory")));
  if (profile == Profile::namespaces) {
    layers.push_back(refused("network", bare.at("connect"), bare.at("socket")));
  }
  layers.push_back(refused("other processes", bare.at("signal_judge")));
  layers.push_back(refused("filter: sockets", filtered.at("socket"), bare.at("socket")));
  layers.push_back(refused("filter: processes", filtered.at("fork"), bare.at("fork")));
  layers.push_back(filters("bytes out of band", "out_of_band"));
  layers.push_back(filters("attached descriptors", "attach"));
  layers.push_back(filters("messages", "receive"));
  layers.push_back(filters("names of files", "stat_file"));
  layers.push_back(filters("advice on memory", "advice"));
  layers.push_back(filters("memory that can be run", "runnable_memory"));
  layers.push_back(filters("memory that grows", "growing_memory"));
  layers.push_back(filters("memory that is shared", "shared_memory"));
  layers.push_back(filters("other programs", "become"));
  layers.push_back(filters("threads of others", "signal_thread"));
  layers.push_back(refused("memory", bare.at("memory_large"), bare.at("memory_small")));
  const int threads = bare.at("threads");
  layers.push_back({"threads", text(threads, " of 40 could be started"), threads < 40});
  layers.push_back({"threads that are needed", text(filtered.at("threads"), " could be started"),
                    filtered.at("threads") >= 16});
  const bool privileged = bare.at("root") != 0 || bare.at("capabilities") != 0;
  layers.push_back({"privileges", privileged ? "it has some" : "none", !privileged});
  const bool may_gain = bare.at("may_gain") != 0;
  layers.push_back({"gaining privileges", may_gain ? "it may" : "it may not", !may_gain});
  const bool environment = bare.at("environment") != 0;
  layers.push_back({"environment", environment ? "it is not empty" : "empty", !environment});
  return layers;
}

std::vector<Layer> compiler_layers(const Places& places, const Sandbox& sandbox,
                                   const fs::path& area, const std::string& compiler) {
  const fs::path folder = area / "probe-compiler";
  const CommandResult works =
      compile(sandbox, folder, places, compiler, "#include \"engine/base/error.hpp\"\n");
  std::vector<Layer> layers;
  layers.push_back({"compiler: the engine", works.exit_code == 0 ? "it compiles" : works.output,
                    works.exit_code == 0});
  layers.push_back(hidden_files(places, sandbox, folder, compiler));
  const CommandResult reads =
      compile(sandbox, folder, places, compiler, "#include \"/etc/passwd\"\n");
  layers.push_back({"compiler: including them", first_line(reads.output),
                    reads.exit_code != 0 && reads.output.find("root:") == std::string::npos});
  for (Layer& layer : programs_of_a_compiler(places, sandbox, area)) {
    layers.push_back(std::move(layer));
  }
  return layers;
}

// Forked, as readers of archives are.
Attempts attempt_as_reader() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error("cannot create a pipe");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw Error("cannot start a process");
  if (child == 0) {
    const auto outcome = [](long result) { return result < 0 ? errno : 0; };
    const bool confined = give_up_everything().empty();
    const std::string said =
        !confined ? std::string()
                  : text("open_file ", outcome(::open("/etc/passwd", O_RDONLY)),   //
                         "\nsocket ", outcome(::socket(AF_INET, SOCK_STREAM, 0)),  //
                         "\nsignal_judge ", outcome(::kill(::getppid(), 0)),       //
                         "\nbecome ", outcome(::execl("/bin/true", "true", nullptr)), "\n");
    ::_exit(::write(ends[1], said.data(), said.size()) > 0 ? 0 : 1);
  }
  ::close(ends[1]);
  char said[500];
  const ssize_t count = ::read(ends[0], said, sizeof said);
  ::close(ends[0]);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (count <= 0) throw Error("a reader of strangers' files cannot be confined");
  return attempts_in({said, static_cast<std::size_t>(count)});
}

Proven proven_sandbox(const Places& places, const fs::path& area, const sim::PlayerLimits& limits,
                      const std::string& compiler, const std::string& mark) {
  Proven proven;
  const std::string no_namespaces =
      try_profile(Profile::namespaces, places, area, limits, compiler, mark, proven);
  if (no_namespaces.empty()) return proven;
  std::string no_landlock = "it needs root, since each player gets a user of its own";
  if (::geteuid() == 0) {
    no_landlock = try_profile(Profile::landlock, places, area, limits, compiler, mark, proven);
    if (no_landlock.empty()) return proven;
  }
  throw NoSandbox(text("no sandbox holds on this machine, so nothing is graded.\n  namespaces: ",
                       no_namespaces, "\n  landlock: ", no_landlock,
                       "\nmend: apt-get install bubblewrap; on Ubuntu 24.04 also allow user "
                       "namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0); in a "
                       "container run as root"));
}

}  // namespace lockstep::grader
