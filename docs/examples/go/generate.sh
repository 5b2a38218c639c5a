#!/bin/sh
# Generates the Go stubs into ./api, beside main.go. Needs go and protoc; run it from a copy of this folder:
#   generate.sh PROTO_FOLDER
set -eu
protos=$1
bin=$(pwd)/bin
GOBIN=$bin go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.35.1
GOBIN=$bin go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1
mkdir -p api
PATH=$bin:$PATH protoc -I "$protos" --go_out=api --go_opt=module=sisal.dev/api \
  --go-grpc_out=api --go-grpc_opt=module=sisal.dev/api "$protos"/sisal/v1/*.proto
printf 'module sisal.dev/api\n\ngo 1.22\n\nrequire (\n\tgoogle.golang.org/grpc v1.67.1\n\tgoogle.golang.org/protobuf v1.35.1\n)\n' > api/go.mod
(cd api && go mod tidy -e > /dev/null 2>&1 || true)
go mod tidy
