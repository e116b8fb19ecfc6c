# SPDX-License-Identifier: Apache-2.0
# The versions that sim/sweep/model_version.h gives: uvmsim_add_model_version(), called in sim/sweep, makes the library carry
# them. sim/sweep/model_version/write.cpp makes them of the files named here, at build time.

# What numbers follow from: the model, and what it reads with. Not in it: other formats, the command, comparisons, exports.
set(UVMSIM_MODEL_ROOMS
    bounds
    common
    config
    driver
    edit
    engine
    events
    gmmu
    layout
    link
    memory
    policy
    report
    trace)
# And of sim/sweep what turns a point into a run.
set(UVMSIM_MODEL_FILES sim/sweep/point.* sim/sweep/resolve.* sim/sweep/run_point.* sim/sweep/trace_input.*
                       sim/sweep/run_scenario.* sim/sweep/scenario.*)

function(uvmsim_add_model_version)
  set(patterns ${UVMSIM_MODEL_FILES})
  foreach(room IN LISTS UVMSIM_MODEL_ROOMS)
    list(APPEND patterns "sim/${room}/*.cpp" "sim/${room}/*.h" "sim/${room}/*.proto")
  endforeach()
  set(policy_patterns policies/*.cpp policies/*.h)
  list(TRANSFORM patterns PREPEND "${PROJECT_SOURCE_DIR}/")
  list(TRANSFORM policy_patterns PREPEND "${PROJECT_SOURCE_DIR}/")
  file(GLOB_RECURSE files RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS ${patterns})
  file(GLOB_RECURSE policy_files RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS ${policy_patterns})
  list(FILTER policy_files EXCLUDE REGEX "^policies/examples/")
  list(SORT files)
  list(SORT policy_files)

  set(lines "")
  foreach(file IN LISTS files)
    string(APPEND lines "model ${file}\n")
  endforeach()
  foreach(file IN LISTS policy_files)
    if(file MATCHES "\\.cpp$")
      get_filename_component(name "${file}" NAME_WE)
      string(APPEND lines "policy ${name} ${file}\n")
    endif()
  endforeach()
  set(list "${PROJECT_BINARY_DIR}/generated/model_files.txt")
  set(output "${PROJECT_BINARY_DIR}/generated/model_version.inc")
  file(CONFIGURE OUTPUT "${list}" CONTENT "@lines@" @ONLY)
  list(TRANSFORM files PREPEND "${PROJECT_SOURCE_DIR}/")
  list(TRANSFORM policy_files PREPEND "${PROJECT_SOURCE_DIR}/")

  # uvmsim_write_model_version reads them; sanitizers or not, it writes the same.
  add_executable(uvmsim_write_model_version model_version/write.cpp)
  uvmsim_set_build_options(uvmsim_write_model_version)
  target_link_libraries(uvmsim_write_model_version PRIVATE uvmsim::io)
  add_custom_command(
    OUTPUT "${output}"
    COMMAND uvmsim_write_model_version "${PROJECT_SOURCE_DIR}" "${list}" "${output}"
    DEPENDS ${files} ${policy_files} "${list}"
    VERBATIM)
  # A library of its own, in the folder of the command that makes its input.
  add_library(uvmsim_model_version OBJECT model_version.cpp "${output}")
  uvmsim_set_build_options(uvmsim_model_version)
  set_target_properties(uvmsim_model_version PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(uvmsim_model_version PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
  target_link_libraries(uvmsim_model_version PRIVATE uvmsim::model)
  target_sources(uvmsim_experiments PRIVATE $<TARGET_OBJECTS:uvmsim_model_version>)
  add_dependencies(uvmsim_experiments uvmsim_model_version)
endfunction()
