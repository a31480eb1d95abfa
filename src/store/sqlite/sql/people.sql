-- name: suppression_any
SELECT 1 FROM postrider_suppression LIMIT 1
