// usage: node node_pg.js postgresql://…   (Debian: node-pg)
const { Client } = require('pg');

(async () => {
  const client = new Client({ connectionString: process.argv[2] });
  await client.connect();
  try {
    await client.query('CREATE TABLE IF NOT EXISTS booking (id text PRIMARY KEY, status text NOT NULL)');
    await client.query('BEGIN');
    await client.query("INSERT INTO booking VALUES ($1, 'confirmed') ON CONFLICT (id) DO UPDATE SET status = 'confirmed'", ['node-1']);
    const { rows } = await client.query(
      'INSERT INTO postrider.outbox (type, entity_id, idempotency_key, payload) VALUES ($1, $2, $3, $4) RETURNING id',
      ['booking.confirmed', 'node-1', 'booking:node-1:confirmed:1', JSON.stringify({ bookingId: 'node-1' })],
    );
    await client.query('COMMIT');
    console.log(rows[0].id);
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    await client.end();
  }
})().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
