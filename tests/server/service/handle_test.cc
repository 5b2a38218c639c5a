#include "sisal/service/handle.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "sisal/testing/status_matchers.h"

namespace sisal::service {
namespace {

class TempDirectory {
 public:
  TempDirectory() {
    char name[] = "/tmp/sisal_handle_XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TempDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(HandleTest, ReadsBackItsNumberInAtMost64Bytes) {
  const TempDirectory directory;
  ASSERT_OK_AND_ASSIGN(const Identity identity, OpenIdentity(directory.path()));
  const HandleCodec codec(identity);
  const std::string handle = codec.Encode(HandleKind::kTransaction, 42, "");
  EXPECT_LE(handle.size(), 64u);
  ASSERT_OK_AND_ASSIGN(const uint64_t number, codec.Decode(HandleKind::kTransaction, handle, ""));
  EXPECT_EQ(number, 42u);
}

TEST(HandleTest, AnyChangedBitIsRefused) {
  const TempDirectory directory;
  ASSERT_OK_AND_ASSIGN(const Identity identity, OpenIdentity(directory.path()));
  const HandleCodec codec(identity);
  const std::string handle = codec.Encode(HandleKind::kTransaction, 42, "");
  for (size_t bit = 0; bit < 8 * handle.size(); ++bit) {
    std::string forged = handle;
    forged[bit / 8] = static_cast<char>(forged[bit / 8] ^ 1 << bit % 8);
    EXPECT_SQLSTATE(codec.Decode(HandleKind::kTransaction, forged, ""), "22023");
  }
  EXPECT_SQLSTATE(codec.Decode(HandleKind::kTransaction, "", ""), "22023");
  EXPECT_SQLSTATE(codec.Decode(HandleKind::kTransaction, handle + "x", ""), "22023");
}

TEST(HandleTest, BelongsToItsPrincipalAndKind) {
  const TempDirectory directory;
  ASSERT_OK_AND_ASSIGN(const Identity identity, OpenIdentity(directory.path()));
  const HandleCodec codec(identity);
  const std::string handle = codec.Encode(HandleKind::kTransaction, 42, "alice");
  EXPECT_SQLSTATE(codec.Decode(HandleKind::kTransaction, handle, "bob"), "22023");
  EXPECT_SQLSTATE(codec.Decode(HandleKind::kHeldResult, handle, "alice"), "22023");
}

TEST(HandleTest, OfAnEarlierStartMeansOutcomeUnknown) {
  const TempDirectory directory;
  ASSERT_OK_AND_ASSIGN(const Identity first, OpenIdentity(directory.path()));
  ASSERT_OK_AND_ASSIGN(const Identity second, OpenIdentity(directory.path()));
  const std::string handle = HandleCodec(first).Encode(HandleKind::kTransaction, 42, "");
  EXPECT_SQLSTATE(HandleCodec(second).Decode(HandleKind::kTransaction, handle, ""), "08007");
  const std::string token = HandleCodec(first).Encode(HandleKind::kHeldResult, 42, "");
  EXPECT_SQLSTATE(HandleCodec(second).Decode(HandleKind::kHeldResult, token, ""), "55000");
}

TEST(HandleTest, OfAnotherStoreIsRefused) {
  const TempDirectory one, two;
  ASSERT_OK_AND_ASSIGN(const Identity first, OpenIdentity(one.path()));
  ASSERT_OK_AND_ASSIGN(const Identity second, OpenIdentity(two.path()));
  const std::string handle = HandleCodec(first).Encode(HandleKind::kTransaction, 42, "");
  EXPECT_SQLSTATE(HandleCodec(second).Decode(HandleKind::kTransaction, handle, ""), "22023");
}

TEST(IdentityTest, KeepsTheServerIdAndTellsStartsApart) {
  const TempDirectory directory;
  ASSERT_OK_AND_ASSIGN(const Identity first, OpenIdentity(directory.path()));
  ASSERT_OK_AND_ASSIGN(const Identity second, OpenIdentity(directory.path()));
  EXPECT_EQ(first.server_id, second.server_id);
  EXPECT_EQ(first.key, second.key);
  EXPECT_NE(first.boot, second.boot);
}

TEST(IdentityTest, DamageIsAnError) {
  const TempDirectory directory;
  ASSERT_OK(OpenIdentity(directory.path()));
  std::fstream file(directory.path() + "/sisald.identity", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(30);
  file.put('\x01');
  file.seekp(31);
  file.put('\x02');
  file.close();
  EXPECT_SQLSTATE(OpenIdentity(directory.path()), "XX001");
}

}  // namespace
}  // namespace sisal::service
