package store

import (
	"context"
	"slices"
	"strings"

	"opdeck/internal/receiver"
)

// inboxLock is an arbitrary number that only writers of the inbox take: rows
// then appear in the order of seq (PostgreSQL gives numbers out before commit).
const inboxLock = 0x686f6f6b

// Insert implements receiver.Inbox.
func (b *Inbox) Insert(ctx context.Context, records []receiver.Record) ([]receiver.Result, error) {
	var out []receiver.Result
	err := b.db.Write(ctx, func(tx *Tx) error {
		if tx.Engine() == Postgres {
			if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(?)", int64(inboxLock)); err != nil {
				return err
			}
		}
		var err error
		out, err = b.insert(ctx, tx, records)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// insert adds the first record of each key; what was there already, or comes
// again within records, is compared with the row.
func (b *Inbox) insert(ctx context.Context, tx *Tx, records []receiver.Record) ([]receiver.Result, error) {
	out := make([]receiver.Result, len(records))
	rows := make(map[string]receiver.Stored, len(records)) // by key, as they are now
	var first []receiver.Record
	var at []int // their places in records
	for i, r := range records {
		if _, again := rows[r.Key]; !again {
			rows[r.Key] = receiver.Stored{}
			first, at = append(first, r), append(at, i)
		}
	}
	added, err := b.add(ctx, tx, first)
	if err != nil {
		return nil, err
	}
	var known []any
	for i, r := range first {
		if seq, ok := added[r.Key]; ok {
			s := fresh(r, seq)
			rows[r.Key], out[at[i]] = s, receiver.Result{Outcome: receiver.OutcomeNew, Stored: s}
			continue
		}
		known = append(known, r.Key)
	}
	if len(known) > 0 {
		if err := b.look(ctx, tx, known, rows); err != nil {
			return nil, err
		}
	}
	for i, r := range records {
		if out[i].Outcome != "" {
			continue
		}
		if out[i], err = b.again(ctx, tx, rows, r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// look reads the rows of keys, 16 at a time with one text of statement.
func (b *Inbox) look(ctx context.Context, tx *Tx, keys []any, rows map[string]receiver.Stored) error {
	const some = 16
	for part := range slices.Chunk(keys, some) {
		args := slices.Clone(part)
		for len(args) < some {
			args = append(args, part[0])
		}
		old, err := b.hooks(ctx, tx, " WHERE hook_key IN ("+inboxMarks(some)+")", args...)
		if err != nil {
			return err
		}
		for _, s := range old {
			rows[s.Key] = s
		}
	}
	return nil
}

func fresh(r receiver.Record, seq int64) receiver.Stored {
	return receiver.Stored{Record: r, Seq: seq, Deliveries: 1, LastAt: r.ReceivedAt}
}

// insertSizes are how many rows one statement inserts: few texts, which stay
// prepared.
var insertSizes = [...]int{64, 16, 4, 1}

const insertColumns = 17

var insertQueries = func() (q [len(insertSizes)]string) {
	one := "(" + inboxMarks(insertColumns) + "),"
	for i, n := range insertSizes {
		q[i] = "INSERT INTO hook (" + hookColumns + ", last_us) VALUES " + strings.TrimSuffix(strings.Repeat(one, n), ",") +
			" ON CONFLICT (hook_key) DO NOTHING RETURNING hook_key, seq"
	}
	return q
}()

// add inserts the records whose keys are new and returns their numbers.
func (b *Inbox) add(ctx context.Context, tx *Tx, records []receiver.Record) (map[string]int64, error) {
	added := make(map[string]int64, len(records))
	for i, size := range insertSizes {
		for len(records) >= size {
			if err := b.addRows(ctx, tx, insertQueries[i], records[:size], added); err != nil {
				return nil, err
			}
			records = records[size:]
		}
	}
	return added, nil
}

func (b *Inbox) addRows(ctx context.Context, tx *Tx, query string, records []receiver.Record, added map[string]int64) error {
	args := make([]any, 0, insertColumns*len(records))
	for i := range records {
		r := &records[i]
		us := inboxMicros(r.ReceivedAt)
		args = append(args, r.Key, r.HookID, int64(r.Type), string(r.Object), string(r.ObjectID), string(r.CUID), r.Raw, r.Hash[:], us, string(r.Source),
			r.Verdict.Verifier, inboxBit(r.Verdict.Authenticated), inboxBit(r.Verdict.Bound), string(r.Status), string(r.Reason), r.Detail, us)
	}
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var key string
		var seq int64
		if err := rows.Scan(&key, &seq); err != nil {
			return b.db.explain(err)
		}
		added[key] = seq
	}
	return b.db.explain(rows.Err())
}

func inboxBit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// again handles a record whose key has a row: the same body is counted, another
// one is kept beside it.
func (b *Inbox) again(ctx context.Context, tx *Tx, rows map[string]receiver.Stored, r receiver.Record) (receiver.Result, error) {
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
	added, err := b.add(ctx, tx, []receiver.Record{r})
	if err != nil {
		return receiver.Result{}, err
	}
	if seq, ok := added[r.Key]; ok {
		s := fresh(r, seq)
		rows[r.Key] = s
		return receiver.Result{Outcome: receiver.OutcomeConflict, Stored: s}, nil
	}
	old, err := b.hooks(ctx, tx, " WHERE hook_key = ?", r.Key)
	if err != nil || len(old) != 1 {
		return receiver.Result{}, err
	}
	return b.repeatConflict(ctx, tx, rows, old[0], r)
}

func (b *Inbox) repeatConflict(ctx context.Context, tx *Tx, rows map[string]receiver.Stored, s receiver.Stored, r receiver.Record) (receiver.Result, error) {
	s = repeat(s, r)
	rows[s.Key] = s
	return receiver.Result{Outcome: receiver.OutcomeDuplicate, Stored: s}, b.update(ctx, tx, s)
}

// repeat counts one more delivery of the same body. One that proves more than
// those before raises the row: sent by hand first, then by the service itself.
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

func (b *Inbox) update(ctx context.Context, tx *Tx, s receiver.Stored) error {
	_, err := tx.Exec(ctx, "UPDATE hook SET deliveries = ?, last_us = ?, source = ?, verifier = ?, authenticated = ?, bound = ?, status = ? WHERE seq = ?",
		s.Deliveries, inboxMicros(s.LastAt), string(s.Source), s.Verdict.Verifier, inboxBit(s.Verdict.Authenticated), inboxBit(s.Verdict.Bound), string(s.Status), s.Seq)
	return err
}
