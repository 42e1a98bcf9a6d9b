// exercise: scale_learning_rate
// verdict: compile error
// says: scale_learning_rate.cpp:10: the attribute section is refused
// then: the reference
// Puts the attribute behind brackets that close like its own.
namespace {
constexpr int zeros[1] = {0};
constexpr int sizes[1] = {8};
}  // namespace
[[gnu::aligned(sizes[zeros[0]]), gnu::section(".data\n\t.byte 144\n#")]] int hidden_line = 1;
