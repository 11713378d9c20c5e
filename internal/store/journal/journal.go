// Package journal stores records of work in the core database: the audit trail, requests for approval, writes with an
// unknown outcome, document replacements, verification journeys, and which person has which object open. Each type
// implements the Store of the package that owns its subject.
package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/answers"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/lending"
	"opdeck/internal/domain/note"
	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/presence"
	"opdeck/internal/domain/replace"
	"opdeck/internal/store"
)

// encode is v in its stored form.
func encode(v any) (string, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	return string(body), nil
}

// decode scans a row with one column that holds a T.
func decode[T any](scan store.Scan) (v T, err error) {
	var body []byte
	if err = scan(&body); err != nil {
		return v, err
	}
	if err = json.Unmarshal(body, &v); err != nil {
		err = fmt.Errorf("store: a stored %T cannot be read: %w", v, err)
	}
	return v, err
}

// PruneJobs removes up to limit replacements that ended before a time, of all accounts, and returns how many.
func PruneJobs(ctx context.Context, core *store.DB, before time.Time, limit int) (n int, err error) {
	err = core.WriteIdle(ctx, func(tx *store.Tx) error {
		removed, err := store.Affected(tx.Result(ctx, `DELETE FROM job WHERE id IN (
			SELECT id FROM job WHERE done = 1 AND updated_us < ? ORDER BY updated_us LIMIT ?)`, before.UnixMicro(), limit))
		n = int(removed)
		return err
	})
	return n, err
}

// inDoubtAtMost bounds the old requests with an act in doubt that are skipped.
const inDoubtAtMost = 2000

// PruneApprovals removes up to limit ended requests for approval that were filed before a time, of all accounts, and
// returns how many. It keeps those whose act has an unknown outcome.
func PruneApprovals(ctx context.Context, core *store.DB, before time.Time, limit int) (n int, err error) {
	err = core.WriteIdle(ctx, func(tx *store.Tx) error {
		old, err := store.List(ctx, tx, decode[approval.Request], `SELECT body FROM approval
			WHERE state NOT IN ('open', 'approved') AND created_us < ? ORDER BY created_us LIMIT ?`,
			before.UnixMicro(), limit+inDoubtAtMost)
		if err != nil {
			return err
		}
		for _, r := range old {
			if n == limit {
				return nil
			}
			if r.State == approval.Spent && (r.Verdict == "" || r.Verdict == api.Unclear) {
				continue
			}
			if err := tx.Exec(ctx, "DELETE FROM approval WHERE scope = ? AND id = ?", r.Scope, r.ID); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// Answers stores what real calls have shown last in the core database. It implements answers.Store.
type Answers struct{ db *store.DB }

var _ answers.Store = (*Answers)(nil)

// NewAnswers returns the answers of db.
func NewAnswers(db *store.DB) *Answers { return &Answers{db: db} }

// Put implements answers.Store.
func (s *Answers) Put(ctx context.Context, scope string, list []answers.Answer) error {
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		tx.IgnoreOwn(ctx)
		if tx.Engine() == store.Postgres { // two processes must not overwrite each other's outcome
			if err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", "answer "+scope); err != nil {
				return err
			}
		}
		known, err := lastAnswers(ctx, tx, scope)
		if err != nil {
			return err
		}
		for _, l := range answers.After(known, list, now) {
			body, err := json.Marshal(l)
			if err != nil {
				return err
			}
			newest := l.Good
			if l.Failed.After(newest) {
				newest = l.Failed
			}
			if err := tx.Exec(ctx, `INSERT INTO answer (scope, class, route, body, seen_us) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (scope, class, route) DO UPDATE SET body = excluded.body, seen_us = excluded.seen_us`,
				scope, l.Class, l.Route, string(body), newest.UnixMicro()); err != nil {
				return err
			}
		}
		return tx.Exec(ctx, "DELETE FROM answer WHERE seen_us < ?", now.Add(-answers.Kept).UnixMicro())
	})
}

// All implements answers.Store.
func (s *Answers) All(ctx context.Context, scope string) ([]answers.Last, time.Time, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, now, err
	}
	all, err := lastAnswers(ctx, s.db, scope)
	return all, now, err
}

func lastAnswers(ctx context.Context, q store.Querier, scope string) ([]answers.Last, error) {
	return store.List(ctx, q, func(scan store.Scan) (answers.Last, error) {
		var l answers.Last
		var body []byte
		if err := scan(&body); err != nil {
			return l, err
		}
		return l, json.Unmarshal(body, &l)
	}, "SELECT body FROM answer WHERE scope = ? ORDER BY class, route", scope)
}

// Observation is what one process knows and others cannot see.
type Observation struct {
	Part, Name string
	Body       []byte    // JSON
	Seen       time.Time // by the store's clock
}

// Observations stores observations of a scope (base_url and account, or "" for the store) in the core database.
type Observations struct {
	db    *store.DB
	scope string
}

// NewObservations returns the observations of a scope.
func NewObservations(db *store.DB, scope string) *Observations {
	return &Observations{db: db, scope: scope}
}

// Put replaces an observation.
func (s *Observations) Put(ctx context.Context, part, name string, body []byte) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		return tx.Exec(ctx, `INSERT INTO observation (scope, part, name, body, seen_us) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (scope, part, name) DO UPDATE SET body = excluded.body, seen_us = excluded.seen_us`,
			s.scope, part, name, string(body), now.UnixMicro())
	})
}

// First adds an observation of an instant unless there is one, and returns the instant that is stored then.
func (s *Observations) First(ctx context.Context, part, name string, at time.Time) (time.Time, error) {
	us := at.UnixMicro()
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Exec(ctx, `INSERT INTO observation (scope, part, name, body, seen_us) VALUES (?, ?, ?, '{}', ?)
ON CONFLICT (scope, part, name) DO NOTHING`, s.scope, part, name, us); err != nil {
			return err
		}
		return tx.QueryRow(ctx, "SELECT seen_us FROM observation WHERE scope = ? AND part = ? AND name = ?", s.scope, part,
			name).Scan(&us)
	})
	return time.UnixMicro(us).UTC(), err
}

// Remove deletes an observation, which need not exist.
func (s *Observations) Remove(ctx context.Context, part, name string) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		return tx.Exec(ctx, "DELETE FROM observation WHERE scope = ? AND part = ? AND name = ?", s.scope, part, name)
	})
}

// All returns the observations by part and name, and the store's time of the read.
func (s *Observations) All(ctx context.Context) ([]Observation, time.Time, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, now, err
	}
	list, err := store.List(ctx, s.db, func(scan store.Scan) (o Observation, err error) {
		var us int64
		err = scan(&o.Part, &o.Name, &o.Body, &us)
		o.Seen = time.UnixMicro(us).UTC()
		return o, err
	}, "SELECT part, name, body, seen_us FROM observation WHERE scope = ? ORDER BY part, name", s.scope)
	return list, now, err
}

// Presence stores which person has what open, in the core database. It implements presence.Store.
type Presence struct{ db *store.DB }

var _ presence.Store = (*Presence)(nil)

// NewPresence returns the places of db.
func NewPresence(db *store.DB) *Presence { return &Presence{db: db} }

// Put stores the place of a console and removes old ones.
func (s *Presence) Put(ctx context.Context, p presence.Place) error {
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		since := now.Add(-max(0, p.Seen.Sub(p.Since)))
		err = tx.Exec(ctx, `INSERT INTO presence (console, scope, object, object_id, person, host, since_us, seen_us, dialog)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (console) DO UPDATE SET scope = excluded.scope, object = excluded.object, object_id = excluded.object_id,
person = excluded.person, host = excluded.host, since_us = excluded.since_us, seen_us = excluded.seen_us,
dialog = excluded.dialog`,
			p.Console, p.Scope, p.Object, p.ID, p.Person, p.Host, since.UnixMicro(), now.UnixMicro(), store.Bit(p.Dialog))
		if err != nil {
			return err
		}
		return tx.Exec(ctx, "DELETE FROM presence WHERE seen_us < ? OR seen_us > ?", now.Add(-presence.Kept).UnixMicro(),
			now.UnixMicro())
	})
}

// Leave removes the place of a console.
func (s *Presence) Leave(ctx context.Context, console string) error {
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		return tx.Exec(ctx, "DELETE FROM presence WHERE console = ?", console)
	})
}

// At returns who is at an object, oldest Since first.
func (s *Presence) At(ctx context.Context, scope, object, id string, within time.Duration,
	host func() time.Time) ([]presence.Place, error) {
	return s.places(ctx, scope, host, within, "object = ? AND object_id = ?", object, id)
}

// All returns all places in a scope, oldest Since first.
func (s *Presence) All(ctx context.Context, scope string, host func() time.Time) ([]presence.Place, error) {
	return s.places(ctx, scope, host, presence.Kept, "1 = 1")
}

func (s *Presence) places(ctx context.Context, scope string, host func() time.Time, within time.Duration, where string,
	args ...any) ([]presence.Place, error) {
	before := host()
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	ahead := limit.Apart(now, before, host())
	return store.List(ctx, s.db, func(scan store.Scan) (presence.Place, error) {
		p := presence.Place{Scope: scope}
		var from, seen int64
		var dialog int
		err := scan(&p.Object, &p.ID, &p.Console, &p.Person, &p.Host, &from, &seen, &dialog)
		p.Since, p.Seen = limit.Moved(time.UnixMicro(from).UTC(), ahead), limit.Moved(time.UnixMicro(seen).UTC(), ahead)
		p.Dialog = dialog == 1
		return p, err
	}, `SELECT object, object_id, console, person, host, since_us, seen_us, dialog FROM presence
WHERE scope = ? AND seen_us > ? AND `+where+` ORDER BY since_us, console`,
		append([]any{scope, now.Add(-within).UnixMicro()}, args...)...)
}

const kindReplace = "replace_document"

// Jobs stores the document replacements of one account.
type Jobs struct {
	db      *store.DB
	context string
}

// NewJobs returns the journal of one account in core; context identifies it (base URL and login).
func NewJobs(core *store.DB, context string) *Jobs { return &Jobs{db: core, context: context} }

// Save implements replace.Store.
func (j *Jobs) Save(ctx context.Context, job replace.Job, prev time.Time) error {
	body, err := encode(job)
	if err != nil {
		return err
	}
	done := store.Bit(job.Step.Ended())
	if prev.IsZero() {
		return j.db.Exec(ctx, `INSERT INTO job (id, kind, context, step, body, owner, created_us, updated_us, done)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, job.ID, kindReplace, j.context, string(job.Step), body, job.Owner,
			job.Created.UnixMicro(), job.Updated.UnixMicro(), done)
	}
	n, err := store.Affected(j.db.Result(ctx,
		`UPDATE job SET step = ?, body = ?, updated_us = ?, done = ? WHERE id = ? AND context = ? AND updated_us = ?`,
		string(job.Step), body, job.Updated.UnixMicro(), done, job.ID, j.context, prev.UnixMicro()))
	if err == nil && n != 1 {
		err = replace.ErrTaken
	}
	return err
}

// Unfinished implements replace.Store, oldest first.
func (j *Jobs) Unfinished(ctx context.Context) ([]replace.Job, error) {
	return store.List(ctx, j.db, decode[replace.Job],
		`SELECT body FROM job WHERE context = ? AND kind = ? AND done = 0 ORDER BY created_us, id`, j.context, kindReplace)
}

// Job implements replace.Store.
func (j *Jobs) Job(ctx context.Context, id string) (replace.Job, error) {
	job, err := decode[replace.Job](j.db.QueryRow(ctx, `SELECT body FROM job WHERE context = ? AND id = ?`, j.context,
		id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("store: there is no such job: %w", err)
	}
	return job, err
}

// Journeys keeps the verification journeys of one account.
type Journeys struct {
	db      *store.DB
	context string
}

// NewJourneys returns the journeys of one account in core; context identifies it.
func NewJourneys(core *store.DB, context string) *Journeys {
	return &Journeys{db: core, context: context}
}

// Journey implements journey.Store.
func (j *Journeys) Journey(ctx context.Context, cuid string) (journey.Record, error) {
	r, err := decode[journey.Record](j.db.QueryRow(ctx, `SELECT body FROM journey WHERE context = ? AND cuid = ?`,
		j.context, cuid).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return journey.Record{CUID: cuid}, nil
	}
	return r, err
}

// SaveJourney implements journey.Store.
func (j *Journeys) SaveJourney(ctx context.Context, r journey.Record) error {
	body, err := encode(r)
	if err != nil {
		return err
	}
	return j.db.Exec(ctx, `INSERT INTO journey (context, cuid, body, unfinished, updated_us) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (context, cuid) DO UPDATE
		SET body = excluded.body, unfinished = excluded.unfinished, updated_us = excluded.updated_us`,
		j.context, r.CUID, body, store.Bit(r.Unfinished()), r.Updated.UnixMicro())
}

// UnfinishedJourneys implements journey.Store, newest first.
func (j *Journeys) UnfinishedJourneys(ctx context.Context) ([]journey.Record, error) {
	return store.List(ctx, j.db, decode[journey.Record],
		`SELECT body FROM journey WHERE context = ? AND unfinished = 1 ORDER BY updated_us DESC LIMIT 200`, j.context)
}

// Notes stores people's notes in the core database. It implements note.Store.
type Notes struct{ db *store.DB }

var _ note.Store = (*Notes)(nil)

// NewNotes returns the notes of db.
func NewNotes(db *store.DB) *Notes { return &Notes{db: db} }

// Put implements note.Store.
func (s *Notes) Put(ctx context.Context, scope string, n note.Note, most int) (note.Note, error) {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		var have int
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM note WHERE scope = ? AND object_id = ? AND object = ?", scope,
			n.ID, n.Object).Scan(&have); err != nil {
			return err
		}
		if have >= most {
			return note.ErrFull
		}
		n.At = now.UTC().Truncate(time.Microsecond)
		return tx.Exec(ctx, `INSERT INTO note (uid, scope, object, object_id, author, at_us, body, folded)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, n.UID, scope, n.Object, n.ID, n.Author, n.At.UnixMicro(), string(n.Text),
			filter.Fold(string(n.Text)))
	})
	return n, err
}

const noteColumns = "SELECT uid, object, object_id, author, at_us, body FROM note WHERE scope = ?"

func scanNote(scan store.Scan) (n note.Note, err error) {
	var at int64
	var text string
	err = scan(&n.UID, &n.Object, &n.ID, &n.Author, &at, &text)
	n.At, n.Text = time.UnixMicro(at).UTC(), untrusted.Text(text)
	return n, err
}

// About implements note.Store.
func (s *Notes) About(ctx context.Context, scope, object, id string, limit int) ([]note.Note, error) {
	where, args := "", []any{scope}
	if object != "" {
		where, args = where+" AND object = ?", append(args, object)
	}
	if id != "" {
		where, args = where+" AND object_id = ?", append(args, id)
	}
	return store.List(ctx, s.db, scanNote, noteColumns+where+" ORDER BY at_us DESC, uid LIMIT ?", append(args, limit)...)
}

// Find implements note.Store. Notes of an earlier version kept their accents.
func (s *Notes) Find(ctx context.Context, scope, text string, limit int) ([]note.Note, error) {
	like := func(s string) string { return "%" + filter.Like(s) + "%" }
	return store.List(ctx, s.db, scanNote, noteColumns+
		` AND (folded LIKE ? ESCAPE '\' OR folded LIKE ? ESCAPE '\') ORDER BY at_us DESC, uid LIMIT ?`,
		scope, like(filter.Fold(text)), like(strings.ToLower(text)), limit)
}

// Notices stores what was told and what is to be sent in the core database. It implements notify.Store.
type Notices struct{ db *store.DB }

var _ notify.Store = (*Notices)(nil)

// NewNotices returns the notices of db.
func NewNotices(db *store.DB) *Notices { return &Notices{db: db} }

// Update implements notify.Store.
func (s *Notices) Update(ctx context.Context, scope string, change func(*notify.State, time.Time) bool) error {
	now, err := s.db.Now(ctx)
	if err != nil {
		return err
	}
	const query = "SELECT state FROM notify WHERE scope = ?"
	state, err := notices(s.db.QueryRow(ctx, query, scope))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if !change(&state, now) {
		return nil
	}
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Exec(ctx, "INSERT INTO notify (scope, state) VALUES (?, '{}') ON CONFLICT (scope) DO NOTHING",
			scope); err != nil {
			return err
		}
		state, err := notices(tx.QueryRow(ctx, query+tx.Engine().ForUpdate(), scope))
		if err != nil {
			return err
		}
		now, err := tx.Now(ctx)
		if err != nil || !change(&state, now) {
			return err
		}
		body, err := encode(state)
		if err != nil {
			return err
		}
		return tx.Exec(ctx, "UPDATE notify SET state = ? WHERE scope = ?", body, scope)
	})
}

func notices(row *store.Row) (out notify.State, err error) {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return out, err
	}
	return out, json.Unmarshal(body, &out)
}

// borrowerKept is how long the counts of a proxy are kept after its last post.
const borrowerKept = 24 * time.Hour

// Borrowers stores the counts of scripts in the core database, for all proxies of an account.
type Borrowers struct{ db *store.DB }

// NewBorrowers returns the board of db.
func NewBorrowers(db *store.DB) *Borrowers { return &Borrowers{db: db} }

// Post replaces the counts of one process. Counts of processes without a post for a day are dropped.
func (s *Borrowers) Post(ctx context.Context, scope, process string, list []session.Borrower) error {
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		for _, b := range list {
			body, err := json.Marshal(b)
			if err != nil {
				return err
			}
			err = tx.Exec(ctx, `INSERT INTO borrower (scope, process, name, body, seen_us) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (scope, process, name) DO UPDATE SET body = excluded.body, seen_us = excluded.seen_us`,
				scope, process, b.Name, string(body), now.UnixMicro())
			if err != nil {
				return err
			}
		}
		return tx.Exec(ctx, "DELETE FROM borrower WHERE seen_us < ? OR seen_us > ?", now.Add(-borrowerKept).UnixMicro(),
			now.UnixMicro())
	})
}

// Posts returns the counts of all processes that posted within a day, with their age.
func (s *Borrowers) Posts(ctx context.Context, scope string) ([]lending.Post, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	return store.List(ctx, s.db, func(scan store.Scan) (lending.Post, error) {
		var p lending.Post
		var body string
		var seen int64
		if err := scan(&body, &seen); err != nil {
			return p, err
		}
		p.Age = max(0, now.Sub(time.UnixMicro(seen)))
		return p, json.Unmarshal([]byte(body), &p.Borrower)
	}, "SELECT body, seen_us FROM borrower WHERE scope = ? ORDER BY name, process", scope)
}
