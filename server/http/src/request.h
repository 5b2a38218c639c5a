// The little of HTTP/1 that probes and scrapes need. Header fields and bodies say nothing that matters here.
#pragma once

#include <string>
#include <string_view>

#include "sisal/http/http_server.h"

namespace sisal::http {

// The length of a request's head with the empty line that ends it; npos if that has not come yet.
size_t HeadBytes(std::string_view text);

struct Request {
  int error = 0;  // the status of what is no request of HTTP/1; 0: it is one
  std::string method{}, path{};
};
// `head`: as HeadBytes has measured it.
Request ParseRequest(std::string_view head);

// The answer as bytes. HEAD's has no body.
std::string Render(const Answer& answer, bool with_body);

}  // namespace sisal::http
