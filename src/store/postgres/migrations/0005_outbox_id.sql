-- The id of a row whose producer gave none: a UUID version 7 as before, from fewer and cheaper functions, because every INSERT prepares and
-- runs them anew. Twelve digits are milliseconds; behind the version three more are the clock's next 12 bits; the rest is the variant and 52 bits
-- drawn from the session's own generator. An id names a message; it is no secret, and nobody is let in for knowing one.
-- Producers wait for the lock that this needs behind a transaction that is under way, so it is not waited for long; then migrate is repeated.
SET LOCAL lock_timeout = '1s';
ALTER TABLE postrider.outbox ALTER COLUMN id SET DEFAULT
  ('0' || overlay(to_hex((date_part('epoch', clock_timestamp()) * 4096000)::bigint) PLACING '7' FROM 12 FOR 0)
    || to_hex((random() * 4611686018427386880 - 9223372036854775808)::bigint))::uuid;
CREATE OR REPLACE FUNCTION postrider.uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL RESTRICTED AS $$
  SELECT ('0' || overlay(to_hex((date_part('epoch', clock_timestamp()) * 4096000)::bigint) PLACING '7' FROM 12 FOR 0)
    || to_hex((random() * 4611686018427386880 - 9223372036854775808)::bigint))::uuid
$$;
