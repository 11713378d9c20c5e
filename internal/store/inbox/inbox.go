// Package inbox stores the webhooks of machine accounts in the bulk database.
package inbox

import (
	"context"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/store"
)

// Inbox stores the webhooks of one machine account in a bulk database, with the attempts to forward them, the
// evidence about their codes, the progress of the merge into the index, and the rejected deliveries. It neither shows
// nor changes data of other accounts.
type Inbox struct {
	db      *store.DB
	account account
}

var (
	_ receiver.Inbox   = (*Inbox)(nil)
	_ receiver.Ledger  = (*Inbox)(nil)
	_ receiver.Rejects = (*Inbox)(nil)
	_ hook.CodeStore   = (*Inbox)(nil)
)

// New returns an account's inbox in bulk; baseURL and login identify it, as in the index of operations.
func New(bulk *store.DB, baseURL, login string) *Inbox {
	return &Inbox{bulk, account{baseURL, login}}
}

const hookColumns = `hook_key, hook_id, hook_type, object, object_id, cuid, raw, body_sha256, received_us, source,
 verifier, authenticated, bound, status, reason, detail`

const hookColumnsOf = `hook_key, hook_id, hook_type, object, object_id, cuid, raw, body_sha256, received_us, source,
 verifier, authenticated, bound, status, h.reason, detail`

// hookSelect selects rows with their retries. A WHERE clause that begins with inScope must follow.
const hookSelect = "SELECT seq, deliveries, h.last_us, h." + hookColumnsOf + `, COALESCE(r.tries, 0),
	COALESCE(r.reason, ''), COALESCE(r.first_us, 0), COALESCE(r.last_us, 0), COALESCE(r.next_us, 0)
	FROM hook h LEFT JOIN hook_retry r ON r.scope = h.scope AND r.hook_key = h.hook_key`

func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

func scanHook(scan store.Scan) (receiver.Stored, error) {
	var s receiver.Stored
	var last, received, authenticated, bound, first, tried, next int64
	var object, objectID, cuid, source, status, reason string
	var hash []byte
	err := scan(&s.Seq, &s.Deliveries, &last, &s.Key, &s.HookID, (*int64)(&s.Type), &object, &objectID, &cuid, &s.Raw,
		&hash, &received, &source, &s.Verdict.Verifier, &authenticated, &bound, &status, &reason, &s.Detail,
		&s.Retry.Tries, &s.Retry.Reason, &first, &tried, &next)
	if err != nil {
		return s, err
	}
	s.LastAt, s.ReceivedAt = fromMicros(last), fromMicros(received)
	s.Object, s.ObjectID, s.CUID = hook.Object(object), untrusted.Text(objectID), untrusted.Text(cuid)
	s.Source, s.Status, s.Reason = receiver.Source(source), receiver.Status(status), hook.Reason(reason)
	s.Verdict.Authenticated, s.Verdict.Bound = authenticated != 0, bound != 0
	copy(s.Hash[:], hash)
	if s.Retry.Waiting() {
		s.Retry.Key, s.Retry.First, s.Retry.Last, s.Retry.Next = s.Key, fromMicros(first), fromMicros(tried), fromMicros(next)
	}
	return s, nil
}

// hooks returns the account's rows that fulfil a condition ("" or " AND …").
func (b *Inbox) hooks(ctx context.Context, q store.Querier, rest string, args ...any) ([]receiver.Stored, error) {
	where, of := b.account.in("h")
	return store.List(ctx, q, func(scan store.Scan) (receiver.Stored, error) {
		s, err := scanHook(scan)
		return masked(ctx, s), err
	}, hookSelect+" WHERE "+where+rest, append(of, args...)...)
}

// Get implements receiver.Inbox.
func (b *Inbox) Get(ctx context.Context, key string) (receiver.Stored, error) {
	if !isText(key) {
		return receiver.Stored{}, receiver.ErrNotFound
	}
	rows, err := b.hooks(ctx, b.db, " AND h.hook_key = ?", key)
	if err == nil && len(rows) == 0 {
		err = receiver.ErrNotFound
	}
	if err != nil {
		return receiver.Stored{}, err
	}
	return rows[0], nil
}

// masked is v masked for the person in ctx; without a person it is unchanged. A hash remains that of the received
// body.
func masked[T any](ctx context.Context, v T) T {
	if api.ActorOf(ctx).Role == "" {
		return v
	}
	return mask.For(ctx, v)
}

const (
	pageSize = 100
	pageMax  = 1000
)

func page(limit int) int {
	if limit <= 0 {
		return pageSize
	}
	return min(limit, pageMax)
}

// List implements receiver.Inbox.
func (b *Inbox) List(ctx context.Context, f receiver.Filter) ([]receiver.Stored, error) {
	var where strings.Builder
	var args []any
	and := func(cond string, values ...any) {
		where.WriteString(" AND " + cond)
		args = append(args, values...)
	}
	if f.HookID != "" {
		if !isText(f.HookID) {
			return nil, nil
		}
		and("(h.hook_key = ? OR hook_id = ? AND status = 'conflict')", f.HookID, f.HookID)
	}
	if len(f.Types) > 0 {
		and("hook_type IN ("+store.Marks(len(f.Types))+")", argsOf(f.Types, func(t hook.Type) any { return int64(t) })...)
	}
	if len(f.Statuses) > 0 {
		and("status IN ("+store.Marks(len(f.Statuses))+")", argsOf(f.Statuses,
			func(s receiver.Status) any { return string(s) })...)
	}
	if f.Object != "" {
		and("object = ?", string(f.Object))
	}
	if f.ObjectID != "" {
		if !isText(f.ObjectID) {
			return nil, nil
		}
		and("object_id = ?", f.ObjectID)
	}
	if !f.Since.IsZero() {
		and("received_us >= ?", micros(f.Since))
	}
	if !f.Until.IsZero() {
		and("received_us < ?", micros(f.Until))
	}
	if f.Before > 0 {
		and("seq < ?", f.Before)
	}
	if f.Waiting {
		and("r.tries > 0")
	}
	return b.hooks(ctx, b.db, where.String()+" ORDER BY seq DESC LIMIT ?", append(args, page(f.Limit))...)
}

// isText reports whether PostgreSQL accepts s as text; our identifiers contain nothing else.
func isText(s string) bool { return !strings.ContainsRune(s, 0) && strings.ToValidUTF8(s, "") == s }

func argsOf[T any](in []T, as func(T) any) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = as(v)
	}
	return out
}

// After implements receiver.Inbox.
func (b *Inbox) After(ctx context.Context, seq int64, limit int) ([]receiver.Stored, error) {
	return b.hooks(ctx, b.db, " AND seq > ? ORDER BY seq LIMIT ?", seq, page(limit))
}

// LastSeq implements receiver.Inbox.
func (b *Inbox) LastSeq(ctx context.Context) (seq int64, err error) {
	where, of := b.account.in("h")
	err = b.db.QueryRow(ctx, "SELECT COALESCE(MAX(seq), 0) FROM hook h WHERE "+where, of...).Scan(&seq)
	return seq, err
}

// Counts implements receiver.Inbox.
func (b *Inbox) Counts(ctx context.Context) ([]receiver.Count, error) {
	where, of := b.account.in("h")
	return store.List(ctx, b.db, func(scan store.Scan) (receiver.Count, error) {
		var c receiver.Count
		err := scan((*int64)(&c.Type), (*string)(&c.Status), &c.N)
		return c, err
	}, "SELECT hook_type, status, COUNT(*) FROM hook h WHERE "+where+" GROUP BY hook_type, status ORDER BY hook_type, "+
		"status", of...)
}

// Times implements receiver.Inbox. It reads at most ten times as many rows as requested.
func (b *Inbox) Times(ctx context.Context, limit int) ([]time.Time, error) {
	where, of := b.account.in("h")
	return store.List(ctx, b.db, func(scan store.Scan) (time.Time, error) {
		var us int64
		err := scan(&us)
		return fromMicros(us), err
	}, `SELECT received_us FROM
 (SELECT received_us, source, status, seq FROM hook h WHERE `+where+` ORDER BY seq DESC LIMIT ?) newest
 WHERE source <> ? AND status <> ? ORDER BY seq DESC LIMIT ?`,
		append(of, 10*page(limit), string(receiver.Manual), string(receiver.Quarantined), page(limit))...)
}

// Before implements receiver.Inbox.
func (b *Inbox) Before(ctx context.Context, end time.Time, limit int) ([]time.Time, error) {
	where, of := b.account.in("0 + h") // the index on last_us serves, not one that begins with the scope
	where += " AND source <> ? AND status <> ?"
	of = append(of, string(receiver.Manual), string(receiver.Quarantined), micros(end))
	var out []time.Time
	for query, n := range map[string]int{" AND last_us >= ? ORDER BY last_us LIMIT ?": 1,
		" AND last_us < ? ORDER BY last_us DESC LIMIT ?": page(limit)} {
		list, err := store.List(ctx, b.db, func(scan store.Scan) (time.Time, error) {
			var us int64
			err := scan(&us)
			return fromMicros(us), err
		}, "SELECT last_us FROM hook h WHERE "+where+query, append(of, n)...)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// AddAttempt implements receiver.Inbox.
func (b *Inbox) AddAttempt(ctx context.Context, a receiver.Attempt) error {
	return b.write(ctx, func(tx *store.Tx, scope int64) error {
		return tx.Exec(ctx, "INSERT INTO hook_attempt (scope, hook_key, act, target, at_us, status, latency_us, error) "+
			"VALUES ("+store.Marks(8)+")", scope, a.Key, a.Act, a.Target, micros(a.At), a.Status, a.Latency.Microseconds(),
			strings.ToValidUTF8(a.Error, "?"))
	})
}

// Attempts implements receiver.Inbox.
func (b *Inbox) Attempts(ctx context.Context, key string) ([]receiver.Attempt, error) {
	where, of := b.account.in("a")
	return store.List(ctx, b.db, func(scan store.Scan) (receiver.Attempt, error) {
		var a receiver.Attempt
		var at, latency int64
		err := scan(&a.Key, &a.Act, &a.Target, &at, &a.Status, &latency, &a.Error)
		a.At, a.Latency = fromMicros(at), time.Duration(latency)*time.Microsecond
		return a, err
	}, "SELECT hook_key, act, target, at_us, status, latency_us, error FROM hook_attempt a WHERE "+where+
		" AND hook_key = ? ORDER BY id DESC LIMIT ?",
		append(of, key, pageMax)...)
}
