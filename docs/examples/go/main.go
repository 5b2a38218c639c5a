package main

import (
	"context"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	sisal "sisal.dev/api/sisal/v1"
)

func main() {
	address := "127.0.0.1:7433"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	client := sisal.NewSqlServiceClient(connection)
	execute := func(sql string, params ...*sisal.Value) (*sisal.ExecuteResponse, error) {
		statement := &sisal.Statement{Body: &sisal.Statement_Sql{Sql: sql}, Params: params}
		return client.Execute(context.Background(), &sisal.ExecuteRequest{Statement: statement})
	}
	must := func(answer *sisal.ExecuteResponse, err error) *sisal.ExecuteResponse {
		if err != nil {
			panic(err)
		}
		return answer
	}

	must(execute("CREATE TABLE IF NOT EXISTS city (id INTEGER PRIMARY KEY, name TEXT NOT NULL)"))
	must(execute("INSERT INTO city VALUES (1, 'Chania'), (2, $1) ON CONFLICT DO NOTHING",
		&sisal.Value{Kind: &sisal.Value_Text{Text: "Merida"}}))
	batch := must(execute("SELECT id, name FROM city ORDER BY id")).GetChunk().GetBatch()
	for row := range int(batch.RowCount) {
		fmt.Println(batch.Columns[0].Integers[row], batch.Columns[1].Texts[row])
	}
	if _, err := execute("SELECT * FROM nowhere"); err != nil {
		fmt.Println(status.Code(err), status.Convert(err).Message())
	}
}
