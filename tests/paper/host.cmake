# The host side of paper: order, cudart and cuBLAS.
lockstep_test(paper_order SOURCES order_test.cpp pinned_test.cpp USES paper)
