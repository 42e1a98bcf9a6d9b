// exercise: scale_learning_rate
// verdict: compile error
// says: asm is refused
// then: the reference
// Passes the name of a function off as a header's, with a marker between the keyword and the text.
# 5 "hidden.h"
int hidden_line() asm
# 5 "hidden.h"
    ("0\n\t.text\n\t.globl hidden\nhidden: .byte 0xc3\n\t.data\n\t.quad 0");
int (*keep_hidden_line)() = hidden_line;
# 12 "work/05_data_parallel/scale_learning_rate.cpp"
