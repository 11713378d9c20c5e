package audit_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
)

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

func (f failing) Nodes(ctx context.Context, seqs []int64) (map[int64][]byte, error) {
	out, err := f.Store.Nodes(ctx, seqs)
	return out, f.or("tree", err)
}

func (f failing) TreeSize(ctx context.Context, after int64) (count, last int64, err error) {
	count, last, err = f.Store.TreeSize(ctx, after)
	return count, last, f.or("size of the tree", err)
}

func (f failing) Checkpoints(ctx context.Context) ([]audit.StoredCheckpoint, error) {
	out, err := f.Store.Checkpoints(ctx)
	return out, f.or("stored checkpoints", err)
}

func (f failing) Segments(ctx context.Context) ([]audit.Segment, error) {
	out, err := f.Store.Segments(ctx)
	return out, f.or("segments", err)
}

// TestUnreadEvidenceProvesNothing: a trail that was rolled back, so that only another host's checkpoints or a kept note
// know of it, is never intact: neither if they are read, nor if they or anything else cannot be read.
func TestUnreadEvidenceProvesNothing(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		p := newPlace(t, open(), 4)
		defer p.empty()
		chain, err := newLog(t, p.opt).Signer.Chain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		own, err := newLog(t, p.opt).Signer.CheckpointFile(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(own)
		if err != nil {
			t.Fatal(err)
		}
		p.backup()
		key, _, err := audit.CreateKey(filepath.Join(t.TempDir(), "other.key"))
		if err != nil {
			t.Fatal(err)
		}
		ours := p.opt
		p.opt.Key = key
		p.command("op-5")
		note := p.note("other.note")
		theirs, err := newLog(t, p.opt).Signer.CheckpointFile(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.opt = ours
		p.opt.Trusted = []audit.Trusted{{Chain: chain, Key: key.Public()}}
		if r := p.verify(); !r.Intact() || r.Covered != 10 {
			t.Fatalf("before: %+v", r)
		}
		p.restore()
		if err := os.WriteFile(own, kept, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := p.verify(); r.Exit() != audit.ExitBroken {
			t.Errorf("the other host's checkpoints: %s", r.Summary())
		}
		for _, what := range []string{"head", "records", "derived tables", "tree", "size of the tree", "stored checkpoints",
			"segments"} {
			p.opt.Store = failing{ours.Store, what}
			if r, err := p.against(note); !errors.Is(err, errRead) {
				t.Errorf("%s cannot be read: %v, %s", what, err, r.Summary())
			}
		}
		p.opt.Store = ours.Store
		for what, file := range map[string]string{"the other host's file": theirs, "the own file": own} {
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
				t.Fatal(err)
			}
			if r, err := newLog(t, p.opt).Prover.Verify(as(admin)); err == nil {
				t.Errorf("%s cannot be read: %s", what, r.Summary())
			}
			if err := errors.Join(os.Remove(file), os.WriteFile(file, whole, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(theirs); err != nil { // now only the note knows
			t.Fatal(err)
		}
		if r := p.verify(); !r.Intact() {
			t.Fatalf("without the other host's file: %+v", r.Problems)
		}
		if r, err := p.against(note); err != nil || r.Exit() != audit.ExitOther {
			t.Errorf("the note: %v, %s", err, r.Summary())
		}
		for what, text := range map[string]string{"empty": "", "half": string(note.Text[:len(note.Text)/2]), "a page": "<html>"} {
			if r, err := p.against(audit.KeptNote{File: what, Text: []byte(text)}); err == nil {
				t.Errorf("%s note: %s", what, r.Summary())
			}
		}
	})
}
