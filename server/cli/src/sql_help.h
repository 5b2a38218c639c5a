// What can be typed: the SQL statements and their forms, the meta-commands, and SQL's keywords for completion.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sisal::cli {
// \h: all statements if `statement` is empty, else the form of those that begin with it; empty if there is none.
std::string SqlHelpText(std::string_view statement);
std::string_view MetaCommandHelp();
std::span<const std::string_view> SqlKeywords();
std::span<const std::string_view> MetaCommandNames();
}  // namespace sisal::cli
