// \e: a statement in the user's editor.
#pragma once

#include <string>

#include "sisal/base/status.h"

namespace sisal::cli {
// Opens `text` in the editor that PSQL_EDITOR, EDITOR or VISUAL names, else vi, waits for its end and returns what was
// saved. Errors: 58030.
Result<std::string> EditText(const std::string& text);
}  // namespace sisal::cli
