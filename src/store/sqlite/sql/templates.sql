-- name: catalog_version
SELECT version FROM postrider_catalog WHERE name = 'templates'
