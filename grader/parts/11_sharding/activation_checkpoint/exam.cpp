// The exam of activation_checkpoint. The judge trains the same model and keeps everything; the part
// must come to the same bits while it keeps the inputs of segments alone. A block's runs, and the
// gradients that come late, need masks of the judge's (segments.hpp), which so knows of them; and
// it looks at the player's memory. What a player says of its tensors can lower the verdict, and no
// more (decision 0055).
#include "grader/parts/11_sharding/activation_checkpoint/rules.hpp"

namespace lockstep::grader::activation_checkpoint {
namespace {

using Question = CheckpointQuestion;
using Answer = CheckpointAnswer;
using Walk = CheckpointWalk;

// Some ten times what the wordiest case needs.
constexpr std::int64_t requests_max = 5'000;

Situations asked_by(const std::vector<Question>& questions) {
  Situations asked;
  for (const Question& q : questions) {
    if (q.holds == CheckpointHolds::not_a_number) asked.insert(Situation::not_a_number);
    if (q.holds == CheckpointHolds::infinity) asked.insert(Situation::infinity);
  }
  return asked;
}

// Plays one case: `questions`, one after the other, in one process.
void ask(CaseRunner& runner, Property asked_for, const std::string& description,
         const std::vector<Question>& questions, Situations asked = {}) {
  SegmentService segments(questions, [&](int rank) { return runner.memory_bytes(rank); });
  asked.merge(asked_by(questions));
  const auto played =
      play_served(runner, description, std::vector<std::vector<Question>>(1, questions),
                  {&segments}, requests_max, asked);
  if (!played) return;
  ByteReader& result = played->results->of(0);
  for (const Question& q : questions) {
    auto failure = wrong(asked_for, q, read_fields<Answer>(result), segments.of(q));
    if (!failure) continue;
    failure->where = text_of_question(q);
    runner.fail(*played, std::move(*failure));
  }
}

// The same, and a list that fails is made smaller: its halves, then fewer segments and passes.
void judge(CaseRunner& runner, Property asked_for, const std::string& description,
           const std::vector<Question>& questions) {
  using List = std::vector<Question>;
  const std::function<std::vector<List>(const List&)> smaller = [](const List& list) {
    const auto half = list.begin() + std::ssize(list) / 2;
    if (list.size() > 1) return std::vector<List>{{list.begin(), half}, {half, list.end()}};
    const Question& q = list.front();
    std::vector<List> offered;
    if (q.blocks.size() > 1) offered.emplace_back(list).front().blocks.pop_back();
    if (q.passes > 1) --offered.emplace_back(list).front().passes;
    return offered;
  };
  runner.examine<List>(
      questions, [&](const List& list) { ask(runner, asked_for, description, list); }, smaller);
}

Question question_of(CaseRunner& runner, std::vector<int> blocks) {
  Question q{.blocks = std::move(blocks)};
  q.batch = static_cast<int>(runner.draw_between(1, 5));
  q.seed = runner.draw();
  q.secret = runner.draw();
  return q;
}

// Tensors of 64 kB, and blocks that would keep some ten of them.
void make_large(Question& q) {
  q.batch = 4;
  q.width = 4096;
  q.hidden = 1;
  q.products = 8;
}

// The same for each shape of the model.
std::vector<Question> questions(CaseRunner& runner, const std::vector<std::vector<int>>& shapes,
                                const std::function<void(Question&)>& change = {}) {
  std::vector<Question> all;
  for (const auto& shape : shapes) {
    all.push_back(question_of(runner, shape));
    if (change) change(all.back());
  }
  return all;
}

Check check(const std::string& name, Property asked_for,
            const std::vector<std::vector<int>>& shapes,
            const std::function<void(Question&)>& change = {}) {
  return {name, [=](CaseRunner& runner) {
            judge(runner, asked_for, name, questions(runner, shapes, change));
          }};
}

}  // namespace

Exam exam() {
  const auto halves = [](Question& q) {
    q.walk = Walk::in_halves;
    q.dropout = 0.2;
    q.input = CheckpointInput::wanted;
  };
  return {
      check("one segment: value and gradients are those of the segment itself", Property::values,
            {{1}, {3}}),
      check("a chain of segments with dropout: the same bits", Property::values,
            {{1, 1}, {2, 1, 3}, {1, 1, 1, 1, 1}}, [](Question& q) { q.dropout = 0.3; }),
      check("one weight for all segments, and the gradient of the input: hooks fire once",
            Property::values, {{1, 1, 1}, {1}},
            [](Question& q) {
              q.weights = CheckpointWeights::tied;
              q.input = CheckpointInput::wanted;
            }),
      check("several passes are forward before the first one goes back", Property::values,
            {{1, 2}, {2, 1}},
            [](Question& q) {
              q.passes = 3;
              q.dropout = 0.2;
            }),
      check("segments inside segments", Property::values, {{2, 2}, {1}, {3, 1}},
            [](Question& q) {
              q.nesting = CheckpointNesting::nested;
              q.dropout = 0.3;
            }),
      check("backward in two halves: the same gradients", Property::values, {{1}, {2, 1, 2}},
            halves),
      {"what is not finite in x shows in values and gradients; the same question is asked twice",
       [](CaseRunner& runner) {
         for (const auto holds : {CheckpointHolds::not_a_number, CheckpointHolds::infinity}) {
           judge(runner, Property::values, "not finite",
                 questions(runner, {{1}, {1, 2}}, [&](Question& q) { q.holds = holds; }));
         }
         const auto twice = questions(runner, {{1}, {2, 1}});
         ask(runner, Property::values, "two models", twice);
         ask(runner, Property::values, "the same again", twice, {Situation::same_call_twice});
       }},
      check("on a tape for inference, a segment simply runs", Property::runs, {{1}, {2, 1}},
            [](Question& q) { q.walk = Walk::none; }),
      {"after the forward passes, the inputs of segments are all that is kept",
       [](CaseRunner& runner) {
         std::vector<Question> all = questions(runner, {{3, 3, 3}, {2, 2, 2, 2, 2}, {3, 3}});
         for (Question& q : all) {
           q.batch = 5;
           q.passes = 2;
         }
         all.back().weights = CheckpointWeights::none;
         all.back().input = CheckpointInput::wanted;
         judge(runner, Property::memory, "memory", all);
         // One long segment, in which a first run that records shows; and several.
         for (const auto& shape : {std::vector<int>{9}, {3, 3, 3}}) {
           Question large = question_of(runner, shape);
           make_large(large);
           large.weights = CheckpointWeights::none;
           large.input = CheckpointInput::wanted;
           large.passes = shape.size() == 1 ? 1 : 2;
           judge(runner, Property::memory, "memory of the process", {large});
         }
       }},
      {"a segment runs twice, and one inside another three times, however backward is walked",
       [](CaseRunner& runner) {
         std::vector<Question> all = questions(runner, {{2, 1}, {1, 1, 1}});
         for (const auto nesting : {CheckpointNesting::flat, CheckpointNesting::nested}) {
           for (Question& q : questions(runner, {{2, 1}, {1, 2}})) {
             q.walk = Walk::in_halves;
             q.nesting = nesting;
             all.push_back(q);
           }
         }
         judge(runner, Property::runs, "runs", all);
       }},
      {"after the backward passes, nothing is left of the second runs",
       [](CaseRunner& runner) {
         std::vector<Question> all = questions(runner, {{3, 3, 3}, {2, 2}});
         for (Question& q : all) q.batch = 5;
         judge(runner, Property::freed, "nothing left", all);
         Question large = question_of(runner, {3, 3, 3});
         make_large(large);
         judge(runner, Property::freed, "nothing left in the process", {large});
       }},
      {"of two halves, the second one makes the weights' gradients, and keeps no more for them",
       [halves](CaseRunner& runner) {
         judge(runner, Property::halves, "two halves", questions(runner, {{1}, {2, 1, 2}}, halves));
         Question large = question_of(runner, {3, 3, 3});
         halves(large);
         make_large(large);
         judge(runner, Property::halves, "two halves of the process", {large});
       }},
  };
}

}  // namespace lockstep::grader::activation_checkpoint
