package audit_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

var update = flag.Bool("update", false, "write the test vectors anew")

// vectorSeed is the seed of the vectors' key: 00 01 … 1f. It signs nothing else.
func vectorSeed() []byte {
	seed := make([]byte, 32)
	for i := range seed {
		seed[i] = byte(i)
	}
	return seed
}

// vectors makes the files of testdata: a log of twelve records, its checkpoints,
// the public key, and broken copies.
func vectors(t *testing.T) map[string][]byte {
	m, c, place := &memory{}, newClock(), filepath.Join(t.TempDir(), "points")
	key, err := audit.NewKey(vectorSeed())
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(t, audit.Options{Store: m, Now: c.Now, Key: key, Checkpoints: place, Build: "vectors",
		Context: audit.Context{Name: "stage", BaseURL: "https://stage.example.com", Account: "machine@example.com"}})
	n := 0
	l.SetIDs(func() string { n++; return fmt.Sprintf("01a1fd00-0000-7000-8000-%012x", n) })
	for _, out := range []api.Outcome{{Verdict: api.Done, Status: 200},
		{Verdict: api.Denied, Status: 409, Rule: api.RuleLocked, Detail: "Document is locked and cannot be removed"},
		{Verdict: api.Failed, Detail: "no route to host"}, {Verdict: api.Unclear, Detail: "line\nbreak \x1b[2J"}} {
		ref, err := l.Intent(as(ana), ana, act)
		if err != nil {
			t.Fatal(err)
		}
		c.add(80 * time.Millisecond)
		out.Took = 80 * time.Millisecond
		if err := l.Outcome(as(ana), ref, out); err != nil {
			t.Fatal(err)
		}
		c.add(time.Second)
	}
	if err := l.Signer.Checkpoint(as(ana)); err != nil {
		t.Fatal(err)
	}
	c.add(-time.Minute) // a clock step: records 9 and 10
	for range 2 {
		if _, err := l.Intent(as(ana), ana, act); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Note(as(admin), admin, api.Event{Name: "denied", Object: "operation", ID: "op-1",
		Detail: "document.remove: role"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Signer.Checkpoint(as(ana)); err != nil {
		t.Fatal(err)
	}
	lines := export(t, m)
	all := func(l []string) []byte { b, _ := io.ReadAll(join(l)); return b }
	good := all(lines)
	return map[string][]byte{
		"good.jsonl": good, "checkpoints.jsonl": contents(t, place), "public.pem": []byte(key.PublicPEM()),
		"changed.jsonl": bytes.Replace(good, []byte("wrong file"), []byte("right file"), 1),
		"cut.jsonl":     all(lines[:8]), "torn.jsonl": good[:len(good)-100],
		"missing.jsonl": all(append(append([]string{}, lines[:4]...), lines[5:]...)),
	}
}

func TestVectors(t *testing.T) {
	made := vectors(t)
	files := map[string][]byte{}
	for name, b := range made {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, b) {
			t.Errorf("%s differs from what is written now: the format has changed", name)
		}
		files[name] = have
	}
	keys, err := audit.ReadPublic(bytes.NewReader(files["public.pem"]))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		file string
		kind audit.ProblemKind
		seq  int64
	}{{"good.jsonl", "", 0}, {"changed.jsonl", audit.Changed, 1}, {"cut.jsonl", audit.Cut, 9},
		{"torn.jsonl", audit.Torn, 12}, {"missing.jsonl", audit.Missing, 5}} {
		r, err := audit.Verify(bytes.NewReader(files[v.file]), []io.Reader{bytes.NewReader(files["checkpoints.jsonl"])},
			keys...)
		if err != nil {
			t.Fatal(err)
		}
		if v.kind == "" {
			want := `{"chain":"6f706465-636b-4000-8000-000000000001","records":12,"first":1,"last":12,"head":"` + r.Head +
				`","from":"2026-11-21T09:00:00Z",` +
				`"until":"2026-11-21T08:59:04.32Z","checkpoints":5,"covered":12,"problems":[],"more_problems":0,"unsettled":[` +
				`{"seq":10,"uid":"01a1fd00-0000-7000-8000-00000000000a",` +
				`"at":"2026-11-21T08:59:04.32Z","event":"document.remove","actor":"ana","object":"operation","id":"op-1"},` +
				`{"seq":11,"uid":"01a1fd00-0000-7000-8000-00000000000c",` +
				`"at":"2026-11-21T08:59:04.32Z","event":"document.remove","actor":"ana","object":"operation","id":"op-1"}],` +
				`"clock_steps":[{"seq":9,"back_ns":59000000000}],"warnings":[]}`
			if got, _ := json.Marshal(r); string(got) != want {
				t.Errorf("report\n%s\nwant\n%s", got, want)
			}
			continue
		}
		if r.Intact() || r.Problems[0].Kind != v.kind || r.Problems[0].Seq != v.seq {
			t.Errorf("%s: %+v, want %s at %d", v.file, r.Problems, v.kind, v.seq)
		}
	}
}
