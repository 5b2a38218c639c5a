#include "sisal/http/http_server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace sisal::http {
namespace {

const char* ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

void Send(mg_connection* connection, const Answer& answer, bool with_body) {
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
            "Connection: close\r\n\r\n",
            answer.status, ReasonPhrase(answer.status), answer.content_type.c_str(), answer.body.size());
  if (with_body) mg_write(connection, answer.body.data(), answer.body.size());
}

// Connects and goes away. IPv4 only; elsewhere the end takes longer.
void Knock(const std::string& host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) return;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  close(fd);
}

}  // namespace

struct HttpServer::Impl {
  std::map<std::string, Page> pages;
  mg_context* context = nullptr;
  std::string address;
  uint16_t port = 0;
  std::string last_error;  // written while Start runs

  static int OnRequest(mg_connection* connection) {
    const mg_request_info* request = mg_get_request_info(connection);
    auto* self = static_cast<Impl*>(request->user_data);
    const bool head = std::strcmp(request->request_method, "HEAD") == 0;
    const auto page = self->pages.find(request->local_uri);
    Answer answer;
    if (page == self->pages.end()) {
      answer = {404, "text/plain; charset=utf-8", "not found\n"};
    } else if (!head && std::strcmp(request->request_method, "GET") != 0) {
      answer = {405, "text/plain; charset=utf-8", "only GET\n"};
    } else {
      answer = page->second();
    }
    Send(connection, answer, !head);
    return 1;  // handled: civetweb serves no files
  }

  static int OnLog(const mg_connection* connection, const char* message) {
    auto* self = static_cast<Impl*>(mg_get_user_data(mg_get_context(connection)));
    if (self != nullptr && self->context == nullptr) self->last_error = message;
    return 1;
  }
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// civetweb's acceptor looks for the end every two seconds, or when a connection comes: so we come.
HttpServer::~HttpServer() {
  std::atomic<bool> stopped{false};
  std::thread stopper([&] {
    mg_stop(impl_->context);
    stopped = true;
  });
  while (!stopped) {
    Knock(impl_->address, impl_->port);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  stopper.join();
}

uint16_t HttpServer::port() const { return impl_->port; }

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& host, uint16_t port,
                                                      std::map<std::string, Page> pages) {
  auto impl = std::make_unique<Impl>();
  impl->pages = std::move(pages);
  // civetweb takes addresses, not names.
  const std::string address = host == "localhost" ? "127.0.0.1" : host;
  const std::string listen = (address.empty() ? "" : address + ":") + std::to_string(port);
  const char* options[] = {"listening_ports",    listen.c_str(), "num_threads", "2", "enable_directory_listing", "no",
                           "request_timeout_ms", "10000",        nullptr};
  mg_callbacks callbacks{};
  callbacks.begin_request = &Impl::OnRequest;
  callbacks.log_message = &Impl::OnLog;
  mg_context* context = mg_start(&callbacks, impl.get(), options);
  if (context == nullptr) {
    return Error{"55006", "cannot listen on HTTP address " + listen}.WithDetail(impl->last_error);
  }
  impl->context = context;
  impl->address = address.empty() || address == "0.0.0.0" ? "127.0.0.1" : address;
  mg_server_port bound[4] = {};
  if (mg_get_server_ports(context, 4, bound) < 1) {
    mg_stop(context);
    return Error{"55006", "cannot find out the port of HTTP address " + listen};
  }
  impl->port = static_cast<uint16_t>(bound[0].port);
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace sisal::http
