// exercise: scale_learning_rate
// verdict: compile error
// says: the attribute section is refused
// then: the reference
// Asks for a stack whose bytes run.
[[gnu::section
#pragma hidden
  (".note.GNU-stack,\"x\",@progbits\n\t.section .data")]] int hidden_line = 1;
