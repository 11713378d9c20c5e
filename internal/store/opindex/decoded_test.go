package opindex

import (
	"testing"
)

// TestDecodedRowsAreThoseStored: a row that was decoded before is the one of its present body, through generations.
func TestDecodedRowsAreThoseStored(t *testing.T) {
	var d decodedRows
	body := func(status string) []byte {
		return []byte(`{"opid":"a","status":"` + status + `"}`)
	}
	read := func(n int64, status string) *byte {
		t.Helper()
		op, err := d.operation(n, body(status))
		if err != nil || string(op.Status) != status {
			t.Fatalf("row %d is %q, %v", n, op.Status, err)
		}
		return &op.Raw[0]
	}
	first := read(1, "NEW")
	if read(1, "NEW") != first {
		t.Error("the same body was decoded twice")
	}
	if read(1, "DONE") == first {
		t.Error("a new body has the old memory")
	}
	for n := range int64(keptRows) { // 1 stays, being read
		read(n+2, "NEW")
		if n%100 == 0 {
			read(1, "DONE")
		}
	}
	again := read(1, "DONE")
	for n := range int64(2 * keptRows) {
		read(n+2, "OLD")
	}
	if read(1, "DONE") == again {
		t.Error("a row that nobody read for two generations was kept")
	}
	if len(d.young) > keptRows || len(d.old) > keptRows {
		t.Errorf("%d and %d rows are kept", len(d.young), len(d.old))
	}
	if _, err := d.operation(1, []byte("no JSON")); err == nil {
		t.Error("a body that cannot be read is an operation")
	}
}
