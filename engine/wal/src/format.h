// The log's bytes on disk: segment files, their headers, records.
//
// Segment file "log-<start LSN in 16 hex digits>.seg": one header block, then records. The LSN of a byte at file offset
// f is start + f - kBlockBytes: header blocks take no LSNs, so that segments of one open follow each other without
// gaps.
//
// Segment header, in a block of kBlockBytes whose rest is zero; little-endian:
//   0  8  magic "SISALLOG"
//   8  4  format version
//  12  4  flags: bit 0: first segment of an open
//  16  8  salt
//  24  8  start LSN
//  32  8  bytes of the whole file when it was made (a secured tail is shorter)
//  40  8  generation: counts opens
//  48  8  previous end: up to here the log was whole and durable before this segment took its first record
//  56  4  zero
//  60  4  CRC32C of bytes 0 to 59
//
// Record, at a multiple of kRecordAlignment:
//   0  4  payload bytes
//   4  4  CRC32C of the salt, the header with zero in this place, and the payload (of a pad: no payload)
//   8  8  start LSN
//  16  8  durable LSN when the record was made: a whole record above a broken one proves by it that the broken one
//         had been synced, so that damage is told from a torn tail
//  24  1  type
//  25  7  zero
//  32     payload, then zeros up to the next multiple of kRecordAlignment
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sisal/base/ids.h"
#include "sisal/base/status.h"
#include "sisal/wal/log.h"

namespace sisal::wal {

// The unit of writes: a multiple of every common device's sector, and what O_DIRECT demands.
constexpr uint64_t kBlockBytes = 4096;
// Also the header's size: what is left of a segment can always hold a pad.
constexpr uint64_t kRecordAlignment = 32;
constexpr uint64_t kRecordHeaderBytes = 32;
constexpr uint32_t kFormatVersion = 1;
constexpr uint64_t kSegmentBytesMin = 1 << 20;
static_assert(kRecordHeaderBytes <= kRecordAlignment && kBlockBytes % kRecordAlignment == 0);

struct SegmentHeader {
  uint64_t salt = 0;
  Lsn start;
  uint64_t segment_bytes = 0;
  uint64_t generation = 0;
  Lsn previous_end;
  bool first = false;

  uint64_t capacity() const { return segment_bytes - kBlockBytes; }
  Lsn end() const { return Lsn{start.value + capacity()}; }
};

// block[kBlockBytes]
void EncodeSegmentHeader(const SegmentHeader& header, char* block);
// `bytes`: the file's first block, or less of it if it is shorter. Errors: XX001, 0A000 for another format version.
Result<SegmentHeader> DecodeSegmentHeader(std::string_view bytes, const std::string& path);

std::string SegmentName(Lsn start);
bool ParseSegmentName(std::string_view name, Lsn& start);

struct RecordHeader {
  uint32_t payload_bytes = 0;
  uint32_t crc = 0;
  Lsn start;
  Lsn durable;
  RecordType type = RecordType::kPad;
};

// All of a record: header, payload and the zeros behind it.
constexpr uint64_t RecordBytes(uint64_t payload_bytes) {
  return (kRecordHeaderBytes + payload_bytes + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
}

// Each segment of an open has a salt of its own, computed so that appending needs no table.
uint64_t SegmentSalt(uint64_t open_salt, Lsn segment_start);
// The CRC of a header's fields; chain the payload's pieces onto it.
uint32_t RecordCrcSeed(uint64_t segment_salt, const RecordHeader& header);
// out[kRecordHeaderBytes]
void EncodeRecordHeader(const RecordHeader& header, char* out);
// False if the bytes are no header of a record at `position`, whatever its payload.
bool DecodeRecordHeader(const char* bytes, Lsn position, RecordHeader& header);

constexpr uint64_t AlignDown(uint64_t value, uint64_t unit) { return value / unit * unit; }
constexpr uint64_t AlignUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace sisal::wal
