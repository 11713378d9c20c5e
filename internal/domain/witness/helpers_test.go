package witness_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/witness"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

var (
	ana   = api.Actor{Name: "ana", Role: api.Operator}
	admin = api.Actor{Name: "kim", Role: api.Admin}
)

func as(a api.Actor) context.Context { return api.WithActor(context.Background(), a) }

// trail is a log with its state in a folder.
type trail struct {
	t   *testing.T
	dir string
	db  *store.Store
	opt audit.Options
}

func newTrail(t *testing.T) *trail {
	t.Helper()
	dir := t.TempDir()
	key, _, err := audit.OpenKey(filepath.Join(dir, "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	db := storetest.Open(t, store.SQLite)
	return &trail{t: t, dir: dir, db: db, opt: audit.Options{Store: journal.NewAudit(db.Core), Key: key, Checkpoints: filepath.Join(dir, "points") + "/"}}
}

func (tr *trail) log() *audit.Log {
	tr.t.Helper()
	l, err := audit.New(tr.opt)
	if err != nil {
		tr.t.Fatal(err)
	}
	return l
}

// command is a process that does one act and ends.
func (tr *trail) command(id string) error {
	tr.t.Helper()
	l := tr.log()
	ref, err := l.Intent(as(ana), ana, api.Act{Kind: api.ActRemoveDocument, Object: "operation", ID: id})
	if err != nil {
		tr.t.Fatal(err)
	}
	if err := l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done}); err != nil {
		tr.t.Fatal(err)
	}
	err = l.Close(context.Background())
	if bad := l.Health().Tampered(); bad != nil {
		return bad
	}
	return err
}

func (tr *trail) vkey() string {
	tr.t.Helper()
	chain, err := tr.log().Chain(context.Background())
	if err != nil || chain == "" {
		tr.t.Fatal(chain, err)
	}
	return tr.opt.Key.VerifierKey(chain)
}

// serve runs a witness over dir and returns it as the config names it.
func serve(t *testing.T, dir, name string, logs ...string) audit.Witness {
	t.Helper()
	w, err := witness.Open(witness.Options{Dir: dir, Name: name, Logs: logs})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	key, err := audit.ReadCosigner(w.Key())
	if err != nil {
		t.Fatal(err)
	}
	return audit.Witness{URL: "http://" + ln.Addr().String(), Key: key}
}

// post submits a request and returns the answer.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	res, err := http.Post(url+"/add-checkpoint", "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func (tr *trail) verify() audit.Report {
	tr.t.Helper()
	r, err := tr.log().Verify(as(admin))
	if err != nil {
		tr.t.Fatal(err)
	}
	return r
}

// newest is the last checkpoint of the trail.
func (tr *trail) newest() audit.Signed {
	tr.t.Helper()
	names, err := filepath.Glob(filepath.Join(tr.dir, "points", "audit-*.jsonl"))
	if err != nil {
		tr.t.Fatal(err)
	}
	for _, name := range names {
		if strings.Contains(name, "cosigned") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			tr.t.Fatal(err)
		}
		list, _, err := audit.ReadCheckpoints(bytes.NewReader(b))
		if err != nil || len(list) == 0 {
			tr.t.Fatal(err)
		}
		return list[len(list)-1]
	}
	tr.t.Fatal("no checkpoint")
	return audit.Signed{}
}

func (tr *trail) keys() []ed25519.PublicKey { return []ed25519.PublicKey{tr.opt.Key.Public()} }

// copy is the trail as it stands, in a state of its own.
func (tr *trail) copy() *trail {
	tr.t.Helper()
	dir := tr.t.TempDir()
	file := filepath.Join(dir, "copy.db")
	if err := tr.db.Core.Exec(context.Background(), "VACUUM INTO '"+file+"'"); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "points"), os.DirFS(filepath.Join(tr.dir, "points"))); err != nil {
		tr.t.Fatal(err)
	}
	db := storetest.OpenURL(tr.t, "sqlite:"+file)
	opt := tr.opt
	opt.Store, opt.Checkpoints = journal.NewAudit(db.Core), filepath.Join(dir, "points")+"/"
	return &trail{t: tr.t, dir: dir, db: db, opt: opt}
}
