// From bytes to a message, with an error that says what is wrong with them.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdio>

#include "sisal/base/bytes.h"
#include "sisal/wire/request.h"

namespace sisal::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kDepthMax = 100;  // protobuf's own limit

// Walks the bytes for a string field that is not UTF-8, which is one of the reasons why a parse fails. Returns the
// offending text, or nullopt.
std::optional<std::string_view> FindBadText(std::string_view bytes, const Descriptor& type, int depth,
                                            std::string& field_name) {
  ByteReader reader(bytes);
  while (depth < kDepthMax && !reader.empty()) {
    uint64_t tag, number;
    std::string_view body;
    if (!reader.ReadVarint(tag)) return std::nullopt;
    switch (tag & 7) {
      case 0:
        if (!reader.ReadVarint(number)) return std::nullopt;
        continue;
      case 1:
        if (!reader.ReadBytes(8, body)) return std::nullopt;
        continue;
      case 5:
        if (!reader.ReadBytes(4, body)) return std::nullopt;
        continue;
      case 2:
        if (!reader.ReadLengthPrefixed(body)) return std::nullopt;
        break;
      default:
        return std::nullopt;
    }
    const FieldDescriptor* field = type.FindFieldByNumber(static_cast<int>(tag >> 3));
    if (field == nullptr) continue;
    if (field->type() == FieldDescriptor::TYPE_STRING && FindInvalidUtf8(body) != std::string_view::npos) {
      field_name = field->full_name();
      return body;
    }
    if (field->type() == FieldDescriptor::TYPE_MESSAGE) {
      if (auto found = FindBadText(body, *field->message_type(), depth + 1, field_name)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

Status ParseMessage(std::string_view bytes, google::protobuf::Message& message) {
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return Status();
  std::string field;
  const auto text = FindBadText(bytes, *message.GetDescriptor(), 0, field);
  if (!text.has_value()) {
    return Error{"08P01", "the request is not a valid " + message.GetDescriptor()->full_name() + " message"};
  }
  char hex[8];
  std::snprintf(hex, sizeof(hex), "0x%02x", static_cast<uint8_t>((*text)[FindInvalidUtf8(*text)]));
  return Error{"22021", std::string("invalid byte sequence for encoding \"UTF8\": ") + hex}.WithDetail("In the field " +
                                                                                                       field + ".");
}

}  // namespace sisal::wire
