#include "sisal/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "sisal/testing/status_matchers.h"

namespace sisal::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Fetch(uint16_t port, const std::string& request_line) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::string request = request_line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string answer;
  char bytes[1024];
  for (ssize_t size; (size = recv(fd, bytes, sizeof(bytes), 0)) > 0;) answer.append(bytes, static_cast<size_t>(size));
  close(fd);
  return answer;
}

class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = HttpServer::Start(
        "127.0.0.1", 0,
        {{"/metrics",
          [] {
            return Answer{200, "text/plain", "a 1\n"};
          }},
         {"/readyz", [this] {
            return ready ? Answer{200, "text/plain", "ok\n"} : Answer{503, "text/plain", "replaying\n"};
          }}});
    ASSERT_OK(started);
    server = *std::move(started);
  }
  std::atomic<bool> ready{false};
  std::unique_ptr<HttpServer> server;
};

TEST_F(HttpServerTest, ServesAPage) {
  const std::string answer = Fetch(server->port(), "GET /metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\na 1\n"));
}

TEST_F(HttpServerTest, StatusIsThePages) {
  EXPECT_THAT(Fetch(server->port(), "GET /readyz"), StartsWith("HTTP/1.1 503"));
  ready = true;
  EXPECT_THAT(Fetch(server->port(), "GET /readyz"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, OtherPathsAndMethodsAreRefused) {
  EXPECT_THAT(Fetch(server->port(), "GET /etc/passwd"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Fetch(server->port(), "POST /metrics"), StartsWith("HTTP/1.1 405"));
}

TEST_F(HttpServerTest, HeadHasNoBody) { EXPECT_THAT(Fetch(server->port(), "HEAD /metrics"), EndsWith("\r\n\r\n")); }

TEST_F(HttpServerTest, AnAddressInUseIsAnError) {
  EXPECT_SQLSTATE(HttpServer::Start("127.0.0.1", server->port(), {}).status(), "55006");
}

}  // namespace
}  // namespace sisal::http
