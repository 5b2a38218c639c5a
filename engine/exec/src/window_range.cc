// RANGE with an offset. A bound moves forward only, as the rows' keys do: a partition costs one walk for each bound.
#include <cmath>

#include "sisal/type/date_time.h"
#include "sisal/type/numeric.h"
#include "window.h"

namespace sisal::exec {

using type::Interval;
using type::Numeric;
using type::TypeId;

RangeBound::RangeBound(const sql::SortKey& key, const type::SqlType& offset_type, type::Datum offset, bool is_end,
                       bool preceding, Frame& execution)
    : key_(key),
      offset_type_(offset_type),
      offset_(std::move(offset)),
      is_end_(is_end),
      adds_(preceding == (key.order == type::SortOrder::kDescending)),
      state_(execution.state) {}

// Only once a key is there to which it is applied, as PostgreSQL does.
Status RangeBound::CheckOffset() {
  bool valid = true;
  switch (offset_type_.id) {
    case TypeId::kDouble:
      valid = offset_.as_double() >= 0;  // not NaN
      break;
    case TypeId::kNumeric: {
      const Numeric offset = Numeric::Decode(offset_.as_bytes());
      valid = !offset.is_nan() && offset.sign() >= 0;
      break;
    }
    case TypeId::kInterval: {
      const Interval offset = Interval::Decode(offset_.as_bytes());
      // Of what is added to a time, days and months do not count.
      valid = key_.expr->type.id == TypeId::kTime ? offset.micros >= 0 : offset.Span() >= 0;
      break;
    }
    default:
      valid = offset_.as_int() >= 0;
  }
  if (!valid) return Error("22013", "invalid preceding or following size in window function");
  checked_ = true;
  return Status();
}

Result<RangeBound::Value> RangeBound::ValueOf(const type::Vector& column, uint32_t row) const {
  Value value;
  switch (key_.expr->type.id) {
    case TypeId::kReal:
    case TypeId::kDouble:
      value.real = column.Double(row);
      break;
    case TypeId::kNumeric:
      value.numeric = Numeric::Decode(column.Bytes(row));
      break;
    case TypeId::kInterval:
      value.number = Interval::Decode(column.Bytes(row)).Span();
      break;
    case TypeId::kDate: {
      SISAL_ASSIGN_OR_RETURN(value.number, type::DateToTimestamp(column.Int(row)));
      break;
    }
    default:
      value.number = column.Int(row);
  }
  return value;
}

// The key of `row` with the offset.
Result<RangeBound::Value> RangeBound::Moved(const type::Vector& column, uint32_t row) const {
  SISAL_ASSIGN_OR_RETURN(Value value, ValueOf(column, row));
  switch (key_.expr->type.id) {
    case TypeId::kReal:
    case TypeId::kDouble:
      value.real += adds_ ? offset_.as_double() : -offset_.as_double();
      return value;
    case TypeId::kNumeric: {
      const Numeric offset = Numeric::Decode(offset_.as_bytes());
      SISAL_ASSIGN_OR_RETURN(value.numeric, adds_ ? Add(value.numeric, offset) : Subtract(value.numeric, offset));
      return value;
    }
    case TypeId::kSmallint:
    case TypeId::kInteger:
    case TypeId::kBigint:
      value.number += adds_ ? offset_.as_int() : -static_cast<__int128>(offset_.as_int());
      return value;
    default:
      break;
  }
  Interval offset = Interval::Decode(offset_.as_bytes());
  if (key_.expr->type.id == TypeId::kTime) {
    value.number += adds_ ? offset.micros : -static_cast<__int128>(offset.micros);
    return value;
  }
  if (key_.expr->type.id == TypeId::kInterval) {
    const Interval base = Interval::Decode(column.Bytes(row));
    SISAL_ASSIGN_OR_RETURN(const Interval moved, adds_ ? AddIntervals(base, offset) : SubtractIntervals(base, offset));
    value.number = moved.Span();
    return value;
  }
  if (!adds_) {
    SISAL_ASSIGN_OR_RETURN(offset, NegateInterval(offset));
  }
  const bool zoned = key_.expr->type.id == TypeId::kTimestampTz;
  const int32_t zone = zoned ? state_.options.function.text.time_zone_offset_seconds : 0;
  SISAL_ASSIGN_OR_RETURN(value.number, type::AddInterval(static_cast<int64_t>(value.number), offset, zone));
  return value;
}

namespace {

// The difference of an infinity and itself is no number: all keys but NaN are then within the bound.
bool IsInfinityLessItself(double base, double offset, bool adds) {
  return std::isinf(offset) && std::isinf(base) && (base > 0) != adds;
}
bool IsInfinityLessItself(const Numeric& base, const Numeric& offset, bool adds) {
  return offset.is_infinite() && base.is_infinite() && (base.sign() > 0) != adds;
}

}  // namespace

// Whether the bound lies behind `row`: before it the frame does not begin, or up to it the frame goes.
Result<bool> RangeBound::Passes(const type::Vector& column, uint32_t row) const {
  SISAL_ASSIGN_OR_RETURN(const Value value, ValueOf(column, row));
  // NaN is above all numbers, so above any bound that a number makes.
  if (all_pass_ && !std::isnan(value.real) && !value.numeric.is_nan()) return is_end_;
  int order;
  switch (key_.expr->type.id) {
    case TypeId::kReal:
    case TypeId::kDouble:
      order = type::CompareDoubles(value.real, bound_.real);
      break;
    case TypeId::kNumeric:
      order = type::CompareNumerics(value.numeric, bound_.numeric);
      break;
    default:
      order = value.number < bound_.number ? -1 : value.number > bound_.number;
  }
  if (key_.order == type::SortOrder::kDescending) order = -order;
  return is_end_ ? order <= 0 : order < 0;
}

Result<uint32_t> RangeBound::Find(const WindowRows& rows, uint32_t row) {
  const uint32_t column = key_.expr->index;
  const auto block_of = [&](uint32_t number) -> const type::Vector& {
    return rows.rows.Block(number / RowStore::kBlockRows)[column];
  };
  const type::Vector& current = block_of(row);
  const uint32_t place = row % RowStore::kBlockRows;
  const bool null = current.IsNull(place);
  if (!null) {
    if (!checked_) SISAL_RETURN_IF_ERROR(CheckOffset());
    all_pass_ = false;
    const TypeId id = key_.expr->type.id;
    if (id == TypeId::kReal || id == TypeId::kDouble) {
      all_pass_ = IsInfinityLessItself(current.Double(place), offset_.as_double(), adds_);
    } else if (id == TypeId::kNumeric) {
      all_pass_ =
          IsInfinityLessItself(Numeric::Decode(current.Bytes(place)), Numeric::Decode(offset_.as_bytes()), adds_);
    }
    if (!all_pass_) {
      SISAL_ASSIGN_OR_RETURN(bound_, Moved(current, place));
    }
  }
  constexpr uint32_t kRowsBetweenInterrupts = 4096;
  for (; at_ < partition_.end; ++at_) {
    if (at_ % kRowsBetweenInterrupts == 0) SISAL_RETURN_IF_ERROR(state_.CheckInterrupt());
    const type::Vector& other = block_of(at_);
    const uint32_t other_place = at_ % RowStore::kBlockRows;
    const bool other_null = other.IsNull(other_place);
    if (null || other_null) {
      // NULLs are peers of each other and lie before or behind all others.
      const bool before = null != other_null && other_null == key_.nulls_first;
      if (!before && !(is_end_ && null && other_null)) break;
      continue;
    }
    SISAL_ASSIGN_OR_RETURN(const bool passes, Passes(other, other_place));
    if (!passes) break;
  }
  return at_;
}

}  // namespace sisal::exec
