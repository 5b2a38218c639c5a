#!/bin/sh
# make_env.sh REPOSITORY BUILD: a virtual environment with grpcio and the generated stubs in BUILD/python.
# Done once; again when the requirements or the protos change.
set -eu
repository=$1
env=$2/python
python=/usr/bin/python3
[ -x "$python" ] || python=python3
stamp=$(cat "$repository/tests/python/requirements.txt" "$repository"/proto/sisal/v1/*.proto | sha256sum | cut -c1-32)
if [ "$(cat "$env/stamp" 2> /dev/null || true)" = "$stamp" ]; then
  echo "python environment: as before"
  exit 0
fi
rm -rf "$env"
"$python" -m venv "$env"
"$env/bin/pip" install -q --disable-pip-version-check -r "$repository/tests/python/requirements.txt"
mkdir -p "$env/stubs"
cd "$repository/proto"
"$env/bin/python" -m grpc_tools.protoc -I. --python_out="$env/stubs" --grpc_python_out="$env/stubs" sisal/v1/*.proto
echo "$stamp" > "$env/stamp"
echo "python environment: made in $env"
