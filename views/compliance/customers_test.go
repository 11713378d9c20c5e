package compliance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/internal/domain/journey"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// pages are 250 customers, 100 a page.
type pages struct{ asked []int }

func (p *pages) list(_ context.Context, q api.CustomerQuery) (api.Page[api.Customer], error) {
	p.asked = append(p.asked, q.Page)
	out := api.Page[api.Customer]{Page: q.Page, Total: "250"}
	for i := 100 * q.Page; i < min(100*q.Page+100, 250); i++ {
		out.Items = append(out.Items, customer(fmt.Sprintf("C%03d", i), fmt.Sprintf("Name %03d", 999-i), api.Individual, "NEW"))
	}
	return out, nil
}

func (p *pages) screen(env *ui.Env) ui.Screen {
	var c endpointtest.Fake
	endpointtest.On(&c, endpoint.ListCustomers, p.list)
	return NewCustomers(env, &c, (&fake{}).UnfinishedJourneys, "")
}

// TestCustomersBeyondAPage: the end of what was read reads on, and says so.
func TestCustomersBeyondAPage(t *testing.T) {
	p := &pages{}
	r := shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, _ ui.Place) ui.Screen { return p.screen(env) }, ui.Place{Kind: ui.KindCompliance})
	r.Says("100 customers of 250, end reads more", "1 of 100")
	r.Send(uitest.Key("G"))
	r.Says("200 customers of 250, end reads more", "100 of 200")
	r.Send(uitest.Key("G"))
	r.Says("250 customers", "200 of 250")
	r.Send(uitest.Key("G"), uitest.Key("G"))
	if r.Says("250 of 250"); fmt.Sprint(p.asked) != "[0 1 2]" {
		t.Errorf("pages %v were asked for", p.asked)
	}
	r.Send(uitest.Keys("right", "s"))
	first := func() string { r.Send(uitest.Key("g")); return strings.Split(r.View(), "\n")[6] }
	if l := first(); !strings.Contains(l, "Name 750") {
		t.Errorf("sorted by name: %q", l)
	}
	r.Send(uitest.Key("s"))
	if l := first(); !strings.Contains(l, "Name 999") {
		t.Errorf("again reverses: %q", l)
	}
	r.Send(uitest.Key("r"))
	r.Says("100 customers of 250")
}

// TestTheCustomerIsShownBesideTheList in a wide window, from the page that was read.
func TestTheCustomerIsShownBesideTheList(t *testing.T) {
	p := &pages{}
	r := shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, _ ui.Place) ui.Screen { return p.screen(env) }, ui.Place{Kind: ui.KindCompliance})
	r.Send(uitest.Size(160, 45), uitest.Keys("down", "down"))
	row := strings.Split(r.View(), "\n")
	r.Says("│ name", "│ status")
	if at := slices.IndexFunc(row, func(l string) bool { return strings.HasPrefix(l, " ▌") }); at < 0 || !strings.Contains(r.View(), "│ name    "+strings.Fields(row[at])[1]) {
		t.Errorf("the customer under the cursor is not beside the list:\n%s", r.View())
	}
	if fmt.Sprint(p.asked) != "[0]" {
		t.Errorf("pages %v were asked for", p.asked)
	}
}

// TestWhoWaits: one filter answers who waits in which state, by the words of the
// service, and whose verification was begun here; it narrows while it is typed.
func TestWhoWaits(t *testing.T) {
	f := individual()
	clock := uitest.NewClock()
	f.now = clock.Now
	f.page = api.Page[api.Customer]{Total: "9", Items: []api.Customer{customer("C1", "Zed", api.Corporate, "VERIFY"), customer(cuid, "Ana", api.Individual, "MODERATION"),
		customer("C3", "Oak", api.Corporate, "ACCEPT"), customer("C4", "Elm", api.Individual, "VERIFY")}}
	f.open = []journey.Record{{CUID: "C4", Applied: true, Outstanding: []string{}, AppliedAt: clock.Now().Add(-50 * time.Hour), Updated: clock.Now()}}
	for filter, want := range map[string]string{"status:VERIFY,MODERATION": "Zed Ana Elm", "waits:yes type:corporate": "Zed", "kind:individual -status:verify": "Ana",
		"begun:yes": "Elm", "begun:no waits:yes": "Zed Ana", "since>2d": "Elm", "since>3d": "", "status:VERIFY OR oak": "Zed Oak Elm"} {
		r := shelltest.Open(t, clock, factory(f), ui.Place{Kind: ui.KindCompliance})
		r.Send(uitest.Size(120, 40))
		r.Says("4 customers of 9, end reads more", "1 verification started, not finalized; 3 customers without a result: 1 MODERATION, 2 VERIFY", "2d ago, to finalize")
		r.Send(uitest.Key("/"), uitest.Type(filter))
		for _, name := range []string{"Zed", "Ana", "Oak", "Elm"} {
			if got := strings.Contains(r.View(), " "+name+" "); got != strings.Contains(want, name) {
				t.Errorf("%s: %s is shown: %v\n%s", filter, name, got, r.View())
			}
		}
		r.Send(uitest.Key("enter"))
		r.Says("of 4 read of 9, end reads more")
	}
}

// TestTypingASearchDoesNothingElse: letters that are keys elsewhere are text.
func TestTypingASearchDoesNothingElse(t *testing.T) {
	f := individual()
	r, _ := open(t, f)
	before := f.calls
	r.Send(uitest.Key("/"))
	r.Says("enter find", "esc end the search")
	r.Send(uitest.Type("rSlfOyYJ"), uitest.Key("enter"))
	r.Says("/rSlfOyYJ", "no match", "esc end the search")
	if f.calls != before {
		t.Errorf("%d calls while a search was typed", f.calls-before)
	}
	r.Send(uitest.Key("esc"))
	r.Says("Verification")
	if strings.Contains(r.View(), "no match") {
		t.Error("esc does not end the search")
	}
}
