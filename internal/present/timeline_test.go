package present

import (
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/note"
)

func TestAmount(t *testing.T) {
	for in, want := range map[string]string{"EUR 12.5": "12.50 EUR", "JPY 1234": "1,234 JPY", "KWD 0.001": "0.001 KWD",
		"XYZ -5.000000001": "-5.000000001 XYZ",
		"EUR 1e999999999":  "EUR 1e999999999", "EUR": "EUR", "\x1b[2J 5": "5 ·[2J", "EUR --": "EUR --"} {
		if got := amount(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}

// TestATimelineHasStatesWebhooksAndWriters: one list for the screen and the command, in the order of time.
func TestATimelineHasStatesWebhooksAndWriters(t *testing.T) {
	doc := api.Document{GUID: "g-1", FileName: "invoice.pdf"}
	first := api.Operation{OPID: "op-1", Status: "PENDING", Documents: []api.Document{doc}}
	second := api.Operation{OPID: "op-1", Status: "PENDING"}
	third := api.Operation{OPID: "op-1", Status: "SUCCESS"}
	states := []index.State{{Op: first, At: noon.Add(-time.Hour), Origin: index.List},
		{Op: second, At: noon.Add(-30 * time.Minute), Origin: index.Read},
		{Op: third, At: noon, Origin: index.Hook}, {Op: third, At: noon.Add(time.Minute), Gone: true, Origin: index.Read}}
	hooks := []Webhook{{Key: "h-2", Trust: "verified", At: noon.Add(-time.Second), Status: "3 SUCCESS"}}
	writes := []Write{{Who: "ana", Act: api.ActRemoveDocument, Item: "g-1", At: noon.Add(-31 * time.Minute)}}
	notes := []note.Note{{UID: "n", Object: note.Customer, Author: "ana\x1b", At: noon.Add(2 * time.Minute), Text: "call\nback"}}
	all := Timeline(states, hooks, writes, notes)
	var got []string
	for _, m := range all {
		got = append(got, string(m.Kind)+" "+m.From+" "+string(m.Status)+": "+m.Summary(as, 4))
	}
	want := []string{"state list PENDING: first known state", "state read PENDING: invoice.pdf removed by ana",
		"event webhook 3 SUCCESS: webhook h-2, verified", "state webhook SUCCESS: status PENDING → SUCCESS",
		"gone read : gone: the service no longer has it", "note note : note on the customer by ana·: call·back"}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if by := all[1].By(all[1].Changes[0]); by != "ana" {
		t.Errorf("%+v by %q", all[1].Changes, by)
	}
}
