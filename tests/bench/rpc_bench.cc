// Execute by statement id beside a raw echo of the same gRPC library: calls per second at 1, 8 and 64 connections, each
// with one call in flight. Both servers are processes of their own; the echo gets the point read's request and answers
// the very bytes that Execute answered. Rounds alternate, so that a noisy machine is noisy for all.
//
// Shapes: a point read, which is answered where it arrives; 20 rows by key range, which runs on a fiber of the engine's
// loops; an update of one row, which waits for the log besides.
//
//   rpc_bench [--quick] [--rounds N] [--seconds S] [--connections N]... [-- sisald's flags]
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench_support.h"
#include "sisal/v1/sql_service.grpc.pb.h"

namespace sisal::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kMethod[] = "/sisal.v1.SqlService/Execute";

struct Settings {
  int rounds = 7;
  double seconds = 1;
  std::vector<int> connections = {1, 8, 64};
  std::vector<std::string> server_flags;
};

// ---- The echo: a process that answers every call with the same bytes. ----

// The leanest handler that the callback API has, and no other method, so that the library starts no other threads.
class EchoService final : public grpc::Service {
 public:
  explicit EchoService(const std::string& answer) {
    const grpc::Slice slice(answer);
    answer_ = grpc::ByteBuffer(&slice, 1);
    using grpc::internal::RpcMethod;
    AddMethod(new grpc::internal::RpcServiceMethod(kMethod, RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRawCallback(0, new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                                 [this](grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                        grpc::ByteBuffer* response) -> grpc::ServerUnaryReactor* {
                                   *response = answer_;
                                   grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
                                   reactor->Finish(grpc::Status::OK);
                                   return reactor;
                                 }));
  }

 private:
  grpc::ByteBuffer answer_;
};

// In the child. Tells its port through `pipe` and runs until it is killed.
[[noreturn]] void RunEcho(int pipe, const std::string& answer) {
  EchoService service(answer);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (write(pipe, &port, sizeof(port)) != sizeof(port)) _exit(1);
  server->Wait();
  _exit(0);
}

// ---- Processes. ----

struct Process {
  pid_t pid = -1;
  std::string address;
  ~Process() {
    if (pid <= 0) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

void StartServer(const std::string& directory, const std::vector<std::string>& flags, Process& process) {
  const std::string ready = directory + "/ready";
  std::vector<std::string> words = {SISALD_PATH,     "--data-dir", directory + "/data", "--listen", "127.0.0.1:0",
                                    "--http-listen", "",           "--ready-file",      ready,      "--log-level",
                                    "warning"};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  process.pid = fork();
  if (process.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // we may exit in the middle
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  while (!std::filesystem::exists(ready)) {
    if (waitpid(process.pid, nullptr, WNOHANG) == process.pid) std::exit(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const std::string line = ReadFile(ready);
  const size_t start = line.find("\"grpc\":\"") + 8;
  process.address = line.substr(start, line.find('"', start) - start);
}

// gRPC must not have been used before: a fork does not carry its threads. So the echo is this program, run anew.
void StartEcho(const std::string& directory, const std::string& answer, Process& process) {
  const std::string path = directory + "/answer";
  std::ofstream(path, std::ios::binary) << answer;
  int pipes[2];
  if (pipe(pipes) != 0) std::exit(1);
  process.pid = fork();
  if (process.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string fd = std::to_string(pipes[1]);
    execl("/proc/self/exe", "rpc_bench", "--echo", fd.c_str(), path.c_str(), nullptr);
    _exit(127);
  }
  int port = 0;
  if (read(pipes[0], &port, sizeof(port)) != sizeof(port)) std::exit(1);
  process.address = "127.0.0.1:" + std::to_string(port);
}

// CPU time of a process so far.
double CpuSeconds(pid_t pid) {
  const std::string stat = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  const char* at = stat.c_str() + stat.rfind(')') + 2;
  unsigned long user = 0, system = 0;
  std::sscanf(at, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// ---- The client: each connection has one call in flight; few threads poll for all. ----

class Load {
 public:
  Load(const std::string& address, const grpc::ByteBuffer& request, int connections) : request_(request) {
    for (int i = 0; i < connections; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
      auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
      channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10));
      calls_.push_back(std::make_unique<Call>());
      calls_.back()->stub = std::make_unique<grpc::GenericStub>(channel);
    }
  }

  // Runs for `seconds`; returns calls per second.
  double Run(double seconds) {
    grpc::CompletionQueue queue;
    const Clock::time_point start = Clock::now(), end = start + std::chrono::duration_cast<Clock::duration>(
                                                                    std::chrono::duration<double>(seconds));
    std::atomic<uint64_t> done{0};
    std::atomic<int> running{static_cast<int>(calls_.size())};
    for (const auto& call : calls_) Start(*call, queue);
    const auto poll = [&] {
      void* tag;
      bool ok;
      while (queue.Next(&tag, &ok)) {
        Call& call = *static_cast<Call*>(tag);
        if (!ok || !call.status.ok()) {
          std::fprintf(stderr, "a call failed: %s\n", call.status.error_message().c_str());
          std::exit(1);
        }
        if (Clock::now() < end) {
          done.fetch_add(1, std::memory_order_relaxed);
          Start(call, queue);
        } else if (running.fetch_sub(1) == 1) {
          queue.Shutdown();
        }
      }
    };
    std::thread second(poll);
    poll();
    second.join();
    return static_cast<double>(done) / seconds;
  }

 private:
  struct Call {
    std::unique_ptr<grpc::GenericStub> stub;
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
    grpc::ByteBuffer response;
    grpc::Status status;
  };
  void Start(Call& call, grpc::CompletionQueue& queue) {
    call.reader.reset();
    call.context = std::make_unique<grpc::ClientContext>();
    call.reader = call.stub->PrepareUnaryCall(call.context.get(), kMethod, request_, &queue);
    call.reader->StartCall();
    call.reader->Finish(&call.response, &call.status, &call);
  }

  const grpc::ByteBuffer request_;
  std::vector<std::unique_ptr<Call>> calls_;
};

v1::ExecuteResponse MustExecute(v1::SqlService::Stub& stub, const v1::ExecuteRequest& request) {
  grpc::ClientContext context;
  v1::ExecuteResponse response;
  const grpc::Status status = stub.Execute(&context, request, &response);
  if (status.ok()) return response;
  std::fprintf(stderr, "%s\n", status.error_message().c_str());
  std::exit(1);
}

struct Shape {
  const char* name;
  grpc::ByteBuffer request;
};

v1::ExecuteRequest Prepare(v1::SqlService::Stub& stub, const std::string& sql) {
  grpc::ClientContext context;
  v1::PrepareRequest prepare;
  prepare.set_sql(sql);
  v1::PrepareResponse prepared;
  if (const grpc::Status status = stub.Prepare(&context, prepare, &prepared); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.error_message().c_str());
    std::exit(1);
  }
  v1::ExecuteRequest request;
  request.mutable_statement()->set_statement_id(prepared.statement_id());
  request.mutable_statement()->add_params()->set_integer(4711);
  request.mutable_statement()->set_known_shape(MustExecute(stub, request).header().shape());
  return request;
}

grpc::ByteBuffer Bytes(const v1::ExecuteRequest& request) {
  const grpc::Slice slice(request.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

void FillTable(v1::SqlService::Stub& stub) {
  v1::ExecuteRequest request;
  request.mutable_statement()->set_sql("CREATE TABLE bench (id bigint PRIMARY KEY, name text NOT NULL, amount int)");
  MustExecute(stub, request);
  request.mutable_statement()->set_sql(
      "INSERT INTO bench SELECT i, 'name of ' || i, i % 1000 FROM generate_series(1, 10000) AS g(i)");
  MustExecute(stub, request);
}

// Rates and processor times of one side in all rounds.
struct Side {
  Side(std::string side_name, const Process& server, const grpc::ByteBuffer& request, int connections)
      : name(std::move(side_name)), process(server), load(server.address, request, connections) {
    load.Run(0.2);  // warm
  }
  double Run(double seconds) {
    const double before = CpuSeconds(process.pid);
    const double calls = load.Run(seconds);
    cpu.Add(1e6 * (CpuSeconds(process.pid) - before) / (calls * seconds));
    rate.Add(calls);
    return calls;
  }
  const std::string name;
  const Process& process;
  Load load;
  Samples rate, cpu, ratio;
};

void Measure(const Settings& settings, const Process& echo, const Process& server, const std::vector<Shape>& shapes) {
  for (const int connections : settings.connections) {
    Side raw("echo", echo, shapes[0].request, connections);
    std::vector<std::unique_ptr<Side>> sides;
    for (const Shape& shape : shapes) {
      sides.push_back(std::make_unique<Side>(shape.name, server, shape.request, connections));
    }
    for (int round = 0; round < settings.rounds; ++round) {
      const double echoes = raw.Run(settings.seconds);
      for (const auto& side : sides) side->ratio.Add(100 * side->Run(settings.seconds) / echoes);
    }
    const std::string suffix = ", " + std::to_string(connections) + " connections";
    raw.rate.Print("echo" + suffix, "calls/s");
    raw.cpu.Print("echo, server CPU per call" + suffix, "us");
    for (const auto& side : sides) {
      side->rate.Print(side->name + suffix, "calls/s");
      side->ratio.Print(side->name + " / echo" + suffix, "%");
      side->cpu.Print(side->name + ", server CPU per call" + suffix, "us");
    }
  }
}

int Main(const Settings& settings) {
  char name[] = "/tmp/sisal_rpc_bench_XXXXXX";
  const std::string directory = mkdtemp(name);
  {
    Process echo, server;
    StartServer(directory, settings.server_flags, server);
    const auto channel = grpc::CreateChannel(server.address, grpc::InsecureChannelCredentials());
    const auto stub = v1::SqlService::NewStub(channel);
    FillTable(*stub);
    const v1::ExecuteRequest read = Prepare(*stub, "SELECT name, amount FROM bench WHERE id = $1");
    const v1::ExecuteResponse answer = MustExecute(*stub, read);
    StartEcho(directory, answer.SerializeAsString(), echo);
    const std::vector<Shape> shapes = {
        {"point read", Bytes(read)},
        {"20 rows", Bytes(Prepare(*stub, "SELECT name FROM bench WHERE id BETWEEN $1 AND $1 + 19"))},
        {"update", Bytes(Prepare(*stub, "UPDATE bench SET amount = amount + 1 WHERE id = $1"))}};
    std::string flags;
    for (const std::string& flag : settings.server_flags) flags += " " + flag;
    PrintMachine("rpc_bench", "gRPC " + grpc::Version() + ", rounds " + std::to_string(settings.rounds) + " of " +
                                  std::to_string(settings.seconds) + " s, request " +
                                  std::to_string(read.ByteSizeLong()) + " bytes, answer " +
                                  std::to_string(answer.ByteSizeLong()) + " bytes, sisald" + flags);
    Measure(settings, echo, server, shapes);
  }
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace sisal::bench

int main(int count, char** values) {
  using namespace sisal::bench;
  Settings settings;
  bool default_connections = true;
  for (int i = 1; i < count; ++i) {
    const std::string word = values[i];
    if (word == "--echo" && i + 2 < count) RunEcho(std::atoi(values[i + 1]), ReadFile(values[i + 2]));
    if (word == "--quick") {
      settings.rounds = 2, settings.seconds = 0.2, settings.connections = {1, 8};
    } else if (word == "--rounds" && i + 1 < count) {
      settings.rounds = std::atoi(values[++i]);
    } else if (word == "--seconds" && i + 1 < count) {
      settings.seconds = std::atof(values[++i]);
    } else if (word == "--connections" && i + 1 < count) {
      if (default_connections) settings.connections.clear();
      default_connections = false;
      settings.connections.push_back(std::atoi(values[++i]));
    } else if (word == "--") {
      settings.server_flags.assign(values + i + 1, values + count);
      break;
    } else {
      std::fprintf(stderr, "unknown argument %s\n", word.c_str());
      return 2;
    }
  }
  return Main(settings);
}
