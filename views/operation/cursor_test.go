package operation

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/internal/domain/index"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// other is a place that the operation leads to; a list notes where its cursor went.
type other struct {
	ui.Page
	env  *ui.Env
	p    ui.Place
	rows *[]string
}

func (o *other) Reload() tea.Cmd        { return nil }
func (o *other) Content() ui.Content    { return ui.Content{Lines: []string{o.p.Kind}} }
func (o *other) Keys() []keymap.Key     { return nil }
func (o *other) Title() string          { return o.p.Kind }
func (o *other) Place() ui.Place        { return o.p }
func (o *other) Select(row string) bool { *o.rows = append(*o.rows, row); return true }

// page is an operation with children and documents whose links lead to places.
type page struct {
	*uitest.Run
	screen *Screen
	places []ui.Place
	rows   []string
	copied []string
}

func newPage(t *testing.T) *page {
	t.Helper()
	op := apitest.Operation(map[string]any{"isParent": true})
	before := op
	before.Status = "NEW"
	child := apitest.Operation(map[string]any{"opid": "77777777-0000-4000-8000-000000000001"})
	at := uitest.NewClock().Now()
	above := apitest.Operation(map[string]any{"opid": "77777777-0000-4000-8000-000000000002"})
	f := &fake{op: op, tree: api.OperationTree{Parent: op, Ancestors: []api.Operation{above}, Children: []api.Child{{Operation: child, Depth: 1}}},
		past: []index.State{{Op: before, At: at.Add(-time.Hour), Origin: index.List}, {Op: op, At: at.Add(-time.Minute), Origin: index.Hook, Current: true}}}
	d := &page{}
	factory := func(env *ui.Env, p ui.Place) ui.Screen {
		if d.screen == nil {
			d.screen = f.screen(env, p.ID)
			return d.screen
		}
		d.places = append(d.places, p)
		o := &other{env: env, p: p, rows: &d.rows}
		o.Page = ui.NewPage(env, o, "", "")
		return o
	}
	d.Run = shelltest.Open(t, uitest.NewClock(), factory, ui.Place{Kind: ui.KindOperation, ID: string(op.OPID)}, shelltest.Copies(&d.copied))
	return d
}

// label is the label of the fact, or the name of the line, that the cursor is on.
func (d *page) label() string {
	name, _, _ := strings.Cut(d.screen.Link().ID, sep)
	return name
}

// TestTheCursorOpensWhatItStandsOn goes from link to link, opens each, and comes back to it.
func TestTheCursorOpensWhatItStandsOn(t *testing.T) {
	d := newPage(t)
	d.Send(uitest.Size(160, 45), uitest.Key("H"), uitest.Key("g"))
	want := []struct{ on, kind, id string }{
		{"cuid", ui.KindCompliance, "DqCsgSE-4e95-ViYbNI"},
		{"document", ui.KindDocuments, d.screen.latest.ID}, {"document", ui.KindDocuments, d.screen.latest.ID}, {"document", ui.KindDocuments, d.screen.latest.ID},
		{"source account id", "accounts", "UhcPVBEpjmtR"},
		{"destination counterparty id", "counterparties", "U6OFFpEoEdHA"},
		{"parent operation", ui.KindOperation, "77777777-0000-4000-8000-000000000002"},
		{"child", ui.KindOperation, "77777777-0000-4000-8000-000000000001"}, {"state", ui.KindHistory, d.screen.latest.ID}, {"state", ui.KindHistory, d.screen.latest.ID},
		{"cuid", ui.KindCompliance, "DqCsgSE-4e95-ViYbNI"},
	}
	for i, w := range want {
		d.Send(uitest.Key("tab"))
		at := d.screen.Link()
		d.Send(uitest.Key("enter"))
		if d.label() != w.on || len(d.places) != i+1 || d.places[i] != (ui.Place{Kind: w.kind, ID: w.id}) {
			t.Fatalf("link %d is %q and opens %v, not %+v", i, d.label(), d.places, w)
		}
		if d.Send(uitest.Key("esc")); d.screen.Link() != at {
			t.Errorf("back is at %q, not at %q", d.screen.Link().ID, at.ID)
		}
	}
	var guids []string
	for _, doc := range d.screen.latest.Op.Documents {
		guids = append(guids, string(doc.GUID))
	}
	if len(d.rows) != 5 || !slices.Equal(d.rows[:3], guids) || d.rows[3] == d.rows[4] {
		t.Errorf("the cursors of the lists went to %q", d.rows)
	}
	d.Send(uitest.Key("shift+tab"))
	if d.label() != "state" {
		t.Errorf("shift+tab goes to %q", d.label())
	}
}

// TestEveryFactIsCopied: y takes the value under the cursor, exactly; a masked number
// stays masked.
func TestEveryFactIsCopied(t *testing.T) {
	d := newPage(t)
	got := map[string]string{}
	for range 60 {
		n := len(d.copied)
		if d.Send(uitest.Key("y")); len(d.copied) == n+1 {
			got[d.label()] = clip(t, d.copied[n])
		}
		d.Send(uitest.Key("j"))
	}
	for name, want := range map[string]string{"id": d.screen.latest.ID, "reference": "SBX-68159091", "amount": "1250.50 USD", "received": "1156.25 EUR", "cuid": "DqCsgSE-4e95-ViYbNI",
		"source number": "••••4321", "source account id": "UhcPVBEpjmtR", "destination counterparty id": "U6OFFpEoEdHA", "created": string(d.screen.latest.Op.CreatedAt.Raw),
		"document": string(d.screen.latest.Op.Documents[2].GUID)} {
		if got[name] != want {
			t.Errorf("%s is copied as %q, not %q", name, got[name], want)
		}
	}
	d.Send(uitest.Keys("M", "g"))
	for n := 0; d.label() != "source number" && n < 60; n++ {
		d.Send(uitest.Key("j"))
	}
	d.Send(uitest.Key("y"))
	if last := clip(t, d.copied[len(d.copied)-1]); last != "12345678904321" {
		t.Errorf("on %q the revealed number is copied as %q", d.label(), last)
	}
}

// clip is the text of an OSC 52 sequence.
func clip(t *testing.T, seq string) string {
	t.Helper()
	_, b, _ := strings.Cut(seq, "c;")
	text, err := base64.StdEncoding.DecodeString(strings.TrimRight(b, "\x07\x1b\\"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNothingOpens: a fact without a record of its own says where to go.
func TestNothingOpens(t *testing.T) {
	d := newPage(t)
	if d.Send(uitest.Key("enter")); len(d.places) > 0 || !strings.Contains(d.View(), "Nothing to open here; tab goes to the next line") {
		t.Errorf("\n%s", d.View())
	}
}

// TestTheCursorStays on its line when the operation changes, and scrolls with pages.
func TestTheCursorStays(t *testing.T) {
	d := newPage(t)
	d.Send(uitest.Keys("tab", "tab"))
	changed := *d.screen.latest.Op
	changed.Status = "SUCCESS"
	d.Send(ui.Changed{Kind: ui.KindOperation, ID: d.screen.latest.ID, Object: changed, Origin: "webhook"})
	if d.label() != "cuid" {
		t.Errorf("the cursor went to %q", d.label())
	}
	for _, key := range []string{"pgdown", "ctrl+u", "ctrl+d", "pgup"} {
		if d.Send(uitest.Key(key)); cursorLine(d.View()) == "" {
			t.Errorf("after %s the cursor is not on the page:\n%s", key, d.View())
		}
	}
	d.Send(uitest.Key("home"))
	if d.label() != "id" || !strings.Contains(d.View(), "PENDING") && !strings.Contains(d.View(), "SUCCESS (") {
		t.Errorf("home goes to %q\n%s", d.label(), d.View())
	}
}

func cursorLine(view string) string {
	for l := range strings.Lines(view) {
		if strings.Contains(l, "▌ ") {
			return l
		}
	}
	return ""
}

// TestLabelsAreOfTheCatalogue: what the catalogue names is called so here, once.
func TestLabelsAreOfTheCatalogue(t *testing.T) {
	d := newPage(t)
	elsewhere := []string{"status", "type", "payment", "currency", "source", "destination", "documents"} // headline and headings
	labels := map[string]int{}
	d.screen.latest.Op.IsVisible = false // the flags are left out where they say what is usual
	for _, s := range d.screen.facts() {
		if s.Title != "Source" && s.Title != "Destination" {
			for _, p := range s.Facts {
				labels[p.Label]++
			}
		}
	}
	for _, f := range field.Operations.All() {
		if want := 1; labels[f.Name] != want && !slices.Contains(elsewhere, f.Name) {
			t.Errorf("%s is shown %d times", f.Name, labels[f.Name])
		}
		delete(labels, f.Name)
	}
	delete(labels, "rate") // reckoned from two fields
	if len(labels) > 0 {
		t.Errorf("the catalogue has no field of the names %v", labels)
	}
}

// TestFilled: in a wide window the two sides, children and history are beside the facts and documents.
func TestFilled(t *testing.T) {
	for _, wh := range [][2]int{{40, 12}, {160, 45}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", wh[0], wh[1]), func(t *testing.T) {
			d := newPage(t)
			d.Send(uitest.Size(wh[0], wh[1]), uitest.Keys("H", "tab", "tab"))
			golden.RequireEqual(t, d.View())
		})
	}
}

// TestTheCursorStaysOnScreen: enter would else open something that nobody sees.
func TestTheCursorStaysOnScreen(t *testing.T) {
	d := newPage(t)
	d.Send(uitest.Size(160, 45), uitest.Key("H"))
	for _, wh := range [][2]int{{80, 24}, {40, 12}, {120, 40}, {60, 14}} {
		d.Send(uitest.Size(wh[0], wh[1]))
		if line := d.screen.Link().ID; !strings.Contains(line, "77777777") || cursorLine(d.View()) == "" {
			t.Errorf("at %v the cursor is on %q:\n%s", wh, line, d.View())
		}
	}
}
