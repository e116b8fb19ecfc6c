# SPDX-License-Identifier: Apache-2.0
# Writes the commit that is built.
#
# As a script, at build time: cmake -DROOT=<source tree> -DOUTPUT=<file> -P this. Included: uvmsim_add_commit(), called in
# sim/common, makes the library carry it (sim/common/version.h).

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_policy(VERSION 3.22)
  execute_process(
    COMMAND git -C "${ROOT}" describe --always --abbrev=12 --dirty --exclude=*
    RESULT_VARIABLE failed
    OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(failed)
    set(commit "")
  endif()
  file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define UVMSIM_COMMIT \"@commit@\"\n" @ONLY)
  return()
endif()

set(UVMSIM_COMMIT_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(uvmsim_add_commit)
  set(output "${PROJECT_BINARY_DIR}/generated/commit.inc")
  add_custom_target(
    uvmsim_find_commit
    COMMAND "${CMAKE_COMMAND}" "-DROOT=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${output}" -P "${UVMSIM_COMMIT_SCRIPT}"
    BYPRODUCTS "${output}"
    VERBATIM)
  # A library of its own, so that another commit compiles one small file.
  add_library(uvmsim_commit OBJECT commit.cpp)
  add_dependencies(uvmsim_commit uvmsim_find_commit)
  uvmsim_set_build_options(uvmsim_commit)
  set_target_properties(uvmsim_commit PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(uvmsim_commit PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
  target_sources(uvmsim_io PRIVATE $<TARGET_OBJECTS:uvmsim_commit>)
endfunction()
