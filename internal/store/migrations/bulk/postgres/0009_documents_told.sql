-- +goose Up
-- docs is -1 where the service did not tell the documents: that is not none.
UPDATE index_op SET docs = -1 WHERE docs = 0 AND n IN (SELECT n FROM index_raw WHERE position('"documents"'::bytea IN body) = 0);

-- +goose Down
UPDATE index_op SET docs = 0 WHERE docs < 0;
