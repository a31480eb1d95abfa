-- The id of a row whose producer gave none: a UUID version 7 as before, from fewer and cheaper functions, because every INSERT prepares and
-- runs them anew. 48 bits are milliseconds, the next 16 the version and the clock's finer bits, the last 64 the variant and a draw of the
-- session's own generator. An id names a message; it is no secret, and nobody is let in for knowing one.
-- Producers wait for the lock that this needs behind a transaction that is under way, so it is not waited for long; then migrate is repeated.
SET LOCAL lock_timeout = '1s';
ALTER TABLE postrider.outbox ALTER COLUMN id SET DEFAULT
  ('0' || to_hex((date_part('epoch', clock_timestamp()) * 65536000)::bigint & -61441 | 28672)
    || to_hex((random() * 4611686018427386880 - 9223372036854775808)::bigint))::uuid;
CREATE OR REPLACE FUNCTION postrider.uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL RESTRICTED AS $$
  SELECT ('0' || to_hex((date_part('epoch', clock_timestamp()) * 65536000)::bigint & -61441 | 28672)
    || to_hex((random() * 4611686018427386880 - 9223372036854775808)::bigint))::uuid
$$;
