#include "sisal/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "sisal/testing/status_matchers.h"

namespace sisal::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A client that sends what it likes.
class Client {
 public:
  explicit Client(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(fd_); }
  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t size = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size < 0) return;  // the server has had enough
      bytes.remove_prefix(static_cast<size_t>(size));
    }
  }
  void SendNoMore() { shutdown(fd_, SHUT_WR); }
  // All that comes until the server closes.
  std::string Receive() {
    std::string answer;
    char bytes[1024];
    for (ssize_t size; (size = recv(fd_, bytes, sizeof(bytes), 0)) > 0;)
      answer.append(bytes, static_cast<size_t>(size));
    return answer;
  }

 private:
  const int fd_;
};

std::string FetchRaw(uint16_t port, std::string_view request) {
  Client client(port);
  client.Send(request);
  return client.Receive();
}

std::string Fetch(uint16_t port, const std::string& request_line) {
  return FetchRaw(port, request_line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
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
  EXPECT_THAT(Fetch(server->port(), "BREW /metrics"), HasSubstr("\r\nAllow: GET, HEAD\r\n"));
}

TEST_F(HttpServerTest, HeadHasNoBody) { EXPECT_THAT(Fetch(server->port(), "HEAD /metrics"), EndsWith("\r\n\r\n")); }

TEST_F(HttpServerTest, WhatIsNoRequestIsRefused) {
  const std::string nul("GET /met\0rics HTTP/1.1\r\n\r\n", 27);
  const std::string tls("\x16\x03\x01\x02\x00\x01\n\n", 8);
  for (const std::string& request : {std::string("GET /metrics\r\n\r\n"), std::string("\r\n\r\n"), nul, tls,
                                     std::string(" /metrics HTTP/1.1\r\n\r\n"), std::string("GET  HTTP/1.1\r\n\r\n"),
                                     std::string("GET /metrics FTP/1.1\r\n\r\n")}) {
    EXPECT_THAT(FetchRaw(server->port(), request), StartsWith("HTTP/1.1 400 ")) << request;
  }
  EXPECT_THAT(FetchRaw(server->port(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), StartsWith("HTTP/1.1 505 "));
  EXPECT_THAT(FetchRaw(server->port(), "OPTIONS * HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(FetchRaw(server->port(), "GET /../metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(HttpServerTest, FormsOfARequest) {
  for (const char* request : {"GET /metrics?a=/b HTTP/1.1\r\n\r\n", "GET http://x/metrics HTTP/1.1\r\n\r\n",
                              "GET /metrics HTTP/1.0\nA: b\n\n"}) {
    EXPECT_THAT(FetchRaw(server->port(), request), StartsWith("HTTP/1.1 200 ")) << request;
  }
}

TEST_F(HttpServerTest, TooLongAHeadIsRefused) {
  const std::string field = "A: " + std::string(1 << 20, 'x');
  EXPECT_THAT(FetchRaw(server->port(), "GET /metrics HTTP/1.1\r\n" + field), StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpServerTest, BytesAfterTheRequestDoNotCostTheAnswer) {
  const std::string get = "GET /metrics HTTP/1.1\r\n\r\n";
  std::string pipelined;
  for (int i = 0; i < 1000; ++i) pipelined += get;
  const std::string answer = FetchRaw(server->port(), pipelined);
  EXPECT_THAT(answer, EndsWith("\r\n\r\na 1\n"));
  EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << "one request for each connection";
  const std::string body(300'000, 'x');
  EXPECT_THAT(FetchRaw(server->port(), "POST /metrics HTTP/1.1\r\nContent-Length: 300000\r\n\r\n" + body),
              StartsWith("HTTP/1.1 405 "));
}

TEST_F(HttpServerTest, ARequestMayComeInPieces) {
  Client client(server->port());
  for (const char c : std::string("GET /metrics HTTP/1.1\r\nA: b\r\n\r\n")) client.Send(std::string(1, c));
  EXPECT_THAT(client.Receive(), EndsWith("a 1\n"));
}

TEST_F(HttpServerTest, SilentAndSlowClientsHoldUpNobody) {
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 400; ++i) {
    slow.push_back(std::make_unique<Client>(server->port()));
    if (i % 2 == 0) slow.back()->Send("GET /metrics HTTP/1.1\r\nA: ");
    if (i % 100 == 0) {
      EXPECT_THAT(Fetch(server->port(), "GET /metrics"), StartsWith("HTTP/1.1 200"));
    }
  }
  EXPECT_EQ(slow.front()->Receive(), "") << "the oldest had to go";
  slow[398]->Send("b\r\n\r\n");
  EXPECT_THAT(slow[398]->Receive(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, ARequestThatDoesNotEndIsGivenUp) {
  Limits limits;
  limits.request = std::chrono::milliseconds(50);
  ASSERT_OK_AND_ASSIGN(const auto hasty, HttpServer::Start("127.0.0.1", 0, {}, limits));
  Client silent(hasty->port());
  EXPECT_EQ(silent.Receive(), "");
  Client slow(hasty->port());
  std::thread drip([&] {
    for (int i = 0; i < 100; ++i) {
      slow.Send("A: b\r\n");
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(slow.Receive(), "");
  drip.join();
}

TEST_F(HttpServerTest, NamesAreAddresses) {
  EXPECT_OK(HttpServer::Start("localhost", 0, {}).status());
  EXPECT_SQLSTATE(HttpServer::Start("no such host", 0, {}).status(), "55006");
}

TEST_F(HttpServerTest, AnAddressInUseIsAnError) {
  EXPECT_SQLSTATE(HttpServer::Start("127.0.0.1", server->port(), {}).status(), "55006");
}

}  // namespace
}  // namespace sisal::http
