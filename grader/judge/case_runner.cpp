#include "grader/judge/case_runner.hpp"

#include <utility>

#include <stdlib.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <span>
#include <string_view>
#include <tuple>

#include "engine/base/temporary_folder.hpp"
#include "grader/judge/adapters_lines.hpp"
#include "grader/judge/engine_errors.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/judge/noted_service.hpp"
#include "grader/judge/repeats.hpp"

namespace lockstep::grader {
namespace {

constexpr std::size_t text_max = 4000;  // bytes of each text of a failure
constexpr int players_max = 17;

// One word for what the core or the host found; a hint is chosen by it.
std::string cause_of(const sim::Finding& finding) {
  if (!finding.cause.empty()) return finding.cause;
  using sim::FindingKind;
  switch (finding.kind) {
    case FindingKind::deadlock:
      return finding.ranks.size() > 1 ? "cycle" : "waits_for_nobody";
    case FindingKind::mismatch:
      return "ranks_disagree";
    case FindingKind::undelivered:
      return "never_received";
    case FindingKind::in_flight:
      return "buffer_in_flight";
    case FindingKind::rank_exited:
      return "exited";
    case FindingKind::unsolved:
      return "stub";
    default: {
      std::string name(name_of(finding.kind));
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    }
  }
}

// "case 3: 4 ranks, 7 elements of int64, sum"
std::string heading(const CaseAddress& at, const std::string& description) {
  return text("case ", text_of(at), ": ", description);
}

// Not in the middle of a character.
std::string cut(std::string said) {
  if (said.size() <= text_max) return said;
  std::size_t end = text_max;
  while (end > 0 && (static_cast<unsigned char>(said[end]) & 0xc0) == 0x80) --end;
  return text(said.substr(0, end), "… (", said.size() - end, " more bytes)");
}

// A folder in which the ranks of one case meet; they are told of it as the player's first argument.
class MeetingPlace {
 public:
  MeetingPlace() {
    std::string pattern = (folder_for_temporaries() / "lockstep-case-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw Error("cannot make a folder like " + pattern + ": is the disk full?");
    }
    path_ = pattern;
  }
  MeetingPlace(const MeetingPlace&) = delete;
  MeetingPlace& operator=(const MeetingPlace&) = delete;
  ~MeetingPlace() {
    std::error_code gone;
    std::filesystem::remove_all(path_, gone);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

Failure because(const Cause& cause, Failure found) {
  found.cause = cause.name;
  found.message += text(lead_to(cause.name), cause.sentence);
  return found;
}

Failure also_because(const std::string& sentence, Failure found) {
  const std::string cause = found.cause;
  return because(Cause{cause, sentence}, std::move(found));
}

Failure because_instead(const Cause& cause, Failure found) {
  found.message.resize(lead_in(found.message));
  return because(cause, std::move(found));
}

std::string Failure::gist() const {
  const std::size_t begins = lead_in(message);
  if (begins == message.size() || cause == "provenance") return cause;
  std::string said = cause + ": ";
  for (const char c : message.substr(message.find(": ", begins) + 2)) {
    const bool digit = (c >= '0' && c <= '9') || c == ',' || c == '.';
    if (!digit && (c != ' ' || said.back() != ' ')) said += c;
  }
  return said;
}

CaseRunner::CaseRunner(std::string exercise, std::vector<std::string> player,
                       const JudgeOptions& options)
    : exercise_(std::move(exercise)),
      player_(std::move(player)),
      options_(options),
      kept_run_(options.timeline) {}

std::optional<Played> CaseRunner::ask(const std::string& description, Bytes input,
                                      std::vector<Situation> situations) {
  CaseSetup setup;
  setup.description = description;
  setup.situations = std::move(situations);
  setup.inputs.push_back(std::move(input));
  return play(setup);
}

std::uint64_t CaseRunner::draw() {
  return keyed_hash(options_.seed, checksum_of(std::as_bytes(std::span(exercise_))), drawn_++);
}

std::int64_t CaseRunner::draw_between(std::int64_t from, std::int64_t to) {
  return from + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(to - from + 1));
}

bool CaseRunner::plays_next() const {
  if (counting_) return false;
  return !options_.only_case || options_.only_case->number == next_case_;
}

void CaseRunner::pass_over() { ++next_case_; }

void CaseRunner::go_to(const Place& place) {
  next_case_ = place.next_case;
  drawn_ = place.drawn;
}

void CaseRunner::count_from(const Place& place, const std::function<void(CaseRunner&)>& run) {
  go_to(place);
  counting_ = true;
  run(*this);
  counting_ = false;
}

std::vector<int> CaseRunner::way_asked_for() const {
  return plays_next() && options_.only_case ? options_.only_case->way : std::vector<int>{};
}

void CaseRunner::require_results_read() {
  const auto results = std::exchange(results_, nullptr);
  if (results) results->require_read();
}

std::optional<Evidence> CaseRunner::evidence_of(const Place& place,
                                                const std::function<void(CaseRunner&)>& run) {
  go_to(place);
  aside_ = true;
  auto failure = failure_of([&] { run(*this); });
  if (!failure) return std::nullopt;
  return Evidence{std::move(*failure), std::move(kept_results_)};
}

std::optional<Failure> CaseRunner::failure_of(const std::function<void()>& judge) {
  try {
    require_results_read();
    reading_ = false;
    judge();
    require_results_read();
  } catch (const Failure& failure) {
    results_.reset();
    return failure;
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    results_.reset();
    if (!reading_) throw;
    return unreadable_result(error.what());
  }
  return std::nullopt;
}

std::optional<Failure> CaseRunner::failure_of_variant(const Place& place,
                                                      const std::vector<int>& way,
                                                      const std::function<void()>& judge) {
  go_to(place);
  way_ = way;
  trying_ = true;
  host_.reset();
  auto failure = failure_of(judge);
  host_.reset();
  trying_ = false;
  way_.clear();
  return failure;
}

bool CaseRunner::passes_alone(const Place& start, const std::function<void()>& judge) {
  if (aside_ || (is_wrong_ && options_.battery == Battery::kills)) return false;
  const auto before = std::tuple(place(), last_, printed_, trying_, way_);
  results_.reset();
  aside_ = true;
  const bool passes = !failure_of_variant(start, way_, judge);
  aside_ = false;
  Place after;
  std::tie(after, last_, printed_, trying_, way_) = before;
  go_to(after);
  return passes;
}

std::optional<Played> CaseRunner::play(const CaseSetup& setup) {
  if (!plays_next()) {
    pass_over();
    return std::nullopt;
  }
  require_results_read();
  reading_ = false;
  const CaseAddress at{next_case_++, way_};
  if (!trying_) {
    ++played_;
    for (const Situation situation : setup.situations) ++situations_[situation];
    for (const Bytes& input : setup.inputs) inputs_ = inputs_ * 31 + checksum_of(input);
  }
  Played played = play_now(at, setup);
  results_ = played.results;
  return played;
}

sim::Counters CaseRunner::rehearse(const CaseSetup& setup) {
  require_results_read();
  return play_now({next_case_, way_}, setup).counters;
}

Played CaseRunner::play_now(const CaseAddress& at, const CaseSetup& setup) {
  const int ranks = static_cast<int>(setup.inputs.size());
  LOCKSTEP_CHECK(ranks >= 1 && ranks <= players_max, "a case has ", ranks, " ranks; 1 to ",
                 players_max, " can be judged");
  if (options_.debugged && options_.debugged->rank >= ranks) {
    throw UsageError(text("--rank ", options_.debugged->rank, ": case ", text_of(at), " has ",
                          ranks, ranks == 1 ? " rank: 0" : text(" ranks: 0 to ", ranks - 1)));
  }
  const bool fresh = setup.players == Players::fresh;
  std::vector<std::string> command = player_;
  std::optional<MeetingPlace> place;
  if (options_.world == PlayerWorld::processes) {
    command.push_back(place.emplace().path());
    host_.reset();  // a place serves one meeting
  }
  if (fresh) host_.reset();
  if (!host_ || !host_->usable()) {
    // It starts more when a case has more ranks.
    host_ = std::make_unique<sim::ProcessHost>(command, ranks, options_.limits, options_.debugged);
  }
  sim::Options world;
  world.ranks = ranks;
  world.network = setup.network;
  world.seed = setup.schedule_seed;
  world.limits = setup.limits;
  world.services = setup.services;
  std::vector<Bytes> asked(aside_ ? setup.inputs.size() : 0);
  std::vector<Bytes> given(options_.weighs ? setup.inputs.size() : 0);
  std::deque<NotedService> noted;
  for (sim::Service*& service : world.services) {
    if (aside_ || options_.weighs) service = &noted.emplace_back(*service, asked, given);
  }
  measured_.clear();
  world.faults = setup.faults;
  if (!aside_)
    world.timeline = kept_run_.next(text(exercise_, ", ", heading(at, setup.description)));
  sim::Core core(std::move(world));
  last_ = {at, setup.description, {}, {}, {}};
  sim::CaseResult result = run_players(core, setup.inputs);
  reading_ = true;
  if (options_.weighs) weigh(at, setup, std::move(given));
  if (aside_) {
    kept_results_ = result.results;
    kept_results_.insert(kept_results_.end(), asked.begin(), asked.end());
  }
  Played played{at, setup.description,
                std::make_shared<Results>(std::move(result.results), std::move(result.killed)),
                core.counters(), std::move(result.output)};
  last_.output = played.output;
  const auto printed = [](const std::string& text) { return !text.empty(); };
  if (std::any_of(last_.output.begin(), last_.output.end(), printed)) printed_ = last_;
  if (result.finding) {
    Failure found{.verdict = verdict_of(result.finding->kind),
                  .cause = cause_of(*result.finding),
                  .message = without_adapters_lines(cut(result.finding->message)),
                  .where = without_adapters_lines(cut(result.finding->where)),
                  .ranks = result.finding->ranks,
                  .calls = result.finding->calls,
                  .thrown_at = result.finding->thrown_at};
    fail(played, with_cause_of_error(std::move(found)));
  }
  return played;
}

void CaseRunner::weigh(const CaseAddress& at, const CaseSetup& setup, std::vector<Bytes> answers) {
  constexpr std::size_t least = 256 << 10;  // less is no memory that is seen
  for (const int rank : measured_) {
    const auto of_rank = static_cast<std::size_t>(rank);
    if (of_rank >= setup.inputs.size()) continue;
    Bytes& all = answers[of_rank];
    all.insert(all.end(), setup.inputs[of_rank].begin(), setup.inputs[of_rank].end());
    const double share = all.size() < least ? 0 : repeated_in(all);
    if (share <= repeated_max || !repeated_.empty()) continue;
    repeated_ = text(heading(at, setup.description), ": the memory of rank ", rank,
                     " is measured, and ", static_cast<int>(100 * share + 0.5), " percent of the ",
                     all.size(), " bytes that it is given repeat, so that a part may keep them in ",
                     "a short form; draw all of them");
  }
}

// The host's own troubles are Errors; anything else was thrown by a service or a reader at what a
// player sent.
sim::CaseResult CaseRunner::run_players(sim::Core& core, const std::vector<Bytes>& inputs) {
  try {
    return host_->run(core, inputs);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    host_.reset();
    throw unreadable_result(error.what());
  }
}

void CaseRunner::note_par(const std::string& counter, double seen, double best,
                          const Played& played) {
  if (best <= 0 || trying_) return;
  const ParCounter noted{counter, seen, best, heading(played.at, played.description)};
  const auto same = [&](const ParCounter& known) { return known.name == counter; };
  const auto known = std::ranges::find_if(par_, same);
  if (known == par_.end()) {
    par_.push_back(noted);
  } else if (noted.ratio() > known->ratio()) {
    *known = noted;
  }
}

void CaseRunner::note(const Failure& failure) {
  is_wrong_ = is_wrong_ || failure.verdict != Verdict::efficiency;
  if (failure.at != last_.at) return;
  kept_run_.failed({.verdict = std::string(name_of(failure.verdict)),
                    .message = failure.message,
                    .where = failure.where,
                    .ranks = failure.ranks,
                    .waiting = {}});
}

Failure CaseRunner::unreadable_result(const std::string& why) const {
  Failure failure;
  failure.verdict = Verdict::crash;
  failure.cause = "unreadable_result";
  failure.message =
      text("a rank sent a result that cannot be read (", why,
           "); the part may have written to file descriptor 3, or overwritten memory");
  failure.message = cut(std::move(failure.message));
  failure.where = heading(last_.at, last_.description);
  failure.at = last_.at;
  failure.output = last_.output;
  return failure;
}

void CaseRunner::fail(const Played& played, Failure failure) const {
  failure.at = played.at;
  failure.output = played.output;
  const std::string head = heading(played.at, played.description);
  failure.where = failure.where.empty() ? head : head + ", " + failure.where;
  for (std::string* said : {&failure.message, &failure.expected, &failure.seen, &failure.where}) {
    *said = cut(std::move(*said));
  }
  throw Failure(std::move(failure));
}

}  // namespace lockstep::grader
