// Calls a running sisald through the generated Go stubs: values, a transaction, a stream, an error's details.
// Usage: client HOST:PORT. Exits 1 with a message at the first thing that is not as it should be.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	sisal "sisal.dev/api/sisal/v1"
)

func check(ok bool, format string, args ...any) {
	if !ok {
		fmt.Fprintf(os.Stderr, "go client: "+format+"\n", args...)
		os.Exit(1)
	}
}

func main() {
	connection, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err == nil, "connect: %v", err)
	defer connection.Close()
	client := sisal.NewSqlServiceClient(connection)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()

	statement := func(sql string, params ...*sisal.Value) *sisal.Statement {
		return &sisal.Statement{Body: &sisal.Statement_Sql{Sql: sql}, Params: params}
	}
	execute := func(transaction *sisal.Transaction, sql string, params ...*sisal.Value) *sisal.ExecuteResponse {
		answer, err := client.Execute(ctx, &sisal.ExecuteRequest{Statement: statement(sql, params...), Transaction: transaction})
		check(err == nil, "%s: %v", sql, err)
		return answer
	}
	integer := func(v int64) *sisal.Value { return &sisal.Value{Kind: &sisal.Value_Integer{Integer: v}} }
	null := &sisal.Value{Kind: &sisal.Value_Null{Null: true}}

	execute(nil, "CREATE TABLE go_test (id BIGINT PRIMARY KEY, note TEXT)")
	begun, err := client.BeginTransaction(ctx, &sisal.BeginTransactionRequest{})
	check(err == nil, "begin: %v", err)
	handle := &sisal.Transaction{Selector: &sisal.Transaction_Handle{Handle: begun.Transaction.Handle}}
	for id := range int64(3) {
		execute(handle, "INSERT INTO go_test VALUES ($1, $2)", integer(id), null)
	}
	committed, err := client.CommitTransaction(ctx, &sisal.CommitTransactionRequest{Handle: begun.Transaction.Handle})
	check(err == nil, "commit: %v", err)
	check(committed.Transaction.Phase == sisal.TransactionPhase_TRANSACTION_PHASE_COMMITTED, "phase %v", committed.Transaction.Phase)
	batch := execute(nil, "SELECT id, note FROM go_test ORDER BY id").Chunk.GetBatch()
	check(batch.RowCount == 3 && batch.Columns[0].Integers[2] == 2, "rows: %v", batch)
	check(batch.Columns[1].NullBitmap[0]&7 == 7, "NULLs: %v", batch.Columns[1].NullBitmap)

	stream, err := client.Query(ctx, &sisal.QueryRequest{Statement: statement("SELECT n FROM generate_series(1, 200000) AS g(n)")})
	check(err == nil, "query: %v", err)
	var rows, sum int64
	for {
		part, err := stream.Recv()
		if err == io.EOF {
			break
		}
		check(err == nil, "query: %v", err)
		for _, n := range part.GetChunk().GetBatch().GetColumns()[0:min(1, len(part.GetChunk().GetBatch().GetColumns()))] {
			for _, v := range n.Integers {
				rows, sum = rows+1, sum+v
			}
		}
	}
	check(rows == 200000 && sum == 200000*200001/2, "stream: %d rows, sum %d", rows, sum)

	_, err = client.Execute(ctx, &sisal.ExecuteRequest{Statement: statement("SELECT nothing FROM go_test")})
	check(err != nil, "no error for an unknown column")
	var detail *sisal.SqlError
	for _, d := range status.Convert(err).Details() {
		if e, ok := d.(*sisal.SqlError); ok {
			detail = e
		}
	}
	check(detail != nil && detail.Sqlstate == "42703" && detail.Position == 8, "details: %v", detail)
	execute(nil, "DROP TABLE go_test")
	fmt.Println("go client: ok")
}
