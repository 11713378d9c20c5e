package audit_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

// otherVerifier checks an inclusion proof as someone who does not have this
// program would: package note for the signature, and RFC 6962, 2.1.1 by hand.
func otherVerifier(proof []byte, vkey string) (record []byte, err error) {
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return nil, err
	}
	line, rest, _ := bytes.Cut(proof, []byte("\n"))
	head, signed, ok := strings.Cut(string(rest), "\n\n")
	fields := strings.Split(head, "\n")
	if !ok || len(fields) < 2 || fields[0] != "c2sp.org/tlog-proof@v1" || !strings.HasPrefix(fields[1], "index ") {
		return nil, errors.New("no proof")
	}
	n, err := note.Open([]byte(signed), note.VerifierList(v))
	if err != nil {
		return nil, err
	}
	for _, s := range n.Sigs {
		if raw, err := base64.StdEncoding.Strict().DecodeString(s.Base64); err != nil || len(raw) != 68 {
			return nil, errors.New("signature")
		}
	}
	text := strings.Split(n.Text, "\n")
	if len(text) < 4 || text[0] != v.Name() {
		return nil, errors.New("no checkpoint")
	}
	size, err := strconv.ParseUint(text[1], 10, 63)
	if err != nil {
		return nil, err
	}
	root, err := base64.StdEncoding.Strict().DecodeString(text[2])
	if err != nil {
		return nil, err
	}
	index, err := strconv.ParseUint(strings.TrimPrefix(fields[1], "index "), 10, 63)
	if err != nil || index >= size || fields[1] != fmt.Sprintf("index %d", index) {
		return nil, errors.New("index")
	}
	var path [][]byte
	for _, f := range fields[2:] {
		h, err := base64.StdEncoding.Strict().DecodeString(f)
		if err != nil || len(h) != sha256.Size {
			return nil, errors.New("hash")
		}
		path = append(path, h)
	}
	hash := func(prefix byte, parts ...[]byte) []byte {
		h := sha256.New()
		h.Write([]byte{prefix})
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	// RFC 9162, 2.1.3.2, which is the same proof.
	fn, sn, r := index, size-1, hash(0, line)
	for _, p := range path {
		if sn == 0 {
			return nil, errors.New("too long")
		}
		if fn&1 == 1 || fn == sn {
			r = hash(1, p, r)
			for fn&1 == 0 && fn != 0 {
				fn, sn = fn>>1, sn>>1
			}
		} else {
			r = hash(1, r, p)
		}
		fn, sn = fn>>1, sn>>1
	}
	if sn != 0 || !bytes.Equal(r, root) {
		return nil, errors.New("root")
	}
	var rec struct{ Seq uint64 }
	if err := json.Unmarshal(line, &rec); err != nil || rec.Seq != index+1 {
		return nil, errors.New("record")
	}
	return line, nil
}

func TestProofs(t *testing.T) {
	m := &memory{}
	key, _ := audit.NewKey(bytes.Repeat([]byte{5}, 32))
	l := newLog(t, audit.Options{Store: m, Key: key, Checkpoints: t.TempDir()})
	for n := range 20 {
		write(t, l, 1)
		for _, seq := range []int64{1, int64(n + 1), int64(len(m.rows))} {
			p, err := l.Prover.Prove(as(admin), seq)
			if err != nil {
				t.Fatal(err)
			}
			vkey := key.VerifierKey(p.Checkpoint.Chain)
			record, err := otherVerifier(p.Text(), vkey)
			if err != nil || !bytes.Equal(record, m.rows[seq-1].Bytes) {
				t.Errorf("record %d of %d: the other verifier says %v", seq, len(m.rows), err)
			}
			asJSON, err := json.Marshal(p.JSON())
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range [][]byte{p.Text(), asJSON} {
				shown, err := audit.VerifyProof(b, publics(key))
				if err != nil || shown.Seq != seq || shown.Records != p.Checkpoint.N ||
					!bytes.Equal(shown.Record, m.rows[seq-1].Bytes) {
					t.Errorf("record %d: %+v, %v", seq, shown, err)
				}
			}
			if alone := len(p.Text()) - len(record); alone > 2000 {
				t.Errorf("a proof of %d bytes", alone)
			}
			for i, r := range m.rows { // it reveals only hashes of its neighbours
				for _, part := range []string{r.UID, "op-1\""} {
					if int64(i+1) != seq && strings.Contains(strings.TrimPrefix(string(p.Text()), string(record)), part) {
						t.Errorf("the proof of %d shows of record %d", seq, i+1)
					}
				}
			}
		}
	}
	if _, err := l.Prover.Prove(as(ana), 1); api.AsError(err).Rule != api.RuleRole {
		t.Errorf("an operator takes a proof away: %v", err)
	}
	if _, err := l.Prover.Prove(as(admin), 100_000); api.KindOf(err) != api.NotFound {
		t.Error(err)
	}
}

// TestDamagedProofs: not one byte of a proof can be another one.
func TestDamagedProofs(t *testing.T) {
	m := &memory{}
	key, _ := audit.NewKey(bytes.Repeat([]byte{5}, 32))
	other, _ := audit.NewKey(bytes.Repeat([]byte{6}, 32))
	l := newLog(t, audit.Options{Store: m, Key: key, Checkpoints: t.TempDir()})
	write(t, l, 9)
	p, err := l.Prover.Prove(as(admin), 7)
	if err != nil {
		t.Fatal(err)
	}
	good, vkey := p.Text(), key.VerifierKey(p.Checkpoint.Chain)
	try := func(what string, b []byte) {
		t.Helper()
		if _, err := otherVerifier(b, vkey); err == nil {
			t.Errorf("%s: the other verifier accepts it", what)
		}
		if _, err := audit.VerifyProof(b, publics(key)); err == nil {
			t.Errorf("%s: it is accepted", what)
		}
	}
	for i := range good { // each byte, in two ways
		for _, flip := range []byte{1, 0x20} {
			b := bytes.Clone(good)
			b[i] ^= flip
			try(fmt.Sprintf("byte %d (%q) by %#x", i, good[i], flip), b)
		}
	}
	lines := strings.SplitAfter(string(good), "\n")
	for i := range lines[:len(lines)-1] {
		try(fmt.Sprintf("without line %d", i+1), []byte(strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...),
			"")))
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		at, n := rnd.IntN(len(good)), 1+rnd.IntN(20)
		try("a part cut out", append(bytes.Clone(good[:at]), good[min(at+n, len(good)):]...))
	}
	q, err := l.Prover.Prove(as(admin), 8)
	if err != nil {
		t.Fatal(err)
	}
	record, _, _ := bytes.Cut(q.Text(), []byte("\n"))
	_, rest, _ := bytes.Cut(good, []byte("\n"))
	try("another record", append(append(bytes.Clone(record), '\n'), rest...))
	if _, err := audit.VerifyProof(good, publics(other)); err == nil {
		t.Error("another key")
	}
	if _, err := audit.VerifyProof(good, nil); err == nil {
		t.Error("no key")
	}
}

func TestConsistency(t *testing.T) {
	m := &memory{}
	key, _ := audit.NewKey(bytes.Repeat([]byte{5}, 32))
	l := newLog(t, audit.Options{Store: m, Key: key, Checkpoints: t.TempDir()})
	write(t, l, 12)
	for from := int64(2); from <= 24; from += 2 {
		for to := from; to <= 24; to += 2 {
			p, err := l.Prover.ProveConsistency(as(admin), from, to)
			if err != nil {
				t.Fatal(err)
			}
			if shown, err := audit.VerifyProof(p.Text(), publics(key)); err != nil || shown.From != from || shown.Records != to {
				t.Errorf("%d to %d: %+v, %v", from, to, shown, err)
			}
		}
	}
	newest, err := l.Prover.ProveConsistency(as(admin), 2, 0)
	if err != nil || newest.Checkpoint.N != int64(len(m.rows)) {
		t.Fatalf("%d of %d, %v", newest.Checkpoint.N, len(m.rows), err)
	}
	good := newest.Text()
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 1
		if _, err := audit.VerifyProof(b, publics(key)); err == nil {
			t.Errorf("byte %d (%q) changed", i, good[i])
		}
	}
	for _, c := range [][2]int64{{3, 4}, {2, 999}} {
		if _, err := l.Prover.ProveConsistency(as(admin), c[0], c[1]); api.KindOf(err) != api.NotFound {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := l.Prover.ProveConsistency(as(admin), 6, 4); api.KindOf(err) != api.Usage {
		t.Error(err)
	}
	// Another log that agrees up to record 4: its checkpoint is not continued.
	fork := &memory{rows: m.rows[:4:4], tree: map[int64][]byte{}, sign: map[string]audit.StoredCheckpoint{}}
	for seq := int64(1); seq <= 4; seq++ {
		fork.tree[seq] = m.tree[seq]
	}
	k := newLog(t, audit.Options{Store: fork, Key: key, Checkpoints: t.TempDir()})
	write(t, k, 3)
	f, err := k.Prover.ProveConsistency(as(admin), 6, 10)
	if err != nil {
		t.Fatal(err)
	}
	mixed := newest
	mixed.Old = f.Old
	if _, err := audit.VerifyProof(mixed.Text(), publics(key)); err == nil {
		t.Error("a fork is continued")
	}
}

// TestEvidenceAgainstCheckpoints: a pack is held against the checkpoints that
// someone brings along.
func TestEvidenceAgainstCheckpoints(t *testing.T) {
	key, _ := audit.NewKey(bytes.Repeat([]byte{5}, 32))
	pack := func(m *memory, place string) []byte {
		l := newLog(t, audit.Options{Store: m, Key: key, Checkpoints: place})
		write(t, l, 3)
		var out bytes.Buffer
		if err := l.Prover.Extract(as(admin), &out, "operation", "op-2"); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	mine, theirs := filepath.Join(t.TempDir(), "mine"), filepath.Join(t.TempDir(), "theirs")
	m := &memory{}
	good := pack(m, mine)
	pack(&memory{}, theirs) // the same log by name, other records
	r, err := audit.VerifyEvidence(bytes.NewReader(good), readers(contents(t, mine)), publics(key)...)
	if err != nil || !r.Intact() || r.Proven != 3 || r.Summary() != "3 records are proven to be in the trail, by a "+
		"checkpoint for 7 records" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = audit.VerifyEvidence(bytes.NewReader(good), readers(contents(t, theirs)), publics(key)...); err != nil ||
		r.Intact() {
		t.Errorf("other checkpoints: %+v, %v", r, err)
	}
	older := bytes.SplitAfter(contents(t, mine), []byte("\n"))[0]
	if r, err = audit.VerifyEvidence(bytes.NewReader(good), readers(older), publics(key)...); err != nil || !r.Intact() ||
		len(r.Warnings) == 0 {
		t.Errorf("older checkpoints: %+v, %v", r, err)
	}
	if _, err = audit.VerifyEvidence(bytes.NewReader(good), readers(contents(t, mine))); err == nil {
		t.Error("checkpoints count without a key")
	}
	if _, err = audit.VerifyEvidence(bytes.NewReader(good), readers([]byte("rubbish\n")), publics(key)...); err == nil {
		t.Error("rubbish is a checkpoint file")
	}
	var ev audit.Evidence
	if err := json.Unmarshal(good, &ev); err != nil {
		t.Fatal(err)
	}
	ev.Records[1].Proof[0][3] ^= 1
	bad, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = audit.VerifyEvidence(bytes.NewReader(bad), nil, publics(key)...); err != nil || r.Intact() ||
		r.Problems[0].Kind != audit.Unproven {
		t.Errorf("a changed proof: %+v, %v", r, err)
	}
}
