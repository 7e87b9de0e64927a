# Version and commit for `--version` and reports: generated/reprise_build_info.h, made at build time and
# rewritten only when it changes, so that a commit rebuilds the few files that include it and no more.
#
# Use: include(cmake/build_info.cmake), then link reprise_build_info and include
# "reprise_build_info.h" (reprise::kVersion, reprise::kCommit). The same file run with `cmake -P` is
# the step that writes the header.

if(CMAKE_SCRIPT_MODE_FILE)
  set(commit "unknown")
  find_program(GIT git)
  if(GIT)
    execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} rev-parse --show-toplevel
      OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    # A copy without .git inside another repository is not a commit of that repository.
    if(NOT failed AND top STREQUAL SOURCE_DIR)
      execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} rev-parse --short=12 HEAD
        OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
      if(NOT failed)
        execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} diff --quiet HEAD RESULT_VARIABLE changed
          ERROR_QUIET)
        set(commit "${hash}")
        if(changed)
          string(APPEND commit "-changed")
        endif()
      endif()
    endif()
  endif()
  # configure_file() leaves an equal file untouched.
  configure_file(${SOURCE_DIR}/cmake/build_info.h.in ${OUTPUT} @ONLY)
  return()
endif()

include_guard(GLOBAL)
set(build_info_header ${CMAKE_BINARY_DIR}/generated/reprise_build_info.h)
add_custom_target(reprise_build_info_step
  COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D VERSION=${PROJECT_VERSION}
          -D OUTPUT=${build_info_header} -P ${CMAKE_CURRENT_LIST_FILE}
  BYPRODUCTS ${build_info_header}
  COMMENT ""
  VERBATIM)
add_library(reprise_build_info INTERFACE)
add_dependencies(reprise_build_info reprise_build_info_step)
target_include_directories(reprise_build_info INTERFACE ${CMAKE_BINARY_DIR}/generated)
