# The libraries that stand in for NVIDIA's: same names, same symbol versions, in a folder of their
# own, which comes first in LD_LIBRARY_PATH or is opened before what needs them. They are built
# against NVIDIA's headers, which say what the functions are.
file(GLOB order RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS order/*.cpp)
lockstep_unit(lockstep_paper order ${order})
if(NOT LOCKSTEP_CUDA)
  return()
endif()

# lockstep_paper_library(cudart SOURCES …): build/…/paper/lib<name>.so.<version>; what it shows to
# others is in <name>/<name>.map.
function(lockstep_paper_library name)
  set(target lockstep_paper_${name})
  add_library(${target} SHARED EXCLUDE_FROM_ALL)
  file(GLOB sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${name}/*.cpp)
  lockstep_unit(${target} 1 ${sources})
  set(map ${CMAKE_CURRENT_SOURCE_DIR}/${name}/${name}.map)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${LOCKSTEP_CUDA_VERSION}
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/paper LINK_DEPENDS ${map})
  target_include_directories(${target} SYSTEM PRIVATE ${LOCKSTEP_CUDA_INCLUDE})
  # nodelete: a handler of signals and the program's handles point into it.
  target_link_options(${target} PRIVATE -Wl,--version-script=${map} -Wl,-z,nodelete -Wl,-z,defs)
  target_link_libraries(${target} PRIVATE lockstep_flags ${ARGN})
endfunction()

lockstep_paper_library(cudart lockstep_paper ${CMAKE_DL_LIBS} Threads::Threads)
lockstep_paper_library(cublas lockstep_paper_cudart)
set_target_properties(lockstep_paper_cublas PROPERTIES BUILD_RPATH "\$ORIGIN")
lockstep_paper_library(nccl lockstep_paper_cudart)
set_target_properties(lockstep_paper_nccl PROPERTIES SOVERSION 2 BUILD_RPATH "\$ORIGIN")
# The product's inner loop is worth the machine's widest registers, chosen when it runs.
set_source_files_properties(cublas/product.cpp PROPERTIES COMPILE_OPTIONS "-O3")
