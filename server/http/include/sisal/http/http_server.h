// The HTTP port: /metrics, /livez, /readyz, /startupz. Its threads are civetweb's own; none of them runs engine code
// that suspends.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "sisal/base/status.h"

namespace sisal::http {

struct Answer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};
// Called on the server's threads, several at a time.
using Page = std::function<Answer()>;

class HttpServer {
 public:
  // Serves exactly these paths; GET and HEAD only. Port 0 picks a free one. Errors: 55006 the address is in use or
  // cannot be bound.
  static Result<std::unique_ptr<HttpServer>> Start(const std::string& host, uint16_t port,
                                                   std::map<std::string, Page> pages);
  ~HttpServer();  // waits for requests that run
  uint16_t port() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sisal::http
