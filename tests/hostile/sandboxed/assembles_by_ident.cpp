// exercise: scale_learning_rate
// verdict: compile error
// says: scale_learning_rate.cpp:6: the line '#ident
// then: the reference
// Has a directive hand its text to the assembler.
#ident "\"\n\t.data\n\t.byte 144\n#"
