// SPDX-License-Identifier: Apache-2.0
// Linked with all of one library (CMakeLists.txt): the test passes if it links.
int main() {}
