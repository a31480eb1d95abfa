-- Cancelled while a node held it: why, by whose reason. Its call may be under way; a call after it there is not.
-- Both are NULL for every other row.
ALTER TABLE postrider_queue ADD COLUMN cancel_reason INTEGER;
ALTER TABLE postrider_queue ADD COLUMN cancel_why TEXT;
