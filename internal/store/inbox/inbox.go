// Package inbox stores the webhooks of machine accounts in the bulk database.
package inbox

import (
	"bytes"
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

// Inbox stores the webhooks of one machine account in a bulk database, with the words of their codes, the progress of
// the merge into the index, and the rejected deliveries. It neither shows nor changes data of other accounts.
type Inbox struct {
	db      *store.DB
	account account
}

var (
	_ receiver.Inbox  = (*Inbox)(nil)
	_ receiver.Ledger = (*Inbox)(nil)
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

// Arrivals implements receiver.Inbox.
func (b *Inbox) Arrivals(ctx context.Context, rows int) (a receiver.Arrivals, err error) {
	where, of := b.account.in("h")
	var last, most int64
	err = b.db.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MAX(us), 0), COALESCE(MAX(us - before), 0) FROM
 (SELECT received_us AS us, LAG(received_us) OVER (ORDER BY received_us) AS before FROM
  (SELECT received_us, source, status FROM hook h WHERE `+where+` ORDER BY seq DESC LIMIT ?) newest
 WHERE source <> ? AND status <> ?) pauses`,
		append(of, rows, string(receiver.Manual), string(receiver.Quarantined))...).Scan(&a.N, &last, &most)
	if a.N > 0 {
		a.Last, a.Most = fromMicros(last), time.Duration(most)*time.Microsecond
	}
	return a, err
}

// tokenSpare is how much longer than needed a token is remembered, because hosts' clocks differ.
const tokenSpare = 24 * time.Hour

// tokenFits records the first body of a token that does not cover it. It reports whether r may be stored: not with a
// late token and another body than the token's first, or another body under a known key. A stored delivery may always
// be repeated.
func (b *Inbox) tokenFits(ctx context.Context, tx *store.Tx, scope int64, r receiver.Record) (bool, error) {
	if r.Token == nil {
		return true, nil
	}
	first, known, err := store.Find[[]byte](ctx, tx, "SELECT body_sha256 FROM hook_token WHERE scope = ? AND token = ?",
		scope, r.Token.ID[:])
	if err != nil {
		return false, err
	}
	if known && (!r.Token.Late || bytes.Equal(first, r.Hash[:])) {
		return true, nil
	}
	if r.Token.Late {
		body, stored, err := store.Find[[]byte](ctx, tx, "SELECT body_sha256 FROM hook WHERE scope = ? AND hook_key = ?",
			scope, r.Key)
		if err != nil || stored || known {
			return stored && bytes.Equal(body, r.Hash[:]), err
		}
	}
	if err := tx.Exec(ctx, "DELETE FROM hook_token WHERE until_us < ?",
		micros(r.ReceivedAt.Add(-tokenSpare))); err != nil {
		return false, err
	}
	return true, tx.Exec(ctx, "INSERT INTO hook_token (scope, token, body_sha256, until_us) VALUES (?, ?, ?, ?)", scope,
		r.Token.ID[:], r.Hash[:], micros(r.Token.Until))
}

// account identifies the owner of an inbox.
type account struct{ baseURL, name string }

// in is the condition that a row of the table with that alias belongs to the account, with its arguments. Without a
// scope no row matches.
func (a account) in(alias string) (string, []any) {
	return alias + ".scope = (SELECT n FROM hook_scope WHERE base_url = ? AND account = ?)", []any{a.baseURL, a.name}
}

// write runs fn in a transaction with the account's scope number, which is created if missing.
func (b *Inbox) write(ctx context.Context, fn func(tx *store.Tx, scope int64) error) error {
	return b.db.Write(ctx, func(tx *store.Tx) error {
		scope, err := tx.Scope(ctx, "hook_scope", b.account.baseURL, b.account.name, writeLock)
		if err != nil {
			return err
		}
		return fn(tx, scope)
	})
}

// writeLock is an arbitrary lock number of the inbox's writers: it makes rows appear in the order of seq (PostgreSQL
// assigns numbers before commit).
const writeLock = 0x686f6f6b

// ended selects deliveries last received before a time, except those that are not merged yet, and those that are the
// first body of a remembered token, which is compared when the token is used again.
const ended = `SELECT h.seq FROM hook h WHERE h.last_us < ?
	AND NOT EXISTS (SELECT 1 FROM hook_merged m WHERE m.scope = h.scope AND m.seq < h.seq)
	AND NOT EXISTS (SELECT 1 FROM hook_retry r WHERE r.scope = h.scope AND r.hook_key = h.hook_key)
	AND NOT EXISTS (SELECT 1 FROM hook_token t WHERE t.scope = h.scope AND t.body_sha256 = h.body_sha256
		AND t.until_us >= ?)
	ORDER BY h.last_us LIMIT ?`

// Prune removes up to limit deliveries last received before a time, of all accounts, and returns how many. Tokens have
// expired by now.
func Prune(ctx context.Context, bulk *store.DB, before, now time.Time, limit int) (n int, err error) {
	err = bulk.WriteIdle(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, writeLock); err != nil {
			return err
		}
		seqs, err := store.List(ctx, tx, store.Value[int64], ended, micros(before), micros(now.Add(-tokenSpare)), limit)
		if err != nil {
			return err
		}
		if n = len(seqs); n == 0 {
			return nil
		}
		return tx.Exec(ctx, "DELETE FROM hook WHERE seq IN ("+store.Marks(n)+")",
			argsOf(seqs, func(seq int64) any { return seq })...)
	})
	return n, err
}

// PruneRejected removes up to limit deliveries rejected before a time, of all accounts, and returns how many. The
// counts remain.
func PruneRejected(ctx context.Context, bulk *store.DB, before time.Time, limit int) (n int, err error) {
	err = bulk.WriteIdle(ctx, func(tx *store.Tx) error {
		removed, err := store.Affected(tx.Result(ctx, `DELETE FROM hook_rejected WHERE id IN (
			SELECT id FROM hook_rejected WHERE at_us < ? ORDER BY at_us LIMIT ?)`, micros(before), limit))
		n = int(removed)
		return err
	})
	return n, err
}

// Merged implements receiver.Ledger.
func (b *Inbox) Merged(ctx context.Context) (seq int64, err error) {
	where, of := b.account.in("m")
	seq, _, err = store.Find[int64](ctx, b.db, "SELECT seq FROM hook_merged m WHERE "+where, of...)
	return seq, err
}

// Advance implements receiver.Ledger.
func (b *Inbox) Advance(ctx context.Context, seq int64, failed ...receiver.Retry) error {
	return b.write(ctx, func(tx *store.Tx, scope int64) error {
		for _, r := range failed {
			err := tx.Exec(ctx, `INSERT INTO hook_retry (scope, hook_key, tries, reason, first_us, last_us, next_us)
 VALUES (?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (scope, hook_key) DO UPDATE SET tries = hook_retry.tries + 1, reason = excluded.reason,
 last_us = excluded.last_us, next_us = excluded.next_us`,
				scope, r.Key, r.Tries, r.Reason, micros(r.First), micros(r.Last), micros(r.Next))
			if err != nil {
				return err
			}
		}
		if seq == 0 {
			return nil
		}
		return tx.Exec(ctx, `INSERT INTO hook_merged (scope, seq) VALUES (?, ?)
 ON CONFLICT (scope) DO UPDATE SET seq = excluded.seq WHERE excluded.seq > hook_merged.seq`, scope, seq)
	})
}

// Settle implements receiver.Ledger.
func (b *Inbox) Settle(ctx context.Context, key string) error {
	where, of := b.account.in("hook_retry")
	return b.db.Exec(ctx, "DELETE FROM hook_retry WHERE "+where+" AND hook_key = ?", append(of, key)...)
}

// Due implements receiver.Ledger.
func (b *Inbox) Due(ctx context.Context, now time.Time, limit int) ([]receiver.Retry, error) {
	where, of := b.account.in("r")
	return store.List(ctx, b.db, func(scan store.Scan) (receiver.Retry, error) {
		var r receiver.Retry
		var first, last, next int64
		err := scan(&r.Key, &r.Tries, &r.Reason, &first, &last, &next)
		r.First, r.Last, r.Next = fromMicros(first), fromMicros(last), fromMicros(next)
		return r, err
	}, "SELECT hook_key, tries, reason, first_us, last_us, next_us FROM hook_retry r WHERE "+where+
		" AND (next_us <= ? OR next_us > ?) ORDER BY next_us LIMIT ?",
		append(of, micros(now), micros(now.Add(receiver.MaxRetry)), limit)...)
}

// Backlog implements receiver.Ledger.
func (b *Inbox) Backlog(ctx context.Context) (out receiver.Backlog, err error) {
	where, of := b.account.in("r")
	var first, next int64
	err = b.db.QueryRow(ctx, "SELECT COUNT(*), COALESCE(MIN(first_us), 0), COALESCE(MIN(next_us), 0) FROM hook_retry r "+
		"WHERE "+where, of...).Scan(&out.Waiting, &first, &next)
	if err != nil {
		return out, err
	}
	if out.Waiting > 0 {
		out.Oldest, out.Next = fromMicros(first), fromMicros(next)
		// none: settled meanwhile
		out.Reason, _, err = store.Find[string](ctx, b.db,
			"SELECT reason FROM hook_retry r WHERE "+where+" ORDER BY last_us DESC LIMIT 1", of...)
		if err != nil {
			return out, err
		}
	}
	mark, err := b.Merged(ctx)
	if err != nil {
		return out, err
	}
	where, of = b.account.in("h")
	err = b.db.QueryRow(ctx, "SELECT COUNT(*) FROM (SELECT seq FROM hook h WHERE "+where+" AND seq > ? LIMIT ?) behind",
		append(of, mark, receiver.MaxBehind)...).Scan(&out.Behind)
	return out, err
}

// AddWords stores words of codes; those that are known already change nothing.
func (b *Inbox) AddWords(ctx context.Context, words []hook.Said) error {
	return b.write(ctx, func(tx *store.Tx, scope int64) error {
		for _, w := range words {
			if err := tx.Exec(ctx, "INSERT INTO hook_word (scope, field, code, word, opid) VALUES ("+store.Marks(5)+
				") ON CONFLICT (scope, field, code, word) DO NOTHING", scope, string(w.Field), w.Code, string(w.Word),
				string(w.OPID)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Words returns all words of codes, ordered by field, code and word.
func (b *Inbox) Words(ctx context.Context) (hook.Meanings, error) {
	where, of := b.account.in("w")
	return store.List(ctx, b.db, func(scan store.Scan) (hook.Said, error) {
		var s hook.Said
		err := scan((*string)(&s.Field), &s.Code, (*string)(&s.Word), (*string)(&s.OPID))
		return s, err
	}, "SELECT field, code, word, opid FROM hook_word w WHERE "+where+" ORDER BY field, code, word", of...)
}
