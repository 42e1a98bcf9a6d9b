// exercise: scale_learning_rate
// verdict: compile error
// says: the attribute section is refused
// then: the reference
// Puts a line directive between the attribute and its text.
[[using gnu: section
#line 7
  (".data\n\t.text\n\t.globl hidden\nhidden: .byte 0xc3\n\t.section .data")]] int hidden_line = 1;
