package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/note"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// fakeIndex counts what is asked of it.
type fakeIndex struct {
	calls  int
	states func() ([]index.State, error)
	last   time.Time
	looks  []string
	look   error
}

func (f *fakeIndex) History(context.Context, string) ([]index.State, error) {
	f.calls++
	return f.states()
}
func (f *fakeIndex) LastSeen(context.Context, string, string) (time.Time, error) {
	f.calls++
	return f.last, nil
}
func (f *fakeIndex) MarkSeen(_ context.Context, person, opid string, at time.Time) error {
	f.calls++
	f.looks = append(f.looks, person+" "+opid+" "+at.Format("15:04"))
	return f.look
}

var _ Index = (*index.Index)(nil)

// nobody is a past without webhooks and writes.
func nobody() Past {
	return Past{func(context.Context, string) ([]present.Webhook, error) { return nil, nil },
		func(context.Context, string) ([]present.Write, error) { return nil, nil }, noNotes}
}

func noNotes(context.Context, string, string) ([]note.Note, error) { return nil, nil }

const opid = "7f3a2b10-0000-4000-8000-000000000001"

var (
	noon  = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	place = ui.Place{Kind: Kind, ID: opid}
)

func state(t testing.TB, ago time.Duration, from index.Origin, body string) index.State {
	t.Helper()
	var op api.Operation
	if err := json.Unmarshal([]byte(body), &op); err != nil {
		t.Fatal(err)
	}
	return index.State{Op: op, At: noon.Add(-ago), Origin: from}
}

func body(status, units string, nanos int, number, comment, docs string) string {
	c, _ := json.Marshal(comment)
	return fmt.Sprintf(`{"opid":%q,"status":%q,"sourceAmount":{"sum":{"currencyCode":"EUR","units":%q,"nanos":%d}},"source":{"account":{"number":%q,"name":"main"}},
		"comment":%s,"documents":[%s],"customer":{"cuid":"c-1","name":"Acme"},"newField":{"deep":1}}`, opid, status, units, nanos, number, c, docs)
}

func sample(t testing.TB) []index.State {
	const doc = `{"guid":"g-1","fileName":"invoice.pdf","isLock":false}`
	return []index.State{
		state(t, 3*time.Hour, index.List, body("PENDING", "1000", 0, "DE001234567890", "first", doc)),
		state(t, 2*time.Hour, index.Hook, body("PENDING", "99999999999999999999", 1, "DE001234567890", "first", doc)),
		state(t, 20*time.Minute, index.Read, body("PENDING", "99999999999999999999", 1, "DE009999998888", "second, and a text that is longer than one line of a window has room for, so that it is wrapped", "")),
		state(t, time.Minute, index.Hook, body("SUCCESS", "99999999999999999999", 1, "DE009999998888", "second, and a text that is longer than one line of a window has room for, so that it is wrapped", "")),
	}
}

func fake(t testing.TB) *fakeIndex {
	return &fakeIndex{states: func() ([]index.State, error) { return sample(t), nil }, last: noon.Add(-time.Hour)}
}

func as(o *ui.Options) {
	o.Context = api.WithActor(context.Background(), api.Actor{Name: "ana", Role: api.Operator})
}

func open(t *testing.T, ix Index, opts ...shelltest.Option) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	clock := uitest.NewClock()
	return shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen { return New(env, ix, nobody(), p.ID) }, place, append([]shelltest.Option{as}, opts...)...), clock
}

func TestTimeline(t *testing.T) {
	r, _ := open(t, fake(t))
	golden.RequireEqual(t, []byte(r.View()))
}

// TestNotesAreInTheHistory: those on the operation and its customer, in their place in time; a note opens whole, and is
// no state to compare.
func TestNotesAreInTheHistory(t *testing.T) {
	past := nobody()
	past.Notes = func(_ context.Context, id, cuid string) ([]note.Note, error) {
		if id != opid || cuid != "c-1" {
			t.Errorf("asked for %q and %q", id, cuid)
		}
		return []note.Note{{UID: "1", Object: note.Operation, ID: id, Author: "ben", At: noon.Add(-10 * time.Minute), Text: "call the bank"},
			{UID: "2", Object: note.Customer, ID: cuid, Author: "ana", At: noon.Add(-4 * time.Hour), Text: "prefers mail"}}, nil
	}
	r := shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen { return New(env, fake(t), past, p.ID) }, place, as)
	r.Has("4 states, 2 notes", "note by ben: call the b", "note on the customer by", "known since 2026-03-02 09:00:00")
	r.Send(uitest.Keys("j", " ", "j", "enter"))
	r.Has("a note is marked")
	r.Send(uitest.Keys("g", "j", "enter"))
	r.Has("ben", "call the bank")
	r.HasNot("prefers mail")
	r.Send(uitest.Keys("esc", "/"), uitest.Type("bank"), uitest.Key("enter"))
	r.Has("call the b")
	r.HasNot("prefers mail")
}

func TestTimelineWide(t *testing.T) {
	r, _ := open(t, fake(t))
	r.Send(uitest.Size(120, 40))
	golden.RequireEqual(t, []byte(r.View()))
}

// TestThePreviewIsTheDifference: where there is room the difference of the row under the
// cursor is beside the rows, follows the cursor, and costs no read.
func TestThePreviewIsTheDifference(t *testing.T) {
	f := fake(t)
	r, _ := open(t, f)
	before := f.calls
	r.Send(uitest.Size(160, 45))
	golden.RequireEqual(t, r.View())
	r.Send(uitest.Key("G"))
	r.Has("The first known state")
	r.Send(uitest.Key("k"))
	r.Has("Changes at this moment")
	if r.Send(uitest.Key("|")); strings.Contains(r.View(), "Changes at this moment") || f.calls != before {
		t.Errorf("%d reads; the screen is\n%s", f.calls-before, r.View())
	}
}

func TestDifference(t *testing.T) {
	r, _ := open(t, fake(t))
	r.Send(uitest.Size(120, 40), uitest.Keys(" ", "G", " ", "enter"))
	golden.RequireEqual(t, []byte(r.View()))
	r.Send(uitest.Key("M"))
	r.Has("DE001234567890")
}

func TestEnterComparesWithTheStateBefore(t *testing.T) {
	r, _ := open(t, fake(t))
	r.Send(uitest.Key("enter"))
	r.Has("Changes at this moment", "1 change", "PENDING → SUCCESS")
	r.Send(uitest.Keys("esc", "G", "enter"))
	r.Has("The first known state", "No earlier state is known", "1,000.00 EUR")
	for _, compares := range []string{"differ", "→", "before  "} { // there is nothing to compare it with
		if strings.Contains(r.View(), compares) {
			t.Errorf("%q in\n%s", compares, r.View())
		}
	}
}

func TestOneMarkAndTheCursor(t *testing.T) {
	r, _ := open(t, fake(t))
	r.Send(uitest.Keys("G", " ", "enter")) // the cursor cannot go further down
	r.Has("This is the marked state")
	r.Send(uitest.Keys("g", "enter"))
	r.Has("Difference between two states", "before 2026-03-02 09:00:00 UTC", "after  2026-03-02 11:59:00 UTC")
	r.Send(uitest.Keys("esc", " ", " ", "enter"))
	r.Has("3 states are marked, but only two can be compared")
	r.Send(uitest.Keys("*"))
	r.Has("Only two states can be compared")
	r.Send(uitest.Key("esc"))
	if strings.Contains(r.View(), "marked ") {
		t.Errorf("esc keeps the marks\n%s", r.View())
	}
}

func TestSinceYouLastLooked(t *testing.T) {
	ix := fake(t)
	r, _ := open(t, ix)
	r.Has("2 changes since your last visit (2026-03-02 11:00:00 UTC)")
	if strings.Join(ix.looks, "") != "ana "+opid+" 12:00" {
		t.Errorf("looks %q", ix.looks)
	}
	ix.last = noon
	r.Send(uitest.Key("r"))
	r.Has("2 changes since your last visit")
	if len(ix.looks) != 1 {
		t.Error("a reload moves the mark")
	}
	ix = fake(t)
	ix.last = time.Time{}
	r, _ = open(t, ix)
	if strings.Contains(r.View(), "last visit") {
		t.Errorf("a first visit has no last one:\n%s", r.View())
	}
	ix = fake(t)
	ix.last = noon
	r, _ = open(t, ix)
	r.Has("Nothing changed since your last visit")
}

func TestCursorFollowsTheMoment(t *testing.T) {
	ix := fake(t)
	r, _ := open(t, ix)
	r.Send(uitest.Keys("down", "down"))
	more := append(sample(t), state(t, 0, index.Read, body("CANCELED", "1", 0, "", "", "")))
	ix.states = func() ([]index.State, error) { return more, nil }
	r.Send(ui.Changed{Kind: ui.KindOperation, ID: opid})
	r.Has("4 of 5")
	r.Send(ui.Changed{Kind: ui.KindOperation, ID: "another"})
	r.Send(uitest.Key("enter"))
	r.Has("99,999,999,999,999,999,999.000000001 EUR")
}

func TestStates(t *testing.T) {
	for want, err := range map[string]error{"No history is known for this operation": index.ErrNone, "cannot be read from the store": errors.New("disk")} {
		r, _ := open(t, &fakeIndex{states: func() ([]index.State, error) { return nil, err }})
		r.Has(want)
	}
	ix := fake(t)
	ix.look = errors.New("disk full")
	r, _ := open(t, ix)
	r.Has("4 states", "Part of the history could not be read from the store")
	r, _ = openPlace(t, ix, ui.Place{Kind: Kind})
	r.Has("No operation is open.")
}

func openPlace(t *testing.T, ix Index, p ui.Place) (*uitest.Run, *uitest.Clock) {
	clock := uitest.NewClock()
	return shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen { return New(env, ix, nobody(), p.ID) }, p), clock
}

func TestStaleAnswerIsDropped(t *testing.T) {
	var s *Screen
	ix := fake(t)
	shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen { s = New(env, ix, nobody(), p.ID); return s }, place, as)
	first := s.Reload()
	if cmd := s.reloadOnce(); cmd != nil || !s.stale {
		t.Error("a change during a read starts another at once")
	}
	second := s.Reload()
	late := first()
	ix.states = func() ([]index.State, error) { return sample(t)[:1], nil }
	if _, again := s.Update(second()); again == nil {
		t.Error("the change during the read is forgotten")
	}
	s.Update(late)
	if s.rows.Len() != 1 {
		t.Errorf("%d rows after a stale answer", s.rows.Len())
	}
}

func TestHostileText(t *testing.T) {
	bad := "\x1b[2J\x1b]52;c;aGk=\a\u202efdp.exe\n"
	name, _ := json.Marshal(bad)
	a := state(t, time.Hour, index.Read, `{"opid":"x"}`)
	b := state(t, time.Minute, index.Origin(99), fmt.Sprintf(`{"opid":%s,"status":%s,%s:%s,"source":{"account":{"number":%s}},"sourceAmount":{"sum":{"currencyCode":%s,"units":%s,"nanos":5}}}`,
		name, name, name, name, name, name, name))
	ix := &fakeIndex{states: func() ([]index.State, error) { return []index.State{a, a, b, b}, nil }}
	clock := uitest.NewClock()
	r := shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen { return New(env, ix, nobody(), p.ID) }, ui.Place{Kind: Kind, ID: bad}, as, shelltest.Unmasked)
	r.Send(uitest.Keys("down", "enter", "J", "esc"))
	shelltest.Sizes(r)
	r.Send(uitest.Keys("esc", "y", "Y"))
	shelltest.Sizes(r)
}

func TestSizes(t *testing.T) {
	r, _ := open(t, fake(t))
	shelltest.Sizes(r)
	r.Send(uitest.Keys("down", "enter"))
	shelltest.Sizes(r)
}

// Nothing is asked of the index but in commands.
func TestUpdateAndViewNeverWait(t *testing.T) {
	ix := fake(t)
	shelltest.PressAll(uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen {
		s := New(env, ix, nobody(), p.ID)
		s.Loaded = true
		s.rows.Set(present.Timeline(sample(t), nil, nil, nil))
		s.Changed()
		return s
	}, place, ui.Changed{Kind: ui.KindOperation, ID: opid})
	if ix.calls != 0 {
		t.Errorf("%d questions outside a command", ix.calls)
	}
}

// The same for every key on the page of a difference.
func TestKeysOnPagesNeverWait(t *testing.T) {
	var s *Screen
	ix := fake(t)
	shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen { s = New(env, ix, nobody(), p.ID); return s }, place, as)
	before, k := ix.calls, keymap.New()
	for _, key := range keymap.Join(k.Nav, k.List, k.Item, k.Operation, k.Viewer, k.Global) {
		s.between(s.rows.All()[0], s.rows.All()[2])
		s.Update(key.Msg())
		_ = s.View()
	}
	if ix.calls != before {
		t.Errorf("%d questions outside a command", ix.calls-before)
	}
}

// names knows who did what; asked counts how often the trail was read.
type names struct {
	list  []present.Write
	hooks []present.Webhook
	asked int
}

func (n *names) writes(context.Context, string) ([]present.Write, error) {
	n.asked++
	return n.list, nil
}

func (n *names) past() Past {
	return Past{func(context.Context, string) ([]present.Webhook, error) { return n.hooks, nil }, n.writes, noNotes}
}

// TestADocumentHasItsName: a row shows the file's name, what happened to it, and who did
// it as far as the trail knows: a write of another time, kind or document is not it.
func TestADocumentHasItsName(t *testing.T) {
	const doc = `{"guid":"g-1","fileName":"invoice.pdf","isLock":%v}`
	states := []index.State{
		state(t, 3*time.Hour, index.List, body("PENDING", "1", 0, "", "", fmt.Sprintf(doc, false))),
		state(t, 2*time.Hour, index.Read, body("PENDING", "1", 0, "", "", "")),
		state(t, time.Hour, index.Read, body("PENDING", "1", 0, "", "", fmt.Sprintf(doc, false))),
		state(t, time.Minute, index.Read, body("PENDING", "1", 0, "", "", fmt.Sprintf(doc, true))),
	}
	n := &names{list: []present.Write{{Who: "ben", Act: api.ActRemoveDocument, Item: "g-2", At: noon.Add(-150 * time.Minute)}, {Who: "ana\x1b[31m", Act: api.ActRemoveDocument, Item: "g-1", At: noon.Add(-150 * time.Minute)},
		{Who: "dan", Act: api.ActRemoveDocument, Item: "g-1", At: noon.Add(-70 * time.Minute)}, {Who: "cy", Act: api.ActAttachDocument, Item: "g-1", At: noon.Add(-30 * time.Second)}}}
	ix := &fakeIndex{states: func() ([]index.State, error) { return states, nil }}
	r := shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen { return New(env, ix, n.past(), p.ID) }, place, as)
	r.Send(uitest.Size(120, 30), uitest.Key("r"), uitest.Key("r"))
	r.Has("invoice.pdf removed by ana·[31m", "invoice.pdf added", "invoice.pdf locked")
	for _, not := range []string{"documents[", "by ben", "by cy", "by dan"} {
		if strings.Contains(r.View(), not) {
			t.Errorf("%q is on screen\n%s", not, r.View())
		}
	}
	if n.asked != 1 {
		t.Errorf("the trail was read %d times", n.asked)
	}
}

// TestWebhooksStandAmongTheStates: the screen has the rows of opdeck operation history.
func TestWebhooksStandAmongTheStates(t *testing.T) {
	n := &names{hooks: []present.Webhook{{Key: "h-1", Trust: "verified", At: noon.Add(-30 * time.Minute), Status: "3 SUCCESS"}}}
	r := shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen { return New(env, fake(t), n.past(), p.ID) }, place, as)
	r.Send(uitest.Size(120, 30))
	golden.RequireEqual(t, []byte(r.View()))
	r.Send(uitest.Keys("down", "down", " ", "g", "enter"))
	r.Has("Only states can be compared")
}
