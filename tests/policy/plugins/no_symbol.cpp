// SPDX-License-Identifier: Apache-2.0
// A shared library that is no plug-in.
extern "C" int uvmsim_test_no_symbol() { return 1; }
