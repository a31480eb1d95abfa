// pg-boss: fetch a batch, POST its jobs, then log rows and completion in one transaction. Several batches are under way at once, so that
// neither the database nor the sockets wait for the other.
import { PgBoss } from 'pg-boss';
import { orders, body, createLog, database, deliver, filled, finish, logMany } from './common.mjs';

const boss = new PgBoss({ connectionString: orders.database, supervise: false, schedule: false, max: orders.concurrency + 2 });
boss.on('error', (error) => { console.error(error); process.exit(1); });
await boss.start();

const pool = database(orders.concurrency + 1);
await createLog(pool);
// A table of its own is what its documentation recommends for a queue with much traffic.
await boss.createQueue('send', { partition: true, retryLimit: 5 });
for (let first = 1; first <= orders.count; first += 5000) {
  const last = Math.min(orders.count, first + 4999);
  await boss.insert('send', Array.from({ length: last - first + 1 }, (_, i) => ({ data: { text: body(first + i) } })));
}
await filled();

let done = 0;

async function settle(jobs, rows) {
  if (!orders.log) return boss.complete('send', jobs.map((job) => job.id));
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await logMany(client, rows);
    await boss.complete('send', jobs.map((job) => job.id), undefined, { db: { executeSql: (text, values) => client.query(text, values) } });
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}

async function loop() {
  for (;;) {
    const jobs = await boss.fetch('send', { batchSize: orders.batch });
    if (jobs.length === 0) return;
    const rows = await Promise.all(jobs.map((job) => deliver(job.id, job.data.text)));
    await settle(jobs, rows);
    done += jobs.length;
  }
}

await Promise.all(Array.from({ length: orders.concurrency }, loop));
await finish({ done });
