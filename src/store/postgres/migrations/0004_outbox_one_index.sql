-- An INSERT pays for every index, also for one whose condition does not hold. Rows that name the priority lane are found among those that
-- came since the last look (docs/adr/0021-looks-begin-where-the-last-ended.md).
-- Producers wait for the lock that this needs behind a transaction that is under way, so it is not waited for long; then migrate is repeated.
SET LOCAL lock_timeout = '1s';
DROP INDEX postrider.outbox_priority;
-- A row without a tenant is the tenant default's; writing that down cost every INSERT an expression.
ALTER TABLE postrider.outbox ALTER COLUMN tenant DROP DEFAULT;
