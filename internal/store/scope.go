package store

import "context"

// Lock excludes other transactions with the same number until this one ends. SQLite admits one writer at a time
// anyway.
func (tx *Tx) Lock(ctx context.Context, number int64) error {
	if tx.Engine() == SQLite {
		return nil
	}
	return tx.Exec(ctx, "SELECT pg_advisory_xact_lock(?)", number)
}

// Scope returns the number of a machine account in a table of scopes (n, base_url, account). A new account gets the
// next number, under a lock.
func (tx *Tx) Scope(ctx context.Context, table, baseURL, account string, lock int64) (int64, error) {
	known := "SELECT n FROM " + table + " WHERE base_url = ? AND account = ?"
	n, found, err := Find[int64](ctx, tx, known, baseURL, account)
	if found || err != nil {
		return n, err
	}
	if err := tx.Lock(ctx, lock); err != nil {
		return 0, err
	}
	if n, found, err = Find[int64](ctx, tx, known, baseURL, account); found || err != nil { // created while we waited
		return n, err
	}
	if err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(n), 0) + 1 FROM "+table).Scan(&n); err != nil {
		return 0, err
	}
	return n, tx.Exec(ctx, "INSERT INTO "+table+" (n, base_url, account) VALUES (?, ?, ?)", n, baseURL, account)
}
