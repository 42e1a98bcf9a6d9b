// exercise: scale_learning_rate
// verdict: compile error
// says: the attribute section is refused
// then: the reference
// Puts a pragma between the attribute and its text.
[[gnu::section
#pragma hidden
  (".data\n\t.text\n\t.globl hidden\nhidden: .byte 0xc3\n\t.section .data")]] int hidden_line = 1;
