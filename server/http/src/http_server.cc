#include "sisal/http/http_server.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "request.h"

namespace sisal::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using TimePoint = steady_clock::time_point;

constexpr milliseconds kLinger{1'000};       // for what a client still sends after its answer
constexpr milliseconds kAcceptPause{100};    // after the process has run out of descriptors
constexpr size_t kLingerBytesMax = 1 << 20;  // ditto
constexpr int kAcceptsMax = 64;              // in a row, while connections that are there wait

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

//   reading --the head is whole, or too long--> writing --all is sent--> lingering --the client closes--> gone
// A state that lasts beyond its deadline ends the connection.
//
// After the answer the client may still send, a body for example. To close at once would make the kernel reset the
// connection, and the answer could be lost; so what comes is thrown away for a while.
struct Connection {
  enum class State { kReading, kWriting, kLingering };
  Descriptor socket;
  State state = State::kReading;
  TimePoint deadline;
  std::string in, out;
  size_t sent_bytes = 0, lingered_bytes = 0;
};

Answer Plain(int status, const char* text) { return {status, "text/plain; charset=utf-8", text}; }

struct Addresses {
  ~Addresses() {
    if (list != nullptr) freeaddrinfo(list);
  }
  addrinfo* list = nullptr;
};

// A socket that listens on the first address of the host that can be bound.
Result<Descriptor> Listen(const std::string& host, uint16_t port) {
  const std::string address = host + ":" + std::to_string(port);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string name = bracketed ? host.substr(1, host.size() - 2) : host;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  Addresses addresses;
  const int failure =
      getaddrinfo(name.empty() ? nullptr : name.c_str(), std::to_string(port).c_str(), &hints, &addresses.list);
  if (failure != 0) return Error{"55006", "cannot listen on HTTP address " + address}.WithDetail(gai_strerror(failure));
  int reason = 0;
  for (const addrinfo* info = addresses.list; info != nullptr; info = info->ai_next) {
    Descriptor socket(::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;  // connections of an earlier process that still fade away are no obstacle
    if (socket.get() >= 0 && setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(socket.get(), info->ai_addr, info->ai_addrlen) == 0 && listen(socket.get(), SOMAXCONN) == 0) {
      return socket;
    }
    reason = errno;
  }
  return Error{"55006", "cannot listen on HTTP address " + address}.WithDetail(std::strerror(reason));
}

uint16_t PortOf(const Descriptor& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6&>(address).sin6_port);
  return ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace

struct HttpServer::Impl {
  std::map<std::string, Page> pages;
  Limits limits;
  Descriptor listener, stop;  // `stop` becomes readable when the thread is to end
  uint16_t port = 0;
  std::vector<Connection> connections;  // the thread's; by the time they came
  TimePoint accept_from;                // the thread's
  std::thread thread;

  void Run();
  int PollMilliseconds(TimePoint now) const;
  void Accept(TimePoint now);
  // False: the connection has ended.
  bool Advance(Connection& connection, bool ready, TimePoint now) const;
  bool Read(Connection& connection, TimePoint now) const;
  bool Write(Connection& connection, TimePoint now) const;
  static bool Linger(Connection& connection);
  Answer AnswerTo(const Request& request) const;
};

void HttpServer::Impl::Run() {
  std::vector<pollfd> polled;
  while (true) {
    TimePoint now = steady_clock::now();
    polled.assign({{stop.get(), POLLIN, 0}, {listener.get(), static_cast<short>(now < accept_from ? 0 : POLLIN), 0}});
    for (const Connection& connection : connections) {
      const bool writes = connection.state == Connection::State::kWriting;
      polled.push_back({connection.socket.get(), static_cast<short>(writes ? POLLOUT : POLLIN), 0});
    }
    if (poll(polled.data(), polled.size(), PollMilliseconds(now)) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    now = steady_clock::now();
    std::vector<Connection> kept;
    kept.reserve(connections.size() + 1);
    for (size_t i = 0; i < connections.size(); ++i) {
      if (Advance(connections[i], polled[i + 2].revents != 0, now)) kept.push_back(std::move(connections[i]));
    }
    connections = std::move(kept);
    if (polled[1].revents != 0) Accept(now);
  }
}

int HttpServer::Impl::PollMilliseconds(TimePoint now) const {
  TimePoint first = TimePoint::max();
  for (const Connection& connection : connections) first = std::min(first, connection.deadline);
  if (now < accept_from) first = std::min(first, accept_from);
  if (first == TimePoint::max()) return -1;
  if (first <= now) return 0;
  return static_cast<int>(std::chrono::ceil<milliseconds>(first - now).count());
}

void HttpServer::Impl::Accept(TimePoint now) {
  for (int i = 0; i < kAcceptsMax; ++i) {
    Descriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) {
      // Without a descriptor for it the next connection stays where it is, and poll would tell of it for ever.
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) accept_from = now + kAcceptPause;
      return;
    }
    if (connections.size() >= limits.connections_max) connections.erase(connections.begin());
    Connection& connection = connections.emplace_back();
    connection.socket = std::move(socket);
    connection.deadline = now + limits.request;
    if (!Advance(connection, true, now)) connections.pop_back();
  }
}

bool HttpServer::Impl::Advance(Connection& connection, bool ready, TimePoint now) const {
  if (now >= connection.deadline) return false;
  if (!ready) return true;
  switch (connection.state) {
    case Connection::State::kReading:
      return Read(connection, now);
    case Connection::State::kWriting:
      return Write(connection, now);
    case Connection::State::kLingering:
      return Linger(connection);
  }
  return false;
}

bool HttpServer::Impl::Read(Connection& connection, TimePoint now) const {
  char bytes[4096];
  const ssize_t size = recv(connection.socket.get(), bytes, sizeof bytes, 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  // What was looked at before holds no end, but for the start of one.
  const size_t looked = connection.in.size() < 3 ? 0 : connection.in.size() - 3;
  connection.in.append(bytes, static_cast<size_t>(size));
  const bool whole = HeadBytes(std::string_view(connection.in).substr(looked)) != std::string_view::npos;
  if (!whole && connection.in.size() < limits.head_bytes_max) return true;
  const Request request = whole ? ParseRequest(connection.in) : Request{.error = 431};
  connection.out = Render(AnswerTo(request), request.method != "HEAD");
  connection.state = Connection::State::kWriting;
  connection.deadline = now + limits.answer;
  return Write(connection, now);
}

bool HttpServer::Impl::Write(Connection& connection, TimePoint now) const {
  while (connection.sent_bytes < connection.out.size()) {
    const ssize_t size = send(connection.socket.get(), connection.out.data() + connection.sent_bytes,
                              connection.out.size() - connection.sent_bytes, MSG_NOSIGNAL);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    connection.sent_bytes += static_cast<size_t>(size);
  }
  shutdown(connection.socket.get(), SHUT_WR);
  connection.state = Connection::State::kLingering;
  connection.deadline = now + kLinger;
  return true;
}

bool HttpServer::Impl::Linger(Connection& connection) {
  char bytes[4096];
  const ssize_t size = recv(connection.socket.get(), bytes, sizeof bytes, 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  connection.lingered_bytes += static_cast<size_t>(size);
  return size > 0 && connection.lingered_bytes < kLingerBytesMax;
}

Answer HttpServer::Impl::AnswerTo(const Request& request) const {
  if (request.error == 431) return Plain(431, "the request's head is too long\n");
  if (request.error == 505) return Plain(505, "HTTP/1.1 is wanted\n");
  if (request.error != 0) return Plain(request.error, "this is no HTTP request\n");
  const auto page = pages.find(request.path);
  if (page == pages.end()) return Plain(404, "not found\n");
  if (request.method != "GET" && request.method != "HEAD") return Plain(405, "only GET\n");
  try {
    return page->second();
  } catch (const std::exception&) {  // memory has run out; the next request may find some
    return Plain(500, "internal error\n");
  }
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() {
  const uint64_t one = 1;
  static_cast<void>(!write(impl_->stop.get(), &one, sizeof one));
  impl_->thread.join();
}

uint16_t HttpServer::port() const { return impl_->port; }

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& host, uint16_t port,
                                                      std::map<std::string, Page> pages, const Limits& limits) {
  auto impl = std::make_unique<Impl>();
  impl->pages = std::move(pages);
  impl->limits = limits;
  SISAL_ASSIGN_OR_RETURN(impl->listener, Listen(host, port));
  impl->port = PortOf(impl->listener);
  impl->stop = Descriptor(eventfd(0, EFD_CLOEXEC));
  if (impl->stop.get() < 0) return Error{"55006", "cannot start HTTP"}.WithDetail(std::strerror(errno));
  impl->thread = std::thread([self = impl.get()] { self->Run(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace sisal::http
