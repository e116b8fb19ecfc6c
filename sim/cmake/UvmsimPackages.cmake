# SPDX-License-Identifier: Apache-2.0
# What packages have besides what UvmsimInstall.cmake copies: manual pages and completion, written by the command itself
# when it is installed, and the Debian package that `cpack` makes of the component `uvmsim`.
set(uvmsim_share "\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}")
install(
  CODE "
  set(uvmsim_itself \"${CMAKE_COMMAND}\" -E env --unset=UVMSIM_CONFIG_PATH \"$<TARGET_FILE:uvmsim_cli>\")
  set(uvmsim_data \"${uvmsim_share}\")
  file(MAKE_DIRECTORY \"\${uvmsim_data}/bash-completion/completions\" \"\${uvmsim_data}/zsh/site-functions\"
                      \"\${uvmsim_data}/fish/vendor_completions.d\")
  execute_process(COMMAND \${uvmsim_itself} manual -o \"\${uvmsim_data}/man/man1\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \${uvmsim_itself} completion bash OUTPUT_FILE \"\${uvmsim_data}/bash-completion/completions/uvmsim\"
                          COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \${uvmsim_itself} completion zsh OUTPUT_FILE \"\${uvmsim_data}/zsh/site-functions/_uvmsim\"
                          COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \${uvmsim_itself} completion fish OUTPUT_FILE \"\${uvmsim_data}/fish/vendor_completions.d/uvmsim.fish\"
                          COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT uvmsim)
install(
  FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  RENAME copyright
  COMPONENT uvmsim)
install(
  FILES "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT uvmsim)

if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME uvmsim)
  set(CPACK_PACKAGE_CONTACT "The uvmsim authors")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_VERBATIM_VARIABLES ON)
  set(CPACK_COMPONENTS_ALL uvmsim)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_UVMSIM_PACKAGE_NAME uvmsim)
  set(CPACK_DEBIAN_UVMSIM_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_UVMSIM_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  include(CPack)
endif()
