// BullMQ on a Redis that syncs every write (appendonly yes, appendfsync always). Log rows go to PostgreSQL, gathered: jobs that end together
// share a statement, and no job completes before its row is committed.
import { Queue, Worker } from 'bullmq';
import Redis from 'ioredis';
import { orders, body, createLog, database, deliver, filled, finish, gatheringLog } from './common.mjs';

const connect = (more = {}) => new Redis({ path: orders.redis, maxRetriesPerRequest: null, ...more });

await createLog(database(1));
const queue = new Queue('send', { connection: connect() });
for (let first = 1; first <= orders.count; first += 2000) {
  const last = Math.min(orders.count, first + 1999);
  await queue.addBulk(Array.from({ length: last - first + 1 }, (_, i) => ({ name: 'send', data: { text: body(first + i) } })));
}
await queue.close();
await filled();

const log = orders.log ? gatheringLog(database(2)) : null;
let done = 0;
const worker = new Worker('send', async (job) => {
  const row = await deliver(job.id, job.data.text);
  if (log) await log(row);
}, { connection: connect({ enableAutoPipelining: true }), concurrency: orders.concurrency, removeOnComplete: { count: 0 }, removeOnFail: { count: 1000 }, skipStalledCheck: true });
worker.on('completed', async () => { if (++done === orders.count) await finish({ done }); });
worker.on('error', (error) => { console.error(error); process.exit(1); });
