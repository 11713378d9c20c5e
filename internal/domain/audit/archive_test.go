package audit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// archive is a trail on a database whose old records are archived.
type archive struct {
	*audit.Log
	st     *store.Store
	rows   *journal.Audit
	at     *clock
	key    *audit.Key
	folder string
	points string
}

func newArchive(t *testing.T, st *store.Store) *archive {
	t.Helper()
	dir := t.TempDir()
	key, _, err := audit.CreateKey(filepath.Join(dir, "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{st: st, rows: journal.NewAudit(st.Core), at: newClock(), key: key, folder: filepath.Join(dir, "archive"),
		points: filepath.Join(dir, "points.jsonl")}
	a.open(t)
	return a
}

// open is what a process does that begins.
func (a *archive) open(t *testing.T) {
	t.Helper()
	a.Log = newLog(t, audit.Options{Store: a.rows, Now: a.at.Now, Key: a.key, Checkpoints: a.points, Archive: a.folder})
}

// days writes some acts each day and archives what is older than a day.
func (a *archive) days(t *testing.T, days, acts int) {
	t.Helper()
	for range days {
		a.at.add(24 * time.Hour)
		write(t, a.Log, acts)
		a.archive(t)
	}
}

func (a *archive) archive(t *testing.T) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = a.Archivist.Step(t.Context(), a.at.Now().Add(-24*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

func (a *archive) verify(t *testing.T) audit.Report {
	t.Helper()
	r, err := a.Prover.Verify(as(admin))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stored is how many records the database holds.
func (a *archive) stored(t *testing.T) (n int64) {
	t.Helper()
	if err := a.st.Core.QueryRow(t.Context(), "SELECT COUNT(*) FROM audit").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (a *archive) segments(t *testing.T) []audit.Segment {
	t.Helper()
	list, err := a.rows.Segments(t.Context())
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return list
}

// TestArchive: old records go to signed segments, and archive and rest are one chain: for the verification and an
// export.
func TestArchive(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		a := newArchive(t, st)
		a.days(t, 10, 6)
		list := a.segments(t)
		r := a.verify(t)
		if len(list) < 3 || !r.Intact() || r.First != 1 || r.Archived != list[len(list)-1].Last || r.Covered != r.Last ||
			r.Last != 120 {
			t.Fatalf("%d segments: %s %+v", len(list), r.Summary(), r.Problems)
		}
		if n := a.stored(t); n > r.Last-r.Archived+1 {
			t.Errorf("%d records are in the store, %d of %d in the archive", n, r.Archived, r.Last)
		}
		if !strings.Contains(r.Summary(), "reach back to 2026-11-22") {
			t.Error(r.Summary())
		}
		for _, s := range list {
			info, err := os.Stat(filepath.Join(a.folder, s.File))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Error(info, err)
			}
		}
		var out bytes.Buffer
		n, err := a.Reader.Export(as(admin), &out, 0, 0)
		if err != nil || n != 121 {
			t.Errorf("%d records, %v", n, err)
		}
		checked, err := audit.Verify(&out, readers(contents(t, a.points)), publics(a.key)...)
		if err != nil || !checked.Intact() || checked.First != 1 {
			t.Errorf("the export: %s, %v", checked.Summary(), err)
		}
		var files []io.Reader
		for _, s := range list {
			files = append(files, bytes.NewReader(contents(t, filepath.Join(a.folder, s.File))))
		}
		out.Reset()
		if _, err := a.Reader.Export(as(admin), &out, r.Archived+1, 0); err != nil {
			t.Fatal(err)
		}
		whole, err := audit.Verify(io.MultiReader(append(files, &out)...), readers(contents(t, a.points)), publics(a.key)...)
		if err != nil || !whole.Intact() || whole.First != 1 || whole.Last != 122 {
			t.Errorf("the segments and the rest: %s, %v", whole.Summary(), err)
		}
		page, err := a.Reader.Find(as(admin), audit.Query{Limit: 1000})
		if err != nil || page.Archived.Last != r.Archived || page.Archived.Folder != a.folder {
			t.Errorf("%+v, %v", page.Archived, err)
		}
	})
}

// TestArchiveTampered: a segment that is missing or was changed is named, and the rest is checked all the same.
func TestArchiveTampered(t *testing.T) {
	a := newArchive(t, storetest.Open(t, store.SQLite))
	a.days(t, 10, 6)
	list := a.segments(t)
	for name, spoil := range map[string]func(path string, b []byte) error{
		"missing": func(path string, _ []byte) error { return os.Remove(path) },
		"a record": func(path string, b []byte) error {
			return os.WriteFile(path, bytes.Replace(b, []byte("op-3"), []byte("op-4"), 1), 0o600)
		},
		"cut": func(path string, b []byte) error { return os.WriteFile(path, b[:len(b)/2], 0o600) },
		"its checkpoint": func(path string, b []byte) error {
			return os.WriteFile(path, b[:bytes.LastIndex(b, []byte(`{"note"`))], 0o600)
		},
		"a line too much": func(path string, b []byte) error { return os.WriteFile(path, append(b, "x\n"...), 0o600) },
		"empty":           func(path string, b []byte) error { return os.WriteFile(path, nil, 0o600) },
		"another segment": func(path string, b []byte) error {
			other, err := os.ReadFile(filepath.Join(a.folder, list[2].File))
			return errors.Join(err, os.WriteFile(path, other, 0o600))
		},
	} {
		for _, i := range []int{0, 1} {
			path := filepath.Join(a.folder, list[i].File)
			whole := contents(t, path)
			if err := spoil(path, whole); err != nil {
				t.Fatal(err)
			}
			r := a.verify(t)
			if r.Intact() || r.Exit() != audit.ExitBroken || r.Last < 120 {
				t.Errorf("%s, segment %d: %s", name, i, r.Summary())
			}
			for _, p := range r.Problems {
				if !strings.Contains(p.Text, list[i].File) {
					t.Errorf("%s, segment %d: %s", name, i, p.Text)
				}
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if r := a.verify(t); !r.Intact() {
				t.Fatal(r.Summary())
			}
		}
	}
}

// crashing is a store that fails where a process could end.
type crashing struct {
	*journal.Audit
	archive, drop error
}

func (c *crashing) Archive(ctx context.Context, s audit.Segment) error {
	if c.archive != nil {
		return c.archive
	}
	return c.Audit.Archive(ctx, s)
}

func (c *crashing) DropArchived(ctx context.Context, limit int) (int, error) {
	if c.drop != nil {
		return 0, c.drop
	}
	return c.Audit.DropArchived(ctx, min(limit, 3))
}

// TestArchiveCrash: whatever ends the process between the file, the note of it and the removal, nothing is lost
// and nothing is there twice.
func TestArchiveCrash(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		a := newArchive(t, st)
		c := &crashing{Audit: a.rows}
		a.Log = newLog(t, audit.Options{Store: c, Now: a.at.Now, Key: a.key, Checkpoints: a.points, Archive: a.folder})
		write(t, a.Log, 10)
		a.at.add(72 * time.Hour)
		before := func() time.Time { return a.at.Now().Add(-24 * time.Hour) }
		c.archive = errors.New("killed")
		if _, err := a.Archivist.Step(t.Context(), before()); err == nil {
			t.Fatal("no error")
		}
		if r := a.verify(t); !r.Intact() || r.Archived != 0 || r.Last != 20 {
			t.Errorf("a file that the store does not know: %s", r.Summary())
		}
		write(t, a.Log, 10) // more is old enough when it is tried again
		a.at.add(72 * time.Hour)
		c.archive, c.drop = nil, errors.New("killed")
		for range 2 {
			_, _ = a.Archivist.Step(t.Context(), before())
		}
		if r := a.verify(t); !r.Intact() || r.Archived != 20 || r.Records != 40 || a.stored(t) != 40 {
			t.Errorf("before anything is removed: %s", r.Summary())
		}
		c.drop = nil
		for more, err := true, error(nil); more; {
			if more, err = a.Archivist.Step(t.Context(), before()); err != nil {
				t.Fatal(err)
			}
			if r := a.verify(t); !r.Intact() || r.Records != 40 {
				t.Fatalf("while records are removed: %s", r.Summary())
			}
		}
		files, err := os.ReadDir(a.folder)
		if err != nil || len(files) != len(a.segments(t)) || a.stored(t) != 1 {
			t.Errorf("%d files, %d segments, %d records, %v", len(files), len(a.segments(t)), a.stored(t), err)
		}
		write(t, a.Log, 1)
		if r := a.verify(t); !r.Intact() || r.Records != 42 || r.Covered != 42 {
			t.Errorf("%s", r.Summary())
		}
	})
}

// TestArchiveKeepsDoubt: an intent without an outcome and an act whose outcome is unknown stay in the store, however
// old.
func TestArchiveKeepsDoubt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		a := newArchive(t, st)
		open, err := a.Intent(as(ana), ana, act)
		if err != nil {
			t.Fatal(err)
		}
		doubt, err := a.Intent(as(ana), ana, act)
		if err == nil {
			err = a.Outcome(as(ana), doubt, api.Outcome{Verdict: api.Unclear})
		}
		if err != nil {
			t.Fatal(err)
		}
		unsettled := journal.NewUnsettled(st.Core, "x")
		if _, err := unsettled.Add(t.Context(), followup.Row{Ref: doubt, State: followup.Unknown},
			func(followup.Row) bool { return false }); err != nil {
			t.Fatal(err)
		}
		a.days(t, 5, 5)
		a.open(t) // by another process
		left, err := a.Unsettled(t.Context())
		if err != nil || len(left) != 1 || left[0].UID != open {
			t.Errorf("%v, %v", left, err)
		}
		e, err := a.Intents.Entry(t.Context(), doubt)
		if err != nil || e.UID != doubt {
			t.Fatal(err)
		}
		if out, found, err := a.Intents.LastOutcome(t.Context(), e); err != nil || !found || out.Ref != doubt {
			t.Error(out, found, err)
		}
		if err := a.Outcome(as(ana), doubt, api.Outcome{Verdict: api.Done}); err != nil {
			t.Error(err)
		}
		if err := a.Settle(as(admin), admin, open, "it was done"); err != nil {
			t.Error(err)
		}
		if err := unsettled.Forget(t.Context(), doubt); err != nil {
			t.Error(err)
		}
		a.days(t, 5, 5)
		if r := a.verify(t); !r.Intact() || a.stored(t) > r.Last-r.Archived+1 {
			t.Errorf("%d are stored: %s", a.stored(t), r.Summary())
		}
		if left, err := a.Unsettled(t.Context()); err != nil || len(left) != 0 {
			t.Errorf("%v, %v", left, err)
		}
	})
}

// TestArchiveRefusesWhatWasChanged: a record that is not as it was written is not archived, and nothing is removed.
func TestArchiveRefusesWhatWasChanged(t *testing.T) {
	a := newArchive(t, storetest.Open(t, store.SQLite))
	write(t, a.Log, 5)
	a.at.add(72 * time.Hour)
	for _, q := range []string{"DROP TRIGGER audit_no_update",
		"UPDATE audit SET bytes = CAST(replace(bytes, 'op-2', 'op-9') AS BLOB) WHERE seq = 3"} {
		if err := a.st.Core.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	var bad *audit.TamperedError
	if _, err := a.Archivist.Step(t.Context(), a.at.Now()); !errors.As(err, &bad) {
		t.Error(err)
	}
	if list, err := a.rows.Segments(t.Context()); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	if err := a.st.Core.Exec(t.Context(), "DELETE FROM audit WHERE seq = 1"); err == nil {
		t.Error("a record can be deleted that is in no segment")
	}
}

// TestArchiveTree: the tree of archived records is made again from the archive when someone emptied it.
func TestArchiveTree(t *testing.T) {
	a := newArchive(t, storetest.Open(t, store.SQLite))
	a.days(t, 10, 3)
	if err := a.st.Core.Exec(t.Context(), "DELETE FROM audit_tree"); err != nil {
		t.Fatal(err)
	}
	a.open(t)
	write(t, a.Log, 1)
	if r := a.verify(t); !r.Intact() || r.Covered != r.Last {
		t.Errorf("%s %v", r.Summary(), r.Problems)
	}
}
