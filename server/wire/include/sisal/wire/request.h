// Requests: bytes into messages, and values into parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/status.h"
#include "sisal/type/datum.h"

namespace google::protobuf {
class Message;
}
namespace sisal::v1 {
class Column;
class ColumnBatch;
class Statement;
class Value;
}  // namespace sisal::v1

namespace sisal::wire {

// Errors: 08P01 not a message of this type, 22021 a string field that is not UTF-8.
Status ParseMessage(std::string_view bytes, google::protobuf::Message& message);

// The parameter $`number` of type `type` (type.proto's comment on Value).
// Errors: 22P02, 22003, ..., 42804 a kind that the type does not take, 08P01 nothing set.
Result<type::Datum> ToDatum(const v1::Value& value, const type::SqlType& type, size_t number,
                            const type::TextSettings& settings);

// Statement.params. Errors: 08P01 if their number is wrong.
Result<std::vector<type::Datum>> ToParams(const v1::Statement& statement, std::span<const type::SqlType> types,
                                          const type::TextSettings& settings);

// Statement.param_rows: checks the shape once, then gives a row's parameters.
class ParamRows {
 public:
  // Errors: 08P01 wrong number of columns, lists that do not have row_count entries.
  static Result<ParamRows> Make(const v1::ColumnBatch& batch, std::span<const type::SqlType> types,
                                const type::TextSettings& settings);
  uint32_t row_count() const;
  Result<std::vector<type::Datum>> Row(uint32_t row) const;

 private:
  ParamRows(const v1::ColumnBatch& batch, std::span<const type::SqlType> types, const type::TextSettings& settings)
      : batch_(&batch), types_(types), settings_(&settings) {}
  Status PlacePacked(size_t column);

  const v1::ColumnBatch* batch_;
  std::span<const type::SqlType> types_;
  const type::TextSettings* settings_;
  std::vector<std::vector<std::string_view>> packed_;  // [column][row] where `packed` carries the values
};

}  // namespace sisal::wire
