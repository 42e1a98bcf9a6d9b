# Rooms: one folder of engine/ = one library = one namespace. A room may use rooms on lower floors
# only; the configuration stops on an upward or sideways edge. tests/house checks every #include.

set(LOCKSTEP_FLOORS   # bottom first; rooms of one floor do not know each other
    "base paper" "strand trace" "sim" "tensor" "autograd" "nn" "optim" "data" "gpu" "comm" "collectives replicas"
    "parallel/data_parallel parallel/ddp parallel/compress parallel/horovod parallel/async_sgd parallel/pipeline parallel/zero parallel/tensor parallel/sequence parallel/expert parallel/mesh" "checkpoint" "launch" "plan" "train" "apps")

# Floors inside a room, where it has folders: "room: a, b c", bottom first; "." are the files of the
# room itself. A folder inside a room is no room: target and namespace are the room's. tests/house
# holds it too.
set(LOCKSTEP_INNER_FLOORS
    "sim: wire, model, core, hosts"
    "paper: ., memory, lanes, ptx, machine, order, cudart cublas nccl"
    "comm: ., stores, worlds, worlds/sim worlds/shm worlds/tcp, worlds/hosts, worlds/nccl"
    "grader/course: text, quiz, ., compile, proofs"
    "grader/exam: function, schedule ranks, collective lossy layer driven lives"
    "grader/batch: processes, hand_ins, policy, run, reports, .")

# How many lines of C++ and CUDA a room may have: *.hpp, *.cpp, *.cu and *.cuh, comments included. A
# file counts for the longest folder that it is in. tests/house holds the budgets. Raise one only in
# a commit that says what the lines are worth; lower it when a room has become smaller.
set(LOCKSTEP_LINES_MAX
    "engine/base 2620" "engine/paper 12550" "engine/strand 850" "engine/trace 950" "engine/sim 8350"
    "engine/tensor 6140" "engine/autograd 1000" "engine/nn 1670" "engine/optim 900" "engine/data 1200"
    "engine/gpu 6100" "engine/comm 10300" "engine/collectives 1200" "engine/replicas 250"
    "engine/parallel/data_parallel 100" "engine/parallel/ddp 865" "engine/parallel/compress 995"
    "engine/parallel/horovod 1160" "engine/parallel/async_sgd 1440" "engine/parallel/pipeline 1710" "engine/parallel/zero 2045" "engine/parallel/tensor 870" "engine/parallel/sequence 670" "engine/parallel/expert 760" "engine/parallel/mesh 250"
    "engine/checkpoint 4475" "engine/launch 4310" "engine/plan 150" "engine/train 8205" "engine/apps 8110"
    "grader/course 7580" "grader/play 2990" "grader/judge 3610" "grader/exam 11571" "grader/sandbox 1895"
    "grader/lab 4780" "grader/memory 415" "grader/dev 3360" "grader/further 2760" "grader/impostors 2095" "grader/export 1350" "grader/batch 6465" "grader/pack 1310" "grader/tool 220"
    "grader/parts/01_why_distribute 1275" "grader/parts/02_processes_and_ranks 3240"
    "grader/parts/03_collectives 1800" "grader/parts/04_feeding_the_ranks 1500"
    "grader/parts/05_data_parallel 3548" "grader/parts/06_all_reduce 860"
    "grader/parts/07_ddp 4710" "grader/parts/08_horovod 2630" "grader/parts/09_asynchronous 1705"
    "grader/parts/10_compression 2336" "grader/parts/11_sharding 7283"
    "grader/parts/12_tensor_parallel 2665"
    "grader/parts/13_pipeline_parallel 2545" "grader/parts/14_expert_parallel 1820" "grader/parts/15_sequence_parallel 1807" "grader/parts/16_hybrid_parallel 960" "grader/parts/17_fault_tolerance 2743")

function(lockstep_floor_of room result)
  set(floor 0)
  foreach(rooms IN LISTS LOCKSTEP_FLOORS)
    separate_arguments(names UNIX_COMMAND "${rooms}")
    if(room IN_LIST names)
      set(${result} ${floor} PARENT_SCOPE)
      return()
    endif()
    math(EXPR floor "${floor}+1")
  endforeach()
  message(FATAL_ERROR "Room '${room}' has no floor: add it to LOCKSTEP_FLOORS in cmake/rooms.cmake")
endfunction()

function(lockstep_target_of room result)
  string(REPLACE "/" "_" name "${room}")
  set(${result} "lockstep_${name}" PARENT_SCOPE)
endfunction()

# lockstep_sources(lockstep_sim "core.cpp schedule.cpp" cluster_file.cpp)
# Each argument is one unit of compilation: sources named in one argument are compiled together, so
# that their headers are read once. Who links an archive gets whole units; docs/decisions/0028 says
# which sources may not share one. A source with flags of its own is always a unit of its own.
option(LOCKSTEP_UNITS "Compile several sources as one unit; OFF is for clang-tidy" ON)
function(lockstep_sources target)
  set(number 0)
  foreach(argument IN LISTS ARGN)
    set(sources ${argument})
    if(NOT IS_ABSOLUTE "${argument}")   # an absolute path is one source, whatever is in its name
      separate_arguments(sources UNIX_COMMAND "${argument}")
    endif()
    math(EXPR number "${number}+1")
    lockstep_unit(${target} ${number} ${sources})
  endforeach()
endfunction()

# Adds sources to a target as one unit, named by a number within the target.
function(lockstep_unit target number)
  target_sources(${target} PRIVATE ${ARGN})
  if(ARGC GREATER 3)
    set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${number})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LOCKSTEP_UNITS} UNITY_BUILD_MODE GROUP)
  # g++ sees the sources of a unit as headers, where a type of an unnamed namespace inside another
  # class would be an error; each source is in one unit only, so here it is none.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  lockstep_reads_library(${target})
endfunction()

# What a release build compiles with where nobody waits for the program: it takes a third less time.
set(LOCKSTEP_QUICKLY $<$<CONFIG:Release>:-O1>)

# lockstep_room(tensor SOURCES "a.cpp b.cpp" c.cpp USES base sim LIBRARIES ZLIB::ZLIB CALLS part)
# SOURCES as in lockstep_sources; QUICKLY: all of them are compiled as said above; QUICK: these sources
# are, in a room that is not; CALLS: the parts that the sources
# call, whose references come with the room into tests and programs (lockstep_parts_of_rooms). A room
# without sources is an interface library.
function(lockstep_room room)
  cmake_parse_arguments(ARG "QUICKLY" "" "SOURCES;QUICK;USES;LIBRARIES;CALLS" ${ARGN})
  lockstep_floor_of(${room} floor)
  lockstep_target_of(${room} target)
  if(ARG_SOURCES)
    add_library(${target} STATIC)
    lockstep_sources(${target} ${ARG_SOURCES})
    if(ARG_QUICKLY)
      target_compile_options(${target} PRIVATE ${LOCKSTEP_QUICKLY})
    endif()
    if(ARG_QUICK)
      add_library(${target}_quick OBJECT)
      lockstep_sources(${target}_quick ${ARG_QUICK})
      target_compile_options(${target}_quick PRIVATE ${LOCKSTEP_QUICKLY})
      target_link_libraries(${target}_quick PRIVATE lockstep_flags ${ARG_LIBRARIES})
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_quick>)
    endif()
    set(reach PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(reach INTERFACE)
  endif()
  target_link_libraries(${target} ${reach} lockstep_flags)
  set(below "")
  foreach(used IN LISTS ARG_USES)
    lockstep_floor_of(${used} used_floor)
    if(NOT used_floor LESS floor)
      message(FATAL_ERROR "engine/${room} (floor ${floor}) may not use engine/${used} (floor ${used_floor}): "
              "rooms use lower floors only, see docs/design.md")
    endif()
    lockstep_target_of(${used} used_target)
    target_link_libraries(${target} ${reach} ${used_target})
    get_property(used_below GLOBAL PROPERTY LOCKSTEP_ROOMS_OF_${used_target})
    list(APPEND below ${used_below})
  endforeach()
  list(REMOVE_DUPLICATES below)
  # The room and all below it: what a player links, see lockstep_player.
  set_property(GLOBAL PROPERTY LOCKSTEP_ROOMS_OF_${target} ${target} ${below})
  set_property(GLOBAL PROPERTY LOCKSTEP_CALLS_OF_${target} ${ARG_CALLS})
  if(ARG_LIBRARIES)
    target_link_libraries(${target} ${reach} ${ARG_LIBRARIES})
  endif()
endfunction()
