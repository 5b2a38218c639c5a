// A growing piece of memory, and protobuf's wire format written into it.
//
// Results never become message objects (design/api.md, 1.6): columns go from the engine's vectors straight into the
// bytes that the transport sends. Confined.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace sisal::wire {

class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { Swap(other); }
  Buffer& operator=(Buffer&& other) noexcept { return Swap(other), *this; }
  ~Buffer() { std::free(bytes_); }

  // Room for `count` further bytes; what was written there counts from CommitTo on.
  char* Reserve(size_t count) {
    if (capacity_ - size_ < count) Grow(count);
    return bytes_ + size_;
  }
  void CommitTo(const char* end) { size_ = static_cast<size_t>(end - bytes_); }
  void Append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(Reserve(bytes.size()), bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void AppendZeros(size_t count) {
    if (count == 0) return;
    std::memset(Reserve(count), 0, count);
    size_ += count;
  }
  // Moves everything from `at` on by `count` bytes and returns the place of the gap.
  char* OpenGap(size_t at, size_t count);

  void Clear() { size_ = 0; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  char* data() { return bytes_; }
  std::string_view view() const { return {bytes_, size_}; }
  // Gives the memory away; the taker calls std::free.
  char* Release() { return size_ = capacity_ = 0, std::exchange(bytes_, nullptr); }

 private:
  void Grow(size_t count);
  void Swap(Buffer& other) {
    std::swap(bytes_, other.bytes_), std::swap(size_, other.size_), std::swap(capacity_, other.capacity_);
  }

  char* bytes_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

inline constexpr size_t kVarintBytesMax = 10;
inline char* WriteVarint(char* to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}
inline size_t VarintSize(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7; }
inline uint64_t ZigZag(int64_t value) { return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63); }
inline char* WriteTag(char* to, uint32_t field, WireType type) {
  return WriteVarint(to, field << 3 | static_cast<uint32_t>(type));
}

// Appends fields to a Buffer. The *Field functions leave out what proto3 leaves out: zeros and empty strings.
class Writer {
 public:
  explicit Writer(Buffer& out) : out_(out) {}
  void VarintField(uint32_t field, uint64_t value) {
    if (value != 0) Varint(field, value);
  }
  void Varint(uint32_t field, uint64_t value) {
    char* at = out_.Reserve(2 * kVarintBytesMax);
    out_.CommitTo(WriteVarint(WriteTag(at, field, WireType::kVarint), value));
  }
  void Fixed64(uint32_t field, uint64_t value) {
    char* at = WriteTag(out_.Reserve(kVarintBytesMax + 8), field, WireType::kFixed64);
    std::memcpy(at, &value, 8);
    out_.CommitTo(at + 8);
  }
  void BytesField(uint32_t field, std::string_view bytes) {
    if (!bytes.empty()) Bytes(field, bytes);
  }
  void Bytes(uint32_t field, std::string_view bytes) {
    Length(field, bytes.size());
    out_.Append(bytes);
  }
  // The head of a length-delimited field whose bytes follow.
  void Length(uint32_t field, size_t size_bytes) {
    char* at = out_.Reserve(2 * kVarintBytesMax);
    out_.CommitTo(WriteVarint(WriteTag(at, field, WireType::kLengthDelimited), size_bytes));
  }
  // A message of unknown length: `Close` with what Open returned puts the length in. Meant for small ones: those of 128
  // bytes and more are moved once.
  size_t Open(uint32_t field) {
    char* at = WriteTag(out_.Reserve(kVarintBytesMax + 1), field, WireType::kLengthDelimited);
    *at++ = 0;
    out_.CommitTo(at);
    return out_.size();
  }
  void Close(size_t opened) {
    const size_t length = out_.size() - opened;
    if (length >= 0x80) out_.OpenGap(opened, VarintSize(length) - 1);
    WriteVarint(out_.data() + opened - 1, length);
  }

 private:
  Buffer& out_;
};

}  // namespace sisal::wire
