# SPDX-License-Identifier: Apache-2.0
# Writes the fingerprint of the model's sources.
#
# As a script, at build time: cmake -DROOT=<source tree> -DFILES=<file with one path per line> -DOUTPUT=<file> -P this.
# Included: uvmsim_add_model_version(), called in sim/sweep, makes the library carry it (sim/sweep/model_version.h).

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_policy(VERSION 3.22)
  file(STRINGS "${FILES}" files)
  set(all "")
  foreach(file IN LISTS files)
    file(SHA256 "${ROOT}/${file}" hash)
    string(APPEND all "${hash}  ${file}\n")
  endforeach()
  string(SHA256 version "${all}")
  file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define UVMSIM_MODEL_VERSION \"@version@\"\n" @ONLY)
  return()
endif()

set(UVMSIM_MODEL_VERSION_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

# What a result follows from. Not in it: the command, the sweep's own work, what only compares or exports.
set(UVMSIM_MODEL_ROOMS
    common
    config
    driver
    edit
    engine
    events
    formats
    gmmu
    layout
    link
    memory
    policy
    report
    trace)

function(uvmsim_add_model_version)
  set(patterns policies/*.cpp policies/*.h sim/sweep/point.* sim/sweep/resolve.* sim/sweep/run_point.*
               sim/sweep/trace_input.* sim/sweep/run_scenario.* sim/sweep/scenario.*)
  foreach(room IN LISTS UVMSIM_MODEL_ROOMS)
    list(APPEND patterns "sim/${room}/*.cpp" "sim/${room}/*.h" "sim/${room}/*.proto")
  endforeach()
  list(TRANSFORM patterns PREPEND "${PROJECT_SOURCE_DIR}/")
  file(GLOB_RECURSE files RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS ${patterns})
  list(FILTER files EXCLUDE REGEX "^policies/examples/")
  list(SORT files)
  list(JOIN files "\n" lines)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/model_files.txt" CONTENT "@lines@\n" @ONLY)
  list(TRANSFORM files PREPEND "${PROJECT_SOURCE_DIR}/")
  set(output "${PROJECT_BINARY_DIR}/generated/model_version.inc")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DROOT=${PROJECT_SOURCE_DIR}" "-DFILES=${PROJECT_BINARY_DIR}/generated/model_files.txt"
            "-DOUTPUT=${output}" -P "${UVMSIM_MODEL_VERSION_SCRIPT}"
    DEPENDS ${files} "${PROJECT_BINARY_DIR}/generated/model_files.txt" "${UVMSIM_MODEL_VERSION_SCRIPT}"
    VERBATIM)
  # A library of its own, in the folder of the command that makes its input.
  add_library(uvmsim_model_version OBJECT model_version.cpp "${output}")
  uvmsim_set_build_options(uvmsim_model_version)
  set_target_properties(uvmsim_model_version PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(uvmsim_model_version PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
  target_sources(uvmsim PRIVATE $<TARGET_OBJECTS:uvmsim_model_version>)
  add_dependencies(uvmsim uvmsim_model_version)
endfunction()
