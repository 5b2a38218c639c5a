import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const [address = '127.0.0.1:7433', protos = 'proto'] = process.argv.slice(2);
const definition = loader.loadSync('sisal/v1/sql_service.proto', { includeDirs: [protos], longs: Number });
const { SqlService } = grpc.loadPackageDefinition(definition).sisal.v1;
const sisal = new SqlService(address, grpc.credentials.createInsecure());

const execute = (sql, ...params) =>
  new Promise((resolve, reject) =>
    sisal.Execute({ statement: { sql, params } }, (error, answer) => (error ? reject(error) : resolve(answer))));

await execute('CREATE TABLE IF NOT EXISTS city (id INTEGER PRIMARY KEY, name TEXT NOT NULL)');
await execute("INSERT INTO city VALUES (1, 'Chania'), (2, $1) ON CONFLICT DO NOTHING", { text: 'Merida' });
const answer = await execute('SELECT id, name FROM city ORDER BY id');
const [ids, names] = answer.chunk.batch.columns;
console.log(ids.integers.map((id, row) => [id, names.texts[row]]));

await execute('SELECT * FROM nowhere').catch((error) => console.log(grpc.status[error.code], error.details));
sisal.close();
