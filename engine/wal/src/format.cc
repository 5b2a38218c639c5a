#include "format.h"

#include <cstdio>
#include <cstring>

#include "sisal/base/bytes.h"

namespace sisal::wal {
namespace {
constexpr char kMagic[] = "SISALLOG";
constexpr uint32_t kFirstFlag = 1;
constexpr size_t kHeaderCrcOffset = 60;
constexpr uint64_t kSegmentBytesMax = uint64_t{1} << 40;
}  // namespace

void EncodeSegmentHeader(const SegmentHeader& header, char* block) {
  std::memset(block, 0, kBlockBytes);
  std::memcpy(block, kMagic, 8);
  StoreLittle<uint32_t>(block + 8, kFormatVersion);
  StoreLittle<uint32_t>(block + 12, header.first ? kFirstFlag : 0);
  StoreLittle<uint64_t>(block + 16, header.salt);
  StoreLittle<uint64_t>(block + 24, header.start.value);
  StoreLittle<uint64_t>(block + 32, header.segment_bytes);
  StoreLittle<uint64_t>(block + 40, header.generation);
  StoreLittle<uint64_t>(block + 48, header.previous_end.value);
  StoreLittle<uint32_t>(block + kHeaderCrcOffset, Crc32c({block, kHeaderCrcOffset}));
}

Result<SegmentHeader> DecodeSegmentHeader(std::string_view bytes, const std::string& path) {
  const auto damaged = [&] { return Error{"XX001", "log segment " + path + " has a damaged header"}; };
  if (bytes.size() < kBlockBytes || std::memcmp(bytes.data(), kMagic, 8) != 0) return damaged();
  if (Crc32c(bytes.substr(0, kHeaderCrcOffset)) != LoadLittle<uint32_t>(bytes.data() + kHeaderCrcOffset)) {
    return damaged();
  }
  const uint32_t version = LoadLittle<uint32_t>(bytes.data() + 8);
  if (version != kFormatVersion) {
    return Error{"0A000", "log segment " + path + " has format version " + std::to_string(version) +
                              ", this program reads version " + std::to_string(kFormatVersion)};
  }
  SegmentHeader header;
  header.first = (LoadLittle<uint32_t>(bytes.data() + 12) & kFirstFlag) != 0;
  header.salt = LoadLittle<uint64_t>(bytes.data() + 16);
  header.start = Lsn{LoadLittle<uint64_t>(bytes.data() + 24)};
  header.segment_bytes = LoadLittle<uint64_t>(bytes.data() + 32);
  header.generation = LoadLittle<uint64_t>(bytes.data() + 40);
  header.previous_end = Lsn{LoadLittle<uint64_t>(bytes.data() + 48)};
  if (header.segment_bytes < kSegmentBytesMin || header.segment_bytes > kSegmentBytesMax ||
      header.segment_bytes % kBlockBytes != 0 || header.start.value % kBlockBytes != 0 ||
      header.previous_end > header.start) {
    return damaged();
  }
  return header;
}

std::string SegmentName(Lsn start) {
  char name[32];
  std::snprintf(name, sizeof(name), "log-%016llx.seg", static_cast<unsigned long long>(start.value));
  return name;
}

bool ParseSegmentName(std::string_view name, Lsn& start) {
  if (name.size() != 24 || !name.starts_with("log-") || !name.ends_with(".seg")) return false;
  uint64_t value = 0;
  for (const char c : name.substr(4, 16)) {
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return false;
    }
  }
  start = Lsn{value};
  return true;
}

uint64_t SegmentSalt(uint64_t open_salt, Lsn segment_start) {
  // splitmix64's finaliser (Steele, Lea and Flood, 2014)
  uint64_t z = open_salt + segment_start.value * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint32_t RecordCrcSeed(uint64_t segment_salt, const RecordHeader& header) {
  char bytes[sizeof(segment_salt) + kRecordHeaderBytes];
  StoreLittle(bytes, segment_salt);
  EncodeRecordHeader(header, bytes + sizeof(segment_salt));
  StoreLittle<uint32_t>(bytes + sizeof(segment_salt) + 4, 0);  // the CRC's own place
  return Crc32c({bytes, sizeof(bytes)});
}

void EncodeRecordHeader(const RecordHeader& header, char* out) {
  StoreLittle<uint32_t>(out, header.payload_bytes);
  StoreLittle<uint32_t>(out + 4, header.crc);
  StoreLittle<uint64_t>(out + 8, header.start.value);
  StoreLittle<uint64_t>(out + 16, header.durable.value);
  StoreLittle<uint64_t>(out + 24, static_cast<uint8_t>(header.type));
}

bool DecodeRecordHeader(const char* bytes, Lsn position, RecordHeader& header) {
  header.start = Lsn{LoadLittle<uint64_t>(bytes + 8)};
  if (header.start != position) return false;
  header.payload_bytes = LoadLittle<uint32_t>(bytes);
  header.crc = LoadLittle<uint32_t>(bytes + 4);
  header.durable = Lsn{LoadLittle<uint64_t>(bytes + 16)};
  const uint64_t type = LoadLittle<uint64_t>(bytes + 24);
  if (type > static_cast<uint64_t>(RecordType::kNote)) return false;
  header.type = static_cast<RecordType>(type);
  return true;
}

}  // namespace sisal::wal
