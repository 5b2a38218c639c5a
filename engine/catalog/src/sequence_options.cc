#include <string>

#include "sisal/catalog/sequence.h"

namespace sisal::catalog {
namespace {

struct Range {
  int64_t min, max;
};

Range RangeOf(type::TypeId type) {
  switch (type) {
    case type::TypeId::kSmallint:
      return {INT16_MIN, INT16_MAX};
    case type::TypeId::kInteger:
      return {INT32_MIN, INT32_MAX};
    default:
      return {INT64_MIN, INT64_MAX};
  }
}

Error Bad(std::string message) { return Error("22023", std::move(message)); }

Status CheckWithin(const char* what, int64_t value, const Sequence& sequence) {
  const std::string text = std::string(what) + " value (" + std::to_string(value) + ") cannot be ";
  if (value < sequence.min) return Bad(text + "less than MINVALUE (" + std::to_string(sequence.min) + ")");
  if (value > sequence.max) return Bad(text + "greater than MAXVALUE (" + std::to_string(sequence.max) + ")");
  return Status();
}

// A bound that was left to its type's goes with the type.
Status ApplyBounds(const SequenceOptions& options, bool create, const Range& before, Sequence& sequence) {
  const Range range = RangeOf(sequence.type);
  const bool up = sequence.increment > 0;
  const bool reset_max = options.type.has_value() && !create && sequence.max == before.max;
  const bool reset_min = options.type.has_value() && !create && sequence.min == before.min;
  if (options.max.has_value() && options.max->value.has_value()) {
    sequence.max = *options.max->value;
  } else if (create || options.max.has_value() || reset_max) {
    sequence.max = up || reset_max ? range.max : -1;
  }
  const std::string type_name(type::TypeName(sequence.type));
  if (sequence.max < range.min || sequence.max > range.max) {
    return Bad("MAXVALUE (" + std::to_string(sequence.max) + ") is out of range for sequence data type " + type_name);
  }
  if (options.min.has_value() && options.min->value.has_value()) {
    sequence.min = *options.min->value;
  } else if (create || options.min.has_value() || reset_min) {
    sequence.min = !up || reset_min ? range.min : 1;
  }
  if (sequence.min < range.min || sequence.min > range.max) {
    return Bad("MINVALUE (" + std::to_string(sequence.min) + ") is out of range for sequence data type " + type_name);
  }
  if (sequence.min < sequence.max) return Status();
  return Bad("MINVALUE (" + std::to_string(sequence.min) + ") must be less than MAXVALUE (" +
             std::to_string(sequence.max) + ")");
}

}  // namespace

Status ApplySequenceOptions(const SequenceOptions& options, bool create, Sequence& sequence) {
  const Range before = RangeOf(sequence.type);
  if (options.type.has_value()) sequence.type = *options.type;
  if (options.increment == 0) return Bad("INCREMENT must not be zero");
  if (options.increment.has_value()) sequence.increment = *options.increment;
  if (options.cycle.has_value()) sequence.cycle = *options.cycle;
  SISAL_RETURN_IF_ERROR(ApplyBounds(options, create, before, sequence));
  if (create) sequence.start = sequence.increment > 0 ? sequence.min : sequence.max;
  if (options.start.has_value()) sequence.start = *options.start;
  SISAL_RETURN_IF_ERROR(CheckWithin("START", sequence.start, sequence));
  if (options.restart.has_value()) {
    sequence.initial = {options.restart->value.value_or(sequence.start), false};
  } else if (create) {
    sequence.initial = {sequence.start, false};
  }
  SISAL_RETURN_IF_ERROR(CheckWithin("RESTART", sequence.initial.last, sequence));
  if (options.cache.has_value() && *options.cache <= 0) {
    return Bad("CACHE (" + std::to_string(*options.cache) + ") must be greater than zero");
  }
  if (options.cache.has_value()) sequence.cache = *options.cache;
  return Status();
}

}  // namespace sisal::catalog
