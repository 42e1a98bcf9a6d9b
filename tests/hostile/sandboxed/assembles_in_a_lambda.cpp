// exercise: scale_learning_rate
// verdict: compile error
// says: scale_learning_rate.cpp:12: the attribute section is refused
// then: the reference
// Puts the attribute behind a function that is written inside its brackets.
// clang-format off
[[gnu::aligned([] {
    constexpr int zeros[1] = {0};
    constexpr int sizes[1] = {8};
    return sizes[zeros[0]];
  }()),
  gnu::section(".data\n\t.byte 144\n#")]] int hidden_line = 1;
