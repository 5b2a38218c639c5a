#include "ring.h"

#include "ring_impl.h"

namespace sisal::wal {

template class BasicLogRing<io::RealConcurrency>;

}  // namespace sisal::wal
