package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
)

// place is a state folder: a store, a key, and a folder of checkpoints.
type placeOf struct {
	t   *testing.T
	db  *store.DB
	opt audit.Options
	now *clock
}

// newPlace makes one with a trail that n commands have written, seconds apart;
// each of them is a process that does one act, and ends.
func newPlace(t *testing.T, s *store.Store, n int) *placeOf {
	t.Helper()
	dir := t.TempDir()
	key, _, err := audit.CreateKey(filepath.Join(dir, "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	p := &placeOf{t: t, db: s.Core, now: newClock()}
	p.opt = audit.Options{Store: journal.NewAudit(s.Core), Now: p.now.Now, Key: key,
		Checkpoints: filepath.Join(dir, "points") + "/"}
	for i := range n {
		p.command(fmt.Sprintf("op-%d", i+1))
	}
	return p
}

// command is a process that removes a document.
func (p *placeOf) command(id string) {
	p.t.Helper()
	l := newLog(p.t, p.opt)
	a := act
	a.ID = id
	ref, err := l.Intent(as(ana), ana, a)
	if err != nil {
		p.t.Fatal(err)
	}
	p.now.add(time.Second)
	if err := errors.Join(l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done, Status: 200}),
		l.Close(context.Background())); err != nil {
		p.t.Fatal(err)
	}
	p.now.add(2 * time.Second)
}

// exec runs statements as someone who owns the tables.
func (p *placeOf) exec(queries ...string) {
	p.t.Helper()
	ctx := context.Background()
	off := []string{"DROP TRIGGER IF EXISTS audit_no_update", "DROP TRIGGER IF EXISTS audit_no_delete",
		"DROP TRIGGER IF EXISTS audit_head_forward", "DROP TRIGGER IF EXISTS audit_head_stays"}
	if p.db.Engine() == store.Postgres {
		off = []string{"ALTER TABLE audit DISABLE TRIGGER USER", "ALTER TABLE audit_head DISABLE TRIGGER USER"}
	}
	for _, q := range append(off, queries...) {
		if err := p.db.Exec(ctx, q); err != nil {
			p.t.Fatalf("%s: %v", q, err)
		}
	}
}

func (p *placeOf) verify() audit.Report {
	p.t.Helper()
	r, err := newLog(p.t, p.opt).Prover.Verify(as(admin))
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// file is the checkpoint file and its lines.
func (p *placeOf) file() (string, []string) {
	p.t.Helper()
	names, err := filepath.Glob(p.opt.Checkpoints + "audit-*.jsonl")
	if err != nil || len(names) != 1 {
		p.t.Fatal(names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return names[0], strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
}

func (p *placeOf) rewrite(lines []string) {
	p.t.Helper()
	name, _ := p.file()
	text := strings.Join(lines, "")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// newKey puts another key in place of the one that was lost.
func (p *placeOf) newKey() {
	p.t.Helper()
	key, err := audit.NewKey(bytes.Repeat([]byte{3}, 32))
	if err != nil {
		p.t.Fatal(err)
	}
	p.opt.Key = key
}

// cut takes all after record n out of every table.
func (p *placeOf) cut(n int) {
	p.t.Helper()
	p.exec(fmt.Sprintf("DELETE FROM audit WHERE seq > %d", n), fmt.Sprintf("DELETE FROM audit_tree WHERE seq > %d", n),
		fmt.Sprintf("DELETE FROM audit_open WHERE seq >= %d", n),
		fmt.Sprintf("UPDATE audit_head SET n = %d, hash = (SELECT hash FROM audit WHERE seq = %d), at_us = (SELECT at_us "+
			"FROM audit WHERE seq = %d)", n, n, n))
	if n%2 == 1 { // what was an outcome's is open again
		p.exec(fmt.Sprintf("INSERT INTO audit_open (uid, seq) SELECT uid, seq FROM audit WHERE seq = %d", n))
	}
}

// TestChangedBesideTheRecords changes, as someone who owns the tables, what is
// derived from the records and not hashed: each is found, and nothing is hidden
// from readers.
func TestChangedBesideTheRecords(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		for name, c := range map[string]struct {
			query string
			kind  audit.ProblemKind
			seq   int64
		}{
			"nothing":        {"UPDATE audit SET actor = actor", "", 0},
			"event":          {"UPDATE audit SET event = 'audit.read' WHERE seq = 3", audit.Column, 3},
			"actor":          {"UPDATE audit SET actor = 'eve' WHERE seq = 3", audit.Column, 3},
			"object":         {"UPDATE audit SET object = '' WHERE seq = 3", audit.Column, 3},
			"object_id":      {"UPDATE audit SET object_id = '' WHERE seq = 3", audit.Column, 3},
			"item":           {"UPDATE audit SET item = 'doc-2' WHERE seq = 3", audit.Column, 3},
			"phase":          {"UPDATE audit SET phase = 'note' WHERE seq = 3", audit.Column, 3},
			"ref":            {"UPDATE audit SET ref = 'x' WHERE seq = 4", audit.Column, 4},
			"boot":           {"UPDATE audit SET boot = 'x' WHERE seq = 4", audit.Column, 4},
			"at_us":          {"UPDATE audit SET at_us = at_us - 1 WHERE seq = 4", audit.Column, 4},
			"uid":            {"UPDATE audit SET uid = 'x' WHERE seq = 4", audit.Column, 4},
			"seq":            {"UPDATE audit SET seq = 700 WHERE seq = 6", audit.Column, 700},
			"open, missing":  {"DELETE FROM audit_open", audit.SideTable, 7},
			"open, too many": {"INSERT INTO audit_open (uid, seq) SELECT uid, seq FROM audit WHERE seq = 1", audit.SideTable, 1},
			"head, time":     {"UPDATE audit_head SET at_us = at_us + 1", audit.HeadDiffer, 7},
			"head, number":   {"UPDATE audit_head SET n = 6", audit.HeadDiffer, 6},
			"head, hash":     {"UPDATE audit_head SET hash = 'x'", audit.HeadDiffer, 7},
			"head, removed":  {"DELETE FROM audit_head", audit.Exchanged, 0},
			"tree": {"UPDATE audit_tree SET hashes = (SELECT hashes FROM audit_tree WHERE seq = 1) WHERE seq = 3",
				audit.SideTable, 3},
			"checkpoint":     {"DELETE FROM audit_signed", audit.SideTable, 0},
			"old checkpoint": {"UPDATE audit_signed SET n = 2", audit.Forged, 0},
			"hash":           {"UPDATE audit SET hash = (SELECT hash FROM audit WHERE seq = 1) WHERE seq = 3", audit.Changed, 3},
		} {
			t.Run(name, func(t *testing.T) {
				p := newPlace(t, open(), 3)
				crashed := newLog(t, p.opt)
				if _, err := crashed.Intent(as(ana), ana, act); err != nil { // record 7 stays open
					t.Fatal(err)
				}
				p.now.add(time.Hour)
				p.exec(c.query)
				defer p.exec("DELETE FROM audit", "DELETE FROM audit_open", "DELETE FROM audit_head", "DELETE FROM audit_tree",
					"DELETE FROM audit_signed")
				r := p.verify()
				if c.kind == "" {
					if !r.Intact() || r.Records != 7 {
						t.Errorf("%+v", r)
					}
					return
				}
				if !slices.ContainsFunc(r.Problems, func(x audit.Problem) bool { return x.Kind == c.kind && x.Seq == c.seq }) ||
					r.Exit() != audit.ExitBroken {
					t.Errorf("%+v, want %s at %d", r.Problems, c.kind, c.seq)
				}
				p.readers(c.kind, c.seq)
			})
		}
	})
}

// readers looks whether those who read see what was hashed.
func (p *placeOf) readers(kind audit.ProblemKind, seq int64) {
	p.t.Helper()
	l := newLog(p.t, p.opt)
	if kind == audit.Column {
		for _, q := range []audit.Query{{}, {Event: "document.remove"}, {Event: "document.*", Actor: "ana"}, {Actor: "ana"},
			{Object: "operation", ID: "op-2"},
			{ID: "doc-1"}, {Phase: audit.PhaseIntent}, {Phase: audit.PhaseOutcome}} {
			page, err := l.Reader.Find(as(admin), q)
			if err != nil {
				p.t.Fatal(err)
			}
			seen := map[int64]audit.Entry{}
			for _, e := range page.Entries {
				seen[e.Seq] = e
			}
			for n := int64(1); n <= 6; n++ {
				e, ok := seen[n]
				mine := (q.ID != "op-2" || n == 3 || n == 4) && (q.Phase != audit.PhaseIntent || n%2 == 1) &&
					(q.Phase != audit.PhaseOutcome || n%2 == 0)
				if mine && (!ok || e.Event != "document.remove" || e.Actor.Name != "ana" || e.Object != "operation") {
					p.t.Errorf("%+v: record %d is hidden or not what was hashed: %+v", q, n, e)
				}
				if changed := n == seq || seq == 700 && n == 6; mine && changed != e.Damaged {
					p.t.Errorf("%+v: record %d is damaged: %v (%s)", q, n, e.Damaged, e.Why)
				}
			}
		}
	}
	if acts, err := l.Unsettled(context.Background()); err != nil ||
		!slices.ContainsFunc(acts, func(e audit.Entry) bool { return e.Seq == 7 }) {
		p.t.Errorf("the unsettled act is hidden: %v, %v", acts, err)
	}
}

// TestTailCutAnywhere cuts a trail that commands wrote seconds apart at each of
// its positions.
func TestTailCutAnywhere(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		const commands = 5
		p := newPlace(t, open(), commands)
		for n := 2*commands - 1; n > 0; n-- { // from the end, so that one trail is enough
			p.cut(n)
			r := p.verify()
			if r.Intact() || r.Exit() != audit.ExitBroken ||
				!slices.ContainsFunc(r.Problems, func(x audit.Problem) bool { return x.Kind == audit.Cut }) {
				t.Errorf("cut after %d: %+v", n, r.Problems)
			}
			l := newLog(t, p.opt)
			if _, err := l.Intent(as(ana), ana, act); err != nil { // the trail continues, and nothing is signed
				t.Fatal(err)
			}
			var bad *audit.TamperedError
			if err := l.Close(context.Background()); !errors.As(err, &bad) {
				t.Errorf("cut after %d: the next command says %v", n, err)
			}
			if _, lines := p.file(); len(lines) != commands {
				t.Fatalf("cut after %d: the shorter trail was signed", n)
			}
			p.cut(n)
		}
	})
}

// TestCheckpointsLost takes away what the checkpoints are kept in.
func TestCheckpointsLost(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		for name, c := range map[string]struct {
			lose func(p *placeOf)
			kind audit.ProblemKind
		}{
			"the file":       {func(p *placeOf) { name, _ := p.file(); _ = os.Remove(name) }, audit.Unsigned},
			"the folder":     {func(p *placeOf) { _ = os.RemoveAll(p.opt.Checkpoints) }, audit.Unsigned},
			"all lines":      {func(p *placeOf) { p.rewrite(nil) }, audit.Unsigned},
			"the last line":  {func(p *placeOf) { _, l := p.file(); p.rewrite(l[:len(l)-1]) }, audit.Unsigned},
			"the last three": {func(p *placeOf) { _, l := p.file(); p.rewrite(l[:len(l)-3]) }, audit.Unsigned},
			"one in between": {func(p *placeOf) { _, l := p.file(); p.rewrite(slices.Delete(l, 1, 2)) }, audit.Unsigned},
			"the key":        {func(p *placeOf) { p.newKey() }, audit.Unsigned},
			"key and file":   {func(p *placeOf) { name, _ := p.file(); _ = os.Remove(name); p.newKey() }, audit.Unsigned},
			"key, file, tail": {func(p *placeOf) { name, _ := p.file(); _ = os.Remove(name); p.newKey(); p.cut(3) },
				audit.Unsigned},
			"key, file, side table and tail": {func(p *placeOf) {
				name, _ := p.file()
				_ = os.Remove(name)
				p.newKey()
				p.cut(3)
				p.exec("DELETE FROM audit_signed")
			}, audit.Unsigned},
			"file and side table": {func(p *placeOf) {
				name,
					_ := p.file()
				_ = os.Remove(name)
				p.exec("DELETE FROM audit_signed")
			}, audit.Unsigned},
			"file and side table, first act only": {func(p *placeOf) {
				name, _ := p.file()
				_ = os.Remove(name)
				p.cut(2)
				p.exec("DELETE FROM audit_signed")
			}, audit.Unsigned},
			"the database": {func(p *placeOf) {
				p.exec("DELETE FROM audit", "DELETE FROM audit_open", "DELETE FROM audit_head", "DELETE FROM audit_tree",
					"DELETE FROM audit_signed")
			}, audit.Exchanged},
			"the database, and it was used": {func(p *placeOf) {
				p.exec("DELETE FROM audit", "DELETE FROM audit_open", "DELETE FROM audit_head", "DELETE FROM audit_tree",
					"DELETE FROM audit_signed")
				p.command("op-1")
			}, audit.Exchanged},
		} {
			t.Run(name, func(t *testing.T) {
				p := newPlace(t, open(), 4)
				defer p.exec("DELETE FROM audit", "DELETE FROM audit_open", "DELETE FROM audit_head", "DELETE FROM audit_tree",
					"DELETE FROM audit_signed")
				if r := p.verify(); !r.Intact() || r.Covered != 8 ||
					r.Summary() != "8 records are intact, all covered by checkpoints" {
					t.Fatalf("%+v", r)
				}
				p.now.add(time.Minute)
				c.lose(p)
				r := p.verify()
				if r.Exit() == audit.ExitIntact || r.Problems[0].Kind != c.kind {
					t.Errorf("%+v, want %s", r.Problems, c.kind)
				}
			})
		}
	})
}

// TestOfflineWithoutCheckpoints: a copy of a trail that speaks of checkpoints is
// not proven whole without them.
func TestOfflineWithoutCheckpoints(t *testing.T) {
	m, place := &memory{}, filepath.Join(t.TempDir(), "points")
	key, _ := audit.NewKey(bytes.Repeat([]byte{1}, 32))
	write(t, newLog(t, audit.Options{Store: m, Key: key, Checkpoints: place}), 3)
	if r, err := audit.Verify(join(export(t, m)), nil); err != nil || r.Exit() != audit.ExitBroken ||
		r.Problems[0].Kind != audit.Unsigned {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := audit.VerifyLog(join(export(t, m)), audit.VerifyInput{Checkpoints: readers(contents(t, place)),
		Keys: publics(key)}); err != nil || !r.Intact() || r.Covered != 6 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLeftBehind: a process is ended between storing an outcome, with its
// checkpoint, and writing the checkpoint to the checkpoint file.
func TestLeftBehind(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		p := newPlace(t, open(), 2)
		_, lines := p.file()
		p.rewrite(lines[:1]) // as it stood before the second process wrote
		p.now.add(time.Minute)
		r := p.verify()
		if r.Exit() != audit.ExitBroken || len(r.Problems) != 1 ||
			!strings.Contains(r.Problems[0].Text, "ends at 2 records") {
			t.Errorf("%+v", r.Problems)
		}
		if err := newLog(t, p.opt).Close(context.Background()); err != nil { // any command
			t.Fatal(err)
		}
		r = p.verify()
		if !r.Intact() || r.Covered != 5 || len(r.Warnings) != 1 ||
			!strings.Contains(r.Warnings[0], "the checkpoint for 4 records") {
			t.Errorf("%+v", r)
		}
		if _, lines := p.file(); len(lines) != 3 {
			t.Errorf("%d checkpoints", len(lines))
		}
	})
}

// TestOtherHosts: two hosts with a key each share a store; each vouches for the
// other when the config names its key.
func TestOtherHosts(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		a := newPlace(t, open(), 2)
		b := newPlace(t, open(), 0)
		b.opt.Store, b.now = a.opt.Store, a.now
		b.opt.Now = a.now.Now
		b.command("op-3")
		if r := a.verify(); r.Exit() != audit.ExitBroken || r.Problems[0].Kind != audit.Unsigned {
			t.Errorf("an unknown signer passes: %+v", r.Problems)
		}
		chain, err := newLog(t, a.opt).Signer.Chain(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		a.opt.Trusted = []audit.Trusted{{Chain: chain, Key: b.opt.Key.Public()}}
		b.opt.Trusted = []audit.Trusted{{Chain: chain, Key: a.opt.Key.Public()}}
		b.command("op-4")
		a.command("op-5")
		for _, p := range []*placeOf{a, b} {
			if r := p.verify(); !r.Intact() || r.Covered != 10 {
				t.Errorf("%+v", r)
			}
		}
		a.exec("UPDATE audit_signed SET n = n - 1")
		if r := a.verify(); r.Intact() {
			t.Error("a changed checkpoint of the other host passes")
		}
	})
}

// TestEmptiedTreeIsMadeAgain: a tree that someone emptied is made again before the next record.
func TestEmptiedTreeIsMadeAgain(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		p := newPlace(t, open(), 3)
		p.exec("DELETE FROM audit_tree")
		if r := p.verify(); !r.Intact() {
			t.Errorf("%+v", r.Problems)
		}
		p.command("op-4")
		p.exec("DELETE FROM audit_tree WHERE seq = 4")
		if r := p.verify(); r.Intact() || r.Problems[0].Kind != audit.SideTable || r.Problems[0].Seq != 4 {
			t.Errorf("%+v", r.Problems)
		}
		p.exec("DELETE FROM audit_tree") // as docs/admin.md says
		p.command("op-5")
		if r := p.verify(); !r.Intact() || r.Covered != 10 {
			t.Errorf("%+v", r)
		}
	})
}
