package capsule_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"opdeck/internal/domain/capsule"
	"opdeck/internal/domain/verdict"
)

const mark = "Mark Zed <mark@h.example> 40817810099910004312"

// filled sets every text of v to the mark, and every list to one element.
func filled(v reflect.Value, at time.Time) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(mark)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0), at)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(at))
			return
		}
		for i := range v.NumField() {
			filled(v.Field(i), at)
		}
	}
}

// TestFactsHoldNoText: whatever texts facts have, none is in the redacted facts, and none in a conclusion from them.
func TestFactsHoldNoText(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	var f verdict.Facts
	filled(reflect.ValueOf(&f).Elem(), now)
	out := capsule.Facts(f, capsule.NewNames())
	for _, v := range []any{out, verdict.Conclude(out)} {
		if b, err := json.Marshal(v); err != nil || strings.Contains(string(b), "Mark") ||
			strings.Contains(string(b), "4081") {
			t.Errorf("%v: %s", err, b)
		}
	}
	if b, _ := json.Marshal(f); !strings.Contains(string(b), "Mark") {
		t.Error("the facts have no mark: the test cannot judge")
	}
}

// TestSettingsShowNoName: of a config only words of ours, addresses and numbers are shown.
func TestSettingsShowNoName(t *testing.T) {
	keys := map[string]bool{"contexts": true, "login": true, "base_url": true, "kind": true, "listen": true,
		"filter": true, "timeout": true}
	got := capsule.Settings(map[string]any{"contexts": map[string]any{"of-ana": map[string]any{"login": "ana@h.example",
		"base_url": "https://stage.example.com", "kind": "test", "listen": "127.0.0.1:80", "timeout": "15s", "filter": ""}}},
		keys, capsule.NewNames())
	b, _ := json.Marshal(got)
	for _, want := range []string{`"login":"set"`, `"base_url":"https://stage.example.com"`, `"kind":"test"`,
		`"timeout":"15s"`, `"filter":""`, `"name:`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	if strings.Contains(string(b), "ana") {
		t.Errorf("%s", b)
	}
	b, _ = json.Marshal(capsule.Settings(map[string]any{"base_url": "https://u:secret@h.example/path?x", "kind": mark},
		map[string]bool{"base_url": true, "kind": true}, capsule.NewNames()))
	if strings.Contains(string(b), "secret") || strings.Contains(string(b), "Mark") {
		t.Errorf("%s", b)
	}
}

// TestNames: one value is one digest within a capsule, and another in the next one.
func TestNames(t *testing.T) {
	a, b := capsule.NewNames(), capsule.NewNames()
	first, again := a.Of("id", "x"), a.Of("id", "x")
	if first != again || first == a.Of("id", "y") || first == b.Of("id", "x") || a.Of("id", "") != "" {
		t.Error(first, again, a.Of("id", "y"), b.Of("id", "x"))
	}
}

// TestLog: of a log line its time, level, plain message, words and numbers are kept.
func TestLog(t *testing.T) {
	since := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	log := `time=2026-03-02T11:00:00Z level=INFO msg="too old"
time=2026-03-02T12:00:01Z level=WARN msg="webhook rejected" reason=signature status=401 source=198.51.100.7 detail="of Mark Zed"
time=2026-03-02T12:00:02.5Z level=INFO msg=call op="read operation" method=GET route="/v2/billing/operation/{opid}" opid=op-4711 err="to mark@h.example"
{"time":"2026-03-02T12:00:03Z","level":"INFO","msg":"login","who":"Mark","status":200}
not a line
`
	lines, err := capsule.Log(strings.NewReader(log), since)
	b, _ := json.Marshal(lines)
	if err != nil || len(lines) != 3 || lines[0].Attrs["reason"] != "signature" || lines[0].Attrs["status"] != "401" ||
		lines[0].Says != "webhook rejected" {
		t.Errorf("%v %s", err, b)
	}
	for _, bad := range []string{"Mark", "mark", "198.51", "4711", "Zed"} {
		if strings.Contains(string(b), bad) {
			t.Errorf("%q is in %s", bad, b)
		}
	}
}

// TestReadIsBounded: what was written is read, and no other file is.
func TestReadIsBounded(t *testing.T) {
	var good bytes.Buffer
	if err := capsule.Write(&good, "first\nsecond", []capsule.Record{{Kind: "part",
		Data: map[string]any{"state": "good"}}}); err != nil {
		t.Fatal(err)
	}
	c, err := capsule.Read(bytes.NewReader(good.Bytes()))
	if err != nil || c.Summary != "first\nsecond" || len(c.Records) != 1 || c.Records[0].Kind != "part" {
		t.Errorf("%+v, %v", c, err)
	}
	large := strings.Repeat("x", 17<<20)
	record := `{"kind":"x","data":{}}` + "\n"
	for name, file := range map[string][]byte{
		"empty": nil, "no archive": []byte("hello"), "cut": good.Bytes()[:good.Len()/2],
		"another name": archive(t, "../../etc/passwd", "x", "records.jsonl", record),
		"another path": archive(t, "/summary.txt", "x", "records.jsonl", record),
		"large part":   archive(t, "summary.txt", large, "records.jsonl", record),
		"large line":   archive(t, "summary.txt", "x", "records.jsonl", `{"kind":"`+large[:70<<10]+`","data":{}}`),
		"many records": archive(t, "summary.txt", "x", "records.jsonl", strings.Repeat(record, 20_001)),
		"no records":   archive(t, "summary.txt", "x", "records.jsonl", "not JSON"),
		"deep JSON":    archive(t, "summary.txt", "x", "records.jsonl", `{"kind":"x","data":`+strings.Repeat("[", 20_000)),
	} {
		if c, err := capsule.Read(bytes.NewReader(file)); !errors.Is(err, capsule.ErrFormat) || len(c.Records) > 0 {
			t.Errorf("%s: %v, %d records", name, err, len(c.Records))
		}
	}
}

func archive(t *testing.T, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(parts); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: parts[i], Size: int64(len(parts[i+1])), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprint(w, parts[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func FuzzRead(f *testing.F) {
	var good bytes.Buffer
	if err := capsule.Write(&good, "first", []capsule.Record{{Kind: "part",
		Data: map[string]any{"state": "good"}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := capsule.Read(bytes.NewReader(b)); err != nil && (!errors.Is(err, capsule.ErrFormat) || c.Summary != "") {
			t.Error(err)
		}
	})
}
