import sys
import grpc
from sisal.v1 import request_pb2, result_pb2, sql_service_pb2_grpc, type_pb2

address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7433"
sisal = sql_service_pb2_grpc.SqlServiceStub(grpc.insecure_channel(address))


def execute(sql, *params):
    statement = result_pb2.Statement(sql=sql, params=params)
    return sisal.Execute(request_pb2.ExecuteRequest(statement=statement))


execute("CREATE TABLE IF NOT EXISTS city (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
execute("INSERT INTO city VALUES (1, 'Chania'), (2, $1) ON CONFLICT DO NOTHING", type_pb2.Value(text="Merida"))
answer = execute("SELECT id, name FROM city ORDER BY id")
ids, names = answer.chunk.batch.columns
print(list(zip(ids.integers, names.texts)))

try:
    execute("SELECT * FROM nowhere")
except grpc.RpcError as error:
    print(error.code().name, error.details())
