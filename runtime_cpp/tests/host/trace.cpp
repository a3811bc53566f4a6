// Tests of parts of a trace: labels split into position and text, and the alignment of clocks.
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "test.hpp"
#include "trace/clock.hpp"

namespace hirgen {
namespace {

void expect_label(std::string_view label, std::string_view position, std::string_view text) {
  const Label split = split_label(label);
  HG_EXPECT_EQ(std::string(split.position), std::string(position));
  HG_EXPECT_EQ(std::string(split.text), std::string(text));
}

HG_TEST(a_label_is_a_position_and_a_text) {
  expect_label("spec.yaml:12:5 gather: Allgather of A_s", "spec.yaml:12:5",
               "gather: Allgather of A_s");
  expect_label("my 2 specs.yaml:3:14 Wait(send)", "my 2 specs.yaml:3:14", "Wait(send)");
  expect_label("a:1:2 b:3:4 c", "a:1:2", "b:3:4 c");
  expect_label("end of call", "", "end of call");
  expect_label("spec.yaml:12 x", "", "spec.yaml:12 x");
  expect_label("spec.yaml:1:2", "", "spec.yaml:1:2");
  expect_label("", "", "");
}

HG_TEST(bounds_narrow_to_what_all_of_them_leave) {
  ClockBounds bounds;
  bounds.narrow(-5, 9);
  bounds.narrow(-20, 3);
  HG_EXPECT_EQ(bounds.middle(), -1.0);
  HG_EXPECT_EQ(bounds.error(), 4.0);
  bounds.narrow(4, 30);  // rounding makes the bounds cross
  HG_EXPECT_EQ(bounds.middle(), 3.5);
  HG_EXPECT_EQ(bounds.error(), 0.5);
}

}  // namespace
}  // namespace hirgen

int main(int argc, char** argv) { return hirgen::test::run_all(argc, argv); }
