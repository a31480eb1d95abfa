// What every peer shares: its orders, the HTTP client, the log table and how it tells bench/run what happened.
//
// Orders come as one JSON argument: {count, log, url, database, redis, body, concurrency, batch}. A peer fills its queue, says
// {"event":"filled"} on stdout and waits for a line on stdin. Then it drains: {"event":"first"} when the first POST leaves,
// {"event":"done",...} when the last outcome is durable.
import { Pool } from 'undici';
import pg from 'pg';

export const orders = JSON.parse(process.argv[2]);
const target = orders.url ? new URL(orders.url) : null;
const pool = target ? new Pool(target.origin, { connections: 64, pipelining: 1 }) : null;
let posted = 0;

export const say = (event, more = {}) => process.stdout.write(JSON.stringify({ event, ...more }) + '\n');

export function body(number) {
  return orders.body.replaceAll('{{number}}', String(number));
}

// dispatch is undici's quickest way to ask; its own benchmark says by how much.
class Answer {
  constructor(resolve, reject) {
    this.resolve = resolve;
    this.reject = reject;
    this.text = '';
    this.status = 0;
  }
  onRequestStart() {}
  onResponseStart(_, status) { this.status = status; }
  onResponseData(_, piece) { this.text += piece.toString(); }
  onResponseEnd() {
    if (this.status === 200) this.resolve(JSON.parse(this.text).id);
    else this.reject(new Error('status ' + this.status));
  }
  onResponseError(_, error) { this.reject(error); }
}

/** One POST with the headers that Postrider sends; gives back the id that the provider answered. */
export function post(text, key) {
  if (posted++ === 0) say('first');
  const headers = ['content-type', 'text/plain; charset=utf-8', 'user-agent', 'peer', 'idempotency-key', key, 'webhook-id', 'msg_' + key];
  return new Promise((resolve, reject) => pool.dispatch({ method: 'POST', path: target.pathname, headers, body: text }, new Answer(resolve, reject)));
}

export const database = (max) => new pg.Pool({ connectionString: orders.database, max });

// An index as an audit trail needs one to be looked up by job.
export const createLog = (client) => client.query(
  `CREATE TABLE IF NOT EXISTS delivery_log (job text NOT NULL, started_at bigint NOT NULL, ended_at bigint NOT NULL,
     outcome smallint NOT NULL, provider_message_id text NOT NULL, PRIMARY KEY (job, started_at))`);

const insertMany = {
  name: 'log-many',
  text: `INSERT INTO delivery_log (job, started_at, ended_at, outcome, provider_message_id)
         SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::smallint[], $5::text[])`,
};
const columns = (rows) => [rows.map((r) => r.job), rows.map((r) => r.started), rows.map((r) => r.ended), rows.map(() => 1), rows.map((r) => r.id)];

/** All rows of a batch by one statement. */
export const logMany = (client, rows) => client.query({ ...insertMany, values: columns(rows) });

/** One row by one statement of its own. */
export const logOne = (client, row) => client.query({
  name: 'log-one',
  text: 'INSERT INTO delivery_log (job, started_at, ended_at, outcome, provider_message_id) VALUES ($1, $2, $3, $4, $5)',
  values: [row.job, row.started, row.ended, 1, row.id],
});

/** Sends one and gives back its log row. */
export async function deliver(job, text) {
  const started = Date.now();
  const id = await post(text, job);
  return { job, started, ended: Date.now(), id };
}

/** Where a library completes jobs one by one, log rows of jobs that end together still go by one statement: the next batch is what
 *  gathered while the last one was being committed. */
export function gatheringLog(client) {
  let waiting = [];
  let busy = 0;
  const flush = async () => {
    if (busy >= 2 || waiting.length === 0) return;
    busy++;
    const batch = waiting;
    waiting = [];
    try {
      await logMany(client, batch.map((entry) => entry.row));
      for (const entry of batch) entry.resolve();
    } catch (error) {
      for (const entry of batch) entry.reject(error);
    }
    busy--;
    flush();
  };
  return (row) => new Promise((resolve, reject) => {
    waiting.push({ row, resolve, reject });
    setImmediate(flush);
  });
}

/** The queue is full; bench/run says when to go on. */
export async function filled() {
  say('filled');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  process.stdin.destroy();
}

export async function finish(more = {}) {
  say('done', { posted, ...more });
  process.exit(0);
}
