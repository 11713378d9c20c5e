package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"opdeck/internal/domain/receiver"
	"opdeck/internal/store"
)

// Insert implements receiver.Inbox.
func (b *Inbox) Insert(ctx context.Context, records []receiver.Record) ([]receiver.Result, error) {
	var out []receiver.Result
	err := b.write(ctx, func(tx *store.Tx, scope int64) error {
		if err := tx.Lock(ctx, writeLock); err != nil {
			return err
		}
		reused, err := b.checkTokens(ctx, tx, scope, records)
		if err != nil {
			return err
		}
		out, err = b.insertBut(ctx, tx, scope, records, reused)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// insertBut inserts the records except refused ones.
func (b *Inbox) insertBut(ctx context.Context, tx *store.Tx, scope int64, records []receiver.Record,
	refused map[int]bool) ([]receiver.Result, error) {
	if len(refused) == 0 {
		return b.insert(ctx, tx, scope, records)
	}
	var taken []receiver.Record
	for i, r := range records {
		if !refused[i] {
			taken = append(taken, r)
		}
	}
	stored, err := b.insert(ctx, tx, scope, taken)
	if err != nil {
		return nil, err
	}
	out := make([]receiver.Result, len(records))
	for i, r := range records {
		if refused[i] {
			out[i] = receiver.Result{Outcome: receiver.OutcomeReused, Stored: receiver.Stored{Record: r}}
			continue
		}
		out[i], stored = stored[0], stored[1:]
	}
	return out, nil
}

// insert adds the first record of each key; a key that exists, or repeats within records, is compared with the row.
func (b *Inbox) insert(
	ctx context.Context, tx *store.Tx, scope int64, records []receiver.Record,
) ([]receiver.Result, error) {
	out := make([]receiver.Result, len(records))
	first := make([]*receiver.Record, 0, len(records))
	at := make(map[string]int, len(records)) // key to its first index in records
	for i := range records {
		r := &records[i]
		if _, again := at[r.Key]; !again {
			at[r.Key] = i
			first = append(first, r)
		}
	}
	seqs, err := b.add(ctx, tx, scope, first)
	if err != nil {
		return nil, err
	}
	var known []any
	for i, r := range first {
		if seqs[i] == 0 {
			known = append(known, r.Key)
			continue
		}
		out[at[r.Key]] = receiver.Result{Outcome: receiver.OutcomeNew, Stored: fresh(r, seqs[i])}
	}
	if len(known) == 0 && len(first) == len(records) {
		return out, nil
	}
	rows := make(map[string]receiver.Stored, len(records)) // by key, in their current state
	for i := range out {
		if out[i].Outcome != "" {
			rows[records[i].Key] = out[i].Stored
		}
	}
	if err := b.look(ctx, tx, known, rows); err != nil {
		return nil, err
	}
	for i := range records {
		if out[i].Outcome != "" {
			continue
		}
		if out[i], err = b.again(ctx, tx, scope, rows, records[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// look reads the rows of keys, 16 per statement.
func (b *Inbox) look(ctx context.Context, tx *store.Tx, keys []any, rows map[string]receiver.Stored) error {
	const some = 16
	for part := range slices.Chunk(keys, some) {
		args := slices.Clone(part)
		for len(args) < some {
			args = append(args, part[0])
		}
		old, err := b.hooks(ctx, tx, " AND h.hook_key IN ("+store.Marks(some)+")", args...)
		if err != nil {
			return err
		}
		for _, s := range old {
			rows[s.Key] = s
		}
	}
	return nil
}

func fresh(r *receiver.Record, seq int64) receiver.Stored {
	return receiver.Stored{Record: *r, Seq: seq, Deliveries: 1, LastAt: r.ReceivedAt}
}

// insertSizes are the numbers of rows per INSERT: few different statements, which stay prepared.
var insertSizes = [...]int{64, 16, 4, 1}

const insertColumns = 18

var insertQueries = func() (q [len(insertSizes)]string) {
	one := "(" + store.Marks(insertColumns) + "),"
	for i, n := range insertSizes {
		q[i] = "INSERT INTO hook (scope, " + hookColumns + ", last_us) VALUES " +
			strings.TrimSuffix(strings.Repeat(one, n), ",") + " ON CONFLICT (scope, hook_key) DO NOTHING"
	}
	return q
}()

// add inserts the records with new keys. It returns a seq for each, 0 if the key has a row already; keys in records
// must be distinct.
func (b *Inbox) add(ctx context.Context, tx *store.Tx, scope int64, records []*receiver.Record) ([]int64, error) {
	seqs := make([]int64, len(records))
	args := make([]any, 0, insertColumns*min(len(records), insertSizes[0]))
	for from, i := 0, 0; from < len(records); {
		size := insertSizes[i]
		if size > len(records)-from {
			i++
			continue
		}
		part := records[from : from+size]
		args = args[:0]
		for _, r := range part {
			args = appendHook(args, scope, r)
		}
		var err error
		if tx.Engine() == store.SQLite {
			err = b.addLite(ctx, tx, insertQueries[i], args, part, seqs[from:])
		} else {
			err = numbers(ctx, tx, part, seqs[from:], insertQueries[i]+" RETURNING hook_key, seq", args...)
		}
		if err != nil {
			return nil, err
		}
		from += size
	}
	return seqs, nil
}

func appendHook(args []any, scope int64, r *receiver.Record) []any {
	us := micros(r.ReceivedAt)
	return append(args, scope, r.Key, r.HookID, int64(r.Type), string(r.Object), string(r.ObjectID), string(r.CUID), r.Raw,
		r.Hash[:], us, string(r.Source), r.Verdict.Verifier, store.Bit(r.Verdict.Authenticated), store.Bit(r.Verdict.Bound),
		string(r.Status), string(r.Reason), r.Detail, us)
}

// addLite avoids RETURNING, which costs a third more. SQLite numbers the rows of one statement consecutively, above
// all earlier numbers (AUTOINCREMENT, under the writer's lock).
func (b *Inbox) addLite(ctx context.Context, tx *store.Tx, query string, args []any, part []*receiver.Record,
	seqs []int64) error {
	res, err := tx.Result(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	last, err := res.LastInsertId()
	if err != nil {
		return err
	}
	if int(n) == len(part) {
		for i := range part {
			seqs[i] = last - n + 1 + int64(i)
		}
		return nil
	}
	return b.newest(ctx, tx, args[0].(int64), n, part, seqs)
}

// newest finds the n rows of part that a statement has just added: those with the largest numbers.
func (b *Inbox) newest(ctx context.Context, tx *store.Tx, scope, n int64, part []*receiver.Record, seqs []int64) error {
	args := append([]any{scope}, argsOf(part, func(r *receiver.Record) any { return r.Key })...)
	return numbers(ctx, tx, part, seqs, "SELECT hook_key, seq FROM hook WHERE scope = ? AND hook_key IN ("+
		store.Marks(len(part))+") ORDER BY seq DESC LIMIT ?", append(args, n)...)
}

// numbers reads keys and numbers from a query and stores the numbers at the positions of part.
func numbers(ctx context.Context, tx *store.Tx, part []*receiver.Record, seqs []int64, query string,
	args ...any) error {
	at := make(map[string]int, len(part))
	for i, r := range part {
		at[r.Key] = i
	}
	return store.Each(ctx, tx, func(scan store.Scan) error {
		var key string
		var seq int64
		err := scan(&key, &seq)
		if err == nil {
			seqs[at[key]] = seq
		}
		return err
	}, query, args...)
}

// again handles a record whose key has a row: the same body is counted, another one is stored as a conflict.
func (b *Inbox) again(ctx context.Context, tx *store.Tx, scope int64, rows map[string]receiver.Stored,
	r receiver.Record) (receiver.Result, error) {
	s := rows[r.Key]
	if s.Hash == r.Hash {
		s = repeat(s, r)
		rows[r.Key] = s
		return receiver.Result{Outcome: receiver.OutcomeDuplicate, Stored: s}, b.update(ctx, tx, s)
	}
	r.Key, r.Status = r.ConflictKey(), receiver.Conflict
	if s, ok := rows[r.Key]; ok {
		return b.repeatConflict(ctx, tx, rows, s, r)
	}
	seqs, err := b.add(ctx, tx, scope, []*receiver.Record{&r})
	if err != nil {
		return receiver.Result{}, err
	}
	if seqs[0] != 0 {
		s := fresh(&r, seqs[0])
		rows[r.Key] = s
		return receiver.Result{Outcome: receiver.OutcomeConflict, Stored: s}, nil
	}
	old, err := b.hooks(ctx, tx, " AND h.hook_key = ?", r.Key)
	if err != nil || len(old) != 1 {
		return receiver.Result{}, err
	}
	return b.repeatConflict(ctx, tx, rows, old[0], r)
}

func (b *Inbox) repeatConflict(ctx context.Context, tx *store.Tx, rows map[string]receiver.Stored, s receiver.Stored,
	r receiver.Record) (receiver.Result, error) {
	s = repeat(s, r)
	rows[s.Key] = s
	return receiver.Result{Outcome: receiver.OutcomeDuplicate, Stored: s}, b.update(ctx, tx, s)
}

// repeat counts another delivery of the same body. If it has better proof, the row is upgraded: for example first
// entered by hand, then sent by the service.
func repeat(s receiver.Stored, r receiver.Record) receiver.Stored {
	s.Deliveries++
	if r.ReceivedAt.After(s.LastAt) {
		s.LastAt = r.ReceivedAt
	}
	better := r.Verdict.Authenticated && (!s.Verdict.Authenticated || r.Verdict.Bound && !s.Verdict.Bound)
	if better {
		s.Verdict, s.Source = r.Verdict, r.Source
		if s.Status == receiver.Unverified {
			s.Status = receiver.Verified
		}
	}
	return s
}

func (b *Inbox) update(ctx context.Context, tx *store.Tx, s receiver.Stored) error {
	return tx.Exec(ctx, "UPDATE hook SET deliveries = ?, last_us = ?, source = ?, verifier = ?, authenticated = ?, "+
		"bound = ?, status = ? WHERE seq = ?", s.Deliveries, micros(s.LastAt), string(s.Source), s.Verdict.Verifier,
		store.Bit(s.Verdict.Authenticated), store.Bit(s.Verdict.Bound), string(s.Status), s.Seq)
}

// Reject adds to the counts and stores the deliveries; of more than receiver.MaxRejected, Overflow drops some.
func (b *Inbox) Reject(ctx context.Context, counts []receiver.RejectCount, kept []receiver.Rejection) error {
	return b.write(ctx, func(tx *store.Tx, scope int64) error {
		for _, c := range counts {
			err := tx.Exec(ctx, `INSERT INTO hook_rejected_count (scope, reason, n, first_us, last_us, detail, source)
 VALUES (?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (scope, reason) DO UPDATE SET n = hook_rejected_count.n + excluded.n, last_us = excluded.last_us,
 detail = excluded.detail, source = excluded.source`,
				scope, c.Reason, c.N, micros(c.First), micros(c.Last), clean(c.Detail), clean(string(c.Source)))
			if err != nil {
				return err
			}
		}
		for _, r := range kept {
			if err := addRejection(ctx, tx, scope, r); err != nil {
				return err
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return dropRejections(ctx, tx, scope)
	})
}

// clean is s without what PostgreSQL does not accept.
func clean(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "?") }

func addRejection(ctx context.Context, tx *store.Tx, scope int64, r receiver.Rejection) error {
	header, err := json.Marshal(r.Header)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	body := r.Body
	if body == nil {
		body = []byte{}
	}
	return tx.Exec(ctx, `INSERT INTO hook_rejected (scope, at_us, status, reason, detail, source, algorithm, claims,
 request, header, body, size) VALUES (`+store.Marks(12)+")",
		scope, micros(r.At), r.Status, r.Reason, clean(r.Detail), clean(string(r.Source)), clean(r.Algorithm),
		clean(strings.Join(r.Claims, " ")), clean(r.Request), clean(string(header)), body, r.Size)
}

// dropRejections keeps at most receiver.MaxRejected per account.
func dropRejections(ctx context.Context, tx *store.Tx, scope int64) error {
	var ids []int64
	var sources []receiver.Source
	err := store.Each(ctx, tx, func(scan store.Scan) error {
		var id int64
		var source string
		err := scan(&id, &source)
		ids, sources = append(ids, id), append(sources, receiver.Source(source))
		return err
	}, "SELECT id, source FROM hook_rejected WHERE scope = ? ORDER BY id", scope)
	if err != nil {
		return err
	}
	for i, drop := range receiver.Overflow(sources, receiver.MaxRejected) {
		if !drop {
			continue
		}
		if err := tx.Exec(ctx, "DELETE FROM hook_rejected WHERE id = ?", ids[i]); err != nil {
			return err
		}
	}
	return nil
}

// Rejected returns the newest deliveries first.
func (b *Inbox) Rejected(ctx context.Context, limit int) ([]receiver.Rejection, error) {
	return b.rejections(ctx, " ORDER BY id DESC LIMIT ?", page(limit))
}

// Rejection returns one, or receiver.ErrNotFound.
func (b *Inbox) Rejection(ctx context.Context, id int64) (receiver.Rejection, error) {
	list, err := b.rejections(ctx, " AND id = ?", id)
	if err == nil && len(list) == 0 {
		err = receiver.ErrNotFound
	}
	if err != nil {
		return receiver.Rejection{}, err
	}
	return list[0], nil
}

func (b *Inbox) rejections(ctx context.Context, rest string, args ...any) ([]receiver.Rejection, error) {
	where, of := b.account.in("r")
	return store.List(ctx, b.db, func(scan store.Scan) (receiver.Rejection, error) {
		var r receiver.Rejection
		var at int64
		var source, claims, header string
		if err := scan(&r.ID, &at, &r.Status, &r.Reason, &r.Detail, &source, &r.Algorithm, &claims, &r.Request, &header,
			&r.Body, &r.Size); err != nil {
			return r, err
		}
		if err := json.Unmarshal([]byte(header), &r.Header); err != nil {
			r.Header = nil // in another program's format
		}
		r.At, r.Source, r.Claims = fromMicros(at), receiver.Source(source), strings.Fields(claims)
		return masked(ctx, r), nil
	}, "SELECT id, at_us, status, reason, detail, source, algorithm, claims, request, header, body, size FROM "+
		"hook_rejected r WHERE "+where+rest, append(of, args...)...)
}

// RejectCounts returns the counts, most recent reason first.
func (b *Inbox) RejectCounts(ctx context.Context) ([]receiver.RejectCount, error) {
	where, of := b.account.in("c")
	return store.List(ctx, b.db, func(scan store.Scan) (receiver.RejectCount, error) {
		var c receiver.RejectCount
		var first, last int64
		var source string
		err := scan(&c.Reason, &c.N, &first, &last, &c.Detail, &source)
		c.First, c.Last, c.Source = fromMicros(first), fromMicros(last), receiver.Source(source)
		return c, err
	}, "SELECT reason, n, first_us, last_us, detail, source FROM hook_rejected_count c WHERE "+where+
		" ORDER BY last_us DESC, reason", of...)
}
