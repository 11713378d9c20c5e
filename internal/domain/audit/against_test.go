package audit_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
)

// note is what opdeck audit checkpoint prints now.
func (p *placeOf) note(file string) audit.KeptNote {
	p.t.Helper()
	s, err := newLog(p.t, p.opt).Prover.NewestNote(as(admin))
	if err != nil {
		p.t.Fatal(err)
	}
	return audit.KeptNote{File: file, Text: []byte(s.Note)}
}

func (p *placeOf) against(notes ...audit.KeptNote) (audit.Report, error) {
	p.t.Helper()
	return newLog(p.t, p.opt).Prover.VerifyAgainst(as(admin), notes)
}

// empty removes the trail, as if the store had been set up again.
func (p *placeOf) empty() {
	p.t.Helper()
	p.exec("DELETE FROM audit", "DELETE FROM audit_open", "DELETE FROM audit_head", "DELETE FROM audit_tree",
		"DELETE FROM audit_signed")
	if err := os.RemoveAll(p.opt.Checkpoints); err != nil {
		p.t.Fatal(err)
	}
}

// TestAgainstKeptNotes changes the trail below, at and after a note that was kept. Each change is made by
// someone who owns the store, the checkpoints and the key, so that the trail alone may look intact.
func TestAgainstKeptNotes(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		for name, c := range map[string]struct {
			change func(p *placeOf)
			result audit.ComparisonResult
			seq    int64
			alone  bool // the trail is intact without the note
		}{
			"nothing":            {func(*placeOf) {}, audit.Continues, 0, true},
			"the trail went on":  {func(p *placeOf) { p.command("op-9") }, audit.Continues, 0, true},
			"cut after the note": {func(p *placeOf) { p.command("op-9"); p.cut(8) }, audit.Continues, 0, false},
			"changed after it": {func(p *placeOf) { p.command("op-9"); p.exec("UPDATE audit SET bytes = 'x' WHERE seq = 9") },
				audit.Continues, 0, false},
			"cut below it": {func(p *placeOf) { p.cut(6) }, audit.Older, 7, false},
			"emptied":      {func(p *placeOf) { p.empty() }, audit.Older, 1, true},
			"a record was changed": {func(p *placeOf) {
				p.exec("UPDATE audit SET bytes = (SELECT bytes FROM audit WHERE seq = 1) WHERE seq = 3")
			}, audit.Another, 3, false},
			"a record was removed": {func(p *placeOf) { p.exec("DELETE FROM audit WHERE seq = 3") }, audit.Another, 3, false},
			"the last was changed": {func(p *placeOf) { p.exec("UPDATE audit SET bytes = 'x' WHERE seq = 8") }, audit.Another, 8,
				false},
			"another log": {func(p *placeOf) {
				p.empty()
				for range 5 {
					p.command("op-1")
				}
			}, audit.Another, 0, true},
		} {
			t.Run(name, func(t *testing.T) {
				p := newPlace(t, open(), 4)
				defer p.empty()
				kept := p.note("kept.note")
				p.now.add(time.Minute)
				c.change(p)
				r, err := p.against(kept)
				if err != nil || len(r.Against) != 1 {
					t.Fatalf("%+v, %v", r, err)
				}
				got := r.Against[0]
				if got.Result != c.result || got.Seq != c.seq || got.File != "kept.note" || got.Records != 8 || got.Text == "" {
					t.Errorf("%+v, want %s at %d", got, c.result, c.seq)
				}
				if c.result != audit.Continues && (r.Exit() != audit.ExitOther ||
					!strings.Contains(r.Summary(), "kept.note: "+got.Text)) {
					t.Errorf("exit %d: %s", r.Exit(), r.Summary())
				}
				if alone := p.verify(); alone.Intact() != c.alone || c.result == audit.Continues && r.Exit() != alone.Exit() {
					t.Errorf("without the note: %+v", alone.Problems)
				}
			})
		}
	})
}

// fork is a trail with the same name, length and key as that of makeLog, and with another record 3. It is
// whole in itself, and so are its own checkpoints.
func fork(t *testing.T, log []string) []string {
	t.Helper()
	out, prev := slices.Clone(log), ""
	for i := range out {
		out[i], prev = rehash(t, out[i], func(r *audit.Record) {
			if i == 2 {
				r.Actor.Name = "eve"
			}
			if i > 0 {
				r.Prev = prev
			}
		})
	}
	return out
}

func TestAgainstAForkOfTheSameLength(t *testing.T) {
	log, points, key := makeLog(t, "op", 6, 1)
	list, _, err := audit.ReadCheckpoints(bytes.NewReader(points))
	if err != nil || len(list) != 6 {
		t.Fatal(len(list), err)
	}
	var notes []audit.KeptNote
	for _, s := range list {
		notes = append(notes, audit.KeptNote{File: fmt.Sprintf("%d.note", s.N), Text: []byte(s.Note)})
	}
	forked := fork(t, log)
	if r, err := audit.Verify(join(forked), nil); err != nil || !r.Intact() || r.Records != 12 {
		t.Fatalf("the fork is not whole in itself: %+v, %v", r.Problems, err)
	}
	r, err := audit.VerifyLog(join(forked), audit.VerifyInput{Keys: publics(key), Against: notes})
	if err != nil || r.Exit() != audit.ExitOther || !strings.Contains(r.Summary(), "4.note") {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, c := range r.Against { // the fork is between the notes for 2 and for 4 records
		if want := c.Records > 2; (c.Result == audit.Another) != want || want && c.Seq != c.Records ||
			c.File != notes[i].File {
			t.Errorf("%+v", c)
		}
	}
	if r, err = audit.VerifyLog(join(log), audit.VerifyInput{Keys: publics(key), Against: notes}); err != nil ||
		!r.Intact() || len(r.Against) != 6 {
		t.Errorf("the trail itself: %+v, %v", r, err)
	}
	// A copy without its beginning says nothing of notes from before it.
	r, err = audit.VerifyLog(join(log[4:]), audit.VerifyInput{Checkpoints: readers(points), Keys: publics(key),
		Against: notes})
	if err != nil || r.Against[0].Result == audit.Continues || r.Against[2].Result != audit.Continues {
		t.Errorf("%+v, %v", r.Against, err)
	}
}

func TestNotesThatProveNothing(t *testing.T) {
	log, points, key := makeLog(t, "op", 4, 4)
	list, _, err := audit.ReadCheckpoints(bytes.NewReader(points))
	if err != nil {
		t.Fatal(err)
	}
	good := list[0].Note
	thief, _ := audit.NewKey(bytes.Repeat([]byte{66}, 32))
	forged, _, err := audit.ReadCheckpoints(bytes.NewReader(thief.Sign(list[0].Checkpoint)))
	if err != nil {
		t.Fatal(err)
	}
	verify := func(texts ...string) error {
		var notes []audit.KeptNote
		for i, text := range texts {
			notes = append(notes, audit.KeptNote{File: fmt.Sprintf("%d.note", i), Text: []byte(text)})
		}
		_, err := audit.VerifyLog(join(log), audit.VerifyInput{Keys: publics(key), Against: notes})
		return err
	}
	if err := verify(good, good); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"another key": forged[0].Note, "another number": strings.Replace(good, "\n8\n", "\n7\n", 1), "empty": "",
		"two notes": good + good,
		"cut":       good[:len(good)-1], "a line more": good + "— opdeck.audit/x AAAAAAAA\n",
		"a line of a checkpoint file": string(points),
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
	key, _ := audit.NewKey(bytes.Repeat([]byte{1}, 32))
	m := &memory{}
	l := newLog(t, audit.Options{Store: m, Key: key, Checkpoints: t.TempDir()})
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
