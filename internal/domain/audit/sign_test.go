package audit_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

func TestKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.key")
	k, made, err := audit.CreateKey(file)
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	again, made, err := audit.CreateKey(file)
	if err != nil || made || !again.Public().Equal(k.Public()) {
		t.Errorf("another key: made %v, %v", made, err)
	}
	pub, chain, err := audit.ReadVerifierKey(k.VerifierKey("c"))
	if err != nil || !pub.Equal(k.Public()) || chain != "c" {
		t.Errorf("%q, %v", chain, err)
	}
	for _, bad := range []string{"", "hello", "a+b+c", strings.Replace(k.VerifierKey("c"), "opdeck.audit/", "x/", 1)} {
		if _, _, err := audit.ReadVerifierKey(bad); err == nil {
			t.Errorf("%q was read as a key", bad)
		}
	}
}

func TestUnsafeKeysAreRefused(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if _, _, err := audit.CreateKey(good); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, b []byte, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(p, b, 0o600), os.Chmod(p, mode)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{link, dir, put("open", b, 0o644), put("empty", nil, 0o600),
		put("long", append(b, bytes.Repeat([]byte("\n"), 5000)...), 0o600),
		put("rubbish", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), 0o600)} {
		k, made, err := audit.CreateKey(p)
		if err == nil || made || k != nil {
			t.Errorf("%s was taken", filepath.Base(p))
		} else if strings.Contains(err.Error(), string(b[30:60])) {
			t.Errorf("%s: the error shows the key", filepath.Base(p))
		}
	}
}

func place(t *testing.T, l *audit.Log) ([]audit.Signed, string) {
	t.Helper()
	name, err := l.Signer.CheckpointFile(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := audit.ReadCheckpoints(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return list, name
}

func TestCheckpointFile(t *testing.T) {
	m, c, dir := &memory{}, newClock(), points(t)
	key, _ := audit.NewKey(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	opt := audit.Options{Store: m, Now: c.Now, Key: key, Checkpoints: dir}
	command := func() { // a process of one act
		l := newLog(t, opt)
		write(t, l, 1)
		if err := l.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		c.add(10 * time.Second)
	}
	for range 7 {
		command()
	}
	l := newLog(t, opt)
	list, name := place(t, l)
	if len(list) != 7 || list[0].N != 2 || list[6].N != 14 {
		t.Fatalf("%d checkpoints of seven commands, want one for each", len(list))
	}
	if filepath.Base(name) != "audit-"+list[0].Chain+"-"+audit.Fingerprint(key.Public())+".jsonl" {
		t.Error(name)
	}
	if err := l.Signer.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	if again, _ := place(t, l); len(again) != 7 {
		t.Error("the same head was signed twice")
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"note":"opdeck.audit/6f7`)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, l, 1)
	if err := l.Signer.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	if list, _ = place(t, l); len(list) != 8 || list[7].N != 16 {
		t.Errorf("after a torn line: %v", list)
	}
	r, err := l.Prover.Verify(as(admin))
	if err != nil || !r.Intact() || r.Covered != 16 || r.Checkpoints != 8 {
		t.Errorf("%+v, %v", r, err)
	}
	elsewhere := newLog(t, audit.Options{Store: storeOf(t), Now: c.Now, Key: key, Checkpoints: dir})
	if r, err := elsewhere.Prover.Verify(as(admin)); err != nil || len(r.Problems) != 1 ||
		r.Problems[0].Kind != audit.Exchanged {
		t.Errorf("an empty store in place of the full one: %+v, %v", r, err)
	}
	if _, err := l.Prover.Verify(as(api.Actor{Name: "vic", Role: api.Viewer})); api.AsError(err).Rule != api.RuleRole {
		t.Errorf("a viewer verifies: %v", err)
	}
}

func TestTamperingIsNoticedBeforeSigning(t *testing.T) {
	key, _ := audit.NewKey(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	for name, tamper := range map[string]func(*memory){
		"cut":       func(m *memory) { m.rows = m.rows[:4] },
		"rewritten": func(m *memory) { m.rows[9].Bytes = bytes.Replace(m.rows[9].Bytes, []byte("ana"), []byte("eve"), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			var alarms []error
			l := newLog(t, audit.Options{Store: m, Key: key, Checkpoints: points(t),
				Alarm: func(err error) { alarms = append(alarms, err) }})
			write(t, l, 5)
			if err := l.Signer.Checkpoint(context.Background()); err != nil {
				t.Fatal(err)
			}
			tamper(m)
			var bad *audit.TamperedError
			for range 2 {
				if err := l.Signer.Checkpoint(context.Background()); !errors.As(err, &bad) || bad.N != 10 {
					t.Fatalf("%v, want a TamperedError", err)
				}
			}
			if last := m.rows[len(m.rows)-1]; last.Event != audit.EventTamper || len(alarms) != 1 || l.Health().OK() ||
				l.Health().Tampered() == nil {
				t.Errorf("last event %s, %d alarms", last.Event, len(alarms))
			}
			if list, _ := place(t, l); len(list) != 5 {
				t.Error("a tampered log was signed")
			}
		})
	}
}

func TestSecondPlaceGone(t *testing.T) {
	m := &memory{}
	key, _ := audit.NewKey(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	l := newLog(t, audit.Options{Store: m, Key: key, Checkpoints: filepath.Join(t.TempDir(), "no", "such", "folder")})
	write(t, l, 1)
	if err := l.Signer.Checkpoint(context.Background()); err == nil || l.Health().Checkpoint == nil ||
		l.Health().Tampered() != nil {
		t.Errorf("%v, health %+v", err, l.Health())
	}
	write(t, l, 1) // acts continue; Health reports the problem
}
