// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/layout_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policy/message_of.h"

namespace uvmsim::layout {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LayoutChoice, APlainNameIsTheLayoutWithItsDefaults) {
  EXPECT_EQ(LayoutChoice().name, "recorded");
  EXPECT_EQ(LayoutChoice("none"), parse_layout("none"));
  EXPECT_EQ(resolved_text("recorded"), "recorded");
  EXPECT_EQ(resolved_text("none"), "none:small_alignment_bytes=512");
  EXPECT_EQ(given_text("none"), "none");
}

TEST(LayoutChoice, ResolvesToEveryParameter) {
  const LayoutChoice choice =
      parse_layout("pytorch_caching:max_split_size_bytes=128MiB,garbage_collection_threshold=0.8");
  EXPECT_EQ(given_text(choice), "pytorch_caching:max_split_size_bytes=128MiB,garbage_collection_threshold=0.8");
  EXPECT_EQ(resolved_text(choice),
            "pytorch_caching:max_split_size_bytes=134217728,max_non_split_rounding_bytes=20971520,"
            "roundup_power2_divisions=0,garbage_collection_threshold=0.8,memory_limit_bytes=0,record_stream=inferred,"
            "empty_cache=recorded");
  // Texts in different forms that give the same layout.
  EXPECT_EQ(
      resolved_text(choice),
      resolved_text(parse_layout(
          "pytorch_caching:garbage_collection_threshold=0.80,memory_limit_bytes=0,max_split_size_bytes=134217728")));
  EXPECT_EQ(resolve(parse_layout("expandable_segments:memory_limit_bytes=1GiB")).integer("memory_limit_bytes"),
            1 << 30);
}

TEST(LayoutChoice, EveryLayoutIsDescribed) {
  EXPECT_EQ(layout_names(),
            (std::vector<std::string>{"expandable_segments", "none", "preallocating", "pytorch_caching", "recorded"}));
  for (const LayoutInfo& info : layouts()) {
    policy::check_parameter_table(info.name, info.parameters);
    EXPECT_FALSE(info.description.empty() || info.footprint.empty() || info.source.empty()) << info.name;
  }
}

TEST(LayoutChoice, ErrorsNameWhatIsWrongAndWhatIsAllowed) {
  const auto message = [](const std::string& text) { return message_of([&] { parse_layout(text); }); };
  EXPECT_THAT(message("pytorch_cache"),
              AllOf(HasSubstr("unknown layout 'pytorch_cache' (did you mean "
                              "'pytorch_caching'?)"),
                    HasSubstr("expandable_segments, none, preallocating, pytorch_caching, recorded")));
  EXPECT_THAT(message(""), HasSubstr("unknown layout ''"));
  EXPECT_THAT(message("none:"), HasSubstr("'none:' is no layout; allowed: NAME or NAME:key=value,key=value"));
  EXPECT_THAT(message("none:=4"), HasSubstr("is no layout"));
  EXPECT_THAT(message("recorded:a=1"), HasSubstr("layout recorded: unknown parameter 'a'; it has no parameters"));
  EXPECT_THAT(message("pytorch_caching:max_split_size_byte=1"),
              AllOf(HasSubstr("layout pytorch_caching: unknown parameter 'max_split_size_byte'"),
                    HasSubstr("did you mean 'max_split_size_bytes'"), HasSubstr("allowed: max_split_size_bytes, ")));
  EXPECT_THAT(message("pytorch_caching:max_split_size_bytes=20MiB"),
              AllOf(HasSubstr("'max_split_size_bytes': 20971520 is too small"), HasSubstr("0, 20971521 to")));
  EXPECT_THAT(message("pytorch_caching:max_split_size_bytes=x"), HasSubstr("'x' is not an integer"));
  EXPECT_THAT(message("pytorch_caching:max_split_size_bytes=1 hour"), HasSubstr("'1 hour' is not an integer"));
  EXPECT_THAT(message("pytorch_caching:garbage_collection_threshold=1.5"), HasSubstr("out of range; allowed: 0 to 1"));
  EXPECT_THAT(message("pytorch_caching:garbage_collection_threshold=nan"), HasSubstr("out of range"));
  EXPECT_THAT(message("pytorch_caching:roundup_power2_divisions=3"), HasSubstr("is not a choice"));
  EXPECT_THAT(message("none:small_alignment_bytes=512,small_alignment_bytes=512"), HasSubstr("given twice"));
}

}  // namespace
}  // namespace uvmsim::layout
