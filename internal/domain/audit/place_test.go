package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
)

// placeOf is a state folder: a store, a key, and a folder of checkpoints.
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
	key, _, err := audit.CreateKey(filepath.Join(t.TempDir(), "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	p := &placeOf{t: t, db: s.Core, now: newClock()}
	p.opt = audit.Options{Store: journal.NewAudit(s.Core), Now: p.now.Now, Key: key, Checkpoints: points(t)}
	for i := range n {
		p.command(fmt.Sprintf("op-%d", i+1))
	}
	return p
}

// command is a process that removes a document.
func (p *placeOf) command(id string) {
	p.t.Helper()
	if err := p.try(id); err != nil {
		p.t.Fatal(err)
	}
}

func (p *placeOf) try(id string) error {
	p.t.Helper()
	l := newLog(p.t, p.opt)
	a := act
	a.ID = id
	ref, err := l.Intent(as(ana), ana, a)
	if err != nil {
		p.t.Fatal(err)
	}
	p.now.add(time.Second)
	err = errors.Join(l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done, Status: 200}), l.Close(context.Background()))
	p.now.add(2 * time.Second)
	return err
}

// exec runs statements as someone who owns the tables.
func (p *placeOf) exec(queries ...string) {
	p.t.Helper()
	off := []string{"DROP TRIGGER IF EXISTS audit_no_update", "DROP TRIGGER IF EXISTS audit_no_delete",
		"DROP TRIGGER IF EXISTS audit_in_order", "DROP TRIGGER IF EXISTS audit_head_once",
		"DROP TRIGGER IF EXISTS audit_head_forward", "DROP TRIGGER IF EXISTS audit_head_stays",
		"DROP TRIGGER IF EXISTS audit_segment_closed"}
	if p.db.Engine() == store.Postgres {
		off = []string{"ALTER TABLE audit DISABLE TRIGGER USER", "ALTER TABLE audit_head DISABLE TRIGGER USER",
			"ALTER TABLE audit_segment DISABLE TRIGGER USER"}
	}
	for _, q := range append(off, queries...) {
		if err := p.db.Exec(context.Background(), q); err != nil {
			p.t.Fatalf("%s: %v", q, err)
		}
	}
}

func (p *placeOf) rows() []audit.Row {
	p.t.Helper()
	rows, err := p.opt.Store.Rows(context.Background(), 1, 1000)
	if err != nil {
		p.t.Fatal(err)
	}
	return rows
}

// bytes replaces the bytes of a record by what change makes of them, with their hash.
func (p *placeOf) bytes(n int64, change func(string) string) (hash string) {
	p.t.Helper()
	p.exec()
	for _, r := range p.rows() {
		if r.Seq == n {
			b := change(string(r.Bytes))
			hash = audit.Hash([]byte(b))
			if err := p.db.Exec(context.Background(), "UPDATE audit SET bytes = ?, hash = ? WHERE seq = ?", []byte(b), hash,
				n); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	return hash
}

// chained is bytes of record n, and makes all hashes from there on fit again, as someone does who owns the store and
// lacks the key.
func (p *placeOf) chained(n int64, change func(string) string) {
	p.t.Helper()
	rows := p.rows()
	hash := p.bytes(n, change)
	for _, r := range rows[n:] {
		was, is := rows[r.Seq-2].Hash, hash
		hash = p.bytes(r.Seq, func(b string) string { return strings.Replace(b, was, is, 1) })
	}
	p.exec("UPDATE audit_head SET hash = '" + hash + "'")
}

// insert stores a record behind the last one, as someone does who owns the store and lacks the key: change makes it of
// the bytes of record n.
func (p *placeOf) insert(n int64, change func(string) string) {
	p.t.Helper()
	p.exec()
	rows := p.rows()
	last, r := rows[len(rows)-1], rows[n-1]
	b := change(strings.NewReplacer(r.UID, strings.Repeat("9", 36), fmt.Sprintf(`"seq":%d`, n),
		fmt.Sprintf(`"seq":%d`, last.Seq+1), r.At.Format(time.RFC3339Nano), last.At.Format(time.RFC3339Nano)).
		Replace(string(r.Bytes)))
	at := strings.Index(b, `"prev":"`) + len(`"prev":"`)
	b = b[:at] + last.Hash + b[at+64:]
	hash := audit.Hash([]byte(b))
	err := p.db.Exec(context.Background(), "INSERT INTO audit SELECT ?, ?, ?, event, phase, ref, boot, actor, object, "+
		"object_id, item, ?, ? FROM audit WHERE seq = ?", last.Seq+1, strings.Repeat("9", 36), last.At.UnixMicro(), []byte(b),
		hash, n)
	if err != nil {
		p.t.Fatal(err)
	}
	p.exec(fmt.Sprintf("UPDATE audit_head SET n = n + 1, hash = '%s', at_us = %d", hash, last.At.UnixMicro()))
	if r.Phase == audit.PhaseIntent {
		p.exec(fmt.Sprintf("INSERT INTO audit_open (uid, seq) VALUES ('%s', %d)", strings.Repeat("9", 36), last.Seq+1))
	}
}

// cut takes all after record n out of every table.
func (p *placeOf) cut(n int) {
	p.t.Helper()
	p.exec(fmt.Sprintf("DELETE FROM audit WHERE seq > %d", n), "DELETE FROM audit_open",
		"INSERT INTO audit_open (uid, seq) SELECT uid, seq FROM audit a WHERE phase = 'intent' AND NOT EXISTS "+
			"(SELECT 1 FROM audit o WHERE o.ref = a.uid)",
		fmt.Sprintf("UPDATE audit_head SET n = %d, hash = (SELECT hash FROM audit WHERE seq = %d), at_us = (SELECT at_us "+
			"FROM audit WHERE seq = %d)", n, n, n))
}

var auditTables = []string{"audit", "audit_open", "audit_head", "audit_signed"}

// empty removes the trail.
func (p *placeOf) empty() {
	p.t.Helper()
	for _, name := range auditTables {
		p.exec("DELETE FROM " + name)
	}
}

// backup keeps the tables of the trail, as a dump of the database does; restore brings them back.
func (p *placeOf) backup() {
	p.t.Helper()
	for _, name := range auditTables {
		p.exec("DROP TABLE IF EXISTS kept_"+name, "CREATE TABLE kept_"+name+" AS SELECT * FROM "+name)
	}
}

func (p *placeOf) restore() {
	p.t.Helper()
	for _, name := range auditTables {
		p.exec("DELETE FROM "+name, "INSERT INTO "+name+" SELECT * FROM kept_"+name)
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

// file is the checkpoint file and its lines, each with its end.
func (p *placeOf) file() (string, []string) {
	p.t.Helper()
	names, err := filepath.Glob(filepath.Join(p.opt.Checkpoints, "audit-*.jsonl"))
	if err != nil || len(names) != 1 {
		p.t.Fatal(names, err)
	}
	lines := strings.SplitAfter(string(contents(p.t, names[0])), "\n")
	return names[0], lines[:len(lines)-1]
}

// points are the checkpoints in the file.
func (p *placeOf) points() []audit.Signed {
	p.t.Helper()
	_, lines := p.file()
	list, _, err := audit.ReadCheckpoints(strings.NewReader(strings.Join(lines, "")))
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

func (p *placeOf) rewrite(lines ...string) {
	p.t.Helper()
	name, _ := p.file()
	if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *placeOf) unlink() {
	p.t.Helper()
	name, _ := p.file()
	if err := os.Remove(name); err != nil {
		p.t.Fatal(err)
	}
}
