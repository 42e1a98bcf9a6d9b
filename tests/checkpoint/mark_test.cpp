// What saves remove: what they have written, as marks and indexes say, and nothing else. In folders
// of the file system, where there are links.
#include "engine/checkpoint/mark.hpp"

#include <filesystem>

#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/memory_storage.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"
#include "tests/checkpoint/small_run.hpp"

using namespace lockstep;
using namespace lockstep::test;
using checkpoint::CheckpointError;
using checkpoint::checkpoints_in;
using checkpoint::latest_in;
using checkpoint::NewerFormat;
using checkpoint::StoredKind;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

// A folder of checkpoints, and what its saves have told.
struct Saves {
  Folder folder;
  fs::path runs = folder / "runs";
  Run run{momentum};
  std::vector<std::string> told;

  checkpoint::SaveOptions options(int keep) {
    return {.files = {{"words.txt", "a b"}},
            .keep_last = keep,
            .run = "run 7",
            .tell = [this](const std::string& sentence) { told.push_back(sentence); }};
  }
  fs::path save(std::int64_t step, int keep = 0) {
    return checkpoint::save(runs, *run.model, *run.optimizer, {.step = step}, options(keep));
  }
  void put_by_others(const std::string& file) {
    fs::create_directories((runs / file).parent_path());
    put(runs / file, "mine");
  }
  bool has(const std::string& sentence) const {
    return std::ranges::any_of(told,
                               [&](const auto& one) { return one.find(sentence) != one.npos; });
  }
};

void replace_in(const fs::path& file, const std::string& from, const std::string& to) {
  std::string content = content_of(file);
  const std::size_t at = content.find(from);
  REQUIRE(at != content.npos);
  put(file, content.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("mark: a save names all its files, and its run, in the mark and in the notes") {
  Saves saves;
  const auto path = saves.save(2);
  const auto mark = checkpoint::parse_mark(content_of(path / "mark.json"), "mark.json");
  CHECK(mark.run == "run 7");
  CHECK(mark.files == Names{"index.json", "index.json.tmp", "words.txt", "words.txt.tmp",
                            "model.safetensors", "optimizer.safetensors"});
  Run again(momentum);
  CHECK(checkpoint::load(path, *again.model, *again.optimizer).notes.at("run") == "run 7");
  saves.save(2);
  CHECK(names_in(path) == Names{"index.json", "mark-again1.json", "model-again1.safetensors",
                                "optimizer-again1.safetensors", "words.txt"});
  CHECK(saves.told.empty());
}

TEST_CASE("mark: of a save that was cut off, the files that its mark names go, and no others") {
  for (const bool has_others : {false, true}) {
    Saves saves;
    saves.save(2);
    const auto half = saves.save(3);
    fs::remove(half / "index.json");
    put(half / "index.json.tmp", "{");
    if (has_others) {
      for (const char* name : {"model-rank0.safetensors", "model-best.safetensors", "words.txt.old",
                               "figures/model.safetensors"}) {
        saves.put_by_others("step_000003/" + std::string(name));
      }
      fs::remove(half / "optimizer.safetensors");
      fs::create_directory(half / "optimizer.safetensors");  // no file that a save wrote
    }
    saves.save(4);
    CHECK(saves.has("removed " + std::string(has_others ? "4" : "5") + " files from "));
    CHECK(saves.has("step_000003, where a save or a removal was cut off, in the run run 7"));
    CHECK(fs::exists(half) == has_others);
    if (!has_others) continue;
    CHECK(names_in(half) == Names{"figures", "model-best.safetensors", "model-rank0.safetensors",
                                  "optimizer.safetensors", "words.txt.old"});
    CHECK(content_of(half / "figures/model.safetensors") == "mine");
    CHECK(saves.has("runs/step_000003 is kept"));
    CHECK(saves.has("no save is known to have written \"figures\" and 4 other names in it"));
  }
}

TEST_CASE("mark: what has no mark and no index is kept, whatever its name, and told") {
  Saves saves;
  const Names others{"step_000002.old/index.json", "step_000003.tmp/notes.txt",
                     "step_000004.old.tmp/notes.txt", "step_000006/model.safetensors",
                     "step_000900/notes.txt"};
  for (const std::string& file : others) saves.put_by_others(file);
  fs::create_directory(saves.runs / "step_000901");
  saves.put_by_others("step_000902");
  for (const int step : {6, 7}) saves.save(step, 1);
  for (const std::string& file : others) {
    CHECK(content_of(saves.runs / file) == "mine");
    CHECK(saves.has((saves.runs / file).parent_path().string() + " is kept"));
  }
  CHECK(content_of(saves.runs / "step_000902") == "mine");
  CHECK(fs::is_directory(saves.runs / "step_000901"));
  CHECK(names_in(saves.runs / "step_000006") == Names{"model.safetensors"});
  CHECK(saves.has("If you do not need it, type rm -r "));
}

TEST_CASE("mark: no file is replaced that no save wrote, and no link is written behind") {
  Saves saves;
  saves.put_by_others("step_000002/words.txt");
  CHECK_THROWS_WITH(saves.save(2), contains("step_000002/words.txt is in the way"));
  CHECK(names_in(saves.runs / "step_000002") == Names{"words.txt"});
  CHECK(content_of(saves.runs / "step_000002/words.txt") == "mine");
  fs::create_directory(saves.folder / "elsewhere");
  for (const auto& to : {saves.folder / "elsewhere", saves.folder / "nowhere"}) {
    fs::remove(saves.runs / "step_000003");
    fs::create_directory_symlink(to, saves.runs / "step_000003");
    CHECK_THROWS_WITH(saves.save(3), contains("step_000003 is a link, and a save writes behind"));
    CHECK(fs::is_symlink(saves.runs / "step_000003"));
  }
  CHECK(names_in(saves.folder / "elsewhere").empty());
  CHECK_FALSE(fs::exists(saves.folder / "nowhere"));
}

TEST_CASE("mark: of a checkpoint behind a link, the link goes, and what it leads to stays") {
  Saves saves;
  const auto path = saves.save(2);
  fs::create_directories(saves.folder / "archive");
  put(saves.folder / "chapter", "mine");
  fs::rename(path, saves.folder / "archive/two");
  fs::create_directory_symlink(saves.folder / "archive/two", path);
  const auto archived = names_in(saves.folder / "archive/two");
  CHECK(latest_in(saves.runs) == path);
  saves.save(4, 2);
  CHECK(fs::is_symlink(path));  // it is kept as any other
  saves.save(6, 2);
  CHECK(names_in(saves.runs) == Names{"step_000004", "step_000006"});
  CHECK(names_in(saves.folder / "archive/two") == archived);
  CHECK(saves.has("step_000002; the checkpoint that it leads to is as it was"));
  // Inside a checkpoint: links of people's stay, and of a file that was moved the link goes.
  const auto four = saves.runs / "step_000004";
  fs::create_directory_symlink(saves.folder / "archive", four / "figures");
  fs::rename(four / "model.safetensors", saves.folder / "large");
  fs::create_symlink(saves.folder / "large", four / "model.safetensors");
  saves.save(8, 1);
  CHECK(names_in(four) == Names{"figures"});
  CHECK(fs::exists(saves.folder / "large"));
  CHECK(names_in(saves.folder / "archive/two") == archived);
  CHECK(saves.has("step_000004 is kept"));
}

TEST_CASE("mark: links that lead nowhere, or to themselves, are no checkpoints, and stay") {
  Saves saves;
  saves.save(2);
  fs::create_symlink("step_000009", saves.runs / "other");
  fs::create_symlink("other", saves.runs / "step_000009");
  fs::create_symlink("nowhere", saves.runs / "step_000010");
  CHECK(checkpoints_in(saves.runs).size() == 1);
  saves.save(4, 1);
  CHECK(names_in(saves.runs) == Names{"other", "step_000004", "step_000009", "step_000010"});
}

TEST_CASE(
    "mark: an older checkpoint loses the files that its index and its mark name, and others stay") {
  for (const bool has_mark : {true, false}) {
    Saves saves;
    const auto path = saves.save(2);
    if (!has_mark) fs::remove(path / "mark.json");
    saves.put_by_others("step_000002/notes.txt");
    saves.save(4, 1);
    CHECK(names_in(path) == Names{"notes.txt"});
    CHECK(saves.has("step_000002 is kept, and no run resumes from it: no save is known"));
    fs::remove(path / "notes.txt");
    saves.save(4, 1);
    CHECK(fs::is_directory(path));  // who made an empty folder, nobody knows
  }
}

TEST_CASE("mark: a disk that fills while older checkpoints go stops none of them") {
  // Refuses all that needs space, once the commit of step 4 is there.
  struct Filling final : checkpoint::Storage {
    checkpoint::MemoryStorage memory;
    bool full = false;
    void need_space() const {
      if (full) throw CheckpointError("no space is left");
    }
    std::string told(const std::string& name) const override { return memory.told(name); }
    void make(const std::string& folder) override { need_space(), memory.make(folder); }
    void write(const std::string& file, std::uint64_t offset,
               std::span<const std::byte> bytes) override {
      need_space(), memory.write(file, offset, bytes);
    }
    void sync(const std::string& name) override { memory.sync(name); }
    void rename(const std::string& file, const std::string& to) override {
      memory.rename(file, to);
      full = full || to == "step_000004/index.json";
    }
    std::vector<checkpoint::Stored> list(const std::string& folder) const override {
      return memory.list(folder);
    }
    void read(const std::string& file, std::uint64_t at, std::span<std::byte> into) const override {
      memory.read(file, at, into);
    }
    void remove(const std::string& name) override { memory.remove(name); }
  };
  Filling storage;
  Run run(momentum);
  const auto contents = checkpoint::contents_of(*run.model, *run.optimizer);
  for (const int step : {1, 2, 4}) {
    checkpoint::save(storage, contents, {.step = step}, {.keep_last = step == 4 ? 1 : 0});
  }
  REQUIRE(storage.list("").size() == 1);
  CHECK(storage.list("").front().name == "step_000004");
}

TEST_CASE("mark: a folder with an index that nobody can read is left as it is") {
  Saves saves;
  saves.put_by_others("step_000001/index.json");
  saves.put_by_others("step_000001/model.safetensors");
  for (const int step : {2, 4}) saves.save(step, 1);
  CHECK(names_in(saves.runs) == Names{"step_000001", "step_000004"});
  CHECK_THROWS_WITH(saves.save(1), contains("step_000001/index.json is in the way"));
  CHECK(content_of(saves.runs / "step_000001/index.json") == "mine");
  CHECK(names_in(saves.runs / "step_000001") == Names{"index.json", "model.safetensors"});
  CHECK(saves.has("step_000001 is kept"));
}

TEST_CASE("mark: what a newer version wrote is not damaged, and nobody removes or replaces it") {
  Saves saves;
  const auto path = saves.save(2);
  const auto files = names_in(path);
  replace_in(path / "index.json", "lockstep checkpoint 1", "lockstep checkpoint 2");
  const std::string sentence =
      "index.json has the format \"lockstep checkpoint 2\", and this program reads "
      "\"lockstep checkpoint 1\": a newer version of Lockstep wrote it; use that version";
  CHECK_THROWS_AS(checkpoint::damage_of(path), NewerFormat);
  CHECK_THROWS_WITH(checkpoint::damage_of(path), contains(sentence));
  CHECK_THROWS_AS(saves.save(2), NewerFormat);
  for (const int step : {4, 6}) saves.save(step, 1);
  CHECK(names_in(saves.runs) == Names{"step_000002", "step_000006"});
  CHECK(names_in(path) == files);
  CHECK(saves.has(sentence));
  CHECK_FALSE(checkpoint::whole_before(saves.runs / "step_000006").has_value());
  // So is a save that a newer version began.
  fs::remove(path / "index.json");
  replace_in(path / "mark.json", "lockstep mark 1", "lockstep mark 12");
  saves.save(8, 1);
  CHECK(names_in(path).size() == files.size() - 1);
  CHECK(saves.has("a newer version of Lockstep began to save it"));
}

TEST_CASE("mark: a star stands for a rank's digits, and a mark that is no mark names nothing") {
  const Folder folder;
  checkpoint::FileStorage storage(folder.path());
  storage.make("f");
  put(folder / "f/mark.json", checkpoint::mark_text({"", {"model-rank*.safetensors"}}));
  const auto written = [&] {
    return checkpoint::written_in(storage, "f", storage.list("f"), checkpoint::By::marks);
  };
  for (const char* name : {"model-rank0.safetensors", "model-rank12.safetensors"}) {
    CHECK(written().has({name, StoredKind::file, 1}));
  }
  for (const char* name :
       {"model-rank.safetensors", "model-rank1x.safetensors", "model.safetensors",
        "model-rank1-again1.safetensors", "model-rank*.safetensors"}) {
    CHECK_FALSE(written().has({name, StoredKind::file, 1}));
  }
  // What is left of a mark in parts is a save's, and anything else is somebody's.
  const std::string first = R"({"format": "lock)";
  for (const std::string& torn :
       {std::string(), first, std::string(40, '\0'), first + std::string(16, '\0') + "rest"}) {
    put(folder / "f/mark.json", torn);
    CHECK(written().marks == Names{"mark.json"});
  }
  for (const std::string& other :
       {std::string("shopping"), std::string("{\"format\": 1}"), std::string("{}")}) {
    put(folder / "f/mark.json", other);
    CHECK_FALSE(written().by_a_save());
  }
}
