package witness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/witness"
)

func TestCosigns(t *testing.T) {
	tr := newTrail(t)
	if err := tr.command("op-1"); err != nil { // before there are witnesses
		t.Fatal(err)
	}
	vkey := tr.vkey()
	one, two := serve(t, t.TempDir(), "one", vkey), serve(t, t.TempDir(), "two", vkey)
	tr.opt.Witnesses = []audit.Witness{one, two}
	for i := range 5 {
		if err := tr.command(fmt.Sprintf("op-%d", i+2)); err != nil {
			t.Fatal(err)
		}
	}
	r := tr.verify()
	if !r.Intact() || len(r.Warnings) != 0 || len(r.Witnesses) != 2 {
		t.Fatalf("%+v", r)
	}
	for i, name := range []string{"one", "two"} {
		if w := r.Witnesses[i]; w.Name != name || w.Checkpoints != 5 || w.Covered != 12 || w.At.IsZero() {
			t.Errorf("%+v", w)
		}
	}
	gone := two
	gone.URL = "http://127.0.0.1:1" // nobody is there
	tr.opt.Witnesses = []audit.Witness{one, gone}
	if err := tr.command("op-7"); err != nil {
		t.Errorf("a missing witness stops a command: %v", err)
	}
	r = tr.verify()
	if !r.Intact() || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "witness two has signed up to record 12") || r.Witnesses[0].Covered != 14 {
		t.Errorf("%+v", r)
	}
	tr.opt.Witnesses = []audit.Witness{one, two}
	if err := tr.command("op-8"); err != nil { // it catches up
		t.Fatal(err)
	}
	if r = tr.verify(); !r.Intact() || len(r.Warnings) != 0 || r.Witnesses[1].Covered != 16 {
		t.Errorf("%+v", r)
	}
	p, err := tr.log().Prove(as(admin), 3)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := audit.VerifyProof(p.Text(), tr.keys(), []*audit.Cosigner{one.Key, two.Key})
	if err != nil || len(shown.Cosigned) != 2 {
		t.Errorf("%+v, %v", shown, err)
	}
	at := bytes.LastIndex(p.Text(), []byte("=")) - 20
	b := p.Text()
	b[at] ^= 1
	if _, err := audit.VerifyProof(b, tr.keys(), []*audit.Cosigner{one.Key, two.Key}); err == nil {
		t.Error("a changed signature of a witness is accepted")
	}
}

// TestRefusesAFork: two copies of one trail go on differently. The witness signs
// for the first, and whoever comes with the other is found out.
func TestRefusesAFork(t *testing.T) {
	for _, c := range []struct {
		name string
		more int // acts of the fork after the common ones; the true trail has 3
	}{{"shorter", 1}, {"as long", 3}, {"longer", 6}} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTrail(t)
			for i := range 3 {
				if err := tr.command(fmt.Sprintf("op-%d", i)); err != nil {
					t.Fatal(err)
				}
			}
			seen := t.TempDir()
			w := serve(t, seen, "vault", tr.vkey())
			fork := tr.copy()
			tr.opt.Witnesses = []audit.Witness{w}
			for i := range 3 {
				if err := tr.command(fmt.Sprintf("true-%d", i)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range c.more { // nobody asks the witness
				if err := fork.command(fmt.Sprintf("false-%d", i)); err != nil {
					t.Fatal(err)
				}
			}
			if r := fork.verify(); !r.Intact() {
				t.Fatalf("the fork is good in itself: %+v", r.Problems)
			}
			fork.opt.Witnesses = []audit.Witness{w}
			r := fork.verify()
			if r.Exit() != audit.ExitBroken || !slices.ContainsFunc(r.Problems, func(p audit.Problem) bool { return p.Kind == audit.Cut && strings.Contains(p.Text, "vault") }) {
				t.Errorf("verify: %+v", r.Problems)
			}
			var bad *audit.TamperedError
			if err := fork.command("false"); !errors.As(err, &bad) {
				t.Errorf("the next command says %v", err)
			}
			b, err := os.ReadFile(filepath.Join(seen, tr.newest().Chain+".checkpoint"))
			if err != nil || string(b) != tr.newest().Note {
				t.Errorf("the witness has seen\n%s\n%v", b, err)
			}
			if r := tr.verify(); !r.Intact() {
				t.Errorf("the true trail: %+v", r.Problems)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	tr := newTrail(t)
	for i := range 2 {
		if err := tr.command(fmt.Sprintf("op-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	w := serve(t, dir, "vault", tr.vkey())
	other := newTrail(t)
	if err := other.command("op-1"); err != nil {
		t.Fatal(err)
	}
	note := tr.newest().Note
	forged := strings.Replace(note, "\n4\n", "\n9\n", 1)
	p, err := tr.log().ProveConsistency(as(admin), 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	proof := ""
	for _, h := range p.Hashes {
		proof += h.String() + "\n"
	}
	for _, c := range []struct {
		name, body string
		status     int
		answer     string
	}{
		{"nothing", "", 400, ""},
		{"no size", "new 0\n\n" + note, 400, ""},
		{"a strange size", "old 00\n\n" + note, 400, ""},
		{"below zero", "old -1\n\n" + note, 400, ""},
		{"no checkpoint", "old 0\n\nhello\n", 400, ""},
		{"too many hashes", "old 0\n" + strings.Repeat(strings.Repeat("A", 43)+"=\n", 64) + "\n" + note, 400, ""},
		{"no hash", "old 0\nhello\n\n" + note, 400, ""},
		{"too long", "old 0\n\n" + note + strings.Repeat("— x AAAAAAAAAAAA\n", 5000), 400, ""},
		{"another log", "old 0\n\n" + other.newest().Note, 404, ""},
		{"forged", "old 0\n\n" + forged, 403, ""},
		{"old above new", "old 5\n\n" + note, 400, ""},
		{"old it has not seen", "old 2\n" + proof + "\n" + note, 409, "0\n"},
		{"a proof from nothing", "old 0\n" + proof + "\n" + note, 422, ""},
		{"the older one", "old 0\n\n" + p.Old.Note, 200, "— vault "},
		{"from nothing again", "old 0\n\n" + note, 409, "2\n"},
		{"no proof", "old 2\n\n" + note, 422, ""},
		{"a wrong proof", "old 2\n" + strings.Repeat(p.Hashes[0].String()+"\n", len(p.Hashes)+1) + "\n" + note, 422, ""},
		{"good", "old 2\n" + proof + "\n" + note, 200, "— vault "},
		{"again", "old 4\n\n" + note, 200, "— vault "},
		{"back", "old 2\n\n" + p.Old.Note, 409, "4\n"},
	} {
		status, answer := post(t, w.URL, c.body)
		if status != c.status || !strings.HasPrefix(answer, c.answer) {
			t.Errorf("%s: %d %q, want %d %q", c.name, status, answer, c.status, c.answer)
		}
		if status == 200 {
			s, err := audit.ParseCheckpoint(note + answer)
			if strings.Contains(c.name, "older") {
				s, err = audit.ParseCheckpoint(p.Old.Note + answer)
			}
			if err != nil || len(s.Cosignatures([]*audit.Cosigner{w.Key})) != 1 {
				t.Errorf("%s: the signature is not good: %v", c.name, err)
			}
		}
	}
	if res, err := http.Get(w.URL + "/add-checkpoint"); err != nil || res.StatusCode != http.StatusMethodNotAllowed {
		t.Error(res, err)
	}
	// What it saw outlives the process.
	again := serve(t, dir, "vault", tr.vkey())
	if status, answer := post(t, again.URL, "old 0\n\n"+note); status != 409 || answer != "4\n" || again.Key.KeyHash() != w.Key.KeyHash() {
		t.Errorf("after a restart: %d %q", status, answer)
	}
}

// TestOneAtATime: of many that come at once with the same old size one is signed.
func TestOneAtATime(t *testing.T) {
	tr := newTrail(t)
	if err := tr.command("op-1"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	urls := []string{serve(t, dir, "vault", tr.vkey()).URL, serve(t, dir, "vault", tr.vkey()).URL} // two processes over one folder
	forks := []*trail{tr.copy(), tr.copy(), tr.copy(), tr.copy()}
	var mu sync.Mutex
	count := map[int]int{}
	var group sync.WaitGroup
	for i, f := range forks {
		if err := f.command(fmt.Sprintf("fork-%d", i)); err != nil {
			t.Fatal(err)
		}
		note := f.newest().Note
		group.Go(func() {
			status, _ := post(t, urls[i%2], "old 0\n\n"+note)
			mu.Lock()
			count[status]++
			mu.Unlock()
		})
	}
	group.Wait()
	if count[200] != 1 || count[409] != 3 {
		t.Errorf("%v", count)
	}
}

// TestSilentWitness: one that takes the connection and says nothing holds a
// command up no longer than it may take.
func TestSilentWitness(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	tr := newTrail(t)
	key, err := tr.opt.Key.CosignerKey("silent")
	if err != nil {
		t.Fatal(err)
	}
	c, err := audit.ReadCosigner(key)
	if err != nil {
		t.Fatal(err)
	}
	tr.opt.Witnesses = []audit.Witness{{URL: "http://" + ln.Addr().String(), Key: c}}
	l := tr.log()
	ref, err := l.Intent(as(ana), ana, api.Act{Kind: api.ActRemoveDocument, Object: "operation", ID: "op-1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(as(ana), 50*time.Millisecond)
	defer cancel()
	if err := l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done}); err != nil { // asks nobody
		t.Fatal(err)
	}
	_ = l.Close(ctx) // gives up with ctx
	tr.opt.Witnesses = nil
	if r := tr.verify(); !r.Intact() || r.Covered != 2 {
		t.Errorf("%+v", r)
	}
}

func TestOpen(t *testing.T) {
	tr := newTrail(t)
	if err := tr.command("op-1"); err != nil {
		t.Fatal(err)
	}
	good := tr.vkey()
	for name, opt := range map[string]witness.Options{
		"no log":     {Name: "vault"},
		"no name":    {Logs: []string{good}},
		"plus":       {Name: "a+b", Logs: []string{good}},
		"space":      {Name: "a b", Logs: []string{good}},
		"no key":     {Name: "vault", Logs: []string{"hello"}},
		"half a key": {Name: "vault", Logs: []string{good[:len(good)-4]}},
		"other name": {Name: "vault", Logs: []string{strings.Replace(good, "opdeck.audit", "opdeck.adult", 1)}},
	} {
		opt.Dir = t.TempDir()
		if _, err := witness.Open(opt); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
