// graphile-worker: the preset of its performance page (localQueue, batched completion), one log row per job from within the task.
import { run, makeWorkerUtils, Logger } from 'graphile-worker';
import { orders, body, createLog, database, deliver, filled, finish, logOne } from './common.mjs';

const quiet = new Logger(() => (level, message) => { if (level === 'error') console.error(message); });

const pool = database(Math.min(orders.concurrency, orders.connections ?? 16) + 4);
await createLog(pool);
const utils = await makeWorkerUtils({ pgPool: pool, logger: quiet });
await utils.migrate();
for (let first = 1; first <= orders.count; first += 5000) {
  const last = Math.min(orders.count, first + 4999);
  await utils.addJobs(Array.from({ length: last - first + 1 }, (_, i) => ({ identifier: 'send', payload: { text: body(first + i) } })));
}
await filled();

let done = 0;
const runner = await run({
  pgPool: pool,
  logger: quiet,
  noHandleSignals: true,
  preset: {
    worker: {
      concurrentJobs: orders.concurrency,
      localQueue: { size: orders.batch },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      pollInterval: 1000,
      crontabFile: '/dev/null',
    },
  },
  taskList: {
    send: async (payload, helpers) => {
      const row = await deliver(helpers.job.id, payload.text);
      if (orders.log) await logOne(pool, row);
    },
  },
});
// A job counts when its completion, which is batched, has been committed: then its row is gone.
runner.events.on('job:success', async () => {
  if (++done < orders.count) return;
  for (;;) {
    const { rows } = await pool.query('SELECT NOT EXISTS (SELECT 1 FROM graphile_worker._private_jobs) AS empty');
    if (rows[0].empty) break;
  }
  await finish({ done });
});
