#include <gtest/gtest.h>

#include "sisal/base/arena.h"
#include "sisal/base/bytes.h"
#include "sisal/base/random.h"
#include "sisal/base/status.h"
#include "sisal/testing/status_matchers.h"

namespace sisal {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return Error{"22023", "odd"};
  return n / 2;
}

Status Quarter(int n, int& out) {
  SISAL_ASSIGN_OR_RETURN(const int half, Half(n));
  SISAL_ASSIGN_OR_RETURN(out, Half(half));
  return Status();
}

TEST(StatusTest, MacrosPassValuesAndErrors) {
  int out = 0;
  EXPECT_OK(Quarter(8, out));
  EXPECT_EQ(out, 2);
  EXPECT_SQLSTATE(Quarter(6, out), "22023");
}

TEST(StatusTest, CopyOfAnErrorIsIndependent) {
  Error first = Error{"42P01", "relation \"t\" does not exist"}.WithPosition(15).WithHint("create it");
  Error second = first;
  first.set_position(1);
  EXPECT_EQ(second.position(), 15u);
  EXPECT_EQ(second.hint(), "create it");
}

TEST(BytesTest, Crc32cKnowsTheRfcVectors) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c("6789", Crc32c("12345")), 0xe3069283u);
}

TEST(BytesTest, VarintsRoundTripAndTornOnesAreRefused) {
  for (uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{1} << 63, ~uint64_t{0}}) {
    std::string bytes;
    AppendVarint(bytes, value);
    uint64_t read = 0;
    ByteReader reader(bytes);
    ASSERT_TRUE(reader.ReadVarint(read));
    EXPECT_EQ(read, value);
    ByteReader torn(std::string_view(bytes).substr(0, bytes.size() - 1));
    EXPECT_FALSE(torn.ReadVarint(read));
  }
  uint64_t read = 0;
  ByteReader overlong(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10));
  EXPECT_FALSE(overlong.ReadVarint(read));
}

TEST(BytesTest, LengthPrefixIsNeverTrusted) {
  std::string bytes;
  AppendVarint(bytes, uint64_t{1} << 60);
  bytes += "abc";
  std::string_view piece;
  ByteReader reader(bytes);
  EXPECT_FALSE(reader.ReadLengthPrefixed(piece));
}

TEST(BytesTest, Utf8IsCheckedByTheRfc) {
  EXPECT_EQ(FindInvalidUtf8("plain ascii, long enough for words"), std::string_view::npos);
  EXPECT_EQ(FindInvalidUtf8("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x98"), std::string_view::npos);
  EXPECT_EQ(FindInvalidUtf8("ab\xff"), 2u);
  EXPECT_EQ(FindInvalidUtf8("\xc0\x80"), 0u);          // overlong
  EXPECT_EQ(FindInvalidUtf8("\xed\xa0\x80"), 0u);      // surrogate
  EXPECT_EQ(FindInvalidUtf8("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(FindInvalidUtf8("12345678\xe2\x82"), 8u);  // cut
}

TEST(ArenaTest, PiecesAreAlignedAndSurviveGrowth) {
  Arena arena(16);
  std::vector<std::string_view> pieces;
  for (int i = 0; i < 1000; ++i) {
    pieces.push_back(arena.Copy(std::to_string(i)));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.Allocate(24, 32)) % 32, 0u);
  }
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(pieces[i], std::to_string(i));
  arena.Reset();
  EXPECT_LE(arena.footprint_bytes(), size_t{1} << 20);
}

TEST(RandomTest, SameSeedSameNumbersAndBelowStaysBelow) {
  Random a(7), b(7);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(a.Next(), b.Next());
    EXPECT_LT(a.Below(10), 10u);
    b.Below(10);
  }
}

}  // namespace
}  // namespace sisal
