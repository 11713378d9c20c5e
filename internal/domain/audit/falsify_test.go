package audit_test

import (
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
	"opdeck/internal/store/storetest"
)

// falsification is one change of a trail of eight records by four commands, and of an act that is open, record 9.
type falsification struct {
	name   string
	change func(p *placeOf)
	kind   audit.ProblemKind // what verify finds; "" for nothing
	seq    int64             // where
	// against is what verify --against a note finds that was kept before; "" where verify is enough.
	against  audit.ComparisonResult
	postgres bool // tried with PostgreSQL too
}

func query(q string) func(*placeOf) { return func(p *placeOf) { p.exec(q) } }

func eve(b string) string { return strings.Replace(b, `"name":"ana"`, `"name":"eve"`, 1) }

func same(b string) string { return b }

// falsifications are the changes by someone who owns the store, and then also the checkpoint files.
func falsifications() []falsification {
	col := audit.Column
	all := []falsification{
		{"nothing", func(*placeOf) {}, "", 0, "", true},
		{"the trail went on", func(p *placeOf) { p.command("op-9") }, "", 0, audit.Continues, true},

		// columns
		{"column event", query("UPDATE audit SET event = 'audit.read' WHERE seq = 3"), col, 3, "", true},
		{"column actor", query("UPDATE audit SET actor = 'eve' WHERE seq = 3"), col, 3, "", false},
		{"column object", query("UPDATE audit SET object = '' WHERE seq = 3"), col, 3, "", false},
		{"column object_id", query("UPDATE audit SET object_id = '' WHERE seq = 3"), col, 3, "", false},
		{"column item", query("UPDATE audit SET item = 'doc-2' WHERE seq = 3"), col, 3, "", false},
		{"column phase", query("UPDATE audit SET phase = 'note' WHERE seq = 3"), col, 3, "", false},
		{"column ref", query("UPDATE audit SET ref = 'x' WHERE seq = 4"), col, 4, "", false},
		{"column boot", query("UPDATE audit SET boot = 'x' WHERE seq = 4"), col, 4, "", false},
		{"column at_us", query("UPDATE audit SET at_us = at_us - 1 WHERE seq = 4"), col, 4, "", false},
		{"column uid", query("UPDATE audit SET uid = 'x' WHERE seq = 4"), col, 4, "", false},
		{"column seq", query("UPDATE audit SET seq = 700 WHERE seq = 6"), audit.Missing, 6, "", true},
		{"column hash", query("UPDATE audit SET hash = (SELECT hash FROM audit WHERE seq = 1) WHERE seq = 3"), audit.Changed,
			3, "", false},

		// derived tables
		{"an open act is hidden", query("DELETE FROM audit_open"), audit.SideTable, 9, "", true},
		{"a finished act is open", query("INSERT INTO audit_open (uid, seq) SELECT uid, seq FROM audit WHERE seq = 1"),
			audit.SideTable, 1, "", false},
		{"an open act is another", query("UPDATE audit_open SET seq = 1"), audit.SideTable, 9, "", false},
		{"head, time", query("UPDATE audit_head SET at_us = at_us + 1"), audit.HeadDiffer, 9, "", false},
		{"head, number", query("UPDATE audit_head SET n = 8"), audit.HeadDiffer, 8, "", false},
		{"head, hash", query("UPDATE audit_head SET hash = 'x'"), audit.HeadDiffer, 9, "", true},
		{"head, epoch", query("UPDATE audit_head SET epoch = 5"), audit.HeadDiffer, 1, "", false},
		{"head, chain", query("UPDATE audit_head SET chain = 'another'"), audit.Exchanged, 0, "", false},
		{"head removed", query("DELETE FROM audit_head"), audit.Exchanged, 0, "", false},

		// records
		{"a byte", query("UPDATE audit SET bytes = 'x' WHERE seq = 3"), audit.Changed, 3, audit.Another, true},
		{"a byte of the first", query("UPDATE audit SET bytes = 'x' WHERE seq = 1"), audit.Changed, 1, audit.Another, false},
		{"a byte of the last", query("UPDATE audit SET bytes = 'x' WHERE seq = 9"), audit.Changed, 9, audit.Continues, false},
		{"another one's bytes", query("UPDATE audit SET bytes = (SELECT bytes FROM audit WHERE seq = 1) WHERE seq = 3"),
			audit.Changed, 3, audit.Another, false},
		{"the person", func(p *placeOf) { p.bytes(3, eve) }, audit.Broken, 4, audit.Another, false},
		{"no record", func(p *placeOf) { p.bytes(3, func(string) string { return "{" }) }, audit.Malformed, 3, audit.Another,
			false},
		{"the person, all hashes anew", func(p *placeOf) { p.chained(3, eve) }, audit.Rewritten, 4, audit.Another, true},
		{"the first, all hashes anew", func(p *placeOf) { p.chained(1, eve) }, audit.Rewritten, 2, audit.Another, false},
		{"the last signed one, its hash anew", func(p *placeOf) { p.chained(8, eve) }, audit.Rewritten, 8, audit.Another,
			false},
		{"the time, all hashes anew", func(p *placeOf) {
			p.chained(5, func(b string) string { return strings.Replace(b, "09:00", "08:00", 1) })
		}, audit.Rewritten, 6, audit.Another, false},
		{"the file's name, all hashes anew", func(p *placeOf) {
			p.chained(7, func(b string) string { return strings.Replace(b, "invoice.pdf", "x.pdf", 1) })
		}, audit.Rewritten, 8, audit.Another, false},
		{"an outcome, all hashes anew", func(p *placeOf) {
			p.chained(4, func(b string) string { return strings.Replace(b, `"outcome":"ok"`, `"outcome":"failed"`, 1) })
		}, audit.Rewritten, 4, audit.Another, false},

		// removed, reordered, inserted
		{"the first is gone", query("DELETE FROM audit WHERE seq = 1"), audit.Missing, 1, audit.Another, false},
		{"one is gone", query("DELETE FROM audit WHERE seq = 3"), audit.Missing, 3, audit.Another, true},
		{"three are gone", query("DELETE FROM audit WHERE seq BETWEEN 3 AND 5"), audit.Missing, 3, audit.Another, false},
		{"the last is gone", query("DELETE FROM audit WHERE seq = 9"), audit.HeadDiffer, 9, audit.Continues, false},
		{"all are gone", query("DELETE FROM audit"), audit.HeadDiffer, 9, audit.Older, false},
		{"two are exchanged", func(p *placeOf) {
			p.exec("UPDATE audit SET seq = 99 WHERE seq = 3", "UPDATE audit SET seq = 3 WHERE seq = 4",
				"UPDATE audit SET seq = 4 WHERE seq = 99")
		}, audit.Missing, 3, audit.Another, true},
		{"an outcome is forged at the end", func(p *placeOf) { p.insert(8, eve) }, audit.Unsigned, 10, audit.Continues, true},
		{"an outcome is forged, the table of open acts follows", func(p *placeOf) {
			p.exec("DELETE FROM audit_open")
			uid := p.rows()[8].UID
			p.insert(8, func(b string) string { return strings.Replace(b, p.rows()[7].Ref, uid, 1) })
		}, audit.Unsigned, 10, audit.Continues, false},
		{"one of another trail", func(p *placeOf) {
			p.insert(7, func(b string) string { return strings.Replace(b, `"chain":"`, `"chain":"0`, 1) })
		}, audit.OtherLog, 10, audit.Continues, false},
		{"one is there twice", func(p *placeOf) {
			p.insert(7, func(b string) string { return strings.Replace(b, `"seq":10`, `"seq":7`, 1) })
		}, audit.Misplaced, 7, audit.Another, false},

		// the store's checkpoint
		{"the stored checkpoint is gone", query("DELETE FROM audit_signed"), audit.SideTable, 0, "", true},
		{"its number", query("UPDATE audit_signed SET n = 2"), audit.Forged, 0, "", false},
		{"its text", query("UPDATE audit_signed SET note = 'x'"), audit.Forged, 0, "", false},
		{"an older one", func(p *placeOf) {
			s := p.points()[0]
			p.exec(fmt.Sprintf("UPDATE audit_signed SET n = %d, note = '%s'", s.N, s.Note))
		}, audit.SideTable, 0, "", false},

		// checkpoint files
		{"the file is gone", (*placeOf).unlink, audit.Unsigned, 0, "", true},
		{"the folder is gone", func(p *placeOf) { _ = os.RemoveAll(p.opt.Checkpoints) }, audit.Unsigned, 0, "", false},
		{"it is empty", func(p *placeOf) { p.rewrite() }, audit.Unsigned, 0, "", false},
		{"its last line is gone", func(p *placeOf) { _, l := p.file(); p.rewrite(l[:3]...) }, audit.Unsigned, 0, "", false},
		{"only its first line is left", func(p *placeOf) { _, l := p.file(); p.rewrite(l[0]) }, audit.Unsigned, 0, "", false},
		{"signed by another key", func(p *placeOf) {
			_, l := p.file()
			p.rewrite(append(l, string(seeded(p.t, 66).Sign(p.points()[0].Checkpoint)))...)
		}, audit.Forged, 0, "", false},
		{"another hash in a line", func(p *placeOf) {
			_, l := p.file()
			l[1] = strings.Replace(l[1], p.points()[1].Head, p.points()[0].Head, 1)
			p.rewrite(l...)
		}, audit.Forged, 0, "", false},
		{"lines in another order", func(p *placeOf) { _, l := p.file(); p.rewrite(l[1], l[0], l[2], l[3]) }, audit.Reordered,
			0, "", false},
		{"a line twice", func(p *placeOf) { _, l := p.file(); p.rewrite(append(l, l[3])...) }, audit.Reordered, 0, "", false},
		{"a good key over a wrong hash", func(p *placeOf) {
			_, l := p.file()
			c := p.points()[0].Checkpoint
			c.N = 7
			p.rewrite(l[0], l[1], l[2], string(p.opt.Key.Sign(c)), l[3])
		}, audit.Rewritten, 7, "", false},
		{"a good key over another trail", func(p *placeOf) {
			_, l := p.file()
			c := p.points()[3].Checkpoint
			c.Chain = "another"
			p.rewrite(append(l, string(p.opt.Key.Sign(c)))...)
		}, audit.OtherLog, 0, "", false},
		{"the key is another", func(p *placeOf) { p.opt.Key = seeded(p.t, 3) }, audit.Unsigned, 9, "", false},
		{"key and file", func(p *placeOf) { p.unlink(); p.opt.Key = seeded(p.t, 3) }, audit.Unsigned, 9, "", false},
		{"file and stored checkpoint", func(p *placeOf) { p.unlink(); p.exec("DELETE FROM audit_signed") }, audit.Unsigned, 9,
			"", true},
		{"key, file, stored checkpoint and tail", func(p *placeOf) {
			p.unlink()
			p.opt.Key = seeded(p.t, 3)
			p.exec("DELETE FROM audit_signed")
			p.cut(4)
		}, audit.Unsigned, 4, "", false},
		{"all but the first act, file and stored checkpoint", func(p *placeOf) {
			p.unlink()
			p.exec("DELETE FROM audit_signed")
			p.cut(2)
		}, audit.Unsigned, 2, audit.Older, false},

		// the whole store
		{"the trail is emptied", (*placeOf).empty, audit.Exchanged, 0, audit.Older, true},
		{"emptied and used", func(p *placeOf) { p.empty(); p.command("op-1") }, audit.Exchanged, 0, audit.Another, false},
		{"rolled back", func(p *placeOf) { p.backup(); p.command("op-5"); p.restore() }, audit.Cut, 10, audit.Continues, true},
		{"rolled back, and as long again", func(p *placeOf) {
			p.backup()
			p.command("op-5")
			p.restore()
			_ = p.try("op-6")
			_ = p.try("op-7")
		}, audit.Rewritten, 11, audit.Continues, false},
		{"a restore is claimed, not signed", func(p *placeOf) {
			p.cut(6)
			p.insert(5, func(b string) string {
				return strings.NewReplacer(`"event":"document.remove"`, `"event":"audit.restored"`, `"phase":"intent"`,
					`"phase":"note"`, `"prev":`, `"restored":{"from":8,"to":6,"found":6},"prev":`).Replace(b)
			})
		}, audit.Cut, 8, audit.Older, false},
		{"store and files are emptied", func(p *placeOf) { p.empty(); p.unlink() }, "", 0, audit.Older, true},
		{"store and files are those of before", func(p *placeOf) { p.cut(6); p.older(3) }, "", 0, audit.Older, true},
		{"and they went on", func(p *placeOf) {
			p.cut(6)
			p.older(3)
			p.command("op-8")
			p.command("op-9")
		}, "", 0, audit.Another, true},
		{"store and files are those of another trail", func(p *placeOf) {
			p.empty()
			p.unlink()
			for range 5 {
				p.command("op-1")
			}
		}, "", 0, audit.Another, false},
		{"rewritten, and signed anew with the key", func(p *placeOf) {
			p.chained(3, eve)
			p.exec("UPDATE audit SET actor = 'eve' WHERE seq = 3", "DELETE FROM audit_signed")
			p.unlink()
			if err := newLog(p.t, p.opt).Signer.Checkpoint(as(admin)); err != nil {
				p.t.Fatal(err)
			}
		}, "", 0, audit.Another, false},

		// the archive of an older program
		{"a segment is gone", func(p *placeOf) { p.archive(same, os.Remove) }, audit.Missing, 1, "", true},
		{"a byte in a segment", func(p *placeOf) { p.archive(eve, nil) }, audit.Missing, 1, "", false},
		{"a record of a segment is gone", func(p *placeOf) { p.archive(lines(0, 1, 3), nil) }, audit.Missing, 1, "", false},
		{"two in a segment are exchanged", func(p *placeOf) { p.archive(lines(0, 2, 1, 3), nil) }, audit.Missing, 1, "",
			false},
		{"a segment ends early", func(p *placeOf) { p.archive(lines(0, 1, 2), nil) }, audit.Missing, 1, "", false},
		{"a segment is rewritten", func(p *placeOf) {
			rows := p.rows()
			p.archive(func(string) string {
				b := eve(string(rows[0].Bytes))
				return fmt.Sprintf("{\"hash\":\"%s\",\"record\":%s}\n", audit.Hash([]byte(b)), b)
			}, nil)
		}, audit.Missing, 1, "", false},
		{"and the store says so too", func(p *placeOf) {
			p.chained(1, eve)
			p.archive(same, nil)
		}, audit.Rewritten, 2, audit.Another, false},
	}
	for n := 1; n < 8; n++ {
		kind, seq := audit.Cut, int64(n+1)
		all = append(all, falsification{fmt.Sprintf("cut after record %d", n), func(p *placeOf) { p.cut(n) }, kind, seq,
			audit.Older, n == 5})
	}
	return all
}

// lines are those lines of a text.
func lines(n ...int) func(string) string {
	return func(text string) string {
		all, out := strings.SplitAfter(text, "\n"), ""
		for _, i := range n {
			out += all[i]
		}
		return out
	}
}

// older puts the checkpoint file and the stored checkpoint back to n checkpoints.
func (p *placeOf) older(n int) {
	p.t.Helper()
	_, l := p.file()
	s := p.points()[n-1]
	p.rewrite(l[:n]...)
	p.exec(fmt.Sprintf("UPDATE audit_signed SET n = %d, note = '%s'", s.N, s.Note))
}

// archive makes the trail that of an older program that has moved its first four records to a segment, which change
// makes another and after does something to, and lets this program import it.
func (p *placeOf) archive(change func(string) string, after func(name string) error) {
	p.t.Helper()
	rows, text := p.rows(), ""
	for _, r := range rows[:4] {
		text += fmt.Sprintf("{\"hash\":\"%s\",\"record\":%s}\n", r.Hash, r.Bytes)
	}
	folder := p.t.TempDir()
	name := filepath.Join(folder, "segment.jsonl")
	if err := os.WriteFile(name, []byte(change(text)), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if after != nil {
		if err := after(name); err != nil {
			p.t.Fatal(err)
		}
	}
	p.exec("DELETE FROM audit WHERE seq <= 4", "UPDATE audit_head SET epoch = 0",
		fmt.Sprintf("INSERT INTO audit_segment (first, last, hash, at_us, file, folder, host) VALUES "+
			"(1, 4, '%s', 0, 'segment.jsonl', '%s', 'desk-1')", rows[3].Hash, folder))
	if _, err := newLog(p.t, p.opt).Prover.BeginEpoch(context.Background()); err != nil {
		p.t.Fatal(err)
	}
}

// TestFalsifications changes a trail in every way that someone who owns the store, or the store and the checkpoint
// files, can think of. verify finds each, or verify --against does.
func TestFalsifications(t *testing.T) {
	table := falsifications()
	if len(table) < 62 {
		t.Errorf("%d falsifications, want 60 and two trails as they are", len(table))
	}
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		for _, c := range table {
			if e == store.Postgres && !c.postgres {
				continue
			}
			t.Run(e.String()+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, storetest.Open(t, e), 4)
				kept := p.note("kept.note")
				if _, err := newLog(t, p.opt).Intent(as(ana), ana, act); err != nil { // record 9 stays open
					t.Fatal(err)
				}
				p.now.add(time.Minute)
				c.change(p)
				r := p.verify()
				if found := slices.ContainsFunc(r.Problems, func(x audit.Problem) bool {
					return x.Kind == c.kind && (c.seq == 0 || x.Seq == c.seq)
				}); found != (c.kind != "") || (r.Exit() == audit.ExitIntact) != (c.kind == "") {
					t.Errorf("verify: exit %d, want %q at %d: %+v", r.Exit(), c.kind, c.seq, r.Problems)
				}
				if c.against == "" {
					if c.kind == "" && !r.Intact() {
						t.Error(r.Summary())
					}
					return
				}
				r, err := p.against(kept)
				if err != nil || len(r.Against) != 1 || r.Against[0].Result != c.against ||
					(c.against != audit.Continues) != (r.Exit() == audit.ExitOther) {
					t.Errorf("verify --against: exit %d, %+v, %v; want %s", r.Exit(), r.Against, err, c.against)
				}
			})
		}
	}
}

// TestCutTrailIsNotSigned: the next process finds a tail that was cut, at each place, and signs nothing.
func TestCutTrailIsNotSigned(t *testing.T) {
	p := newPlace(t, storetest.Open(t, store.SQLite), 4)
	for n := 7; n > 0; n-- {
		p.cut(n)
		var bad *audit.TamperedError
		if err := p.try("op-9"); !errors.As(err, &bad) || bad.N != 8 {
			t.Errorf("cut after %d: %v", n, err)
		}
		if len(p.points()) != 4 {
			t.Fatalf("cut after %d: the shorter trail was signed", n)
		}
		p.cut(n)
	}
}

// TestNotesThatProveNothing: a note that is not exactly one checkpoint of a known key is no evidence.
func TestNotesThatProveNothing(t *testing.T) {
	p := newPlace(t, storetest.Open(t, store.SQLite), 4)
	good := string(p.note("good").Text)
	forged, _, err := audit.ReadCheckpoints(strings.NewReader(string(seeded(t, 66).Sign(p.points()[0].Checkpoint))))
	if err != nil {
		t.Fatal(err)
	}
	_, l := p.file()
	verify := func(texts ...string) error {
		var notes []audit.KeptNote
		for i, text := range texts {
			notes = append(notes, audit.KeptNote{File: fmt.Sprintf("%d.note", i), Text: []byte(text)})
		}
		_, err := p.against(notes...)
		return err
	}
	if err := verify(good, good); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"another key": forged[0].Note, "another number": strings.Replace(good, "\n8\n", "\n7\n", 1), "empty": "",
		"two notes": good + good, "cut": good[:len(good)-1], "a line more": good + "— opdeck.audit/x AAAAAAAA\n",
		"a line of a checkpoint file": l[0],
	} {
		if err := verify(good, text); api.KindOf(err) != api.Usage || !strings.Contains(api.AsError(err).Public, "1.note") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range good {
		b := []byte(good)
		b[i] ^= 1
		if verify(string(b)) == nil {
			t.Errorf("byte %d (%q) changed", i, good[i])
		}
	}
}

func TestNewestNote(t *testing.T) {
	m, key := &memory{}, seeded(t, 1)
	l := newLog(t, audit.Options{Store: m, Key: key, Checkpoints: points(t)})
	if _, err := l.Prover.NewestNote(as(admin)); api.KindOf(err) != api.NotFound {
		t.Errorf("of an empty trail: %v", err)
	}
	write(t, l, 2)
	if err := l.Note(as(ana), ana, api.Event{Name: "reveal"}); err != nil {
		t.Fatal(err)
	}
	s, err := l.Prover.NewestNote(as(admin))
	if err != nil || s.N != 5 || !s.By(key.Public()) || len(m.rows) != 5 {
		t.Errorf("%+v, %v", s, err)
	}
	if again, err := l.Prover.NewestNote(as(admin)); err != nil || again.Note != s.Note {
		t.Errorf("the same end was signed twice: %v", err)
	}
	if _, err := l.Prover.NewestNote(as(api.Actor{Name: "vic", Role: api.Viewer})); api.AsError(err).Rule != api.RuleRole {
		t.Errorf("a viewer signs: %v", err)
	}
	if _, err := newLog(t, audit.Options{Store: m}).Prover.NewestNote(as(admin)); api.KindOf(err) != api.BadConfig {
		t.Errorf("without a key: %v", err)
	}
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
		chain := a.points()[0].Chain
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

// failing is a store of which one kind of read fails.
type failing struct {
	audit.Store
	what string
}

var errRead = errors.New("the read failed")

func (f failing) or(what string, err error) error {
	if f.what == what {
		return errRead
	}
	return err
}

func (f failing) Head(ctx context.Context) (audit.Head, error) {
	out, err := f.Store.Head(ctx)
	return out, f.or("head", err)
}

func (f failing) Rows(ctx context.Context, from int64, limit int) ([]audit.Row, error) {
	out, err := f.Store.Rows(ctx, from, limit)
	return out, f.or("records", err)
}

func (f failing) Derived(ctx context.Context) (audit.Derived, error) {
	out, err := f.Store.Derived(ctx)
	return out, f.or("derived tables", err)
}

func (f failing) Checkpoints(ctx context.Context) ([]audit.StoredCheckpoint, error) {
	out, err := f.Store.Checkpoints(ctx)
	return out, f.or("stored checkpoints", err)
}

// TestUnreadEvidenceProvesNothing: a trail is never intact if any part of it cannot be read.
func TestUnreadEvidenceProvesNothing(t *testing.T) {
	p := newPlace(t, storetest.Open(t, store.SQLite), 2)
	good := p.opt.Store
	for _, what := range []string{"head", "records", "derived tables", "stored checkpoints"} {
		p.opt.Store = failing{good, what}
		if r, err := newLog(t, p.opt).Prover.Verify(as(admin)); !errors.Is(err, errRead) {
			t.Errorf("%s: %s, %v", what, r.Summary(), err)
		}
	}
	p.opt.Store = good
	name, l := p.file()
	for what, text := range map[string]string{"no checkpoint": "hello\n", "one in the middle": l[0] + "hello\n" + l[1]} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := newLog(t, p.opt).Prover.Verify(as(admin)); err == nil {
			t.Errorf("%s: %s", what, r.Summary())
		}
	}
	p.rewrite(l[0], l[1], l[1][:30])
	if r := p.verify(); !r.Intact() || len(r.Warnings) != 1 {
		t.Errorf("a torn line: %+v", r)
	}
}

// TestMigrated: a trail of an older program, part of it in its archive, is imported, verified once, and goes on as an
// epoch that names its last hash.
func TestMigrated(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		p := newPlace(t, open(), 4)
		head := p.rows()[7]
		p.archive(same, nil)
		rows := p.rows()
		if len(rows) != 9 || rows[8].Event != audit.EventEpoch || rows[8].ID != head.Hash {
			t.Fatalf("%d records, the last %+v", len(rows), rows[len(rows)-1])
		}
		list, err := p.opt.Store.Segments(t.Context())
		if err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		if r := p.verify(); !r.Intact() || r.Covered != 9 || r.Records != 9 {
			t.Errorf("%+v", r)
		}
		if h, err := p.opt.Store.Head(t.Context()); err != nil || h.Epoch != 9 {
			t.Errorf("%+v, %v", h, err)
		}
		if said, err := newLog(t, p.opt).Prover.BeginEpoch(t.Context()); err != nil || said != "" {
			t.Errorf("it began again: %q, %v", said, err)
		}
		p.command("op-5")
		if r := p.verify(); !r.Intact() {
			t.Errorf("%+v", r.Problems)
		}
	})
}

// TestArchiveThatComesLater: what is missing in the archive is named, and imported once it is there.
func TestArchiveThatComesLater(t *testing.T) {
	p := newPlace(t, storetest.Open(t, store.SQLite), 4)
	aside := filepath.Join(t.TempDir(), "aside")
	var name string
	p.archive(same, func(n string) error { name = n; return os.Rename(n, aside) })
	said, err := newLog(t, p.opt).Prover.BeginEpoch(t.Context())
	if err != nil || !strings.Contains(said, "records 1 to 4 are not in the store: host desk-1 archived them in "+name) {
		t.Fatalf("%q, %v", said, err)
	}
	if err := os.Rename(aside, name); err != nil {
		t.Fatal(err)
	}
	if said, err := newLog(t, p.opt).Prover.BeginEpoch(t.Context()); err != nil || said != "" {
		t.Errorf("%q, %v", said, err)
	}
	if r := p.verify(); !r.Intact() || r.Records != 9 {
		t.Errorf("%+v", r)
	}
}
