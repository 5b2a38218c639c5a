# Inserts rows from four threads and counts the acknowledged ones. When the server goes away, it waits for it to be
# back and looks whether each acknowledged row is there. Ends with exit code 1 if one is missing.
import sys
import threading
import time
import grpc
from sisal.v1 import request_pb2, result_pb2, sql_service_pb2_grpc, type_pb2

address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7433"
channel = grpc.insecure_channel(address, options=[("grpc.max_reconnect_backoff_ms", 500)])
sisal = sql_service_pb2_grpc.SqlServiceStub(channel)
acknowledged = [0] * 4  # per thread: its rows 1 to n
gone = threading.Event()


def execute(sql, *params, **options):
    statement = result_pb2.Statement(sql=sql, params=[type_pb2.Value(integer=p) for p in params])
    return sisal.Execute(request_pb2.ExecuteRequest(statement=statement), **options)


def insert_rows(thread):
    while not gone.is_set():
        row = acknowledged[thread] + 1
        try:
            execute("INSERT INTO load VALUES ($1, $2)", thread, row, timeout=30)
        except grpc.RpcError as error:
            if not gone.is_set():
                gone.set()
                print(f"\nno answer ({error.code().name}); waiting until the server is back", flush=True)
            return
        acknowledged[thread] = row


def count(*params):
    """Rows of a thread from one number to another; waits for the server, which may be reading its log."""
    while True:
        try:
            answer = execute("SELECT count(*) FROM load WHERE thread = $1 AND n BETWEEN $2 AND $3", *params,
                             wait_for_ready=True)
            return answer.chunk.batch.columns[0].integers[0]
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise
            time.sleep(0.2)


execute("DROP TABLE IF EXISTS load")
execute("CREATE TABLE load (thread INTEGER, n INTEGER, PRIMARY KEY (thread, n))")
threads = [threading.Thread(target=insert_rows, args=(i,), daemon=True) for i in range(len(acknowledged))]
for thread in threads:
    thread.start()
while not gone.is_set():
    print(f"\racknowledged: {sum(acknowledged)} rows", end="", flush=True)
    gone.wait(0.2)
for thread in threads:
    thread.join()

found = sum(count(i, 1, n) for i, n in enumerate(acknowledged))
unanswered = sum(count(i, n + 1, n + 1) for i, n in enumerate(acknowledged))
missing = sum(acknowledged) - found
print(f"acknowledged {sum(acknowledged)}, of these missing {missing}; committed without an answer: {unanswered}")
sys.exit(1 if missing else 0)
