#include "request.h"

#include <algorithm>

namespace sisal::http {
namespace {

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Service Unavailable";
  }
}

bool IsVisible(char c) { return c > ' ' && c < '\x7f'; }

// "/metrics?x=1" and "http://host/metrics" as "/metrics".
std::string_view PathOf(std::string_view target) {
  if (const size_t scheme = target.find("://"); scheme != std::string_view::npos && target[0] != '/') {
    const size_t slash = target.find('/', scheme + 3);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  return target.substr(0, target.find('?'));
}

}  // namespace

size_t HeadBytes(std::string_view text) {
  // A line may end with \n alone.
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    if (text.substr(at + 1).starts_with('\n')) return at + 2;
    if (text.substr(at + 1).starts_with("\r\n")) return at + 3;
  }
  return std::string_view::npos;
}

Request ParseRequest(std::string_view head) {
  std::string_view line = head.substr(0, head.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const size_t method_end = line.find(' ');
  const size_t target_end = line.rfind(' ');
  if (method_end == std::string_view::npos || method_end == 0 || target_end <= method_end) return {.error = 400};
  const std::string_view method = line.substr(0, method_end);
  const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  const std::string_view version = line.substr(target_end + 1);
  if (target.empty() || !std::all_of(method.begin(), method.end(), IsVisible) ||
      !std::all_of(target.begin(), target.end(), IsVisible) || !version.starts_with("HTTP/")) {
    return {.error = 400};
  }
  if (!version.starts_with("HTTP/1.")) return {.error = 505};
  return {.method = std::string(method), .path = std::string(PathOf(target))};
}

std::string Render(const Answer& answer, bool with_body) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " ";
  text.append(ReasonPhrase(answer.status)).append("\r\nContent-Type: ").append(answer.content_type);
  text += "\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\nCache-Control: no-store\r\n";
  if (answer.status == 405) text += "Allow: GET, HEAD\r\n";
  text += "Connection: close\r\n\r\n";
  if (with_body) text += answer.body;
  return text;
}

}  // namespace sisal::http
