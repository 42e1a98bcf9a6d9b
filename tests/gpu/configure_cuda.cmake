#Reads cmake / cuda.cmake beside a made - up toolkit, and compares what it says:
#cmake - D toolkit = version_12 - D cuda =…/ cuda.cmake - D scratch = \
                         FOLDER - P configure_cuda.cmake
if (worker)
set(LOCKSTEP_CUDA_PLACES ${scratch}) set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF) set(
    CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF) include(${cuda}) return () endif()

    set(expect_none
        "CUDA: off \\(no nvcc; install NVIDIA's CUDA Toolkit 13, .*GPU tests are skipped")
        set(expect_version_12 "CUDA: off \\(.*nvcc is of CUDA 12.4, but the GPU code needs 13;")
            set(expect_no_libraries
                "CUDA: off \\(.* has nvcc, but not the headers and libraries of the runtime and of "
                "cuBLAS;") set(expect_none_in_ci
                               "CI=true asks for all tests, and those of the GPU cannot be built: "
                               "CUDA is.*off.*no nvcc") set(expect_complete "CUDA: 13.0, in ")

                file(REMOVE_RECURSE ${scratch}) file(MAKE_DIRECTORY ${scratch} /
                                                     bin) set(version 13.0) if (toolkit STREQUAL
                                                                                "version_12")
                    set(version 12.4) endif() if (NOT toolkit MATCHES "^none") file(
                        WRITE ${scratch} / bin /
                        nvcc
                        "#!/bin/sh\necho 'Cuda compilation tools, release ${version}, "
                        "V${version}.1'\n") file(CHMOD ${scratch} / bin /
                                                 nvcc PERMISSIONS OWNER_READ OWNER_WRITE
                                                     OWNER_EXECUTE) endif() if (toolkit STREQUAL
                                                                                "complete")
                        foreach (file include / cublas_v2.h lib64 / libcudart.so .13 lib64 /
                                 libcublas.so .13) file(WRITE ${scratch} / $ { file } "")
                            endforeach() endif() set(ci false) if (toolkit STREQUAL "none_in_ci")
                                set(ci true) endif() execute_process(
                                    COMMAND ${CMAKE_COMMAND} - E env CI =
                                        ${ci} ${CMAKE_COMMAND} - D worker =
                                            ON - D cuda =
                                                ${cuda} - D scratch =
                                                    ${scratch} -
                                                    P ${CMAKE_CURRENT_LIST_FILE} OUTPUT_VARIABLE
                                                        said ERROR_VARIABLE said RESULT_VARIABLE
                                                            status)
                                    string(REGEX REPLACE
                                           "[ \n]+"
                                           " " said
                                           "${said}") if (NOT said MATCHES "${expect_${toolkit}}")
                                        message(
                                            FATAL_ERROR
                                            "expected ${expect_${toolkit}}, but it said: ${said}")
                                            endif() if (toolkit STREQUAL
                                                        "none_in_ci" AND status EQUAL 0)
                                                message(FATAL_ERROR "the configuration went on")
                                                    endif()
