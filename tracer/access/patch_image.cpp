// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/patch_image.h"

// UVMTRACE_PATCH_IMAGE is the path of the fatbin that nvcc made out of patch.cu.
asm(".section .rodata\n"
    ".balign 64\n"
    "uvmtrace_patch_image:\n"
    ".incbin \"" UVMTRACE_PATCH_IMAGE
    "\"\n"
    ".byte 0\n"
    ".previous\n");

extern "C" [[gnu::visibility("hidden")]] const char uvmtrace_patch_image[];

namespace uvmtrace::access {

const void* patch_image() { return uvmtrace_patch_image; }

}  // namespace uvmtrace::access
