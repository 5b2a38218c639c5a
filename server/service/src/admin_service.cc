#include "sisal/service/admin_service.h"

#include <charconv>

#include "service_support.h"
#include "sisal/service/metrics.h"
#include "sisal/v1/admin_service.pb.h"
#include "sisal/v1/change_service.pb.h"
#include "sisal/wire/request.h"
#include "sisal/wire/result.h"

namespace sisal::service {
namespace {

constexpr char kService[] = "sisal.v1.AdminService";
constexpr uint32_t kPageSizeMax = 1000;

// As in the proto file.
enum Method {
  kGetServerStatus = 0,
  kGetStats = 1,
  kListTransactions = 4,
  kKillTransaction = 8,
  kDrain = 19,
  kListSettings = 20,
};

void SetTime(int64_t wall_micros, google::protobuf::Timestamp& out) {
  out.set_seconds(wall_micros / 1'000'000);
  out.set_nanos(static_cast<int32_t>(wall_micros % 1'000'000 * 1000));
}

// A page token is the number of entries before the page.
struct Page {
  size_t begin, end;
  std::string next_token;
};
Result<Page> PageOf(size_t count, uint32_t page_size, const std::string& token) {
  size_t begin = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), begin);
  if (!token.empty() && (error != std::errc() || end != token.data() + token.size())) {
    return Error{"22023", "invalid page_token"};
  }
  const size_t size = page_size == 0 ? kPageSizeMax : std::min(page_size, kPageSizeMax);
  Page page;
  page.begin = std::min(begin, count);
  page.end = std::min(page.begin + size, count);
  if (page.end < count) page.next_token = std::to_string(page.end);
  return page;
}

std::string FullName(const prometheus::MetricFamily& family, const prometheus::ClientMetric& metric) {
  std::string name = family.name;
  for (size_t i = 0; i < metric.label.size(); ++i) {
    name += (i == 0 ? "{" : ",") + metric.label[i].name + "=\"" + metric.label[i].value + "\"";
  }
  return metric.label.empty() ? name : name + "}";
}

}  // namespace

AdminService::AdminService(ServerState& state) : state_(state) {
  SISAL_CHECK(MethodOf(kService, kGetStats).name() == "GetStats");
  SISAL_CHECK(MethodOf(kService, kListTransactions).name() == "ListTransactions");
  SISAL_CHECK(MethodOf(kService, kKillTransaction).name() == "KillTransaction");
  SISAL_CHECK(MethodOf(kService, kDrain).name() == "Drain");
  SISAL_CHECK(MethodOf(kService, kListSettings).name() == "ListSettings");
}

Outcome AdminService::Unary(int method, CallContext& context, wire::Buffer& response) {
  return GuardCall([&]() -> Outcome {
    switch (method) {
      case kGetServerStatus:
        return ToOutcome(GetServerStatus(context, response));
      case kGetStats:
        return ToOutcome(GetStats(context, response));
      case kListTransactions:
        return ToOutcome(ListTransactions(context, response));
      case kKillTransaction:
        return ToOutcome(KillTransaction(context, response));
      case kDrain:
        return ToOutcome(Drain(context, response));
      case kListSettings:
        return ToOutcome(ListSettings(context, response));
      default:
        return wire::CallError(NotBuilt(MethodOf(kService, method).full_name()));
    }
  });
}

Outcome AdminService::ServerStream(int method, CallContext&, ReplyStream&) {
  return wire::CallError(NotBuilt(MethodOf(kService, method).full_name()));
}

Status AdminService::GetServerStatus(CallContext& context, wire::Buffer& response) {
  v1::GetServerStatusRequest request;
  SISAL_RETURN_IF_ERROR(wire::ParseMessage(context.request, request));
  v1::GetServerStatusResponse status;
  status.set_state(static_cast<v1::ServerState>(state_.stage()));
  if (const int64_t start = state_.replay_start_wall_micros.load(); start != 0) {
    v1::ReplayStatus& replay = *status.mutable_replay();
    SetTime(start, *replay.mutable_start_time());
    replay.set_bytes_total(state_.replay.bytes_total.load());
    replay.set_bytes_done(state_.replay.bytes_done.load());
  }
  if (Core* core = state_.core(); core != nullptr) {
    txn::Store& store = core->database.store();
    status.set_applied_position(wire::EncodePosition(store.applied()));
    status.set_durable_position(wire::EncodePosition(store.durable()));
    status.set_log_bytes_since_checkpoint(store.log().Stats().bytes_live);  // there are no checkpoints yet
  }
  Append(status, response);
  return Status();
}

Status AdminService::GetStats(CallContext& context, wire::Buffer& response) {
  v1::GetStatsRequest request;
  SISAL_RETURN_IF_ERROR(wire::ParseMessage(context.request, request));
  v1::GetStatsResponse stats;
  for (const prometheus::MetricFamily& family : CollectMetrics(state_)) {
    bool wanted = request.names_size() == 0;
    for (const std::string& prefix : request.names()) wanted = wanted || family.name.rfind(prefix, 0) == 0;
    if (!wanted) continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      auto& values = *stats.mutable_values();
      if (family.type == prometheus::MetricType::Counter) {
        values[FullName(family, metric)] = metric.counter.value;
      } else if (family.type == prometheus::MetricType::Gauge) {
        values[FullName(family, metric)] = metric.gauge.value;
      } else {
        prometheus::MetricFamily part = family;
        part.name = family.name + "_count";
        values[FullName(part, metric)] = static_cast<double>(metric.histogram.sample_count);
        part.name = family.name + "_sum";
        values[FullName(part, metric)] = metric.histogram.sample_sum;
      }
    }
  }
  Append(stats, response);
  return Status();
}

Status AdminService::ListTransactions(CallContext& context, wire::Buffer& response) {
  v1::ListTransactionsRequest request;
  SISAL_RETURN_IF_ERROR(wire::ParseMessage(context.request, request));
  Core* core = state_.core();
  if (core == nullptr) return Error{"57P03", "the database system is starting up"};
  const std::vector<TransactionTable::Description> all = core->transactions.List();
  SISAL_ASSIGN_OR_RETURN(const Page page, PageOf(all.size(), request.page_size(), request.page_token()));
  v1::ListTransactionsResponse list;
  for (size_t i = page.begin; i < page.end; ++i) {
    v1::TransactionInfo& info = *list.add_transactions();
    info.set_handle(all[i].handle);
    info.set_tag(all[i].tag);
    info.set_principal(all[i].principal);
    SetTime(all[i].start_wall_micros, *info.mutable_start_time());
    SetTime(all[i].expire_wall_micros, *info.mutable_expire_time());
  }
  list.set_next_page_token(page.next_token);
  Append(list, response);
  return Status();
}

Status AdminService::KillTransaction(CallContext& context, wire::Buffer& response) {
  v1::KillTransactionRequest request;
  SISAL_RETURN_IF_ERROR(wire::ParseMessage(context.request, request));
  Core* core = state_.core();
  if (core == nullptr) return Error{"57P03", "the database system is starting up"};
  SISAL_RETURN_IF_ERROR(core->transactions.Kill(request.handle(), ""));
  Append(v1::KillTransactionResponse(), response);
  return Status();
}

Status AdminService::Drain(CallContext& context, wire::Buffer& response) {
  v1::DrainRequest request;
  SISAL_RETURN_IF_ERROR(wire::ParseMessage(context.request, request));
  if (request.has_deadline())
    return Error{"0A000", "DrainRequest.deadline is not supported: the setting drain_ms holds"};
  state_.RequestDrain();
  Append(v1::DrainResponse(), response);
  return Status();
}

Status AdminService::ListSettings(CallContext& context, wire::Buffer& response) {
  v1::ListSettingsRequest request;
  SISAL_RETURN_IF_ERROR(wire::ParseMessage(context.request, request));
  const std::span<const config::SettingSpec> table = config::SettingsTable();
  SISAL_ASSIGN_OR_RETURN(const Page page, PageOf(table.size(), request.page_size(), request.page_token()));
  v1::ListSettingsResponse list;
  for (size_t i = page.begin; i < page.end; ++i) {
    v1::Setting& setting = *list.add_settings();
    setting.set_name(std::string(table[i].name));
    setting.set_value(config::Get(state_.settings, table[i]));
    setting.set_unit(std::string(table[i].unit));
    setting.set_description(std::string(table[i].description));
    setting.set_needs_restart(true);
  }
  list.set_next_page_token(page.next_token);
  Append(list, response);
  return Status();
}

UnsupportedService::UnsupportedService(const char* service) : service_(service) {
  // Nothing else of ChangeService is used, and the linker would leave its descriptor out.
  google::protobuf::LinkMessageReflection<v1::SubscribeRequest>();
}

Outcome UnsupportedService::Unary(int method, CallContext&, wire::Buffer&) {
  return wire::CallError(NotBuilt(MethodOf(service_, method).full_name()));
}

Outcome UnsupportedService::ServerStream(int method, CallContext&, ReplyStream&) {
  return wire::CallError(NotBuilt(MethodOf(service_, method).full_name()));
}

}  // namespace sisal::service
