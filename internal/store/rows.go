package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// Scan copies the columns of a row into dest.
type Scan func(dest ...any) error

// Each calls row for every row of a query; it stops at the first error.
func Each(ctx context.Context, q Querier, row func(Scan) error, query string, args ...any) error {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	scan := func(dest ...any) error { return q.explain(rows.Scan(dest...)) }
	for rows.Next() {
		if err := row(scan); err != nil {
			return err
		}
	}
	return q.explain(rows.Err())
}

// List collects the results of row for each row of a query.
func List[T any](ctx context.Context, q Querier, row func(Scan) (T, error), query string, args ...any) ([]T, error) {
	var out []T
	err := Each(ctx, q, func(scan Scan) error {
		v, err := row(scan)
		out = append(out, v)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Value reads a row of one column.
func Value[T any](scan Scan) (v T, err error) {
	err = scan(&v)
	return v, err
}

// Find returns the single value of a query; found is false without a row.
func Find[T any](ctx context.Context, q Querier, query string, args ...any) (v T, found bool, err error) {
	err = q.QueryRow(ctx, query, args...).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return v, false, nil
	}
	return v, err == nil, err
}

// Affected is how many rows an Exec changed.
func Affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Marks returns "?, ?, …" for n arguments.
func Marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// Bit is a bool in the databases' form.
func Bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// listed bounds the values in one IN list.
const listed = 400

// EachIn is Each for a query that ends with IN, followed by the values of a list, some at a time.
func EachIn[T any](ctx context.Context, q Querier, list []T, row func(Scan) error, query string, args ...any) error {
	for part := range slices.Chunk(list, listed) {
		if err := Each(ctx, q, row, query+" ("+Marks(len(part))+")", with(args, part)...); err != nil {
			return err
		}
	}
	return nil
}

// ExecIn is EachIn for statements without results.
func ExecIn[T any](ctx context.Context, q Querier, list []T, query string, args ...any) error {
	for part := range slices.Chunk(list, listed) {
		if err := q.Exec(ctx, query+" ("+Marks(len(part))+")", with(args, part)...); err != nil {
			return err
		}
	}
	return nil
}

func with[T any](args []any, list []T) []any {
	out := slices.Clone(args)
	for _, v := range list {
		out = append(out, v)
	}
	return out
}
