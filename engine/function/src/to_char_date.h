// to_char() of timestamps and intervals: PostgreSQL's template patterns (manual, section 9.8).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/status.h"
#include "sisal/type/date_time.h"

namespace sisal::function {

// The fields that patterns show. For an interval, years to microseconds may be negative, and the rest is unused.
struct DateTimeFields {
  bool is_interval = false;
  int64_t days = 0;  // since 1970-01-01
  int64_t year = 0;
  int64_t month = 0, day = 0, hour = 0, minute = 0, second = 0, micros = 0;
  // Only a timestamptz has a zone.
  bool has_zone = false;
  int32_t offset_seconds = 0;
};
DateTimeFields FieldsOfTimestamp(int64_t local_timestamp);
DateTimeFields FieldsOfInterval(const type::Interval& interval);

// A format, parsed once for many values. Borrows the text.
class DateFormat {
 public:
  explicit DateFormat(std::string_view format);
  // Errors: 22007 a pattern that intervals do not have; 0A000 one that is not supported for them.
  Status Append(const DateTimeFields& fields, std::string& out) const;

 private:
  struct Item {
    int pattern = -1;  // index into the table; -1: literal
    std::string_view literal;
    bool fill = true;         // no FM
    bool translated = false;  // TM
    char ordinal = 0;         // 'T': TH, 't': th
  };
  static Status AppendPattern(const Item& item, const DateTimeFields& fields, std::string& out);

  std::vector<Item> items_;
};

}  // namespace sisal::function
