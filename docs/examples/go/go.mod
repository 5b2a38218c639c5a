module first_call

go 1.22

require (
	google.golang.org/grpc v1.67.1
	google.golang.org/protobuf v1.35.1
	sisal.dev/api v0.0.0
)

replace sisal.dev/api => ./api
