// bytea: comparison, concatenation, parts, digests, encode() and decode().
#include <openssl/evp.h>

#include <bit>

#include "comparison.h"
#include "kernel.h"
#include "registry.h"
#include "sisal/base/bytes.h"
#include "utf8.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using Bytes = std::string_view;

Bytes Concatenate(Env& env, Bytes a, Bytes b) {
  char* const place = static_cast<char*>(env.arena.Allocate(a.size() + b.size() + 1, 1));
  std::copy(a.begin(), a.end(), place);
  std::copy(b.begin(), b.end(), place + a.size());
  return {place, a.size() + b.size()};
}

Bytes Substring(Env& env, Bytes bytes, int64_t start, int64_t length) {
  if (length < 0) return env.Fail("22011", "negative substring length not allowed");
  const int64_t end = std::min<int64_t>(start + length, static_cast<int64_t>(bytes.size()) + 1);
  const int64_t first = std::max<int64_t>(start, 1);
  return end <= first ? Bytes() : bytes.substr(static_cast<size_t>(first - 1), static_cast<size_t>(end - first));
}

constexpr char kHexDigits[] = "0123456789abcdef";

std::string ToHex(Bytes bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    text.push_back(kHexDigits[static_cast<uint8_t>(byte) >> 4]);
    text.push_back(kHexDigits[static_cast<uint8_t>(byte) & 15]);
  }
  return text;
}

// The parser's doubled and octal escapes.
std::string ToEscape(Bytes bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<uint8_t>(byte);
    if (value == 0 || value >= 0x80) {
      text.push_back('\\');
      for (const int shift : {6, 3, 0}) text.push_back(static_cast<char>('0' + (value >> shift & 7)));
    } else {
      if (byte == '\\') text.push_back('\\');
      text.push_back(byte);
    }
  }
  return text;
}

constexpr char kBase64Digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// RFC 2045: a newline ends each line of 76 characters, the last one too.
std::string ToBase64(Bytes bytes) {
  std::string text;
  size_t line = 0;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j) group = group << 8 | (j < count ? static_cast<uint8_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) text.push_back(j <= count ? kBase64Digits[group >> (18 - 6 * j) & 63] : '=');
    line += 4;
    if (line == 76) {
      text.push_back('\n');
      line = 0;
    }
  }
  return text;
}

Failed UnknownEncoding(Env& env, Bytes name) {
  return env.Fail("22023", "unrecognized encoding: \"" + std::string(name) + "\"");
}

std::string LowerAscii(Bytes name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

Bytes Encode(Env& env, Bytes bytes, Bytes format) {
  const std::string name = LowerAscii(format);
  if (name == "hex") return env.Copy(ToHex(bytes));
  if (name == "base64") return env.Copy(ToBase64(bytes));
  if (name == "escape") return env.Copy(ToEscape(bytes));
  return UnknownEncoding(env, format);
}

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// `text` is not to be cut inside a character in messages.
std::string Symbol(Bytes text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) ++end;
  return std::string(text.substr(at, end - at));
}

Result<std::string> FromHex(Bytes text) {
  std::string bytes;
  for (size_t i = 0; i < text.size();) {
    if (IsSpace(text[i])) {
      ++i;
      continue;
    }
    const int high = HexValue(text[i]);
    if (high < 0) return Error("22023", "invalid hexadecimal digit: \"" + Symbol(text, i) + "\"");
    if (i + 1 == text.size()) return Error("22023", "invalid hexadecimal data: odd number of digits");
    const int low = HexValue(text[i + 1]);
    if (low < 0) return Error("22023", "invalid hexadecimal digit: \"" + Symbol(text, i + 1) + "\"");
    bytes.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return bytes;
}

Result<std::string> FromBase64(Bytes text) {
  std::string bytes;
  uint32_t group = 0;
  int digits = 0;
  int group_bytes = 3;  // once padding was seen it stays as it is, as in PostgreSQL
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (IsSpace(c)) continue;
    uint32_t value = 0;
    if (c == '=') {
      // Only the last two of a group may be padding.
      if (group_bytes == 3) {
        if (digits < 2) return Error("22023", "unexpected \"=\" while decoding base64 sequence");
        group_bytes = digits - 1;
      }
    } else {
      const char* const found = std::char_traits<char>::find(kBase64Digits, 64, c);
      if (found == nullptr) {
        return Error("22023", "invalid symbol \"" + Symbol(text, i) + "\" found while decoding base64 sequence");
      }
      value = static_cast<uint32_t>(found - kBase64Digits);
    }
    group = group << 6 | value;
    if (++digits < 4) continue;
    bytes.push_back(static_cast<char>(group >> 16));
    if (group_bytes > 1) bytes.push_back(static_cast<char>(group >> 8));
    if (group_bytes > 2) bytes.push_back(static_cast<char>(group));
    group = 0;
    digits = 0;
  }
  if (digits != 0) {
    return Error("22023", "invalid base64 end sequence")
        .WithHint("Input data is missing padding, is truncated, or is otherwise corrupted.");
  }
  return bytes;
}

Result<std::string> FromEscape(Bytes text) {
  std::string bytes;
  const auto octal = [&](size_t at, char top) { return at < text.size() && text[at] >= '0' && text[at] <= top; };
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      bytes.push_back(text[i++]);
    } else if (octal(i + 1, '3') && octal(i + 2, '7') && octal(i + 3, '7')) {
      bytes.push_back(static_cast<char>((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 | (text[i + 3] - '0')));
      i += 4;
    } else if (i + 1 < text.size() && text[i + 1] == '\\') {
      bytes.push_back('\\');
      i += 2;
    } else {
      return Error("22P02", "invalid input syntax for type bytea");
    }
  }
  return bytes;
}

Bytes Decode(Env& env, Bytes text, Bytes format) {
  const std::string name = LowerAscii(format);
  if (name != "hex" && name != "base64" && name != "escape") return UnknownEncoding(env, format);
  Result<std::string> bytes = name == "hex" ? FromHex(text) : name == "base64" ? FromBase64(text) : FromEscape(text);
  if (!bytes.ok()) return env.Fail(std::move(bytes).error());
  return env.Copy(*bytes);
}

std::string Md5(Bytes bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_md5(), nullptr);
  return ToHex({reinterpret_cast<const char*>(digest), size});
}

Bytes Digest(Env& env, const EVP_MD* algorithm, Bytes bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, algorithm, nullptr) != 1) {
    return env.Fail("XX000", "the digest could not be computed");
  }
  return env.Copy({reinterpret_cast<const char*>(digest), size});
}

int64_t GetByte(Env& env, Bytes bytes, int64_t index) {
  if (index < 0 || index >= static_cast<int64_t>(bytes.size())) {
    return env.Fail("2202E", "index " + std::to_string(index) + " out of valid range, 0.." +
                                 std::to_string(static_cast<int64_t>(bytes.size()) - 1));
  }
  return static_cast<uint8_t>(bytes[static_cast<size_t>(index)]);
}

void RegisterDigests(Registry& registry) {
  for (const type::TypeId id : {kText, kBytea}) {
    registry.Scalar("md5", {id}, kText, Map<[](Env& env, Bytes bytes) { return env.Copy(Md5(bytes)); }>);
  }
  registry.Scalar("sha224", {kBytea}, kBytea, Map<[](Env& env, Bytes a) { return Digest(env, EVP_sha224(), a); }>);
  registry.Scalar("sha256", {kBytea}, kBytea, Map<[](Env& env, Bytes a) { return Digest(env, EVP_sha256(), a); }>);
  registry.Scalar("sha384", {kBytea}, kBytea, Map<[](Env& env, Bytes a) { return Digest(env, EVP_sha384(), a); }>);
  registry.Scalar("sha512", {kBytea}, kBytea, Map<[](Env& env, Bytes a) { return Digest(env, EVP_sha512(), a); }>);
}

// UTF-8 is the one encoding of texts that there is.
bool IsUtf8(Bytes encoding) {
  std::string name;
  for (const char c : LowerAscii(encoding)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) name.push_back(c);
  }
  return name == "utf8" || name == "unicode";
}

Bytes ConvertTo(Env& env, Bytes text, Bytes encoding) {
  if (IsUtf8(encoding)) return text;
  return env.Fail("0A000", "encoding \"" + std::string(encoding) + "\" is not supported");
}

Bytes ConvertFrom(Env& env, Bytes bytes, Bytes encoding) {
  if (!IsUtf8(encoding)) return env.Fail("0A000", "encoding \"" + std::string(encoding) + "\" is not supported");
  size_t bad = std::min(FindInvalidUtf8(bytes), bytes.find('\0'));
  if (bad == Bytes::npos) return bytes;
  std::string message = "invalid byte sequence for encoding \"UTF8\":";
  const auto first = static_cast<uint8_t>(bytes[bad]);
  const size_t length = first >= 0xC0 && first < 0xF8 ? CharacterBytes(bytes[bad]) : 1;
  for (const char c : bytes.substr(bad, length)) message += " 0x" + ToHex(Bytes(&c, 1));
  return env.Fail("22021", message);
}

// The bits of a float, the highest byte first: what a client of PostgreSQL gets in binary form.
template <typename Float, typename Bits>
Bytes SendFloat(Env& env, double value) {
  const Bits bits = std::bit_cast<Bits>(static_cast<Float>(value));
  std::string bytes;
  for (int shift = 8 * (sizeof(Bits) - 1); shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(bits >> shift));
  return env.Copy(bytes);
}

void RegisterConversions(Registry& registry) {
  registry.Scalar("convert_to", {kText, kText}, kBytea,
                  Map<[](Env& env, Bytes text, Bytes encoding) { return ConvertTo(env, text, encoding); }>);
  registry.Scalar("convert_from", {kBytea, kText}, kText,
                  Map<[](Env& env, Bytes bytes, Bytes encoding) { return ConvertFrom(env, bytes, encoding); }>);
  registry.Scalar("float4send", {kReal}, kBytea,
                  Map<[](Env& env, double value) { return SendFloat<float, uint32_t>(env, value); }>);
  registry.Scalar("float8send", {kDouble}, kBytea,
                  Map<[](Env& env, double value) { return SendFloat<double, uint64_t>(env, value); }>);
}

}  // namespace

void RegisterByteaFunctions(Registry& registry) {
  RegisterConversions(registry);
  RegisterComparisons<BytewiseOrder, Bytes>(registry, kBytea, kBytea);
  registry.Operator("||", {kBytea, kBytea}, kBytea,
                    Map<[](Env& env, Bytes a, Bytes b) { return Concatenate(env, a, b); }>);
  registry.Scalar("length", {kBytea}, kInteger, Map<[](Bytes bytes) { return bytes.size(); }>);
  registry.Scalar("octet_length", {kBytea}, kInteger, Map<[](Bytes bytes) { return bytes.size(); }>);
  registry.Scalar("bit_length", {kBytea}, kInteger, Map<[](Bytes bytes) { return bytes.size() * 8; }>);
  for (const std::string_view name : {"substring", "substr"}) {
    registry.Scalar(
        name, {kBytea, kInteger, kInteger}, kBytea,
        Map<[](Env& env, Bytes bytes, int64_t start, int64_t length) { return Substring(env, bytes, start, length); }>);
    registry.Scalar(name, {kBytea, kInteger}, kBytea,
                    Map<[](Env& env, Bytes bytes, int64_t start) { return Substring(env, bytes, start, INT32_MAX); }>);
  }
  registry.Scalar("position", {kBytea, kBytea}, kInteger, Map<[](Bytes bytes, Bytes part) {
                    const size_t offset = bytes.find(part);
                    return offset == Bytes::npos ? int64_t{0} : static_cast<int64_t>(offset) + 1;
                  }>);
  registry.Scalar("get_byte", {kBytea, kInteger}, kInteger,
                  Map<[](Env& env, Bytes bytes, int64_t index) { return GetByte(env, bytes, index); }>);
  registry.Scalar("encode", {kBytea, kText}, kText,
                  Map<[](Env& env, Bytes bytes, Bytes format) { return Encode(env, bytes, format); }>);
  registry.Scalar("decode", {kText, kText}, kBytea,
                  Map<[](Env& env, Bytes text, Bytes format) { return Decode(env, text, format); }>);
  RegisterDigests(registry);
}

}  // namespace sisal::function
