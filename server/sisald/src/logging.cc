#include "logging.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "sisal/base/log.h"

namespace sisal::sisald {
namespace {

// %* in a pattern: the message as a JSON string, whatever is in it.
class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = nlohmann::json(std::string(message.payload.data(), message.payload.size()))
                                 .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<JsonMessage>(); }
};

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// Called on loops as well: standard error is a pipe or a file, and lines are few.
void EngineSink(LogLevel level, std::string_view message) { spdlog::log(LevelOf(level), "{}", message); }

// The library reports each string of a client's that is no UTF-8: the client is told (22021), the log would be flooded.
void ProtobufSink(google::protobuf::LogLevel level, const char*, int, const std::string& message) {
  spdlog::log(level == google::protobuf::LOGLEVEL_FATAL ? spdlog::level::err : spdlog::level::debug, "{}", message);
}

// gRPC tells only here why an address cannot be bound. Its own lines would not be JSON.
void GrpcSink(gpr_log_func_args* line) {
  spdlog::log(line->severity == GPR_LOG_SEVERITY_ERROR ? spdlog::level::warn : spdlog::level::debug, "gRPC: {}",
              line->message);
}

}  // namespace

void StartLogging(const config::Settings& settings) {
  auto logger = std::make_shared<spdlog::logger>("sisald", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  if (settings.log_format == "json") {
    auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
    formatter->add_flag<JsonMessage>('*').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","pid":%P,"message":%*})");
    logger->set_formatter(std::move(formatter));
  } else {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%fZ %l %v", spdlog::pattern_time_type::utc);
  }
  logger->set_level(spdlog::level::from_str(settings.log_level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
  SetLogSink(&EngineSink);
  google::protobuf::SetLogHandler(&ProtobufSink);
  gpr_set_log_function(&GrpcSink);
}

void LogInfo(const std::string& message) { spdlog::info("{}", message); }
void LogWarning(const std::string& message) { spdlog::warn("{}", message); }
void LogError(const std::string& message) { spdlog::error("{}", message); }

}  // namespace sisal::sisald
