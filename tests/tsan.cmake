# Tests of threads once more, with all of our libraries, under ThreadSanitizer, where that works.
include(CheckCSourceRuns)
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
check_c_source_runs("int main(void) { return 0; }" THREAD_SANITIZER_WORKS)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT THREAD_SANITIZER_WORKS OR SBTRACE_SANITIZE)
  return()
endif()

function(tsan_library name directory)
  get_target_property(sources ${name}_objects SOURCES)
  list(FILTER sources EXCLUDE REGEX "(^|/)capture/") # nothing is recorded by them
  list(TRANSFORM sources PREPEND ${directory}/ REGEX "^[^/]")
  add_library(tsan_${name} STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(tsan_${name} PUBLIC . ../libdecode ../libdecode/include ../libsb ../libsb/include
    PRIVATE ${ZYDIS_INCLUDE_DIR})
  target_compile_options(tsan_${name} PUBLIC -fsanitize=thread PRIVATE -O0 -g1)
  target_link_options(tsan_${name} PUBLIC -fsanitize=thread)
  target_link_libraries(tsan_${name} PUBLIC sbtrace_options PkgConfig::CMOCKA ${ZYDIS_LIBRARY} sb_needs)
endfunction()

tsan_library(ipt ../libdecode)
tsan_library(sb ../libsb)
target_link_libraries(tsan_sb PUBLIC tsan_ipt)

add_executable(tsan_threads decode/test_threads.c support/trace.c support/temp_dir.c support/code_file.c)
target_link_libraries(tsan_threads PRIVATE tsan_ipt)
add_test(NAME decode/tsan_threads COMMAND tsan_threads)
add_executable(tsan_replay_jobs sb/test_replay_jobs.c support/temp_dir.c support/spans.c)
target_compile_definitions(tsan_replay_jobs PRIVATE BRIEF SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  CORPUS_DIR="/nowhere" SBTRACE_EXE="$<TARGET_FILE:sbtrace>" RELAY_WORKLOAD="$<TARGET_FILE:workload_relay>")
add_dependencies(tsan_replay_jobs workload_relay)
target_link_libraries(tsan_replay_jobs PRIVATE tsan_sb)
add_test(NAME sb/tsan_replay_jobs COMMAND tsan_replay_jobs)
set_tests_properties(decode/tsan_threads sb/tsan_replay_jobs PROPERTIES
  TIMEOUT 600 ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1;LC_ALL=C")
