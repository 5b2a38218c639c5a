// ExecuteBatch.
#include "service_support.h"
#include "sisal/service/sql_service.h"

namespace sisal::service {

Outcome SqlService::ExecuteBatch(Core&, CallContext&, wire::Buffer&) {
  return wire::CallError(NotBuilt("sisal.v1.SqlService.ExecuteBatch"));
}

}  // namespace sisal::service
