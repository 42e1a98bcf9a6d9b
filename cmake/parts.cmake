# Parts: what students build. Each part is one translation unit, solutions/NN_lesson/part.cpp, and
# one object library part_<name>. Executables list the objects they want; no archive holds a part,
# so none is ever pulled in silently.

# lockstep_part(06_all_reduce/ring_all_reduce USES collectives)
function(lockstep_part address)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  get_filename_component(name ${address} NAME)
  add_library(part_${name} OBJECT ${CMAKE_SOURCE_DIR}/solutions/${address}.cpp)
  foreach(room IN LISTS ARG_USES)
    lockstep_target_of(${room} target)
    target_link_libraries(part_${name} PUBLIC ${target})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_PARTS ${name})
endfunction()

# Links the reference objects of the named parts into an executable.
function(lockstep_use_parts target)
  foreach(name IN LISTS ARGN)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:part_${name}>)
  endforeach()
endfunction()

# Flags of students' files: quick to compile, warnings shown but never errors.
set(LOCKSTEP_STUDENT_FLAGS -std=c++20 -O1 -g0 -Wall -Wextra -I${CMAKE_SOURCE_DIR} -fmax-errors=5)
set(LOCKSTEP_PLAYER_LINK_FLAGS -pthread)
if(LOCKSTEP_SANITIZE)   # a sanitizer's runtime wants the dynamic linker
  list(APPEND LOCKSTEP_STUDENT_FLAGS -fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer)
  list(APPEND LOCKSTEP_PLAYER_LINK_FLAGS -fsanitize=${LOCKSTEP_SANITIZE})
else()
  list(APPEND LOCKSTEP_PLAYER_LINK_FLAGS -static)   # starts in about a millisecond
endif()
if(LOCKSTEP_MOLD)
  # mold takes a symbol from the first archive that has it. The standard library comes first, or a
  # function of its own that some room has instantiated too draws that room's file into the player.
  list(APPEND LOCKSTEP_PLAYER_LINK_FLAGS -fuse-ld=mold -lstdc++)
endif()

# The precompiled header of students' files: target student_pch.
function(lockstep_student_pch header)
  set(copy ${CMAKE_BINARY_DIR}/students/student_pch.hpp)
  file(CONFIGURE OUTPUT ${copy} CONTENT "#include \"${header}\"\n")
  add_custom_command(OUTPUT ${copy}.gch
    COMMAND ${CMAKE_CXX_COMPILER} ${LOCKSTEP_STUDENT_FLAGS} -x c++-header ${copy} -o ${copy}.gch
            -MD -MT ${copy}.gch -MF ${copy}.d
    DEPENDS ${copy} DEPFILE ${copy}.d VERBATIM COMMENT "Precompiling the header of students' files")
  add_custom_target(student_pch DEPENDS ${copy}.gch)
  set_property(GLOBAL PROPERTY LOCKSTEP_STUDENT_PCH ${copy})
endfunction()

# lockstep_player(data_parallel_step ROOMS parallel/data_parallel USES average_gradients)
# The adapter grader/players/<part>.cpp as an object library, and the recipe (the format is in
# grader/course/recipe.hpp) by which the lab links it with a student's file. USES repeats the
# manifest's may_use; a test holds them equal.
function(lockstep_player name)
  cmake_parse_arguments(ARG "" "" "ROOMS;USES;LIBRARIES" ${ARGN})
  add_library(player_${name} OBJECT ${CMAKE_SOURCE_DIR}/grader/players/${name}.cpp)
  set(libraries "")
  foreach(room IN LISTS ARG_ROOMS)
    lockstep_target_of(${room} target)
    target_link_libraries(player_${name} PRIVATE ${target})
    get_property(below GLOBAL PROPERTY LOCKSTEP_ROOMS_OF_${target})
    list(APPEND libraries ${below})
  endforeach()
  list(APPEND libraries ${ARG_LIBRARIES})
  list(REMOVE_DUPLICATES libraries)

  get_property(pch GLOBAL PROPERTY LOCKSTEP_STUDENT_PCH)
  set(lines "compiler ${CMAKE_CXX_COMPILER}" "pch ${pch}")
  foreach(flag IN LISTS LOCKSTEP_STUDENT_FLAGS)
    list(APPEND lines "compile_flag ${flag}")
  endforeach()
  foreach(flag IN LISTS LOCKSTEP_PLAYER_LINK_FLAGS)
    list(APPEND lines "link_flag ${flag}")
  endforeach()
  set(objects player_main player_${name} lockstep_kernels_portable)
  foreach(part IN LISTS ARG_USES)
    list(APPEND lines "uses ${part}")
    list(APPEND objects part_${part})
  endforeach()
  foreach(object IN LISTS objects)
    list(APPEND lines "object $<JOIN:$<TARGET_OBJECTS:${object}>,\nobject >")
  endforeach()
  # What other kinds of players have besides, or in its place: ./lab check --sanitize, --world gloo.
  set(simulated simulated_world)
  set(shared shared_memory_world part_store_rendezvous part_split_groups)
  set(sanitized sanitizer_options)
  foreach(kind simulated shared sanitized)
    foreach(object IN LISTS ${kind})
      list(APPEND lines "${kind}_object $<JOIN:$<TARGET_OBJECTS:${object}>,\n${kind}_object >")
      list(APPEND objects ${object})
    endforeach()
  endforeach()
  list(APPEND lines "shared_library $<TARGET_FILE:lockstep_shm>")
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_PLAYER_TARGETS lockstep_shm)
  foreach(library IN LISTS libraries)
    get_target_property(type ${library} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND lines "library $<TARGET_FILE:${library}>")
      set_property(GLOBAL APPEND PROPERTY LOCKSTEP_PLAYER_TARGETS ${library})
    endif()
  endforeach()
  string(JOIN "\n" content ${lines})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/recipes/${name}.recipe CONTENT "${content}\n")
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_PLAYER_TARGETS ${objects})
endfunction()
