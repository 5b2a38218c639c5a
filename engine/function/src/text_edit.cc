// Functions that build new strings: trimming, padding, replacing, quoting, concat() of anything.
#include "format_value.h"
#include "kernel.h"
#include "registry.h"
#include "utf8.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using Text = std::string_view;

// PostgreSQL's limit of one value, without its length word.
constexpr size_t kValueBytesMax = (size_t{1} << 30) - 5;

Failed TooLong(Env& env) { return env.Fail("54000", "requested length too large"); }

bool Contains(Text characters, Text character) { return characters.find(character) != Text::npos; }

// `characters` is a set; valid UTF-8 does not contain one character inside another.
Text TrimLeft(Text text, Text characters) {
  while (!text.empty() && Contains(characters, text.substr(0, CharacterBytes(text[0])))) TakeCharacter(text);
  return text;
}
Text TrimRight(Text text, Text characters) {
  while (!text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && !StartsCharacter(text[begin])) --begin;
    if (!Contains(characters, text.substr(begin))) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}
Text Trim(Text text, Text characters) { return TrimRight(TrimLeft(text, characters), characters); }

// Repeats `text` up to `size`, a multiple of its length, doubling what is there.
void FillWith(Text text, char* place, size_t size) {
  if (size == 0) return;
  std::memcpy(place, text.data(), text.size());
  for (size_t done = text.size(); done < size; done *= 2) std::memcpy(place + done, place, std::min(done, size - done));
}

// The padding that brings `text` to `length` characters; cuts `text` if that has more.
Text PaddingFor(Env& env, Text& text, int64_t length, Text fill) {
  const auto wanted = static_cast<size_t>(std::max<int64_t>(length, 0));
  const size_t present = CharacterCount(text);
  if (wanted <= present) {
    text = text.substr(0, OffsetOfCharacter(text, wanted));
    return {};
  }
  if (fill.empty()) return {};
  if (wanted > kValueBytesMax / 4) return TooLong(env);  // 4: the longest character, as PostgreSQL reckons
  const size_t fill_count = CharacterCount(fill);
  const size_t whole = (wanted - present) / fill_count;
  const Text part = fill.substr(0, OffsetOfCharacter(fill, (wanted - present) % fill_count));
  const size_t size = whole * fill.size() + part.size();
  char* const place = static_cast<char*>(env.arena.Allocate(size, 1));
  FillWith(fill, place, whole * fill.size());
  std::memcpy(place + whole * fill.size(), part.data(), part.size());
  return {place, size};
}

Text Join(Env& env, Text a, Text b) {
  if (a.size() + b.size() > kValueBytesMax) return TooLong(env);
  char* const place = static_cast<char*>(env.arena.Allocate(a.size() + b.size() + 1, 1));
  std::copy(a.begin(), a.end(), place);
  std::copy(b.begin(), b.end(), place + a.size());
  return {place, a.size() + b.size()};
}
Text PadLeft(Env& env, Text text, int64_t length, Text fill) {
  const Text padding = PaddingFor(env, text, length, fill);
  return Join(env, padding, text);
}
Text PadRight(Env& env, Text text, int64_t length, Text fill) {
  const Text padding = PaddingFor(env, text, length, fill);
  return Join(env, text, padding);
}

Text Repeat(Env& env, Text text, int64_t count) {
  if (count <= 0 || text.empty()) return {};
  if (static_cast<size_t>(count) > kValueBytesMax / text.size()) return TooLong(env);
  const size_t size = text.size() * static_cast<size_t>(count);
  char* const place = static_cast<char*>(env.arena.Allocate(size, 1));
  FillWith(text, place, size);
  return {place, size};
}

Text Replace(Env& env, Text text, Text from, Text to) {
  if (from.empty() || text.find(from) == Text::npos) return text;
  std::string result;
  size_t begin = 0;
  for (size_t at = text.find(from); at != Text::npos; at = text.find(from, begin)) {
    result.append(text.substr(begin, at - begin)).append(to);
    begin = at + from.size();
    if (result.size() > kValueBytesMax) return TooLong(env);
  }
  result.append(text.substr(begin));
  return env.Copy(result);
}

// Each character of `from` becomes the one at its place in `to`, or goes.
Text Translate(Env& env, Text text, Text from, Text to) {
  std::string result;
  while (!text.empty()) {
    const Text character = TakeCharacter(text);
    Text rest_from = from, rest_to = to;
    bool found = false;
    while (!rest_from.empty() && !found) {
      found = TakeCharacter(rest_from) == character;
      if (found) {
        if (!rest_to.empty()) result.append(TakeCharacter(rest_to));
      } else if (!rest_to.empty()) {
        TakeCharacter(rest_to);
      }
    }
    if (!found) result.append(character);
  }
  return env.Copy(result);
}

Text Overlay(Env& env, Text text, Text with, int64_t start, int64_t length) {
  if (start <= 0) return env.Fail("22011", "negative substring length not allowed");
  if (start + length > INT32_MAX) return env.Fail("22003", "integer out of range");
  const Text head = text.substr(0, OffsetOfCharacter(text, static_cast<uint64_t>(start - 1)));
  const int64_t tail = std::max<int64_t>(start + length - 1, 0);
  return Join(env, Join(env, head, with), text.substr(OffsetOfCharacter(text, static_cast<uint64_t>(tail))));
}

// concat(): NULLs count as empty.
Status Concat(const Call& call, type::Vector& out) {
  std::string buffer;
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    buffer.clear();
    for (const type::Vector& argument : call.args) {
      if (!argument.IsNull(row)) AppendOutput(argument, row, call.context.text, buffer);
    }
    out.bytes[row] = call.arena.Copy(buffer);
  }
  return Status();
}

// concat_ws(): the first argument goes between the others that are not NULL.
Status ConcatWithSeparator(const Call& call, type::Vector& out) {
  type::EnsureNulls(out, call.capacity, call.arena);
  std::string buffer;
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    if (call.args[0].IsNull(row)) {
      out.SetNull(row);
      continue;
    }
    buffer.clear();
    bool first = true;
    for (const type::Vector& argument : call.args.subspan(1)) {
      if (argument.IsNull(row)) continue;
      if (!first) buffer.append(call.args[0].Bytes(row));
      first = false;
      AppendOutput(argument, row, call.context.text, buffer);
    }
    out.bytes[row] = call.arena.Copy(buffer);
  }
  return Status();
}

// anything || text and text || anything.
Status ConcatPair(const Call& call, type::Vector& out) {
  std::string buffer;
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    buffer.clear();
    for (const type::Vector& argument : call.args) AppendAsText(argument, row, call.context.text, buffer);
    out.bytes[row] = call.arena.Copy(buffer);
  }
  return Status();
}

void RegisterTrimming(Registry& registry) {
  registry.Scalar("btrim", {kText}, kText, Map<[](Text text) { return Trim(text, " "); }>);
  registry.Scalar("ltrim", {kText}, kText, Map<[](Text text) { return TrimLeft(text, " "); }>);
  registry.Scalar("rtrim", {kText}, kText, Map<[](Text text) { return TrimRight(text, " "); }>);
  registry.Scalar("btrim", {kText, kText}, kText, Map<[](Text text, Text set) { return Trim(text, set); }>);
  registry.Scalar("ltrim", {kText, kText}, kText, Map<[](Text text, Text set) { return TrimLeft(text, set); }>);
  registry.Scalar("rtrim", {kText, kText}, kText, Map<[](Text text, Text set) { return TrimRight(text, set); }>);
}

void RegisterPadding(Registry& registry) {
  registry.Scalar("lpad", {kText, kInteger, kText}, kText,
                  Map<[](Env& env, Text text, int64_t length, Text fill) { return PadLeft(env, text, length, fill); }>);
  registry.Scalar("lpad", {kText, kInteger}, kText,
                  Map<[](Env& env, Text text, int64_t length) { return PadLeft(env, text, length, " "); }>);
  registry.Scalar(
      "rpad", {kText, kInteger, kText}, kText,
      Map<[](Env& env, Text text, int64_t length, Text fill) { return PadRight(env, text, length, fill); }>);
  registry.Scalar("rpad", {kText, kInteger}, kText,
                  Map<[](Env& env, Text text, int64_t length) { return PadRight(env, text, length, " "); }>);
  registry.Scalar("repeat", {kText, kInteger}, kText,
                  Map<[](Env& env, Text text, int64_t count) { return Repeat(env, text, count); }>);
}

void RegisterConcatenation(Registry& registry) {
  for (const auto& [name, kernel] : {std::pair{"concat", &Concat}, {"concat_ws", &ConcatWithSeparator}}) {
    const bool has_separator = kernel == &ConcatWithSeparator;
    Function& entry =
        registry.Scalar(name, has_separator ? Registry::Types{kText, kText} : Registry::Types{kText}, kText, kernel);
    entry.strict = false;
    entry.variadic = true;
    entry.any_argument = true;
    entry.volatility = Volatility::kStable;  // timestamptz shows the session's time zone
  }
  for (const type::TypeId other : {kBoolean, kSmallint, kInteger, kBigint, kReal, kDouble, kNumeric, kDate, kTime,
                                   kTimestamp, kTimestampTz, kInterval, kUuid, kBytea}) {
    registry.Operator("||", {kText, other}, kText, ConcatPair).volatility = Volatility::kStable;
    registry.Operator("||", {other, kText}, kText, ConcatPair).volatility = Volatility::kStable;
  }
}

}  // namespace

void RegisterTextEditFunctions(Registry& registry) {
  RegisterTrimming(registry);
  RegisterPadding(registry);
  RegisterConcatenation(registry);
  registry.Scalar("replace", {kText, kText, kText}, kText,
                  Map<[](Env& env, Text text, Text from, Text to) { return Replace(env, text, from, to); }>);
  registry.Scalar("translate", {kText, kText, kText}, kText,
                  Map<[](Env& env, Text text, Text from, Text to) { return Translate(env, text, from, to); }>);
  registry.Scalar("overlay", {kText, kText, kInteger, kInteger}, kText,
                  Map<[](Env& env, Text text, Text with, int64_t start, int64_t length) {
                    return Overlay(env, text, with, start, length);
                  }>);
  registry.Scalar("overlay", {kText, kText, kInteger}, kText, Map<[](Env& env, Text text, Text with, int64_t start) {
                    return Overlay(env, text, with, start, static_cast<int64_t>(CharacterCount(with)));
                  }>);
}

}  // namespace sisal::function
