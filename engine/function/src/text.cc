// text, varchar and char: comparison, concatenation, length, case, and the parts of a string.
//
// varchar is text for operators and functions (a cast without a kernel); char has its own comparison.
#include "comparison.h"
#include "kernel.h"
#include "registry.h"
#include "utf8.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using Text = std::string_view;

Text Concatenate(Env& env, Text a, Text b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  char* const place = static_cast<char*>(env.arena.Allocate(a.size() + b.size(), 1));
  std::memcpy(place, a.data(), a.size());
  std::memcpy(place + a.size(), b.data(), b.size());
  return {place, a.size() + b.size()};
}

// A kernel that gives `convert(code point, state)` for each character. Simple mappings may change the number of bytes:
// by at most a factor of 1.5 (U+0250 and such), 3 for what is ASCII upper case of none.
template <typename Convert>
Text MapCharacters(Env& env, Text text, Convert convert) {
  char* const place = static_cast<char*>(env.arena.Allocate(text.size() * 3, 1));
  char* end = place;
  while (!text.empty()) end += WriteCodePoint(convert(CodePointOf(TakeCharacter(text))), end);
  return {place, static_cast<size_t>(end - place)};
}

bool IsAscii(Text text) {
  uint8_t bits = 0;
  for (const char byte : text) bits |= static_cast<uint8_t>(byte);
  return bits < 0x80;
}

// `first` .. `last`: the ASCII letters that change by xor with 32.
Text ChangeAsciiCase(Env& env, Text text, char first, char last) {
  char* const place = static_cast<char*>(env.arena.Allocate(text.size() + 1, 1));
  for (size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    place[i] = static_cast<char>(byte ^ ((byte >= first) & (byte <= last)) << 5);
  }
  return {place, text.size()};
}

Text Upper(Env& env, Text text) {
  return IsAscii(text) ? ChangeAsciiCase(env, text, 'a', 'z') : MapCharacters(env, text, UpperCodePoint);
}
Text Lower(Env& env, Text text) {
  return IsAscii(text) ? ChangeAsciiCase(env, text, 'A', 'Z') : MapCharacters(env, text, LowerCodePoint);
}

Text InitialCapitals(Env& env, Text text) {
  bool in_word = false;
  return MapCharacters(env, text, [&](uint32_t code) {
    const uint32_t mapped = in_word ? LowerCodePoint(code) : UpperCodePoint(code);
    in_word = IsAlphanumeric(code);
    return mapped;
  });
}

// Characters [start, start + length) counted from 1; those before the first do not exist, but count.
Text Substring(Env& env, Text text, int64_t start, int64_t length) {
  if (length < 0) return env.Fail("22011", "negative substring length not allowed");
  const int64_t end = start + length;  // both have 32 bits
  if (end < 1) return {};
  const int64_t first = std::max<int64_t>(start, 1);
  text.remove_prefix(OffsetOfCharacter(text, static_cast<uint64_t>(first - 1)));
  return text.substr(0, OffsetOfCharacter(text, static_cast<uint64_t>(end - first)));
}
Text SubstringFrom(Text text, int64_t start) {
  return text.substr(OffsetOfCharacter(text, start < 1 ? 0 : static_cast<uint64_t>(start - 1)));
}

// From 1; 0: not found.
int64_t PositionOf(Text text, Text part) {
  const size_t offset = text.find(part);
  return offset == Text::npos ? 0 : static_cast<int64_t>(CharacterCount(text.substr(0, offset))) + 1;
}

// A negative count leaves out that many characters at the other end.
size_t OffsetForLeft(Text text, int64_t count) {
  if (count >= 0) return OffsetOfCharacter(text, static_cast<uint64_t>(count));
  const auto length = static_cast<int64_t>(CharacterCount(text));
  return length + count <= 0 ? 0 : OffsetOfCharacter(text, static_cast<uint64_t>(length + count));
}
Text Left(Text text, int64_t count) { return text.substr(0, OffsetForLeft(text, count)); }
Text Right(Text text, int64_t count) { return count == 0 ? Text() : text.substr(OffsetForLeft(text, -count)); }

Text Reverse(Env& env, Text text) {
  char* const place = static_cast<char*>(env.arena.Allocate(text.size() + 1, 1));
  char* at = place + text.size();
  Text rest = text;
  while (!rest.empty()) {
    const Text character = TakeCharacter(rest);
    at -= character.size();
    std::memcpy(at, character.data(), character.size());
  }
  return {place, text.size()};
}

// Fields count from 1, from -1 at the end.
Text SplitPart(Env& env, Text text, Text separator, int64_t field) {
  if (field == 0) return env.Fail("22023", "field position must not be zero");
  if (text.empty()) return {};
  if (separator.empty()) return field == 1 || field == -1 ? text : Text();
  if (field < 0) {
    // The last field is that behind the last separator, found from the left, as the fields are.
    int64_t count = 1;
    for (size_t at = text.find(separator); at != Text::npos; at = text.find(separator, at + separator.size())) ++count;
    field += count + 1;
    if (field < 1) return {};
  }
  size_t begin = 0;
  for (; field > 1; --field) {
    const size_t at = text.find(separator, begin);
    if (at == Text::npos) return {};
    begin = at + separator.size();
  }
  return text.substr(begin, text.find(separator, begin) - begin);
}

int64_t Ascii(Text text) { return text.empty() ? 0 : CodePointOf(TakeCharacter(text)); }

Text Chr(Env& env, int64_t code) {
  if (code < 0) return env.Fail("22023", "character number must be positive");
  if (code == 0) return env.Fail("54000", "null character not permitted");
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
    return env.Fail("54000", (code > 0x10FFFF ? "requested character too large for encoding: "
                                              : "requested character not valid for encoding: ") +
                                 std::to_string(code));
  }
  char bytes[4];
  return env.Copy({bytes, WriteCodePoint(static_cast<uint32_t>(code), bytes)});
}

void RegisterTextOperators(Registry& registry) {
  RegisterComparisons<BytewiseOrder, Text>(registry, kText, kText);
  RegisterComparisons<BytesOrder<kChar>, Text>(registry, kChar, kChar);
  registry.Operator("||", {kText, kText}, kText, Map<[](Env& env, Text a, Text b) { return Concatenate(env, a, b); }>);
  registry.Operator("^@", {kText, kText}, kBoolean, Map<[](Text a, Text b) { return a.starts_with(b); }>);
  registry.Scalar("starts_with", {kText, kText}, kBoolean, Map<[](Text a, Text b) { return a.starts_with(b); }>);
}

}  // namespace

void RegisterTextFunctions(Registry& registry) {
  RegisterTextOperators(registry);
  for (const std::string_view name : {"length", "char_length", "character_length"}) {
    constexpr Kernel kLength = Map<[](Text text) { return CharacterCount(text); }>;
    registry.Scalar(name, {kText}, kInteger, kLength);
    registry.Scalar(name, {kChar}, kInteger, Map<[](Text text) {  // without the padding
                      return CharacterCount(text.substr(0, text.find_last_not_of(' ') + 1));
                    }>);
  }
  registry.Scalar("octet_length", {kText}, kInteger, Map<[](Text text) { return text.size(); }>);
  registry.Scalar("octet_length", {kChar}, kInteger, Map<[](Text text) { return text.size(); }>);
  registry.Scalar("bit_length", {kText}, kInteger, Map<[](Text text) { return text.size() * 8; }>);
  registry.Scalar("lower", {kText}, kText, Map<[](Env& env, Text text) { return Lower(env, text); }>);
  registry.Scalar("upper", {kText}, kText, Map<[](Env& env, Text text) { return Upper(env, text); }>);
  registry.Scalar("initcap", {kText}, kText, Map<[](Env& env, Text text) { return InitialCapitals(env, text); }>);
  for (const std::string_view name : {"substring", "substr"}) {
    registry.Scalar(
        name, {kText, kInteger, kInteger}, kText,
        Map<[](Env& env, Text text, int64_t start, int64_t length) { return Substring(env, text, start, length); }>);
    registry.Scalar(name, {kText, kInteger}, kText,
                    Map<[](Text text, int64_t start) { return SubstringFrom(text, start); }>);
  }
  for (const std::string_view name : {"position", "strpos"}) {
    registry.Scalar(name, {kText, kText}, kInteger, Map<[](Text text, Text part) { return PositionOf(text, part); }>);
  }
  registry.Scalar("left", {kText, kInteger}, kText, Map<[](Text text, int64_t count) { return Left(text, count); }>);
  registry.Scalar("right", {kText, kInteger}, kText, Map<[](Text text, int64_t count) { return Right(text, count); }>);
  registry.Scalar("reverse", {kText}, kText, Map<[](Env& env, Text text) { return Reverse(env, text); }>);
  registry.Scalar(
      "split_part", {kText, kText, kInteger}, kText,
      Map<[](Env& env, Text text, Text separator, int64_t field) { return SplitPart(env, text, separator, field); }>);
  registry.Scalar("ascii", {kText}, kInteger, Map<[](Text text) { return Ascii(text); }>);
  registry.Scalar("chr", {kInteger}, kText, Map<[](Env& env, int64_t code) { return Chr(env, code); }>);
}

}  // namespace sisal::function
