// The HTTP port: /metrics, /livez, /readyz, /startupz.
//
// One thread of its own serves all connections, so that clients which say nothing, or slowly, hold up nobody: a probe
// that is not answered in time gets the process killed. None of it runs engine code that suspends.
// Thread-safe.
#pragma once

#include <chrono>
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
// Called on the server's thread, one at a time.
using Page = std::function<Answer()>;

struct Limits {
  std::chrono::milliseconds request{5'000};  // from the connection's start to the end of the request's head
  std::chrono::milliseconds answer{10'000};  // for the client to take it
  size_t connections_max = 128;              // one more ends the oldest
  size_t head_bytes_max = 16 << 10;
};

class HttpServer {
 public:
  // Serves exactly these paths, GET and HEAD only, one request for each connection. An empty host is every address of
  // the machine; port 0 picks a free one. Errors: 55006 the address is in use or cannot be bound.
  static Result<std::unique_ptr<HttpServer>> Start(const std::string& host, uint16_t port,
                                                   std::map<std::string, Page> pages, const Limits& limits = {});
  ~HttpServer();  // waits for the page that runs
  uint16_t port() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sisal::http
