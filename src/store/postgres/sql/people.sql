-- name: suppression_any
SELECT 1 FROM postrider.suppression LIMIT 1
