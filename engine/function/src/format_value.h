// One value of a vector as text.
#pragma once

#include <string>

#include "sisal/type/vector.h"

namespace sisal::function {

// Appends what the type's output function gives: boolean as "t", char with its padding. Requires: not NULL.
void AppendOutput(const type::Vector& vector, uint32_t row, const type::TextSettings& settings, std::string& out);
// Appends what the cast to text gives: boolean as "true", char without its padding. Requires: not NULL.
void AppendAsText(const type::Vector& vector, uint32_t row, const type::TextSettings& settings, std::string& out);

}  // namespace sisal::function
