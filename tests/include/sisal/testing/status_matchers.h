// GoogleTest helpers for Status and Result.
#pragma once

#include <gtest/gtest.h>

#include "sisal/base/status.h"

namespace sisal::testing {
inline std::string Describe(const Status& status) { return status.ToString(); }
template <typename T>
std::string Describe(const Result<T>& result) {
  return result.ok() ? "ok" : result.error().ToString();
}
}  // namespace sisal::testing

#define EXPECT_OK(expression)                                                                            \
  do {                                                                                                   \
    const auto& sisal_outcome = (expression);                                                            \
    EXPECT_TRUE(sisal_outcome.ok()) << #expression << ": " << ::sisal::testing::Describe(sisal_outcome); \
  } while (false)
#define ASSERT_OK(expression)                                                                            \
  do {                                                                                                   \
    const auto& sisal_outcome = (expression);                                                            \
    ASSERT_TRUE(sisal_outcome.ok()) << #expression << ": " << ::sisal::testing::Describe(sisal_outcome); \
  } while (false)
// The SQLSTATE of a Status or Result; "00000" is success.
#define EXPECT_SQLSTATE(expression, code)                                                                     \
  do {                                                                                                        \
    const auto& sisal_outcome = (expression);                                                                 \
    EXPECT_EQ(sisal_outcome.sqlstate(), std::string_view(code)) << ::sisal::testing::Describe(sisal_outcome); \
  } while (false)
// ASSERT_OK_AND_ASSIGN(auto value, Function()): only in functions that return void.
#define ASSERT_OK_AND_ASSIGN(target, expression) \
  ASSERT_OK_AND_ASSIGN_INNER(SISAL_CONCAT(sisal_test_result_, __LINE__), target, expression)
#define ASSERT_OK_AND_ASSIGN_INNER(result, target, expression)                           \
  auto result = (expression);                                                            \
  ASSERT_TRUE(result.ok()) << #expression << ": " << ::sisal::testing::Describe(result); \
  target = std::move(result).value()
