// Where a run begins, for each way to ask for it and each state of the folder.
#include "engine/checkpoint/beginning.hpp"

#include "engine/base/error.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/storage.hpp"
#include "engine/comm/solo_group.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"
#include "tests/checkpoint/small_run.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;
using lockstep::test::contains;
using lockstep::test::Folder;
using lockstep::test::Run;

namespace {

void save_steps(const std::filesystem::path& folder, std::vector<std::int64_t> steps,
                const std::string& run = "") {
  Run saved(test::adamw);
  saved.train(1, 1);  // the optimizer has its state from then on
  SaveOptions options;
  options.run = run;
  for (const std::int64_t step : steps) {
    checkpoint::save(folder, *saved.model, *saved.optimizer, {.step = step}, options);
  }
}

// Another byte, where all sizes stay.
void change_a_byte(const std::filesystem::path& file) {
  std::string content = test::content_of(file);
  content[content.size() - 9] = static_cast<char>(content[content.size() - 9] ^ 1);
  test::put(file, content);
}

void cut_off(const std::filesystem::path& file) { std::filesystem::resize_file(file, 100); }

Beginning alone(const Wish& wish) {
  const auto solo = comm::make_solo_group();
  return agree_on_beginning(*solo, wish);
}

constexpr auto nothing = Resume::not_typed, latest = Resume::latest, automatic = Resume::automatic;

}  // namespace

TEST_CASE("beginning: an empty folder is the first step, or a refusal of --resume") {
  const Folder folder;
  CHECK_FALSE(alone({folder.path(), nothing}).from);
  CHECK(alone({folder.path(), nothing}).told.empty());
  for (const Wish& wish : {Wish{folder.path(), automatic}, Wish{folder / "missing", automatic},
                           Wish{folder.path(), nothing, 1, "a"}}) {
    const Beginning beginning = alone(wish);
    CHECK_FALSE(beginning.from);
    CHECK(beginning.may_be_over);
    CHECK_THAT(beginning.told, contains("yet: begins at the first step"));
  }
  for (const int attempt : {0, 1}) {
    const Wish wish{folder.path(), latest, attempt, "a"};
    CHECK_THROWS_AS(alone(wish), UsageError);
    CHECK_THROWS_AS(check_beginning(wish), UsageError);
    CHECK_THROWS_WITH(alone(wish), contains("there is no checkpoint in"));
  }
  CHECK_FALSE(alone({}).from);
  CHECK_FALSE(alone({{}, nothing, 1}).may_be_over);
}

TEST_CASE("beginning: a whole folder is continued where it is asked for, or is of this run") {
  const Folder folder;
  save_steps(folder.path(), {4, 8}, "a");
  CHECK_THROWS_WITH(alone({folder.path(), nothing}), contains("belongs to an earlier run"));
  CHECK_THROWS_WITH(check_beginning({folder.path(), nothing}), contains("pass --resume"));
  CHECK(alone({folder.path(), latest}).from == "step_000008");
  CHECK_FALSE(alone({folder.path(), latest}).may_be_over);
  CHECK(alone({folder.path(), automatic}).from == "step_000008");
  CHECK(alone({folder.path(), nothing, 1, "a"}).from == "step_000008");
  CHECK(alone({folder.path(), nothing, 1, "a"}).run == "a");
  for (const std::string other : {"b", ""}) {
    CHECK_THROWS_AS(alone({folder.path(), nothing, 1, other}), UsageError);
    CHECK_THROWS_WITH(
        alone({folder.path(), nothing, 1, other}),
        contains("step_000008 is not known to be of this run") && contains("pass --resume auto"));
    CHECK(alone({folder.path(), latest, 1, other}).from == "step_000008");
    CHECK(alone({folder.path(), automatic, 1, other}).from == "step_000008");
  }
}

TEST_CASE("beginning: a damaged checkpoint is told, stays, and the newest whole one is taken") {
  for (const auto damage : {cut_off, change_a_byte}) {
    const Folder folder;
    save_steps(folder.path(), {2, 4, 6, 8}, "a");
    damage(folder / "step_000008/optimizer.safetensors");
    damage(folder / "step_000006/model.safetensors");
    const auto names = test::names_in(folder.path());
    for (const Wish& wish : {Wish{folder.path(), automatic}, Wish{folder.path(), nothing, 2, "a"},
                             Wish{folder.path(), latest, 2, ""}}) {
      const Beginning beginning = alone(wish);
      CHECK(beginning.from == "step_000004");
      CHECK(beginning.damaged == std::vector<std::string>{"step_000008", "step_000006"});
      CHECK_THAT(beginning.told, contains("step_000008 is damaged (") &&
                                     contains("step_000006 is damaged (") &&
                                     contains("it stays there"));
    }
    CHECK(test::names_in(folder.path()) == names);
    CHECK(told_if_damaged(folder / "step_000004").empty());
    CHECK_THAT(told_if_damaged(folder / "step_000008"),
               contains("step_000004 is whole: to continue from it, type --resume auto"));
    damage(folder / "step_000004/model.safetensors");
    damage(folder / "step_000002/model.safetensors");
    CHECK_THROWS_WITH(alone({folder.path(), automatic}), contains("no checkpoint in ") &&
                                                             contains(" is whole: ") &&
                                                             contains("a different --checkpoint"));
  }
  const Folder folder;
  save_steps(folder.path(), {4, 8});
  cut_off(folder / "step_000008/optimizer.safetensors");
  CHECK_THROWS_WITH(alone({folder.path(), latest}),
                    contains("the latest checkpoint is damaged") &&
                        contains("step_000004 is whole: to continue from it, type --resume auto"));
}

TEST_CASE("beginning: a save keeps two whole ones beside a damaged one whose sizes are right") {
  const Folder folder;
  save_steps(folder.path(), {4, 8});
  change_a_byte(folder / "step_000008/model.safetensors");
  const Beginning beginning = alone({folder.path(), automatic});
  REQUIRE(beginning.from == "step_000004");
  Run run(test::adamw);
  SaveOptions options{.keep_last = 2};
  options.damaged = beginning.damaged;
  const auto save_step = [&](std::int64_t step) {
    checkpoint::save(folder.path(), *run.model, *run.optimizer, {.step = step}, options);
    return test::names_in(folder.path());
  };
  using Names = std::vector<std::string>;
  CHECK(save_step(5) == Names{"step_000004", "step_000005", "step_000008"});
  CHECK(save_step(6) == Names{"step_000005", "step_000006", "step_000008"});
  save_step(8);  // the damaged one is written again, and is whole
  CHECK(alone({folder.path(), automatic}).from == "step_000008");
}

TEST_CASE("beginning: rank 0 chooses, and the ranks share the reading") {
  const Folder folder;
  save_steps(folder.path(), {4, 8});
  change_a_byte(folder / "step_000008/optimizer.safetensors");
  test::on_fibers(3, [&](comm::ProcessGroup& group) {
    const Beginning beginning = agree_on_beginning(group, {folder.path(), automatic});
    CHECK(beginning.from == "step_000004");
    CHECK(beginning.damaged == std::vector<std::string>{"step_000008"});
    CHECK_THAT(beginning.told, contains("step_000008 is damaged ("));
  });
}

TEST_CASE("beginning: ranks that see different folders are told so, on every rank") {
  const Folder shared, own;
  save_steps(shared.path(), {4});
  save_steps(own.path(), {2});
  const auto refused = [&](const std::filesystem::path& first, const std::filesystem::path& other,
                           Resume resume, const std::string& sentence) {
    int ranks = 0;
    test::on_fibers(2, [&](comm::ProcessGroup& group) {
      const Wish wish{group.rank() == 0 ? first : other, resume};
      CHECK_THROWS_AS(agree_on_beginning(group, wish), UsageError);
      CHECK_THROWS_WITH(agree_on_beginning(group, wish),
                        contains(sentence) && contains("do the ranks share that folder?") &&
                            !contains("leave out"));
      ++ranks;
    });
    CHECK(ranks == 2);
  };
  const Folder empty;
  for (const Resume resume : {latest, automatic}) {
    refused(shared.path(), empty.path(), resume, "step_000004, rank 1 sees none");
    refused(shared.path(), own.path(), resume, "step_000002");
  }
  refused(empty.path(), own.path(), automatic, "rank 0 sees no checkpoint, rank 1 sees ");
  refused(empty.path(), own.path(), nothing, "rank 0 sees no checkpoint, rank 1 sees ");
  save_steps(own.path(), {4}, "another");
  refused(shared.path(), own.path(), latest, "rank 1 sees another of this name");
}
