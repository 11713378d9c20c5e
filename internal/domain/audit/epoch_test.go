package audit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
)

// accept records the restore, as opdeck restore does.
func (p *placeOf) accept(notes ...audit.KeptNote) (audit.Restore, error) {
	p.t.Helper()
	l := newLog(p.t, p.opt)
	r, err := l.Prover.AcceptRestore(as(admin), notes, nil, "the disk failed", "bo")
	p.now.add(time.Second)
	return r, err
}

// intact fails unless the trail is, and names a restore from and to these records.
func (p *placeOf) intact(from, to int64) {
	p.t.Helper()
	r := p.verify()
	if !r.Intact() || len(r.Restores) == 0 || r.Covered != r.Last {
		p.t.Fatalf("%s\n%+v", r.Summary(), r.Problems)
	}
	x := r.Restores[len(r.Restores)-1]
	if x.From != from || x.To != to || x.Lost != from-to || x.Actor != "kim" || x.Second != "bo" ||
		x.Reason != "the disk failed" ||
		x.At.IsZero() || x.Seq == 0 {
		p.t.Errorf("%+v", x)
	}
	if s := r.Summary(); !strings.Contains(s, "the trail was restored from") ||
		!strings.Contains(s, "approved by bo: the disk failed") {
		p.t.Error(s)
	}
}

// TestRestoredBackup: an older trail is not intact until a person records that it was restored; then it is, names the
// restore, and the checkpoint file continues.
func TestRestoredBackup(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		for name, c := range map[string]struct {
			after int // commands after the restore, before it is recorded
			cut   int // records that remain when the end was cut; 0: a backup of eight was restored
			to    int64
		}{
			"at once": {0, 0, 8}, "one command later": {1, 0, 8}, "the trail is as long again": {3, 0, 8},
			"cut behind an outcome": {0, 6, 6}, "cut behind an intent": {1, 7, 6},
		} {
			t.Run(name, func(t *testing.T) {
				p := newPlace(t, open(), 4)
				defer p.empty()
				old := p.note("old.note")
				p.backup()
				p.command("op-5")
				p.command("op-6")
				lost := p.note("lost.note")
				if c.cut > 0 {
					p.cut(c.cut)
				} else {
					p.restore()
				}
				for range c.after {
					var bad *audit.TamperedError
					if err := p.try("op-9"); !errors.As(err, &bad) {
						t.Fatalf("signed without a word: %v", err)
					}
				}
				r := p.verify()
				if r.Intact() || !strings.Contains(r.Summary(), "opdeck restore --reason") {
					t.Fatalf("%s\n%+v", r.Summary(), r.Problems)
				}
				got, err := p.accept()
				if err != nil || got.From != 12 || got.To != c.to {
					t.Fatalf("%+v, %v", got, err)
				}
				p.intact(12, c.to)
				p.command("op-7")
				p.command("op-8")
				p.intact(12, c.to)
				if _, err := p.accept(); api.KindOf(err) != api.Refused {
					t.Errorf("recorded twice: %v", err)
				}
				fresh := p.note("fresh.note")
				r, err = p.against(lost, fresh)
				if err != nil || !r.Intact() || r.Exit() != 0 || r.Against[0].Result != audit.Restored ||
					r.Against[1].Result != audit.Continues {
					t.Errorf("%+v, %v", r.Against, err)
				}
				if r, err := p.against(old); err != nil || c.cut == 0 && r.Against[0].Result != audit.Continues || !r.Intact() {
					t.Errorf("%+v, %v", r.Against, err)
				}
			})
		}
	})
}

// TestRestoredWithItsCheckpoints: where the checkpoints were restored with the store, only a kept note shows it, and
// the
// restore is recorded by that note.
func TestRestoredWithItsCheckpoints(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		p := newPlace(t, open(), 4)
		defer p.empty()
		p.backup()
		_, lines := p.file()
		p.command("op-5")
		kept := p.note("kept.note")
		p.restore()
		p.rewrite(lines...)
		if r := p.verify(); !r.Intact() {
			t.Fatalf("%+v", r.Problems)
		}
		if _, err := p.accept(); api.KindOf(err) != api.Refused {
			t.Errorf("nothing is known to be lost: %v", err)
		}
		if got, err := p.accept(kept); err != nil || got.From != 10 || got.To != 8 {
			t.Fatalf("%+v, %v", got, err)
		}
		p.intact(10, 8)
		p.command("op-6")
		if r, err := p.against(kept); err != nil || !r.Intact() || r.Against[0].Result != audit.Restored {
			t.Errorf("%+v, %v", r.Against, err)
		}
	})
}

// TestNoRestoreExplainsAChangedTrail: what was changed or forked cannot be recorded as a restored backup.
func TestNoRestoreExplainsAChangedTrail(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		for name, change := range map[string]func(p *placeOf){
			"nothing":      func(*placeOf) {},
			"record bytes": func(p *placeOf) { p.exec("UPDATE audit SET bytes = 'x' WHERE seq = 3") },
			"and the end was cut": func(p *placeOf) {
				p.cut(6)
				p.exec("UPDATE audit SET bytes = 'x' WHERE seq = 3")
			},
			"a column":         func(p *placeOf) { p.cut(6); p.exec("UPDATE audit SET actor = 'eve' WHERE seq = 3") },
			"a record is gone": func(p *placeOf) { p.cut(6); p.exec("DELETE FROM audit WHERE seq = 3") },
			"another log":      func(p *placeOf) { p.exec("UPDATE audit_head SET chain = 'another'") },
			"forked and signed": func(p *placeOf) {
				_, before := p.file()
				p.backup()
				p.command("op-5")
				_, after := p.file()
				p.restore()
				p.rewrite(before...)
				p.command("op-6") // another history, signed by the same key
				p.command("op-7")
				_, forked := p.file()
				p.rewrite(append(after, forked[len(before):]...)...)
			},
		} {
			t.Run(name, func(t *testing.T) {
				p := newPlace(t, open(), 4)
				defer p.empty()
				change(p)
				p.now.add(time.Minute)
				before := p.verify()
				if got, err := p.accept(); api.KindOf(err) != api.Refused {
					t.Errorf("accepted: %+v, %v", got, err)
				}
				if after := p.verify(); after.Intact() != before.Intact() || len(after.Restores) != 0 {
					t.Errorf("%+v", after)
				}
			})
		}
	})
}
