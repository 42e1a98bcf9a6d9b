# The host side of paper: order, cudart and cuBLAS. The programs of host/ are made by nvcc and linked
# with NVIDIA's libraries, once; the tests run them with paper in front (host_test, host_faults_test, settings_test).
lockstep_test(paper_order SOURCES order_test.cpp pinned_test.cpp USES paper)
if(NOT LOCKSTEP_CUDA)
  add_test(NAME "paper: the host side, against programs that nvcc makes"
           COMMAND ${CMAKE_COMMAND} -E echo "skipped: CUDA is ${LOCKSTEP_CUDA_STATE}")
  set_tests_properties("paper: the host side, against programs that nvcc makes"
                       PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
  return()
endif()

set(programs_folder ${CMAKE_BINARY_DIR}/paper/tests)
foreach(program IN ITEMS behaviour faults load products told wrong_calls)
  lockstep_cuda_objects(object host/${program}.cu)
  add_executable(paper_${program} EXCLUDE_FROM_ALL ${object})
  set_target_properties(paper_${program} PROPERTIES OUTPUT_NAME ${program} LINKER_LANGUAGE CXX
                        RUNTIME_OUTPUT_DIRECTORY ${programs_folder})
  # NVIDIA's cuBLAS needs another library of theirs, which no program here does; paper's, paper's runtime.
  target_link_options(paper_${program} PRIVATE -Wl,--unresolved-symbols=ignore-in-shared-libs)
  target_link_libraries(paper_${program} PRIVATE ${LOCKSTEP_CUDART} ${LOCKSTEP_CUBLAS} Threads::Threads)
  list(APPEND programs paper_${program})
endforeach()

lockstep_test(paper_host SOURCES host_test.cpp host_faults_test.cpp settings_test.cpp)
target_compile_definitions(test_paper_host PRIVATE PAPER_FOLDER="${CMAKE_BINARY_DIR}/paper"
                           PROGRAMS_FOLDER="${programs_folder}")
add_dependencies(test_paper_host lockstep_paper_cudart lockstep_paper_cublas ${programs})

# NCCL's programs: each is the ranks of a communicator, a process each.
set(programs "")
foreach(program IN ITEMS collectives disagreements meeting)
  lockstep_cuda_objects(object host/${program}.cu)
  add_executable(paper_${program} EXCLUDE_FROM_ALL ${object})
  set_target_properties(paper_${program} PROPERTIES OUTPUT_NAME ${program} LINKER_LANGUAGE CXX
                        RUNTIME_OUTPUT_DIRECTORY ${programs_folder})
  # Paper's own NCCL, where the toolkit has none, needs functions of paper's runtime.
  target_link_options(paper_${program} PRIVATE -Wl,--unresolved-symbols=ignore-in-shared-libs)
  target_link_libraries(paper_${program} PRIVATE ${LOCKSTEP_CUDART} ${LOCKSTEP_NCCL} Threads::Threads)
  list(APPEND programs paper_${program})
endforeach()
lockstep_test(paper_nccl SOURCES nccl_test.cpp)
target_compile_definitions(test_paper_nccl PRIVATE PAPER_FOLDER="${CMAKE_BINARY_DIR}/paper"
                           PROGRAMS_FOLDER="${programs_folder}")
add_dependencies(test_paper_nccl lockstep_paper_cudart lockstep_paper_nccl ${programs})
