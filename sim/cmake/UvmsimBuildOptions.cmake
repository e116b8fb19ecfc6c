# SPDX-License-Identifier: Apache-2.0
# Flags that every target of the project compiles with.

if(UVMSIM_SANITIZE)
  # Whole tree: a sanitizer only sees what was compiled with it.
  add_compile_options(-fsanitize=${UVMSIM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${UVMSIM_SANITIZE})
endif()

if(UVMSIM_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "UVMSIM_BUILD_FUZZERS needs clang (libFuzzer); this is ${CMAKE_CXX_COMPILER_ID}")
  endif()
  # What leads libFuzzer: the edges taken. Tracing comparisons as well (fuzzer-no-link) would take a third more time to
  # compile and slow down everything that compares.
  add_compile_options(-fsanitize-coverage=inline-8bit-counters,pc-table)
endif()

# uvmsim_set_build_options(<target>): warnings, and the same floating-point results from every compiler.
function(uvmsim_set_build_options target)
  target_compile_options(
    ${target}
    PRIVATE -Wall
            -Wextra
            -Wpedantic
            -Wconversion
            # GCC 12 reports an impossible overlap inside std::string (GCC bug 105651).
            $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
            # In a unity build GCC takes the files for headers: a member's type may well be the file's own.
            $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>
            $<$<BOOL:${UVMSIM_WERROR}>:-Werror>
            # Results are byte-identical across compilers: no fused multiply-add where the source has none.
            -ffp-contract=off)
endfunction()
