package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"opdeck/api"
)

// Page is one page of the trail, newest first.
type Page struct {
	Entries []Entry
	Next    int64 // Query.Before of the next page; 0 for the last
	// Archived is, on the last page, the newest archive segment with older records; zero for none.
	Archived Segment
}

// Reader reads records for people, and records who read.
type Reader struct {
	*core
	log *Log
}

// entry converts a stored row. It uses only the hashed bytes, unless they were changed.
func entry(row Row) Entry {
	e := Entry{Hash: row.Hash, Raw: row.Bytes}
	err := json.Unmarshal(row.Bytes, &e.Record)
	if err != nil {
		e.Record = Record{}
	}
	switch {
	case Hash(row.Bytes) != row.Hash:
		e.Why = "its bytes do not match its hash"
	case err != nil:
		e.Why = "it is not a record"
	default:
		if name := e.Record.differs(row); name != "" {
			e.Damaged, e.Why = true, "the column "+name+" beside it was changed"
		}
		return e
	}
	e.Damaged = true
	e.Seq, e.UID, e.At = row.Seq, row.UID, row.At
	return e
}

// Find returns a page of the trail. The person in ctx needs api.MayAudit. The query is recorded with its first page;
// if the trail cannot be written, it can still be read.
func (rd *Reader) Find(ctx context.Context, q Query) (Page, error) {
	if err := rd.log.mustMay(ctx, "read the audit trail", api.MayAudit); err != nil {
		return Page{}, err
	}
	if q.Before == 0 {
		_ = rd.log.Note(ctx, api.ActorOf(ctx), api.Event{Name: EventRead, Object: q.Object, ID: q.ID, Detail: q.words()})
	}
	return rd.find(ctx, q)
}

func (rd *Reader) find(ctx context.Context, q Query) (Page, error) {
	q.Actor, q.Object, q.ID = bounded(q.Actor, maxWord), bounded(q.Object, maxWord), bounded(q.ID, maxWord)
	if q.Limit <= 0 {
		q.Limit = 100
	}
	limit := min(q.Limit, 1000)
	q.Limit = limit + 1
	rows, err := rd.opt.Store.Find(ctx, q)
	if err != nil {
		return Page{}, err
	}
	var list []Entry
	for _, row := range rows {
		list = append(list, entry(row))
	}
	if q.selects() {
		if list, err = rd.addUnindexed(ctx, q, list); err != nil {
			return Page{}, err
		}
	}
	var p Page
	if len(list) > limit {
		list = list[:limit]
		p.Next = list[limit-1].Seq
	}
	p.Entries = list
	if p.Next == 0 {
		if p.Archived, err = rd.archived(ctx); q.From.After(p.Archived.At) {
			p.Archived = Segment{}
		}
	}
	return p, err
}

// maxComplete bounds the records that are read to complete the answer of a query; beyond it only Verify finds changed
// columns.
const maxComplete = 5000

// addUnindexed adds the records that match the query by their bytes but not by their columns, which may have been
// changed.
func (rd *Reader) addUnindexed(ctx context.Context, q Query, found []Entry) ([]Entry, error) {
	to := q.Before - 1
	if to < 0 {
		head, err := rd.opt.Store.Head(ctx)
		if err != nil {
			return nil, err
		}
		to = head.N
	}
	from := int64(1)
	if len(found) >= q.Limit {
		from = found[len(found)-1].Seq
	}
	from = max(from, to-maxComplete+1)
	have := map[int64]bool{}
	for _, e := range found {
		have[e.Seq] = true
	}
	err := rd.eachStored(ctx, from, to, func(row Row) error {
		var r Record
		if have[row.Seq] || json.Unmarshal(row.Bytes, &r) == nil && r.differs(row) == "" {
			return nil // its columns were searched
		}
		if e := entry(row); q.matches(e) {
			found = append(found, e)
		}
		return nil
	})
	slices.SortFunc(found, func(a, b Entry) int { return int(b.Seq - a.Seq) })
	if len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found, err
}

// selects reports whether q filters by a column.
func (q Query) selects() bool {
	q.Before, q.Limit = 0, 0
	return q != Query{}
}

// matches reports whether the record matches q by its bytes.
func (q Query) matches(e Entry) bool {
	event := q.Event == "" || e.Event == q.Event
	if start, ok := strings.CutSuffix(q.Event, "*"); ok {
		event = strings.HasPrefix(e.Event, start)
	}
	return event && (q.Actor == "" || e.Actor.Name == q.Actor) && (q.Object == "" || e.Object == q.Object) &&
		(q.ID == "" || e.Record.ID == q.ID || e.Item == q.ID) && (q.Phase == "" || e.Phase == q.Phase) &&
		(q.From.IsZero() || !e.At.Before(q.From)) && (q.Until.IsZero() || e.At.Before(q.Until))
}

// words describes the query for its record.
func (q Query) words() string {
	s := ""
	add := func(name, v string) {
		if v != "" {
			s += fmt.Sprintf(" %s %s", name, v)
		}
	}
	add("person", q.Actor)
	add("event", q.Event)
	add("phase", string(q.Phase))
	if !q.From.IsZero() {
		add("from", q.From.UTC().Format("2006-01-02T15:04:05Z"))
	}
	if !q.Until.IsZero() {
		add("until", q.Until.UTC().Format("2006-01-02T15:04:05Z"))
	}
	if s == "" {
		return "all"
	}
	return s[1:]
}
