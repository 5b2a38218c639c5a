#include "sisal/base/status.h"

#include <cstring>

namespace sisal {

Error::Error(std::string_view sqlstate, std::string message) : body_(std::make_unique<Body>()) {
  SISAL_CHECK(sqlstate.size() == 5);
  std::memcpy(body_->sqlstate, sqlstate.data(), 5);
  body_->message = std::move(message);
}

Error::Error(const Error& other) : body_(std::make_unique<Body>(*other.body_)) {}

Error& Error::operator=(const Error& other) {
  if (this != &other) body_ = std::make_unique<Body>(*other.body_);
  return *this;
}

std::string Error::ToString() const {
  std::string text(sqlstate());
  text += ": ";
  text += message();
  if (!detail().empty()) text += " (" + detail() + ")";
  return text;
}

}  // namespace sisal
