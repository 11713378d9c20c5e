package compliance

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/internal/domain/journey"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
	"opdeck/ui/widget"
)

// mute and muteList are screens whose first load is never answered.
type (
	mute     struct{ *Screen }
	muteList struct{ *Customers }
)

func (mute) Init() tea.Cmd     { return nil }
func (muteList) Init() tea.Cmd { return nil }

func builtIn(o *ui.Options) { o.About.Environment = ui.Sandbox }

// state is a screen to keep.
type state struct {
	f    *fake
	id   string
	arg  string
	opts []shelltest.Option
	mute bool
	keys []string
	err  error // from the first read on
}

func (c state) view(t *testing.T, w, h int) string {
	t.Helper()
	clock := uitest.NewClock()
	f := *c.f
	f.now = clock.Now
	make := func(env *ui.Env, p ui.Place) ui.Screen {
		switch s := factory(&f)(env, p).(type) {
		case *Screen:
			if c.mute {
				return mute{s}
			}
			return s
		case *Customers:
			if c.mute {
				return muteList{s}
			}
			return s
		}
		return nil
	}
	r := shelltest.Open(t, clock, make, ui.Place{Kind: ui.KindCompliance, ID: c.id, Arg: c.arg}, c.opts...)
	r.Send(uitest.Size(w, h))
	if c.err != nil {
		f.err = c.err
	}
	for _, k := range c.keys {
		r.Send(uitest.Key(k))
	}
	return r.View()
}

// TestStates keeps the screens of the customer and of the list that are not the
// usual ones.
func TestStates(t *testing.T) {
	gone := &api.Error{Kind: api.Unavailable, Public: "The service did not answer within 15 s.", Hint: "r tries again."}
	noon := uitest.NewClock().Now()
	corporate := with(func(f *fake) { f.customer.Type = api.Corporate })
	for name, c := range map[string]state{
		"loading":  {f: individual(), id: cuid, mute: true},
		"stale":    {f: individual(), id: cuid, keys: []string{"r"}, err: gone},
		"readonly": {f: individual(), id: cuid, opts: []shelltest.Option{shelltest.ReadOnly}, keys: []string{"S"}},
		"rejected": {f: with(func(f *fake) {
			f.rec = journey.Record{Rejected: "The profile behind this token was not verified to the level that is asked for"}
		}), id: cuid},
		"waiting": {f: with(func(f *fake) {
			f.rec = journey.Record{Applied: true, Outstanding: []string{"PROOF_OF_RESIDENCE"}, LinkAt: noon.Add(-time.Minute), LinkUntil: noon.Add(14 * time.Minute)}
		}), id: cuid},
		"lapsed": {f: with(func(f *fake) {
			f.rec = journey.Record{Applied: true, Outstanding: []string{"PROOF_OF_RESIDENCE"}, LinkAt: noon.Add(-time.Hour), LinkUntil: noon.Add(-45 * time.Minute)}
		}), id: cuid},
		"accepted": {f: with(func(f *fake) {
			f.customer.Status, f.app.Status = "ACCEPT", "SUBMITTED"
			f.rec = journey.Record{Applied: true, Outstanding: []string{}, FinalizedAt: noon.Add(-time.Hour), By: "ana",
				Status: journey.Seen{First: "MODERATION", Now: "ACCEPT"}}
		}), id: cuid},
		"older": {f: with(func(f *fake) {
			f.customer.Status, f.app.Status = "REJECT", "DRAFT"
			f.rec = journey.Record{Applied: true, Outstanding: []string{}, FinalizedAt: noon.Add(-time.Hour), By: "ana"}
		}), id: cuid},
		"corporate":  {f: corporate, id: cuid, keys: []string{"S"}},
		"demo":       {f: corporate, id: cuid, keys: []string{"S"}, opts: []shelltest.Option{builtIn}},
		"production": {f: with(func(f *fake) { f.rec = journey.Record{Applied: true, Outstanding: []string{}} }), id: cuid, opts: []shelltest.Option{shelltest.Production}, keys: []string{"f"}},

		"norecord": {f: with(func(f *fake) {
			f.customer = api.Customer{CUID: cuid, Type: api.Individual}
			f.noRecord = unread("The service did not find it. It says: no such route")
		}), id: cuid},
		"nothing": {f: &fake{customer: api.Customer{CUID: cuid}, app: api.Application{Unread: true},
			noRecord: unread("The service refused this (405)."), noApp: unread("The service failed (500).")}, id: cuid},
		"record": {f: with(func(f *fake) {
			f.customer.Company, f.customer.Email, f.customer.Phone, f.customer.PUID = "Tallinn Tools", "ana@example.com", "+37255512345", "7f0c"
			f.customer.Raw = json.RawMessage(`{"cuid":"x","riskLevel":"low"}`)
		}), id: cuid},
		"list-loading": {f: individual(), mute: true},
		"list-empty":   {f: individual()},
		"list-nobody":  {f: individual(), arg: "zz"},
		"list-error":   {f: with(func(f *fake) { f.err = gone })},
		"list-stale": {f: with(func(f *fake) {
			f.page = api.Page[api.Customer]{Items: []api.Customer{customer(cuid, "Ana Kovačević", api.Individual, "NEW")}, Total: "1"}
		}), keys: []string{"r"}, err: gone},
	} {
		for size, wh := range shelltest.Drawn(name, "record", "list-stale") {
			t.Run(name+"-"+size, func(t *testing.T) {
				golden.RequireEqual(t, c.view(t, wh[0], wh[1]))
			})
		}
	}
}

const linkShown = "https://verify.example.com/kyc/0123456789abcdef"

// withLink is the screen of a customer for whom a link was created, in a window of w by h cells.
func withLink(t *testing.T, w, h int) *uitest.Run {
	f := individual()
	f.link = func() (api.Link, error) { return api.Link{URL: linkShown, TTL: 900}, nil }
	r, clock := open(t, f)
	r.Send(uitest.Size(w, h), uitest.Key("l"), clock.Wait(shelltest.Armed), uitest.Key("y"))
	return r
}

// TestTheCodeIsWhole: at each height that can hold it, some page shows the whole
// QR code.
func TestTheCodeIsWhole(t *testing.T) {
	for _, h := range []int{24, 25, 26, 28, 30, 34, 40, 50} {
		r := withLink(t, 80, h)
		most := 0
		for range 6 {
			n := 0
			for _, l := range strings.Split(r.View(), "\n") {
				if strings.HasPrefix(strings.TrimSpace(l), "██") {
					n++
				}
			}
			most = max(most, n)
			r.Send(uitest.Key("pgdown"))
		}
		code, err := widget.QR(linkShown)
		if err != nil || most != len(code) {
			t.Errorf("at %d lines %d of %d lines of the code show at once (%v)\n%s", h, most, len(code), err, r.View())
		}
	}
}

// TestLinkAndNextStepAreSeenWithTheCode: in a window of 120 columns all of them are seen without scrolling; in a smaller
// one the text is, and a window too small for the code says so and shows no part of it.
func TestLinkAndNextStepAreSeenWithTheCode(t *testing.T) {
	code, err := widget.QR(linkShown)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{120, 30}, {120, 40}, {137, 40}, {160, 45}, {200, 60}, {80, 24}, {80, 22}, {60, 20}, {120, 18}} {
		view := withLink(t, size[0], size[1]).View()
		rows := 0
		for _, l := range strings.Split(view, "\n") {
			if i := strings.Index(l, "██"); i >= 0 && strings.HasSuffix(strings.TrimSpace(l), "█") {
				rows++
			}
		}
		want := 0
		if size[0] >= 120 && size[1] >= 30 {
			want = len(code)
		}
		if rows != want || !strings.Contains(view, "Next: ") || !strings.Contains(view, linkShown) {
			t.Errorf("%v: %d lines of the code, not %d, or no link or no next step:\n%s", size, rows, want, view)
		}
		if small := size[1] < 24; small != strings.Contains(view, "too small for the QR code") {
			t.Errorf("%v: it says wrongly whether the window is too small:\n%s", size, view)
		}
	}
}
