# Parts: what students build. What is true of one is in its manifest, exercises/NN_lesson/part.toml,
# and every list of parts is made from the manifests here:
#
#   part_<name>     its reference, solutions/NN_lesson/<name>.cpp, an object library: executables list
#                   the objects that they want; no archive holds a part, so none is pulled in silently
#   player-<name>   all that is linked with a student's file, and the recipe by which that is done
#   judge-NN        the judge of a lesson: the exams of the parts that it leads to
#   pch-NN          the contracts of the same parts, precompiled
#
# A part's own files are grader/parts/NN_lesson/<name>/: exam.cpp, player.cpp, case.hpp, which both
# include, and whatever else the exam is made of.

# file(GLOB) without CONFIGURE_DEPENDS, which would cost each build a process: a folder's time
# changes when a file comes or goes, so that configuring again depends on the folders; and on the one
# above them all, such as exercises/, which changes when a lesson comes.
function(lockstep_glob result)
  file(GLOB found ${ARGN})
  foreach(pattern IN LISTS ARGN)
    get_filename_component(folders ${pattern} DIRECTORY)
    string(REGEX REPLACE "/[^/]*[*?[].*" "" above ${folders})
    file(GLOB folders LIST_DIRECTORIES true ${folders} ${above})
    set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folders})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# The value of a key in the text of a manifest, or the strings of its list.
function(lockstep_manifest_value text key result)
  set(value "")
  if(text MATCHES "(^|\n)${key} = \\[([^]]*)\\]")
    string(REGEX MATCHALL "[^][\", \n]+" value "${CMAKE_MATCH_2}")
  elseif(text MATCHES "(^|\n)${key} = \"?([^\"\n]*)")
    set(value "${CMAKE_MATCH_2}")
  endif()
  set(${result} "${value}" PARENT_SCOPE)
endfunction()

# The line of a manifest on which a key stands, for an error to name.
function(lockstep_manifest_line text key result)
  string(REGEX REPLACE "(^|\n)${key} = .*" "\\1" before "${text}")
  string(REGEX MATCHALL "\n" newlines "${before}")
  list(LENGTH newlines line)
  math(EXPR line "${line}+1")
  set(${result} ${line} PARENT_SCOPE)
endfunction()

set(LOCKSTEP_FAMILIES collective function ranks services)

# Reads all manifests into global properties: LOCKSTEP_PARTS, LOCKSTEP_LESSONS, and of each part
# LOCKSTEP_<part>_<key>.
function(lockstep_read_manifests)
  lockstep_glob(manifests ${CMAKE_SOURCE_DIR}/exercises/[0-9][0-9]_*/*.toml)
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manifests})
  set(parts "")
  foreach(manifest IN LISTS manifests)
    get_filename_component(name ${manifest} NAME_WE)
    get_filename_component(folder ${manifest} DIRECTORY)
    get_filename_component(lesson ${folder} NAME)
    file(RELATIVE_PATH shown ${CMAKE_SOURCE_DIR} ${manifest})
    if(name IN_LIST parts)
      get_property(other GLOBAL PROPERTY LOCKSTEP_${name}_lesson)
      message(FATAL_ERROR "${shown}:1: lesson ${other} has an exercise '${name}' already")
    endif()
    list(APPEND parts ${name})
    file(READ ${manifest} text)
    set_property(GLOBAL PROPERTY LOCKSTEP_${name}_lesson ${lesson})
    lockstep_manifest_value("${text}" reading reading)
    if(NOT reading)
      set(reading ${lesson})
    endif()
    set_property(GLOBAL PROPERTY LOCKSTEP_${name}_reading ${reading})
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_LESSON_${reading} ${name})
    foreach(key header symbols family rooms may_use judge_uses mistakes cases native)
      lockstep_manifest_value("${text}" ${key} value)
      set_property(GLOBAL PROPERTY LOCKSTEP_${name}_${key} ${value})
      set(${key} "${value}")
    endforeach()
    if(NOT family IN_LIST LOCKSTEP_FAMILIES)
      lockstep_manifest_line("${text}" family line)
      list(JOIN LOCKSTEP_FAMILIES ", " known)
      message(FATAL_ERROR "${shown}:${line}: there is no family '${family}'; the families are ${known}")
    endif()
    foreach(file solutions/${lesson}/${name}.cpp grader/parts/${lesson}/${name}/exam.cpp
                 grader/parts/${lesson}/${name}/player.cpp ${header})
      if(NOT EXISTS ${CMAKE_SOURCE_DIR}/${file})
        set(line 1)
        if(file STREQUAL header)
          lockstep_manifest_line("${text}" header line)
        endif()
        message(FATAL_ERROR "${shown}:${line}: there is no ${file}, which this exercise needs")
      endif()
    endforeach()
  endforeach()
  foreach(name IN LISTS parts)
    foreach(key may_use judge_uses)
      get_property(used GLOBAL PROPERTY LOCKSTEP_${name}_${key})
      foreach(part IN LISTS used)
        if(NOT part IN_LIST parts)
          get_property(lesson GLOBAL PROPERTY LOCKSTEP_${name}_lesson)
          set(manifest exercises/${lesson}/${name}.toml)
          file(READ ${CMAKE_SOURCE_DIR}/${manifest} text)
          lockstep_manifest_line("${text}" ${key} line)
          message(FATAL_ERROR "${manifest}:${line}: there is no part '${part}'")
        endif()
      endforeach()
    endforeach()
  endforeach()
  set_property(GLOBAL PROPERTY LOCKSTEP_PARTS ${parts})
endfunction()

# The lessons that lead to parts: "06_all_reduce" and so on.
function(lockstep_lessons result)
  get_property(parts GLOBAL PROPERTY LOCKSTEP_PARTS)
  set(lessons "")
  foreach(name IN LISTS parts)
    get_property(lesson GLOBAL PROPERTY LOCKSTEP_${name}_reading)
    list(APPEND lessons ${lesson})
  endforeach()
  list(REMOVE_DUPLICATES lessons)
  set(${result} ${lessons} PARENT_SCOPE)
endfunction()

# The parts of a family.
function(lockstep_parts_of_family family result)
  get_property(parts GLOBAL PROPERTY LOCKSTEP_PARTS)
  set(found "")
  foreach(name IN LISTS parts)
    get_property(of GLOBAL PROPERTY LOCKSTEP_${name}_family)
    if(of STREQUAL family)
      list(APPEND found ${name})
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Compiling these is measured, for the budget that an exercise has (docs/decisions/0054). A cache of a
# compiler's results leaves nothing to measure.
function(lockstep_measured target)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES RULE_LAUNCH_COMPILE
      "sh ${CMAKE_SOURCE_DIR}/cmake/measured.sh ${CMAKE_BINARY_DIR}/times/${target} <OBJECT>")
  endif()
endfunction()

# The references, all of them.
function(lockstep_references)
  get_property(parts GLOBAL PROPERTY LOCKSTEP_PARTS)
  foreach(name IN LISTS parts)
    get_property(lesson GLOBAL PROPERTY LOCKSTEP_${name}_lesson)
    add_library(part_${name} OBJECT ${CMAKE_SOURCE_DIR}/solutions/${lesson}/${name}.cpp)
    target_link_libraries(part_${name} PRIVATE lockstep_flags)
    target_compile_definitions(part_${name} PRIVATE LOCKSTEP_QUIET_CHECKS)
    lockstep_reads_library(part_${name})
    lockstep_measured(part_${name})
  endforeach()
endfunction()

# The named parts, and those whose references these call.
function(lockstep_parts_with_uses result)
  set(all "")
  set(waiting ${ARGN})
  while(waiting)
    list(POP_FRONT waiting part)
    if(NOT part IN_LIST all)
      list(APPEND all ${part})
      get_property(uses GLOBAL PROPERTY LOCKSTEP_${part}_may_use)
      list(APPEND waiting ${uses})
    endif()
  endwhile()
  set(${result} ${all} PARENT_SCOPE)
endfunction()

# The parts that the named rooms and the rooms below them call.
function(lockstep_parts_of_rooms result)
  set(called "")
  foreach(room IN LISTS ARGN)
    lockstep_target_of(${room} target)
    get_property(targets GLOBAL PROPERTY LOCKSTEP_ROOMS_OF_${target})
    foreach(each IN LISTS targets)
      get_property(parts GLOBAL PROPERTY LOCKSTEP_CALLS_OF_${each})
      list(APPEND called ${parts})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES called)
  set(${result} ${called} PARENT_SCOPE)
endfunction()

# Links the reference objects of the named parts into an executable, each once.
function(lockstep_use_parts target)
  list(REMOVE_DUPLICATES ARGN)
  foreach(name IN LISTS ARGN)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:part_${name}>)
  endforeach()
endfunction()

# Flags of students' files: quick to compile, and the lines by which an error that the engine throws
# names its caller (grader/play/thrown_at.hpp). Warnings are shown, and one of them is an error: without
# a return, a function does anything, and the verdict would be about that.
set(LOCKSTEP_STUDENT_FLAGS -std=c++20 -O1 -g1 -Wall -Wextra -Werror=return-type -I${CMAKE_SOURCE_DIR} -fmax-errors=5)
set(LOCKSTEP_PLAYER_LINK_FLAGS -pthread -Wl,--wrap=__cxa_throw)
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

# Target pch-NN: what a lesson's files are compiled with already read, so that an edit is judged
# soon. students/NN.hpp has its .gch beside it; students/plain/NN.hpp is the same text without, for
# compiling with other flags (g++ 12 reads a .gch of other flags all the same, and crashes).
function(lockstep_student_pch lesson)
  string(SUBSTRING ${lesson} 0 2 number)
  get_property(parts GLOBAL PROPERTY LOCKSTEP_LESSON_${lesson})
  set(content "#include \"grader/course/compile/student_headers.hpp\"\n")
  foreach(name IN LISTS parts)
    get_property(header GLOBAL PROPERTY LOCKSTEP_${name}_header)
    string(APPEND content "#include \"${header}\"\n")
  endforeach()
  set(file ${CMAKE_BINARY_DIR}/students/${number}.hpp)
  file(CONFIGURE OUTPUT ${file} CONTENT "${content}")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/students/plain/${number}.hpp CONTENT "${content}")
  add_custom_command(OUTPUT ${file}.gch
    # Under another name first: half of one, from a build that was ended, would be taken for whole.
    COMMAND ${CMAKE_CXX_COMPILER} ${LOCKSTEP_STUDENT_FLAGS} -x c++-header ${file} -o ${file}.unfinished
            -MD -MT ${file}.gch -MF ${file}.d
    COMMAND ${CMAKE_COMMAND} -E rename ${file}.unfinished ${file}.gch
    DEPENDS ${file} DEPFILE ${file}.d VERBATIM
    COMMENT "Precompiling the contracts of lesson ${number}")
  add_custom_target(pch-${number} DEPENDS ${file}.gch)
endfunction()

# Target player-<name>, and the recipe (the format is in grader/course/compile/recipe.hpp) by which the lab
# links what it makes with a student's file.
function(lockstep_player name)
  get_property(lesson GLOBAL PROPERTY LOCKSTEP_${name}_lesson)
  get_property(rooms GLOBAL PROPERTY LOCKSTEP_${name}_rooms)
  get_property(uses GLOBAL PROPERTY LOCKSTEP_${name}_may_use)
  get_property(reading GLOBAL PROPERTY LOCKSTEP_${name}_reading)
  string(SUBSTRING ${reading} 0 2 number)
  add_library(player_${name} OBJECT ${CMAKE_SOURCE_DIR}/grader/parts/${lesson}/${name}/player.cpp)
  lockstep_reads_library(player_${name})
  lockstep_measured(player_${name})
  set(libraries "")
  foreach(room IN LISTS rooms ITEMS comm)   # comm: every player talks to the judge
    lockstep_target_of(${room} target)
    target_link_libraries(player_${name} PRIVATE ${target})
    get_property(below GLOBAL PROPERTY LOCKSTEP_ROOMS_OF_${target})
    list(APPEND libraries ${below})
  endforeach()
  list(REMOVE_DUPLICATES libraries)

  set(lines "compiler ${CMAKE_CXX_COMPILER}" "pch ${CMAKE_BINARY_DIR}/students/${number}.hpp"
            "plain_header ${CMAKE_BINARY_DIR}/students/plain/${number}.hpp")
  foreach(flag IN LISTS LOCKSTEP_STUDENT_FLAGS)
    list(APPEND lines "compile_flag ${flag}")
  endforeach()
  foreach(flag IN LISTS LOCKSTEP_PLAYER_LINK_FLAGS)
    list(APPEND lines "link_flag ${flag}")
  endforeach()
  set(objects player_main player_${name})
  foreach(part IN LISTS uses)
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
  set(gpu gpu_world part_store_rendezvous part_split_groups)
  set(paper paper_world part_store_rendezvous part_split_groups)
  foreach(kind simulated shared sanitized gpu paper)
    foreach(object IN LISTS ${kind})
      list(APPEND lines "${kind}_object $<JOIN:$<TARGET_OBJECTS:${object}>,\n${kind}_object >")
    endforeach()
  endforeach()
  list(APPEND lines "shared_library $<TARGET_FILE:lockstep_shm>")
  foreach(library lockstep_nccl lockstep_shm lockstep_gpu lockstep_comm lockstep_tensor lockstep_sim lockstep_trace
                  lockstep_strand lockstep_base)
    list(APPEND lines "gpu_library $<TARGET_FILE:${library}>")
  endforeach()
  # The object that is opened takes these two rooms from the player, whole (docs/decisions/0042).
  foreach(flag -rdynamic -Wl,--whole-archive $<TARGET_FILE:lockstep_tensor> $<TARGET_FILE:lockstep_base>
               -Wl,--no-whole-archive)
    list(APPEND lines "gpu_link_flag ${flag}")
  endforeach()
  set(needed pch-${number} ${objects} ${simulated})
  foreach(library IN LISTS libraries)
    get_target_property(type ${library} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND lines "library $<TARGET_FILE:${library}>")
      list(APPEND needed ${library})
    endif()
  endforeach()
  string(JOIN "\n" content ${lines})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/recipes/${name}.recipe CONTENT "${content}\n")
  add_custom_target(player-${name})
  add_dependencies(player-${name} ${needed})
  get_property(mistakes GLOBAL PROPERTY LOCKSTEP_${name}_mistakes)
  if(mistakes)
    list(APPEND objects ${simulated})
    lockstep_mistakes(${name} ${number} ${lesson} "${objects}" "${libraries}")
    add_dependencies(player-${name} mistakes-${name})
  endif()
endfunction()

# At -O1 g++ 12 takes optionals that were never set for uninitialised reads.
function(lockstep_exam_flags target)
  target_compile_options(${target} PRIVATE -O1 -Wno-maybe-uninitialized)
endfunction()

# lockstep_exam(lossy LESSONS 10 FAMILIES gradients ROOMS collectives SOURCES lossy/rules.cpp)
# What the exams of a few lessons share: SOURCES as in lockstep_sources. The judges of LESSONS link it
# with the FAMILIES and ROOMS that it calls; another lesson's judge does not see it.
function(lockstep_exam name)
  cmake_parse_arguments(ARG "" "" "LESSONS;FAMILIES;ROOMS;SOURCES" ${ARGN})
  set(target lockstep_exam_${name})
  add_library(${target} STATIC)
  lockstep_sources(${target} ${ARG_SOURCES})
  lockstep_exam_flags(${target})
  target_link_libraries(${target} PUBLIC lockstep_exam)
  foreach(family IN LISTS ARG_FAMILIES)
    target_link_libraries(${target} PUBLIC lockstep_exam_${family})
  endforeach()
  foreach(room IN LISTS ARG_ROOMS)
    lockstep_target_of(${room} room_target)
    target_link_libraries(${target} PUBLIC ${room_target})
  endforeach()
  foreach(number IN LISTS ARG_LESSONS)
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_EXAMS_${number} ${target})
  endforeach()
endfunction()

# Target mistakes-<name>: the program mistakes/<name> and its list (grader/course/proofs/mistakes_unit.hpp),
# compiled and linked as a student's file is.
#   objects  what player-<name> is linked with; libraries  its rooms
function(lockstep_mistakes name number lesson objects libraries)
  set(made ${CMAKE_BINARY_DIR}/mistakes)
  set(mutants ${CMAKE_SOURCE_DIR}/tests/exercises/${lesson}/${name}/mutants.toml)
  set(reference ${CMAKE_SOURCE_DIR}/solutions/${lesson}/${name}.cpp)
  set(header ${CMAKE_BINARY_DIR}/students/${number}.hpp)
  add_custom_command(OUTPUT ${made}/${name}.unit.cpp ${made}/${name}.list
    COMMAND mistakes-unit unit ${reference} ${mutants} ${made}/${name}.unit.cpp ${made}/${name}.list
    DEPENDS mistakes-unit ${reference} ${mutants} VERBATIM COMMENT "Writing the mistakes of ${name}")
  set(compile ${CMAKE_CXX_COMPILER} ${LOCKSTEP_STUDENT_FLAGS} -w -DLOCKSTEP_QUIET_CHECKS)
  add_custom_command(OUTPUT ${made}/${name}.unit.o
    COMMAND ${compile} -include ${header} -MD -MF ${made}/${name}.d -c ${made}/${name}.unit.cpp -o ${made}/${name}.unit.o
    DEPENDS ${made}/${name}.unit.cpp ${header}.gch DEPFILE ${made}/${name}.d VERBATIM
    COMMENT "Compiling the mistakes of ${name}")
  # One object, which the students' edition links when it needs the program.
  add_custom_command(OUTPUT ${made}/${name}.o
    COMMAND mistakes-unit table ${CMAKE_SOURCE_DIR}/exercises/course.toml ${name} $<TARGET_OBJECTS:part_${name}>
            ${made}/${name}.unit.o ${made}/${name}.list ${made}/${name}.table.cpp
    COMMAND ${compile} -c ${made}/${name}.table.cpp -o ${made}/${name}.table.o
    COMMAND ${CMAKE_LINKER} -r ${made}/${name}.unit.o ${made}/${name}.table.o -o ${made}/${name}.o
    COMMAND ${CMAKE_OBJCOPY} --wildcard --localize-symbol=*mistake_* ${made}/${name}.o
    DEPENDS mistakes-unit ${made}/${name}.unit.o ${made}/${name}.list $<TARGET_OBJECTS:part_${name}> VERBATIM
    COMMENT "Writing the table of the mistakes of ${name}")
  add_executable(mistakes-${name} EXCLUDE_FROM_ALL ${made}/${name}.o)
  set_target_properties(mistakes-${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${made}
                        LINKER_LANGUAGE CXX)
  foreach(object IN LISTS objects)
    target_sources(mistakes-${name} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
  target_link_options(mistakes-${name} PRIVATE ${LOCKSTEP_PLAYER_LINK_FLAGS} -s)
  target_link_libraries(mistakes-${name} PRIVATE ${libraries})
endfunction()

# Target judge-NN: the exams of the parts that a lesson leads to, and the table of them. An exam is in the namespace of its
# part, so that those of a lesson are compiled as one unit. A judge links the rooms of its parts.
function(lockstep_judge lesson)
  string(SUBSTRING ${lesson} 0 2 number)
  get_property(parts GLOBAL PROPERTY LOCKSTEP_LESSON_${lesson})
  set(declared "")
  set(entries "")
  set(sources "")
  set(references "")
  set(rooms comm)
  foreach(name IN LISTS parts)
    get_property(folder GLOBAL PROPERTY LOCKSTEP_${name}_lesson)
    get_property(cases GLOBAL PROPERTY LOCKSTEP_${name}_cases)
    get_property(uses GLOBAL PROPERTY LOCKSTEP_${name}_judge_uses)
    get_property(used_rooms GLOBAL PROPERTY LOCKSTEP_${name}_rooms)
    list(APPEND rooms ${used_rooms})
    list(APPEND references ${uses})
    list(JOIN cases ", " cases)
    string(APPEND declared "namespace ${name} {\nExam exam();\n}\n")
    string(APPEND entries "      {\"${name}\", {${name}::exam, {${cases}}}},\n")
    lockstep_glob(own ${CMAKE_SOURCE_DIR}/grader/parts/${folder}/${name}/*.cpp)
    list(FILTER own EXCLUDE REGEX "/player\\.cpp$")
    list(APPEND sources ${own})
  endforeach()
  set(table ${CMAKE_BINARY_DIR}/judges/exams_${number}.cpp)
  file(CONFIGURE OUTPUT ${table} CONTENT "// The exams of lesson ${number}, and how many cases their checks play: from the manifests.
#include \"grader/judge/case_runner.hpp\"

namespace lockstep::grader {

${declared}
const std::map<std::string, DeclaredExam>& exams() {
  static const std::map<std::string, DeclaredExam> all{
${entries}  };
  return all;
}

}  // namespace lockstep::grader
")
  add_executable(judge-${number} ${table} ${sources})
  lockstep_measured(judge-${number})
  set_target_properties(judge-${number} PROPERTIES UNITY_BUILD ${LOCKSTEP_UNITS} UNITY_BUILD_BATCH_SIZE 8)
  lockstep_exam_flags(judge-${number})
  lockstep_reads_library(judge-${number})
  get_property(families GLOBAL PROPERTY LOCKSTEP_EXAMS_${number})
  target_link_libraries(judge-${number} PRIVATE lockstep_judge_main ${families} lockstep_exam)
  list(REMOVE_DUPLICATES rooms)
  foreach(room IN LISTS rooms)
    lockstep_target_of(${room} target)
    target_link_libraries(judge-${number} PRIVATE ${target})
  endforeach()
  list(REMOVE_DUPLICATES references)
  lockstep_use_parts(judge-${number} ${references})
endfunction()
