// A request message on an arena of its own whose first block is here.
#pragma once

#include <google/protobuf/arena.h>

#include <string_view>

#include "sisal/wire/request.h"

namespace sisal::service {

template <typename Request>
class ParsedRequest {
 public:
  ParsedRequest() : arena_(Options(block_)), message_(google::protobuf::Arena::CreateMessage<Request>(&arena_)) {}
  Status Parse(std::string_view bytes) { return wire::ParseMessage(bytes, *message_); }
  const Request& operator*() const { return *message_; }
  const Request* operator->() const { return message_; }

 private:
  static google::protobuf::ArenaOptions Options(char* block) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block;
    options.initial_block_size = kBlockBytes;
    return options;
  }
  static constexpr size_t kBlockBytes = 2048;
  alignas(8) char block_[kBlockBytes];
  google::protobuf::Arena arena_;
  Request* message_;
};

}  // namespace sisal::service
