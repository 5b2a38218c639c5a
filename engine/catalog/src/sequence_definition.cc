#include "definition.h"
#include "sisal/base/bytes.h"

namespace sisal::catalog {
namespace {

constexpr uint8_t kSequenceVersion = 129;
constexpr uint8_t kCycle = 1, kInitialCalled = 2;

bool ReadId(ByteReader& reader, uint32_t& id) {
  uint64_t value = 0;
  if (!reader.ReadVarint(value) || value > UINT32_MAX) return false;
  id = static_cast<uint32_t>(value);
  return true;
}

bool ReadSequence(ByteReader& reader, Sequence& sequence) {
  std::string_view schema, name;
  uint8_t type = 0, flags = 0;
  if (!ReadId(reader, sequence.id.value) || !reader.ReadLengthPrefixed(schema) || !reader.ReadLengthPrefixed(name) ||
      !ReadId(reader, sequence.owner.value) || !ReadId(reader, sequence.generation.value) || !reader.ReadLittle(type) ||
      !reader.ReadLittle(flags) || (flags & ~(kCycle | kInitialCalled)) != 0) {
    return false;
  }
  sequence.schema = schema;
  sequence.name = name;
  sequence.type = static_cast<type::TypeId>(type);
  sequence.cycle = (flags & kCycle) != 0;
  sequence.initial.called = (flags & kInitialCalled) != 0;
  for (int64_t* number :
       {&sequence.start, &sequence.increment, &sequence.min, &sequence.max, &sequence.cache, &sequence.initial.last}) {
    if (!reader.ReadLittle(*number)) return false;
  }
  return reader.empty() && type::IsIntegerType(sequence.type) && sequence.increment != 0 &&
         sequence.min < sequence.max && sequence.cache > 0;
}

}  // namespace

bool IsSequenceDefinition(std::string_view bytes) {
  return !bytes.empty() && static_cast<uint8_t>(bytes[0]) == kSequenceVersion;
}

std::string EncodeSequence(const Sequence& sequence) {
  std::string out;
  AppendLittle(out, kSequenceVersion);
  AppendVarint(out, sequence.id.value);
  AppendLengthPrefixed(out, sequence.schema);
  AppendLengthPrefixed(out, sequence.name);
  AppendVarint(out, sequence.owner.value);
  AppendVarint(out, sequence.generation.value);
  AppendLittle(out, static_cast<uint8_t>(sequence.type));
  AppendLittle(out,
               static_cast<uint8_t>((sequence.cycle ? kCycle : 0) | (sequence.initial.called ? kInitialCalled : 0)));
  for (const int64_t number :
       {sequence.start, sequence.increment, sequence.min, sequence.max, sequence.cache, sequence.initial.last}) {
    AppendLittle(out, number);
  }
  return out;
}

Result<Sequence> DecodeSequence(std::string_view bytes) {
  ByteReader reader(bytes);
  uint8_t version = 0;
  Sequence sequence;
  if (!reader.ReadLittle(version) || version != kSequenceVersion || !ReadSequence(reader, sequence)) {
    return Error("XX001", "a sequence's definition is malformed");
  }
  return sequence;
}

}  // namespace sisal::catalog
