# SPDX-License-Identifier: Apache-2.0
# The libraries that the rooms of sim/ are compiled into, in the order in which they may use each other.
set(UVMSIM_LIBRARIES io model experiments applications)

# uvmsim_add_library(<name>): libuvmsim_<name>, which is uvmsim::<name> here and after find_package(uvmsim).
function(uvmsim_add_library name)
  add_library(uvmsim_${name})
  add_library(uvmsim::${name} ALIAS uvmsim_${name})
  set_target_properties(uvmsim_${name} PROPERTIES EXPORT_NAME ${name})
  uvmsim_set_build_options(uvmsim_${name})
  target_compile_features(uvmsim_${name} PUBLIC cxx_std_20)
  target_compile_definitions(uvmsim_${name} PUBLIC UVMSIM_MODEL_CHECKS=$<BOOL:${UVMSIM_MODEL_CHECKS}>)
  target_include_directories(uvmsim_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# uvmsim_link_whole(<target> [<library>...]): the target carries all of these libraries (of every one where none is named),
# also what it does not use itself. Plug-ins resolve what they use of a library from the program that loads them.
function(uvmsim_link_whole target)
  set(libraries ${ARGN})
  if(NOT libraries)
    set(libraries ${UVMSIM_LIBRARIES})
  endif()
  get_target_property(type uvmsim_io TYPE)
  if(NOT type STREQUAL "STATIC_LIBRARY")
    return()
  endif()
  list(TRANSFORM libraries REPLACE "(.+)" "$<TARGET_FILE:uvmsim_\\1>")
  list(JOIN libraries "," files)
  target_link_options(${target} PRIVATE "LINKER:--whole-archive,${files},--no-whole-archive")
endfunction()
