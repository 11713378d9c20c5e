package app

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/BurntSushi/toml"

	"opdeck/api/reach"
	"opdeck/api/session"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/capsule"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store/journal"
)

// Evidence is what a capsule holds, before it is written.
type Evidence struct {
	Verdict verdict.Verdict // redacted
	Records []capsule.Record
}

// kinds of records.
type (
	versionRecord struct {
		Opdeck string    `json:"opdeck"`
		Go     string    `json:"go"`
		System string    `json:"system"`
		Store  string    `json:"store"`
		Made   time.Time `json:"made"`
		Since  time.Time `json:"since"`
	}
	partRecord struct {
		Part  string `json:"part"`
		State string `json:"state"`
	}
	findingRecord struct {
		verdict.Finding
		Severity string `json:"severity"`
	}
	rotationRecord struct {
		At      time.Time     `json:"at"`
		Kind    string        `json:"kind"`
		Outcome string        `json:"outcome,omitempty"`
		Took    time.Duration `json:"took_ns,omitempty"`
		Gen     int64         `json:"generation"`
		Age     time.Duration `json:"age_ns,omitempty"`
		Left    time.Duration `json:"left_ns,omitempty"`
		Status  int           `json:"status,omitempty"`
		Route   string        `json:"route,omitempty"`
		By      string        `json:"by,omitempty"`
		Known   bool          `json:"known,omitempty"`
		Served  time.Time     `json:"served,omitzero"`
		Fault   reach.Fault   `json:"fault,omitzero"`
		Process string        `json:"process"`
		Version string        `json:"version"`
	}
	answerRecord struct {
		Class  string      `json:"class"`
		Route  string      `json:"route"`
		Good   time.Time   `json:"good,omitzero"`
		Failed time.Time   `json:"failed,omitzero"`
		Since  time.Time   `json:"since,omitzero"`
		Fault  reach.Fault `json:"fault,omitzero"`
		From   string      `json:"from"`
	}
	rejectedRecord struct {
		Reason string    `json:"reason"`
		Count  int64     `json:"count"`
		Last   time.Time `json:"last"`
	}
	syncRecord struct {
		AsOf     time.Time `json:"as_of,omitzero"`
		Complete bool      `json:"complete"`
		Total    int64     `json:"total"`
		Owed     int       `json:"owed"`
		PageSize int       `json:"page_size"`
		Paused   bool      `json:"paused"` // after a failure
		Noted    bool      `json:"noted"`  // something keeps it from being complete
	}
	auditRecord struct {
		Records   int64     `json:"records"`
		Hash      string    `json:"hash"`
		At        time.Time `json:"at,omitzero"`
		Uncovered int64     `json:"uncovered"`
		Writable  bool      `json:"writable"`
		Signs     bool      `json:"checkpoints"`
	}
	writeRecord struct {
		Act    string    `json:"act"`
		Object string    `json:"object"`
		ID     string    `json:"id"`
		Item   string    `json:"item,omitempty"`
		Who    string    `json:"who"`
		State  string    `json:"state"`
		Sent   time.Time `json:"sent"`
		Looked time.Time `json:"looked,omitzero"`
		Reads  int       `json:"reads"`
	}
	sizeRecord struct {
		Part string `json:"part"`
		Data int64  `json:"data_bytes"`
		Log  int64  `json:"log_bytes"`
		Free int64  `json:"free_bytes"`
	}
	unreadRecord struct {
		What string `json:"what"`
	}
)

// collector adds records to evidence. A part that cannot be read is a record too.
type collector struct {
	*App
	names   capsule.Names
	since   time.Time
	records []capsule.Record
}

func (c *collector) add(kind string, data any) {
	c.records = append(c.records, capsule.Record{Kind: kind, Data: data})
}

// CollectEvidence reads what another person needs to look at an incident of the time since then. It makes no call to
// the service. No text from outside and no name is in it.
func CollectEvidence(ctx context.Context, a *App, since time.Time) Evidence {
	c := &collector{App: a, names: capsule.NewNames(), since: since}
	v := verdict.Conclude(capsule.Facts(Facts(ctx, a), c.names))
	c.add("version", versionRecord{Opdeck: a.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Store: factReader{a}.engine(), Made: a.Now().UTC(), Since: since.UTC()})
	for _, p := range verdict.Parts() {
		c.add("part", partRecord{string(p), v.Of(p).String()})
	}
	for _, f := range v.Findings {
		c.add("finding", findingRecord{f, f.Severity.String()})
	}
	for _, read := range []struct {
		what string
		from func(context.Context) error
	}{{"config", c.settings}, {"session", c.session}, {"budgets", c.budgets}, {"answers", c.calls},
		{"rejected", c.rejected},
		{"sync", c.sync}, {"audit", c.trail}, {"writes", c.writes}, {"sizes", c.sizes}} {
		if err := read.from(ctx); err != nil {
			c.add("unread", unreadRecord{read.what}) // the error may name files and hosts; the verdict has its cause
		}
	}
	return Evidence{v, c.records}
}

func (c *collector) settings(context.Context) error {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(config.WithoutSecrets(c.Config)); err != nil {
		return fmt.Errorf("capsule: %w", err)
	}
	var m map[string]any
	if _, err := toml.Decode(b.String(), &m); err != nil {
		return fmt.Errorf("capsule: %w", err)
	}
	c.add("config", map[string]any{"context": c.names.Of("name", c.Context.Name), "settings": capsule.Settings(m,
		config.KeyNames(), c.names)})
	return nil
}

func (c *collector) session(ctx context.Context) error {
	st, err := c.Session.Status(ctx)
	if err != nil {
		return err
	}
	process := func(o session.Owner) string { return c.names.Of("process", fmt.Sprintf("%s %d", o.Host, o.PID)) }
	c.add("session", map[string]any{"state": capsule.Word(st.State), "generation": st.Generation,
		"instances":    st.Instances,
		"access_until": st.Access.ExpiresAt, "access_ttl_ns": st.Access.TTL, "refresh_until": st.Refresh.ExpiresAt,
		"refresh_ttl_ns": st.Refresh.TTL, "counts": st.Counts, "clock_ahead_ns": st.Ahead,
		"cause": capsule.Word(st.Verdict.Cause)})
	for _, i := range st.Seen {
		c.add("instance", map[string]any{"process": process(i.Owner), "version": i.Owner.Version, "gone": i.Gone,
			"seen_at": i.SeenAt, "started": i.Started})
	}
	for _, e := range st.History {
		if e.At.Before(c.since.Add(st.Ahead)) {
			continue
		}
		c.add("rotation", rotationRecord{At: e.At, Kind: string(capsule.Word(e.Kind)),
			Outcome: string(capsule.Word(e.Outcome)), Took: e.Took, Gen: e.Gen, Age: e.Age, Left: e.Left, Status: e.Status,
			Route: capsule.Route(e.Route), By: capsule.Route(e.By), Known: e.Known, Served: e.Served,
			Fault: capsule.Fault(e.Fault, c.names), Process: process(e.Owner), Version: e.Owner.Version})
	}
	return nil
}

func (c *collector) budgets(ctx context.Context) error {
	use, err := c.Limits.Usage(ctx)
	for _, u := range use {
		c.add("budget", u)
	}
	return err
}

func (c *collector) calls(ctx context.Context) error {
	all, _, err := c.answers.All(ctx, c.Scope())
	for _, l := range all {
		c.add("answer", answerRecord{Class: capsule.Word(l.Class), Route: capsule.Route(l.Route), Good: l.Good,
			Failed: l.Failed, Since: l.Since, Fault: capsule.Fault(l.Fault, c.names), From: c.names.Of("process", l.By)})
	}
	return err
}

func (c *collector) rejected(ctx context.Context) error {
	t, err := c.Hooks().Trouble(ctx)
	for _, r := range t.Rejected {
		if !r.Last.Before(c.since) {
			c.add("rejected", rejectedRecord{capsule.Word(r.Reason), r.N, r.Last})
		}
	}
	return err
}

func (c *collector) sync(ctx context.Context) error {
	f, err := c.Index.Freshness(ctx)
	c.add("sync", syncRecord{AsOf: f.AsOf, Complete: f.Complete, Total: f.Total, Owed: f.Owed,
		PageSize: f.Progress.PageSize, Paused: f.Progress.Trouble != "", Noted: f.Progress.Note != ""})
	return err
}

func (c *collector) trail(ctx context.Context) error {
	head, err := journal.NewAudit(c.Store.Core).Head(ctx)
	if err != nil {
		return err
	}
	uncovered, err := c.Audit.Signer.Uncovered(ctx)
	h := c.Audit.Health()
	c.add("audit", auditRecord{Records: head.N, Hash: head.Hash, At: head.At, Uncovered: uncovered, Writable: h.Err == nil,
		Signs: h.Checkpoint == nil})
	return err
}

func (c *collector) writes(ctx context.Context) error {
	rows, err := c.Follow.Pending(ctx)
	for _, r := range rows {
		state := r.State
		if r.Unsure {
			state = followup.Sending
		}
		c.add("write", writeRecord{Act: string(r.Kind), Object: capsule.Word(r.Object), ID: c.names.Of("id", r.ID),
			Item: c.names.Of("id", r.Item), Who: c.names.Of("person", r.Who), State: string(state), Sent: r.Sent,
			Looked: r.Looked, Reads: r.Reads})
	}
	return err
}

func (c *collector) sizes(ctx context.Context) error {
	sizes, err := c.Store.Sizes(ctx)
	for _, s := range sizes {
		c.add("size", sizeRecord{s.Name, s.Data, s.Log, s.Free})
	}
	return err
}
