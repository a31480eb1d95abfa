-- Cancelled while a node held it: why, by whose reason. Its call may be under way; a call after it there is not.
-- Both are NULL for every other row, which costs a row nothing.
ALTER TABLE postrider.queue ADD COLUMN cancel_reason smallint;
ALTER TABLE postrider.queue ADD COLUMN cancel_why text;
