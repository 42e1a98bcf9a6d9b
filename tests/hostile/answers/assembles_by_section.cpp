// exercise: scale_learning_rate
// verdict: compile error
// says: 05_data_parallel/scale_learning_rate.cpp:6: the attribute section is refused
// then: the reference
// Hides lines for the assembler in the name of a section.
[[gnu::section(".data\n\t.byte 144\n#")]] int hidden_line = 1;
