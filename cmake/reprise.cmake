# Helpers that every room uses: reprise_room() for its library, reprise_test() for its tests.

find_program(REPRISE_CCACHE ccache)
if(REPRISE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${REPRISE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${REPRISE_CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(pugixml REQUIRED)
find_library(REPRISE_SECCOMP seccomp REQUIRED)
find_library(REPRISE_XXHASH xxhash REQUIRED)
find_library(REPRISE_RAPIDCHECK rapidcheck REQUIRED)

# What every file of ours is compiled with. Third-party headers lie in system folders.
add_library(reprise_flags INTERFACE)
target_include_directories(reprise_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(reprise_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wswitch
  $<$<COMPILE_LANGUAGE:CXX>:-Werror=switch>
  $<$<BOOL:${REPRISE_WERROR}>:-Werror>
  $<$<BOOL:${REPRISE_SANITIZE}>:-fsanitize=address,undefined>
  $<$<BOOL:${REPRISE_SANITIZE}>:-fno-omit-frame-pointer>)
target_link_options(reprise_flags INTERFACE
  $<$<BOOL:${REPRISE_SANITIZE}>:-fsanitize=address,undefined>)

# reprise_room(NAME SOURCES … LINK …): the static library reprise_NAME of one room.
function(reprise_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(reprise_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(reprise_${name} PUBLIC reprise_flags fmt::fmt ${ARG_LINK})
endfunction()

# Unit and property tests write small files and ask for them to be durable: in memory that costs nothing.
# What runs the binary stays on the file system of TMPDIR, as its users do.
execute_process(COMMAND test -d /dev/shm -a -w /dev/shm RESULT_VARIABLE REPRISE_NO_MEMORY_FOLDER
  ERROR_QUIET)

# All unit and property tests of the build.
add_custom_target(reprise_unit_tests)

# reprise_test(NAME LABEL unit SOURCES … LINK …): one GoogleTest binary, one ctest entry.
# Unit and property tests are left out where REPRISE_UNIT_TESTS is off: scripts/test runs them once, in
# the sanitizer build. Labels: unit, property, e2e, negative, torch, python, privileged (one each).
function(reprise_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set(is_built ON)
  if(ARG_LABEL MATCHES "^(unit|property)$" AND NOT REPRISE_UNIT_TESTS)
    set(is_built OFF)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  if(NOT is_built)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK} reprise_flags
    GTest::gmock GTest::gtest GTest::gtest_main ${REPRISE_RAPIDCHECK})
  if(NOT is_built)
    return()
  endif()
  if(ARG_LABEL MATCHES "^(unit|property)$")
    add_dependencies(reprise_unit_tests ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set(environment "ASAN_OPTIONS=detect_leaks=0")
  if(ARG_LABEL MATCHES "^(unit|property)$" AND REPRISE_NO_MEMORY_FOLDER EQUAL 0)
    list(APPEND environment "TMPDIR=/dev/shm")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "${environment}")
endfunction()
