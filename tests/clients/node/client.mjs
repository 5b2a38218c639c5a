// Calls a running sisald through @grpc/grpc-js: values, a transaction, a stream, an error's details.
// Usage: node client.mjs HOST:PORT PROTO_FOLDER. Exits 1 at the first thing that is not as it should be.
import assert from 'node:assert/strict';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';
import protobuf from 'protobufjs';

const [address, protos] = process.argv.slice(2);
const options = { includeDirs: [protos], longs: Number, enums: String };
const { SqlService } = grpc.loadPackageDefinition(loader.loadSync('sisal/v1/sql_service.proto', options)).sisal.v1;
const sisal = new SqlService(address, grpc.credentials.createInsecure());

const call = (method, request) =>
  new Promise((resolve, reject) => sisal[method](request, (error, answer) => (error ? reject(error) : resolve(answer))));
const execute = (sql, params = [], transaction = undefined) =>
  call('Execute', { statement: { sql, params }, transaction });

await execute('CREATE TABLE node_test (id BIGINT PRIMARY KEY, price NUMERIC(10,2), day DATE)');
const begun = await call('BeginTransaction', {});
const { handle } = begun.transaction;
for (const id of [1, 2]) {
  await execute('INSERT INTO node_test VALUES ($1, $2, $3)',
    [{ integer: id }, { text: '12.50' }, id === 1 ? { text: '2026-11-30' } : { null: true }], { handle });
}
const committed = await call('CommitTransaction', { handle });
assert.equal(committed.transaction.phase, 'TRANSACTION_PHASE_COMMITTED');

const answer = await execute('SELECT id, price, day FROM node_test ORDER BY id');
const [ids, prices, days] = answer.chunk.batch.columns;
assert.deepEqual(ids.integers, [1, 2]);
assert.deepEqual(prices.texts, ['12.50', '12.50']);
assert.equal(days.integers[0], 20787);
assert.equal(days.nullBitmap[0] & 3, 2);

let rows = 0;
let sum = 0;
const stream = sisal.Query({ statement: { sql: 'SELECT n FROM generate_series(1, 200000) AS g(n)' } });
for await (const part of stream) {
  for (const n of part.chunk?.batch?.columns?.[0]?.integers ?? []) {
    rows += 1;
    sum += n;
  }
}
assert.equal(rows, 200000);
assert.equal(sum, (200000 * 200001) / 2);

const error = await execute('SELECT nothing FROM node_test').then(() => assert.fail('no error'), (e) => e);
const [status] = error.metadata.get('grpc-status-details-bin');
const root = await new protobuf.Root().load(`${protos}/sisal/v1/sql_error.proto`);
const reader = protobuf.Reader.create(status);
let sqlError;
while (reader.pos < reader.len) {  // google.rpc.Status: details are field 3, each an Any {type_url 1, value 2}
  const tag = reader.uint32();
  if (tag >>> 3 !== 3) {
    reader.skipType(tag & 7);
    continue;
  }
  const any = protobuf.Reader.create(reader.bytes());
  let url = '';
  while (any.pos < any.len) {
    const field = any.uint32() >>> 3;
    if (field === 1) url = any.string();
    else if (url.endsWith('/sisal.v1.SqlError')) sqlError = root.lookupType('sisal.v1.SqlError').decode(any.bytes());
    else any.bytes();
  }
}
assert.equal(sqlError.sqlstate, '42703');
assert.equal(sqlError.position, 8);
await execute('DROP TABLE node_test');
sisal.close();
console.log('node client: ok');
