package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/field"
	"opdeck/internal/present"
	"opdeck/internal/store"
)

func TestWanted(t *testing.T) {
	for in, want := range map[string]string{
		"": "table", "-o json": "json", "limits --output=csv": "csv", "-ojson": "json", "-o=jsonl": "jsonl",
		"--output jsonl": "jsonl",
		"-o xml":         "table", "-o": "table", "-- -o json": "table", "--other -o json": "json",
		"list --filter x -o json": "json", "-c prod -o csv": "csv", "-cojson": "table", "--yes x --help -o json": "json",
	} {
		if got := wanted(strings.Fields(in)); got != want {
			t.Errorf("%q gives %s, want %s", in, got, want)
		}
	}
}

func TestWhen(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	zone := time.FixedZone("", 2*3600)
	r := &root{zone: zone}
	for in, want := range map[string]time.Time{
		"": {}, "2h": now.Add(-2 * time.Hour), "2026-01-31": time.Date(2026, 1, 31, 0, 0, 0, 0, zone),
		"2026-01-31T10:00:00Z": time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC),
		"2026-01-31T10:00":     time.Date(2026, 1, 31, 10, 0, 0, 0, zone),
		"yesterday":            time.Date(2026, 2, 28, 0, 0, 0, 0, zone),
		"26 Nov":               time.Date(2025, 11, 26, 0, 0, 0, 0, zone),
	} {
		if got, err := r.when("from", in, now); err != nil || !got.Equal(want) {
			t.Errorf("%q gives %s %v", in, got, err)
		}
	}
	for in, want := range map[string]time.Time{"2026-01-31": time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)} {
		if got, err := (&root{}).when("from", in, now); err != nil || !got.Equal(want) { // for programs
			t.Errorf("%q gives %s %v", in, got, err)
		}
	}
	for _, in := range []string{"sometime", "-2h", "2026-13-01", "05/06"} {
		if _, err := r.when("from", in, now); err == nil {
			t.Errorf("%q is taken", in)
		}
	}
}

func TestCSVHoldsNoFormula(t *testing.T) {
	tab := rowsOf([]present.Column[[]string]{{Name: "a"}, {Name: "n", Layout: field.Layout{Align: field.Right}}},
		[]string{"=1+1", "-5"}, []string{"@x", "7"}, []string{"plain, with \"quotes\"", ""})
	var b strings.Builder
	if err := tab.csv(&b); err != nil {
		t.Fatal(err)
	}
	if want := "A,N\n'=1+1,-5\n'@x,7\n\"plain, with \"\"quotes\"\"\",\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}

func TestTableIsAligned(t *testing.T) {
	tab := rowsOf([]present.Column[[]string]{{Name: "name"}, {Name: "n", Layout: field.Layout{Align: field.Right}},
		{Name: "last"}}, []string{"漢字", "1", "x"}, []string{"a", "100", ""})
	var b strings.Builder
	if _, err := tab.write(&b, 0); err != nil {
		t.Fatal(err)
	}
	if want := "NAME    N  LAST\n漢字    1  x\na     100  \n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}

// TestHookSettingsNotReported: a setting that the service did not report is null in JSON, not false.
func TestHookSettingsNotReported(t *testing.T) {
	h := api.HookSettings{Enabled: true, HookURL: `https://x.example/,"hookCustomer":1}`,
		Unreported: "jwtSecret,hookCustomer,hookCounterparty,"}
	raw, err := json.Marshal(hooksOf(h))
	var got map[string]any
	if err != nil || json.Unmarshal(raw, &got) != nil {
		t.Fatalf("%s, %v", raw, err)
	}
	want := map[string]any{"enabled": true, "hookUrl": `https://x.example/,"hookCustomer":1}`, "jwtSecret": nil,
		"hookCustomer": nil, "hookOperation": false, "hookDepositAccount": false, "hookCounterparty": nil}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// TestClosedAfterSuccess: a completed act stays completed if the store could not record the rest; that is reported.
func TestClosedAfterSuccess(t *testing.T) {
	var reported bytes.Buffer
	r := &root{env: Env{Err: &reported}}
	full, failed := &store.Error{Kind: store.Full, Where: "the store"}, errors.New("refused")
	if err := r.closed(full, nil); err != nil || !strings.Contains(reported.String(), "Done, but") ||
		!strings.Contains(reported.String(), "The disk of the shared store at the store is full.") {
		t.Errorf("%v, %q", err, reported.String())
	}
	if err := r.closed(full, failed); !errors.Is(err, failed) || !errors.Is(err, full) {
		t.Error(err)
	}
	if err := r.closed(nil, nil); err != nil {
		t.Error(err)
	}
}
