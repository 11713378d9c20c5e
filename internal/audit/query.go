package audit

import (
	"context"
	"encoding/json"
	"fmt"

	"opdeck/api"
)

// Page is a part of the trail, newest first.
type Page struct {
	Entries []Entry
	Next    int64 // Query.Before of the next page; 0 at the end
}

// entry reads a stored row.
func entry(row Row) Entry {
	e := Entry{Hash: row.Hash, Raw: row.Bytes}
	if err := json.Unmarshal(row.Bytes, &e.Record); err != nil || Hash(row.Bytes) != row.Hash || e.UID != row.UID || e.Seq != row.Seq {
		e.Damaged = true
		e.Seq, e.UID, e.At = row.Seq, row.UID, row.At
	}
	return e
}

// Find returns a page of the trail to the person in ctx, who needs
// api.MayAudit. That they looked is recorded with the first page of a question;
// a trail that cannot be written can still be read.
func (l *Log) Find(ctx context.Context, q Query) (Page, error) {
	if err := l.need(ctx, "read the audit trail", api.MayAudit); err != nil {
		return Page{}, err
	}
	if q.Before == 0 {
		_ = l.Note(ctx, api.ActorOf(ctx), api.Event{Name: EventRead, Object: q.Object, ID: q.ID, Detail: q.words()})
	}
	return l.find(ctx, q)
}

func (l *Log) find(ctx context.Context, q Query) (Page, error) {
	q.Actor, q.Object, q.ID = bounded(q.Actor, maxWord), bounded(q.Object, maxWord), bounded(q.ID, maxWord)
	if q.Limit <= 0 {
		q.Limit = 100
	}
	limit := min(q.Limit, 1000)
	q.Limit = limit + 1
	rows, err := l.opt.Store.Find(ctx, q)
	if err != nil {
		return Page{}, err
	}
	var p Page
	if len(rows) > limit {
		rows = rows[:limit]
		p.Next = rows[limit-1].Seq
	}
	for _, row := range rows {
		p.Entries = append(p.Entries, entry(row))
	}
	return p, nil
}

// need is api.Need that leaves a record of a refusal.
func (l *Log) need(ctx context.Context, op string, p api.Permission) error {
	err := api.Need(api.WithTrail(ctx, nil), op, p)
	if err != nil {
		_ = l.Note(ctx, api.ActorOf(ctx), api.Event{Name: EventDenied, Object: "audit", Detail: op})
	}
	return err
}

// words says what was asked for, for the record of the question.
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
