#include "sisal/wire/buffer.h"

#include <algorithm>
#include <new>

namespace sisal::wire {

void Buffer::Grow(size_t count) {
  const size_t wanted = std::max({size_ + count, 2 * capacity_, size_t{256}});
  void* bytes = std::realloc(bytes_, wanted);
  if (bytes == nullptr) throw std::bad_alloc();  // caught at the RPC handler: 53200
  bytes_ = static_cast<char*>(bytes);
  capacity_ = wanted;
}

char* Buffer::OpenGap(size_t at, size_t count) {
  Reserve(count);
  std::memmove(bytes_ + at + count, bytes_ + at, size_ - at);
  size_ += count;
  return bytes_ + at;
}

}  // namespace sisal::wire
