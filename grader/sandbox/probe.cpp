#include "grader/sandbox/probe.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/sim/core.hpp"
#include "grader/course/text_file.hpp"

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

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Why the profile cannot be used; empty when it can.
std::string try_profile(Profile profile, const Places& places, const fs::path& area,
                        const sim::PlayerLimits& limits, const std::string& compiler,
                        Proven& proven) {
  try {
    proven.sandbox = std::make_unique<Sandbox>(profile, places, area);
    const Sandbox& sandbox = *proven.sandbox;
    using Filter = Sandbox::Filter;
    proven.layers =
        layers_shown(profile, attempt(places, area, sandbox.player_launcher(Filter::on), limits),
                     attempt(places, area, sandbox.player_launcher(Filter::off), limits));
    for (Layer& layer : compiler_layers(places, sandbox, area, compiler)) {
      proven.layers.push_back(std::move(layer));
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

}  // namespace

Attempts attempt(const Places& places, const fs::path& area,
                 const std::vector<std::string>& launcher, sim::PlayerLimits limits) {
  const fs::path built = places.build / "bin" / "lab-probe";
  if (!fs::exists(built)) throw Error("this build has no lab-probe: build again (./lab start)");
  const fs::path player = area / "lab-probe";
  if (!fs::exists(player)) fs::copy_file(built, player);  // an earlier one may still run
  fs::permissions(player, fs::perms(0755));
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
  Attempts attempts;
  std::istringstream lines(ByteReader(result.results.at(0)).get_text());
  std::string name;
  for (int value; lines >> name >> value;) attempts[name] = value;
  return attempts;
}

std::vector<Layer> layers_shown(Profile profile, const Attempts& filtered, const Attempts& bare) {
  std::vector<Layer> layers;
  // The control is what must have come through, so that the refusal means something.
  const auto refused = [](const std::string& name, int error, int control = 0) {
    return Layer{name, refusal(error), error != 0 && control == 0};
  };
  layers.push_back(refused("files", bare.at("open_file")));
  layers.push_back(refused("the judge's memory", bare.at("open_memory")));
  if (profile == Profile::namespaces) {
    layers.push_back(refused("network", bare.at("connect"), bare.at("socket")));
  }
  layers.push_back(refused("other processes", bare.at("signal_judge")));
  layers.push_back(refused("filter: sockets", filtered.at("socket"), bare.at("socket")));
  layers.push_back(refused("filter: processes", filtered.at("fork"), bare.at("fork")));
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
  std::string hidden = "#include \"engine/base/error.hpp\"\n";
  bool there = true;
  for (const fs::path& path : {places.manifest(), places.root / "grader/judge/judge.hpp",
                               some_solution(places), fs::path("/etc/passwd")}) {
    there = there && fs::exists(path);
    hidden +=
        "#if __has_include(\"" + path.string() + "\")\n#error " + path.string() + "\n#endif\n";
  }
  const CommandResult sees = compile(sandbox, folder, places, compiler, hidden);
  // Landlock says that it refuses, where an empty root has nothing to refuse: it tells that a file
  // exists, not what is in it.
  const bool refused = sandbox.profile() == Profile::landlock &&
                       sees.output.find("Permission denied") != std::string::npos;
  layers.push_back({"compiler: files",
                    sees.exit_code == 0 ? "it sees none of the course's" : first_line(sees.output),
                    there && (sees.exit_code == 0 || refused)});
  const CommandResult reads =
      compile(sandbox, folder, places, compiler, "#include \"/etc/passwd\"\n");
  layers.push_back({"compiler: including them", first_line(reads.output),
                    reads.exit_code != 0 && reads.output.find("root:") == std::string::npos});
  return layers;
}

Proven proven_sandbox(const Places& places, const fs::path& area, const sim::PlayerLimits& limits,
                      const std::string& compiler) {
  Proven proven;
  const std::string no_namespaces =
      try_profile(Profile::namespaces, places, area, limits, compiler, proven);
  if (no_namespaces.empty()) return proven;
  std::string no_landlock = "it needs root, since each player gets a user of its own";
  if (::geteuid() == 0) {
    no_landlock = try_profile(Profile::landlock, places, area, limits, compiler, proven);
    if (no_landlock.empty()) return proven;
  }
  throw NoSandbox(text("no sandbox holds on this machine, so nothing is graded.\n  namespaces: ",
                       no_namespaces, "\n  landlock: ", no_landlock,
                       "\nmend: apt-get install bubblewrap; on Ubuntu 24.04 also allow user "
                       "namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0); in a "
                       "container run as root"));
}

}  // namespace lockstep::grader
