// Errors as values: what can fail at run time returns Status, or Result<T>.
//
// An Error holds a five-character SQLSTATE (PostgreSQL 15 manual, appendix A), a message for people and, where known,
// the fields that PostgreSQL reports beside it. Programs look at the SQLSTATE only; it reaches the client unchanged.
//
// Cost: a Status that is ok is one null pointer; an error allocates once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "sisal/base/check.h"

namespace sisal {

class [[nodiscard]] Error {
 public:
  // Requires: `sqlstate` has five characters.
  Error(std::string_view sqlstate, std::string message);

  Error(Error&&) noexcept = default;
  Error& operator=(Error&&) noexcept = default;
  Error(const Error& other);
  Error& operator=(const Error& other);

  std::string_view sqlstate() const { return {body_->sqlstate, 5}; }
  const std::string& message() const { return body_->message; }
  const std::string& detail() const { return body_->detail; }
  const std::string& hint() const { return body_->hint; }
  const std::string& schema() const { return body_->schema; }
  const std::string& table() const { return body_->table; }
  const std::string& column() const { return body_->column; }
  const std::string& constraint() const { return body_->constraint; }
  // Character of the SQL text, from 1; 0: not known.
  uint32_t position() const { return body_->position; }
  // Overrides the reason that the server derives from the SQLSTATE (ErrorInfo.reason); empty: none.
  const std::string& reason() const { return body_->reason; }
  // For 53xxx: which limit was hit and its value; empty name: none.
  const std::string& limit_name() const { return body_->limit_name; }
  uint64_t limit_value() const { return body_->limit_value; }

  // Each returns *this, so that they chain on a temporary: return Error{...}.WithHint("...").
  Error&& WithDetail(std::string text) && { return body_->detail = std::move(text), std::move(*this); }
  Error&& WithHint(std::string text) && { return body_->hint = std::move(text), std::move(*this); }
  Error&& WithPosition(uint32_t position) && { return body_->position = position, std::move(*this); }
  Error&& WithReason(std::string text) && { return body_->reason = std::move(text), std::move(*this); }
  Error&& WithTable(std::string schema, std::string table) && {
    return body_->schema = std::move(schema), body_->table = std::move(table), std::move(*this);
  }
  Error&& WithColumn(std::string name) && { return body_->column = std::move(name), std::move(*this); }
  Error&& WithConstraint(std::string name) && { return body_->constraint = std::move(name), std::move(*this); }
  Error&& WithLimit(std::string name, uint64_t value) && {
    return body_->limit_name = std::move(name), body_->limit_value = value, std::move(*this);
  }
  void set_position(uint32_t position) { body_->position = position; }
  void set_message(std::string message) { body_->message = std::move(message); }

  // "42P01: relation \"t\" does not exist", for logs and test failures.
  std::string ToString() const;

 private:
  struct Body {
    char sqlstate[5];
    uint32_t position = 0;
    uint64_t limit_value = 0;
    std::string message, detail, hint, schema, table, column, constraint, reason, limit_name;
  };
  std::unique_ptr<Body> body_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: an Error is a Status

  bool ok() const { return !error_.has_value(); }
  // Requires: !ok().
  const Error& error() const& { return *error_; }
  Error& error() & { return *error_; }
  Error&& error() && { return *std::move(error_); }
  // "00000" when ok.
  std::string_view sqlstate() const { return ok() ? std::string_view("00000") : error_->sqlstate(); }
  std::string ToString() const { return ok() ? "ok" : error_->ToString(); }

 private:
  std::optional<Error> error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}                 // NOLINT: a value is a Result
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}             // NOLINT: an Error is a Result
  Result(Status status) : state_(std::in_place_index<1>, std::move(status).error()) {}  // NOLINT: requires !status.ok()
  template <typename U>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::decay_t<U>, T> &&
           !std::is_same_v<std::decay_t<U>, Error> && !std::is_same_v<std::decay_t<U>, Status> &&
           !std::is_same_v<std::decay_t<U>, Result>) Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT: as above

  bool ok() const { return state_.index() == 0; }
  // Requires: ok().
  T& value() & { return CheckOk(), std::get<0>(state_); }
  const T& value() const& { return CheckOk(), std::get<0>(state_); }
  T&& value() && { return CheckOk(), std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // Requires: !ok().
  const Error& error() const& { return std::get<1>(state_); }
  Error& error() & { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }
  Status status() const& { return ok() ? Status() : Status(std::get<1>(state_)); }
  Status status() && { return ok() ? Status() : Status(std::get<1>(std::move(state_))); }
  std::string_view sqlstate() const { return ok() ? std::string_view("00000") : error().sqlstate(); }

 private:
  void CheckOk() const {
    if (!ok()) internal::CheckFailed("Result::ok()", __FILE__, __LINE__, error().ToString());
  }
  std::variant<T, Error> state_;
};

}  // namespace sisal

#define SISAL_CONCAT_INNER(a, b) a##b
#define SISAL_CONCAT(a, b) SISAL_CONCAT_INNER(a, b)

// Returns from the enclosing function with the error of `expression`, a Status, if it has one.
#define SISAL_RETURN_IF_ERROR(expression)                                  \
  do {                                                                     \
    if (::sisal::Status sisal_status = (expression); !sisal_status.ok()) { \
      return ::sisal::Error(std::move(sisal_status).error());              \
    }                                                                      \
  } while (false)

// SISAL_ASSIGN_OR_RETURN(auto page, pool.Fix(id)): declares or assigns from a Result, or returns its error.
#define SISAL_ASSIGN_OR_RETURN(target, expression) \
  SISAL_ASSIGN_OR_RETURN_INNER(SISAL_CONCAT(sisal_result_, __LINE__), target, expression)
#define SISAL_ASSIGN_OR_RETURN_INNER(result, target, expression)      \
  auto result = (expression);                                         \
  if (!result.ok()) return ::sisal::Error(std::move(result).error()); \
  target = std::move(result).value()
