package audit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

// makeLog is a log of so many acts, two records each, with a checkpoint every so
// many acts. The checkpoints are made by another process: the records themselves
// do not report on any.
func makeLog(t testing.TB, prefix string, acts, every int) (log []string, points []byte, key *audit.Key) {
	t.Helper()
	key, err := audit.NewKey(bytes.Repeat([]byte{42}, 32))
	if err != nil {
		t.Fatal(err)
	}
	m, c, place := &memory{}, newClock(), filepath.Join(t.TempDir(), "points")
	l, err := audit.New(audit.Options{Store: m, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := audit.New(audit.Options{Store: m, Now: c.Now, Key: key, Checkpoints: place})
	if err != nil {
		t.Fatal(err)
	}
	for i := range acts {
		a := act
		a.ID = fmt.Sprintf("%s-%d", prefix, i)
		ref, err := l.Intent(as(ana), ana, a)
		if err != nil {
			t.Fatal(err)
		}
		c.add(time.Second)
		if err := l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done, Status: 200}); err != nil {
			t.Fatal(err)
		}
		if (i+1)%every == 0 {
			if err := signer.Signer.Checkpoint(as(ana)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, r := range m.rows {
		log = append(log, fmt.Sprintf(`{"hash":"%s","record":%s}`, r.Hash, r.Bytes))
	}
	return log, contents(t, place), key
}

// rehash makes a record with other bytes, consistent in itself.
func rehash(t *testing.T, line string, change func(*audit.Record)) (string, string) {
	t.Helper()
	var in struct{ Record audit.Record }
	if err := json.Unmarshal([]byte(line), &in); err != nil {
		t.Fatal(err)
	}
	change(&in.Record)
	b, err := json.Marshal(in.Record)
	if err != nil {
		t.Fatal(err)
	}
	h := audit.Hash(b)
	return fmt.Sprintf(`{"hash":"%s","record":%s}`, h, b), h
}

// TestAttacks is the table of the attacks on a log: what the chain alone finds,
// and what it finds together with signed checkpoints.
func TestAttacks(t *testing.T) {
	log, points, key := makeLog(t, "op", 300, 50)
	clone := func() []string { return slices.Clone(log) }
	other, _, _ := makeLog(t, "zz", 300, 50)
	attacks := []struct {
		name    string
		chain   audit.ProblemKind // found by the chain alone; "" when it is not
		points  audit.ProblemKind // found with checkpoints
		seq     int64
		program func() io.Reader
	}{
		{"nothing", "", "", 0, func() io.Reader { return join(log) }},
		{"one byte", audit.Changed, audit.Changed, 235, func() io.Reader {
			l := clone()
			l[234] = strings.Replace(l[234], `"ana"`, `"eve"`, 1)
			return join(l)
		}},
		{"record changed and hashed anew", audit.Broken, audit.Broken, 236, func() io.Reader {
			l := clone()
			l[234], _ = rehash(t, l[234], func(r *audit.Record) { r.Actor.Name = "eve" })
			return join(l)
		}},
		{"record deleted", audit.Missing, audit.Missing, 235,
			func() io.Reader { return join(slices.Delete(clone(), 234, 235)) }},
		{"first record deleted", audit.Unproven, audit.Unproven, 2, func() io.Reader { return join(log[1:]) }},
		{"two swapped", audit.Missing, audit.Missing, 235, func() io.Reader {
			l := clone()
			l[234], l[235] = l[235], l[234]
			return join(l)
		}},
		{"last one repeated", audit.Repeated, audit.Repeated, 600,
			func() io.Reader { return join(append(clone(), log[599])) }},
		{"old one repeated", audit.Misplaced, audit.Misplaced, 7, func() io.Reader { return join(append(clone(), log[6])) }},
		{"forged record inserted", audit.Misplaced, audit.Misplaced, 235, func() io.Reader {
			forged, _ := rehash(t, log[234], func(r *audit.Record) { r.Actor.Name = "eve" })
			return join(slices.Insert(clone(), 234, forged))
		}},
		{"torn last line", audit.Torn, audit.Torn, 600, func() io.Reader {
			all, _ := io.ReadAll(join(log))
			return bytes.NewReader(all[:len(all)-40])
		}},
		{"last line without its end", audit.Torn, audit.Torn, 600, func() io.Reader {
			all, _ := io.ReadAll(join(log))
			return bytes.NewReader(all[:len(all)-1])
		}},
		{"a line of something else", audit.Malformed, audit.Malformed, 235,
			func() io.Reader { return join(slices.Insert(clone(), 234, `{"x":1}`)) }},
		{"tail cut, older copy restored", "", audit.Cut, 451, func() io.Reader { return join(log[:450]) }},
		{"all cut", "", audit.Cut, 1, func() io.Reader { return strings.NewReader("") }},
		{"all written anew", "", audit.Rewritten, 100, func() io.Reader { return join(other) }},
		{"tail written anew", "", audit.Rewritten, 300, func() io.Reader {
			l, prev := clone(), ""
			for i := 240; i < len(l); i++ {
				l[i], prev = rehash(t, l[i], func(r *audit.Record) {
					r.Actor.Name = "eve"
					if prev != "" {
						r.Prev = prev
					}
				})
			}
			return join(l)
		}},
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			for _, with := range []bool{false, true} {
				var files []io.Reader
				want := a.chain
				if with {
					files, want = []io.Reader{bytes.NewReader(points)}, a.points
				}
				r, err := audit.Verify(a.program(), files, key.Public())
				if err != nil {
					t.Fatal(err)
				}
				if want == "" {
					if !r.Intact() || r.Exit() != audit.ExitIntact {
						t.Errorf("checkpoints %v: %s", with, r.Summary())
					}
					continue
				}
				if r.Intact() || r.Exit() != audit.ExitBroken || r.Problems[0].Kind != want || r.Problems[0].Seq != a.seq {
					t.Errorf("checkpoints %v: %+v, want %s at %d", with, r.Problems, want, a.seq)
				}
			}
		})
	}
}

func TestCoverage(t *testing.T) {
	log, points, key := makeLog(t, "op", 300, 250)
	r, err := audit.Verify(join(log), []io.Reader{bytes.NewReader(points)}, key.Public())
	if err != nil || r.Records != 600 || r.Covered != 500 || r.Checkpoints != 1 || r.First != 1 || r.Last != 600 {
		t.Errorf("%+v, %v", r, err)
	}
	if want := "600 records are intact; checkpoints cover them up to 500"; r.Summary() != want {
		t.Error(r.Summary())
	}
}

// A log in several files, cut between an intent and its outcome, is one chain.
func TestFilesOneAfterTheOther(t *testing.T) {
	log, points, key := makeLog(t, "op", 250, 250)
	r, err := audit.Verify(io.MultiReader(join(log[:101]), join(log[101:])), []io.Reader{bytes.NewReader(points)},
		key.Public())
	if err != nil || !r.Intact() || len(r.Unsettled) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, _ = audit.Verify(join(log[:101]), nil); len(r.Unsettled) != 1 || r.Unsettled[0].Seq != 101 ||
		r.Unsettled[0].ID != "op-50" {
		t.Errorf("unsettled in the first file: %+v", r.Unsettled)
	}
	long, points, key := makeLog(t, "op", 400, 250)
	r, err = audit.Verify(join(long[500:]), []io.Reader{bytes.NewReader(points)}, key.Public())
	if err != nil || !r.Intact() || r.First != 501 {
		t.Errorf("a part that a checkpoint leads to: %+v, %v", r.Problems, err)
	}
}

func TestCheckpointsAttacked(t *testing.T) {
	log, points, key := makeLog(t, "op", 150, 50)
	lines := strings.SplitAfter(strings.TrimSuffix(string(points), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	if len(lines) != 3 {
		t.Fatalf("%d checkpoints", len(lines))
	}
	thief, _ := audit.NewKey(bytes.Repeat([]byte{66}, 32))
	var first audit.Checkpoint
	list, _, err := audit.ReadCheckpoints(bytes.NewReader(points))
	if err != nil {
		t.Fatal(err)
	}
	first = list[0].Checkpoint
	forged, away := first, first
	forged.N, away.Chain = 80, "6f706465-636b-4000-8000-000000000002"
	for name, c := range map[string]struct {
		file string
		want audit.ProblemKind
	}{
		"signed by another key": {string(thief.Sign(forged)), audit.Forged},
		"head exchanged":        {strings.Replace(lines[0], first.Head, list[1].Head, 1), audit.Forged},
		"reordered":             {lines[1] + lines[0] + lines[2], audit.Reordered},
		"repeated":              {lines[0] + lines[0], audit.Reordered},
		"of another log":        {string(key.Sign(away)), audit.OtherLog},
		"of another log's end": {string(key.Sign(audit.Checkpoint{Chain: away.Chain, N: 9000, Head: first.Head})),
			audit.OtherLog},
		"good key over bad claim": {string(key.Sign(audit.Checkpoint{Chain: first.Chain, N: 80, Head: first.Head})),
			audit.Rewritten},
	} {
		r, err := audit.Verify(join(log), []io.Reader{strings.NewReader(c.file)}, key.Public())
		if err != nil || r.Intact() || r.Problems[0].Kind != c.want {
			t.Errorf("%s: %+v, %v; want %s", name, r.Problems, err, c.want)
		}
	}
	r, err := audit.Verify(join(log), []io.Reader{strings.NewReader(string(points[:len(points)-9]))}, key.Public())
	if err != nil || !r.Intact() || len(r.Warnings) != 1 || r.Covered != 200 {
		t.Errorf("torn checkpoint file: %+v, %v", r, err)
	}
	for name, in := range map[string]string{"nonsense": "hello\n", "nonsense in the middle": lines[0] + "hello\n" +
		lines[1]} {
		r, err := audit.Verify(join(log), []io.Reader{strings.NewReader(in)}, key.Public())
		if err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if _, err := audit.Verify(join(log), []io.Reader{bytes.NewReader(points)}); err == nil {
		t.Error("checkpoints count without a key")
	}
}

func TestTooLongALineCannotBeChecked(t *testing.T) {
	r, err := audit.Verify(strings.NewReader(strings.Repeat("x", 1<<20)), nil)
	if err == nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// FuzzOneByte changes one byte of a log, or of its checkpoints: that must never
// pass.
func FuzzOneByte(f *testing.F) {
	log, points, key := makeLog(f, "op", 20, 10)
	text, err := io.ReadAll(join(log))
	if err != nil {
		f.Fatal(err)
	}
	both := append(slices.Clone(text), points...)
	for i := 0; i < len(both); i += 397 {
		f.Add(uint32(i), byte(1))
		f.Add(uint32(i), byte(0x20)) // the other case of a letter
	}
	for i := len(text); i < len(both); i += 13 {
		f.Add(uint32(i), byte(4))
	}
	f.Fuzz(func(t *testing.T, at uint32, flip byte) {
		if flip == 0 {
			return
		}
		b := slices.Clone(both)
		i := int(at) % len(b)
		b[i] ^= flip
		r, err := audit.Verify(bytes.NewReader(b[:len(text)]), []io.Reader{bytes.NewReader(b[len(text):])}, key.Public())
		if err == nil && r.Intact() && r.Covered == 40 {
			t.Fatalf("byte %d changed by %#x passes", i, flip)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	log, _, _ := makeLog(b, "op", 5000, 5000)
	text, err := io.ReadAll(join(log))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if r, err := audit.Verify(bytes.NewReader(text), nil); err != nil || !r.Intact() {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "records/s")
}
