// exercise: scale_learning_rate
// verdict: compile error
// says: scale_learning_rate.cpp:8: the line '#ident
// then: the reference
// Spells the directive another way and takes its text from a macro.
// clang-format off
#define TEXT "\"\n\t.data\n\t.byte 144\n#"
%:sccs TEXT
