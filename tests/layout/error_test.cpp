// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/layout/world.h"
#include "tests/policy/message_of.h"

namespace uvmsim::layout {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LayoutErrors, NameWhatIsAllowed) {
  AddressSpace space(1);
  EXPECT_THAT(message_of([&] { Layout("pytorch", space); }),
              AllOf(HasSubstr("unknown layout 'pytorch'"), HasSubstr("none"), HasSubstr("recorded")));
}

TEST(LayoutErrors, Objects) {
  World world("none");
  world.object(1, kMiB);
  EXPECT_THAT(message_of([&] { world.object(1, kMiB); }), HasSubstr("object 1 is allocated twice"));
  EXPECT_THAT(message_of([&] { world.object(2, 0); }), HasSubstr("object 2 has 0 bytes; allowed: 1 to"));
  EXPECT_THAT(message_of([&] { world.object(2, ~std::uint64_t{0}); }), HasSubstr("object 2 has 18446744073709551615"));
  EXPECT_THAT(message_of([&] { world.free(9); }), HasSubstr("free of object 9"));
  world.free(1);
  EXPECT_THAT(message_of([&] { world.free(1); }), HasSubstr("already freed"));
  EXPECT_THAT(message_of([&] { world.layout.find(1); }), HasSubstr("object 1 was never allocated or is already freed"));
}

TEST(LayoutErrors, Tensors) {
  World world("none");
  world.object(1, kMiB);
  EXPECT_THAT(message_of([&] { world.tensor(2, kMiB + 1, 1); }), HasSubstr("tensor 2 ends past object 1"));
  EXPECT_THAT(message_of([&] { world.tensor(2, kMiB, 1, 1); }), HasSubstr("tensor 2 ends past object 1"));
  EXPECT_THAT(message_of([&] { world.tensor(2, 2, 1, ~std::uint64_t{0}); }), HasSubstr("tensor 2 ends past object 1"));
  EXPECT_THAT(message_of([&] { world.tensor(2, 1, 7); }), HasSubstr("object 7 was never allocated"));
  world.tensor(2, kMiB, 1);
  EXPECT_THAT(message_of([&] { world.tensor(2, 1, 1); }), HasSubstr("tensor 2 is allocated twice"));
  EXPECT_THAT(message_of([&] { world.object(2, kMiB); }), HasSubstr("object 2 is allocated twice"));
  EXPECT_THAT(message_of([&] { world.free(2); }), HasSubstr("free of object 2"));  // it is a tensor inside another
  EXPECT_THAT(message_of([&] { world.free(1); }), HasSubstr("object 1 is freed while 1 tensors live in it"));
  world.free_tensor(2);
  EXPECT_THAT(message_of([&] { world.free_tensor(2); }), HasSubstr("free of object 2"));
}

}  // namespace
}  // namespace uvmsim::layout
