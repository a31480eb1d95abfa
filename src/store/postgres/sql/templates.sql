-- name: catalog_version
SELECT version FROM postrider.catalog WHERE name = 'templates'
