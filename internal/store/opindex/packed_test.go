package opindex

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"opdeck/api/apitest"
	"opdeck/internal/domain/index/indextest"
)

// TestDictionaryStays: stored records were packed with it. A better one is another file with another number.
func TestDictionaryStays(t *testing.T) {
	sum := sha256.Sum256([]byte(dictionaryText))
	if got := hex.EncodeToString(sum[:]); got != "ca511b0ab4008761127ebdf45390ed54e480dbfc9130d70eada62069fb46c17a" {
		t.Errorf("record.dict changed: %s", got)
	}
}

// TestPackedRecords: a record is read as it came, to the byte, whatever it holds and however often it is packed.
func TestPackedRecords(t *testing.T) {
	records := [][]byte{nil, []byte("{}"), []byte("\n{ }"), []byte("\x01 no JSON, and no packed record"),
		bytes.Repeat([]byte(`{"opid":"`), 30_000), []byte(dictionaryText), apitest.Operation(nil).Raw,
		apitest.HostileOperation().Raw}
	odd := indextest.Options{Odd: true, Raw: true}
	for n := range 500 {
		records = append(records, odd.Make(n).Raw)
	}
	var raw, packed int
	for _, r := range records {
		p := pack(r)
		got, err := unpack(p)
		if bytes.HasPrefix(r, []byte{dictionaryNumber}) {
			continue // not a record: no answer begins like this
		}
		if err != nil || !bytes.Equal(got, r) {
			t.Fatalf("%q became %q, %v", r, got, err)
		}
		if len(p) > len(r) {
			t.Errorf("%d bytes became %d: %q", len(r), len(p), r)
		}
		raw, packed = raw+len(r), packed+len(p)
	}
	plain := apitest.Operation(nil).Raw
	if got, err := unpack(plain); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("a record of an earlier build: %q, %v", got, err)
	}
	if packed*2 > raw {
		t.Errorf("%d bytes became %d", raw, packed)
	}
}

// TestDamagedRecords: a damaged body is an error, never a record of another length and never a panic.
func TestDamagedRecords(t *testing.T) {
	record := []byte(indextest.Options{Raw: true}.Make(3).Raw)
	body := pack(record)
	for n := 1; n < len(body); n++ {
		if got, err := unpack(body[:n]); err == nil {
			t.Fatalf("%d of %d bytes: %q", n, len(body), got)
		}
	}
	for n := range body {
		damaged := bytes.Clone(body)
		damaged[n] ^= 0x80
		if got, err := unpack(damaged); err == nil && n > 0 && n < 3 && len(got) == len(record) {
			t.Errorf("byte %d", n)
		}
	}
	if _, err := unpack([]byte{dictionaryNumber, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}); err == nil {
		t.Error("a record of 4 GB")
	}
	if _, err := unpack([]byte{2, 3, 4}); err == nil {
		t.Error("another dictionary")
	}
}

func BenchmarkPacked(b *testing.B) {
	var records, bodies [][]byte
	var raw, packed int
	for n := range 1000 {
		r := []byte(indextest.Options{Raw: true}.Make(n).Raw)
		records, bodies = append(records, r), append(bodies, pack(r))
		raw, packed = raw+len(r), packed+len(bodies[n])
	}
	b.Run("pack", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			pack(records[n%1000])
		}
		b.ReportMetric(float64(packed)/1000, "bytes")
		b.ReportMetric(float64(raw)/1000, "raw-bytes")
	})
	b.Run("unpack", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			if _, err := unpack(bodies[n%1000]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
