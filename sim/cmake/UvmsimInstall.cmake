# SPDX-License-Identifier: Apache-2.0
# Installs the libraries, their headers, the command and the find_package(uvmsim) files: the component `uvmsim`. What the
# tracer installs is the component `tracer`, so that either can be installed without the other being built.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/uvmsim")

foreach(library IN LISTS UVMSIM_LIBRARIES)
  install(TARGETS uvmsim_${library} EXPORT uvmsimTargets COMPONENT uvmsim)
endforeach()
install(TARGETS uvmsim EXPORT uvmsimTargets COMPONENT uvmsim)
install(TARGETS uvmsim_cli COMPONENT uvmsim)
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/sim"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT uvmsim
  FILES_MATCHING
  PATTERN "*.h"
  PATTERN "cli" EXCLUDE
  PATTERN "cmake" EXCLUDE)
# What built-in policies share: who starts from one of them outside the project needs it.
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/policies"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT uvmsim
  FILES_MATCHING
  PATTERN "*.h"
  PATTERN "examples" EXCLUDE)
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/configs"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/uvmsim"
  COMPONENT uvmsim)
# What `uvmsim bpf build` compiles and links with.
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/bpf/include" "${PROJECT_SOURCE_DIR}/bpf/policies"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/uvmsim/bpf"
  COMPONENT uvmsim)
install(
  TARGETS uvmsim_bpf_host
  DESTINATION lib/uvmsim # as plug-ins: the command looks there, wherever it was put
  COMPONENT uvmsim)

install(
  EXPORT uvmsimTargets
  NAMESPACE uvmsim::
  DESTINATION "${package_dir}"
  COMPONENT uvmsim)
configure_package_config_file("${PROJECT_SOURCE_DIR}/sim/cmake/uvmsimConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/uvmsimConfig.cmake" INSTALL_DESTINATION "${package_dir}")
# Before 1.0 every minor version may change the interfaces.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/uvmsimConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/uvmsimConfig.cmake" "${PROJECT_BINARY_DIR}/uvmsimConfigVersion.cmake"
        "${PROJECT_SOURCE_DIR}/sim/cmake/FindZstd.cmake" "${PROJECT_SOURCE_DIR}/sim/cmake/UvmsimPolicies.cmake"
  DESTINATION "${package_dir}"
  COMPONENT uvmsim)
