package compliance

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/journey"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

func TestScreens(t *testing.T) {
	linked := individual()
	linked.link = func() (api.Link, error) {
		return api.Link{URL: "https://verify.example.com/kyc/0123456789abcdef", TTL: 900}, nil
	}
	for name, c := range map[string]struct {
		f    *fake
		keys []string
	}{
		"todo": {f: individual()},
		"outstanding": {f: with(func(f *fake) {
			f.rec = journey.Record{Applied: true, Outstanding: []string{"PROOF_OF_RESIDENCE", "UBO_POA"}}
		})},
		"unclear": {f: with(func(f *fake) { f.rec = journey.Record{Unclear: true} })},
		"baas":    {f: with(func(f *fake) { f.rec = journey.Record{BaaS: true} })},
		"finalized": {f: with(func(f *fake) {
			f.rec = journey.Record{Applied: true, Outstanding: []string{}, FinalizedAt: time.Date(2026, 3, 2, 11, 0, 0, 0, time.UTC), By: "ana"}
		})},
		"problem": {f: with(func(f *fake) {
			f.noApp = unread("the service did not answer.")
		})},
		"error": {f: with(func(f *fake) {
			f.err = &api.Error{Kind: api.NotFound, Public: "The service has no such customer.", Hint: "Check the id."}
		})},
		"hostile":  {f: hostile()},
		"token":    {f: individual(), keys: []string{"S"}},
		"question": {f: with(func(f *fake) { f.rec = journey.Record{Applied: true, Outstanding: []string{}} }), keys: []string{"f"}},
		"link":     {f: linked, keys: []string{"l", "yes", "end"}},
	} {
		for size, wh := range shelltest.Drawn(name, "outstanding", "link") {
			t.Run(name+"-"+size, func(t *testing.T) {
				r, clock := open(t, c.f)
				r.Send(uitest.Size(wh[0], wh[1]))
				for _, k := range c.keys {
					if k == "yes" {
						k = "y"
						r.Send(clock.Wait(shelltest.Armed))
					}
					r.Send(uitest.Key(k))
				}
				golden.RequireEqual(t, r.View())
			})
		}
	}
}

func with(change func(*fake)) *fake { f := individual(); change(f); return f }

func TestShareAppliesOnce(t *testing.T) {
	f := individual()
	f.share = func() (api.ShareResult, error) {
		return api.ShareResult{Applied: true, Outstanding: []api.OutstandingSet{}}, nil
	}
	r, clock := open(t, f)
	handOver(t, r, clock)
	if len(f.shares) != 1 || f.shares[0] != token {
		t.Fatalf("presented %d times", len(f.shares))
	}
	r.Says("Applied. Finalize the application (f).")
	r.Send(uitest.Key("S"))
	r.Says("A token has been applied already")
}

// TestOpenSetsLeadToALink: with outstanding sets the next step is the link, in the notice of the share as on the page;
// the question of finalize warns of them, and after it they still lead to a link.
func TestOpenSetsLeadToALink(t *testing.T) {
	f := individual()
	f.share = func() (api.ShareResult, error) {
		return api.ShareResult{Applied: true, Outstanding: []api.OutstandingSet{{Name: "PROOF_OF_RESIDENCE"}}}, nil
	}
	f.finalize = func() (api.Result, error) { return api.Result{Success: true}, nil }
	r, clock := open(t, f)
	handOver(t, r, clock)
	r.Says("Applied. Create a link (l) for the outstanding document sets.", "Next: Create a link (l) for the outstanding document sets.")
	r.Send(uitest.Key("f"))
	r.Says("Document sets are outstanding, and no link was created for them: PROOF_OF_RESIDENCE.")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Says("Finalized.", "Next: Create a link (l): the application is submitted, but document sets are outstanding.")
}

// TestKeysWaitForAFreshRead: between a write and the read after it nothing can
// be pressed again.
func TestKeysWaitForAFreshRead(t *testing.T) {
	f := individual()
	f.rec.Applied = true
	clock := uitest.NewClock()
	f.now = clock.Now
	var s *Screen
	make := func(env *ui.Env, p ui.Place) ui.Screen { s = f.screen(env, p.ID); return s }
	r := shelltest.Open(t, clock, make, ui.Place{Kind: ui.KindCompliance, ID: cuid})
	again := s.reloadAfterWrite() // not answered yet
	s.Layout()
	r.Send(uitest.Key("f"))
	r.Says("Reading the customer again")
	r.Send(again(), uitest.Key("f"))
	r.Says("Submit the application of")
}

// TestAMovedJourneyWithdrawsTheQuestion: somebody else finalised meanwhile.
func TestAMovedJourneyWithdrawsTheQuestion(t *testing.T) {
	f := individual()
	f.rec.Applied = true
	f.finalize = func() (api.Result, error) { t.Error("finalized"); return api.Result{}, nil }
	clock := uitest.NewClock()
	f.now = clock.Now
	var s *Screen
	r := shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen { s = f.screen(env, p.ID); return s }, ui.Place{Kind: ui.KindCompliance, ID: cuid})
	r.Send(uitest.Key("f"))
	f.rec.FinalizedAt, f.customer.Status = clock.Now(), "MODERATION"
	r.Send(s.Reload()())
	r.Says("changed in the meantime.")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
}

func TestRejectedTokenMayBeTriedAgain(t *testing.T) {
	f := individual()
	f.share = func() (api.ShareResult, error) {
		return api.ShareResult{Message: "Profile is not verified" + apitest.Hostile}, nil
	}
	r, clock := open(t, f)
	handOver(t, r, clock)
	r.Says("The token was not applied", "Profile is not verified", "corrected token")
	r.Send(clock.Wait(time.Second), uitest.Key("enter"), uitest.Key("S"))
	r.Says("What you paste is not shown, stored or logged.")
}

func TestRefusalsInWords(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want []string
		off  string
	}{
		"409": {&api.Error{Kind: api.Refused, Rule: api.RuleShared, Status: 409, Public: "A share token was already applied to this customer.", Hint: "Finalize the application."},
			[]string{"refused", "already applied", "Finalize"}, "works once"},
		"403": {&api.Error{Kind: api.Refused, Rule: api.RuleBaaS, Status: 403, Public: "Accounts on the BaaS verification program cannot share data.", Hint: "Use the link."},
			[]string{"BaaS", "Use the link."}, "not shown, stored or logged"}, // share is never off for ever
		"unknown": {&api.Error{Kind: api.UnknownOutcome, Public: "The token was sent, the answer was lost.", Hint: "Look at the application."},
			[]string{"unknown outcome", "Look at the application."}, "not shown, stored or logged"},
	} {
		t.Run(name, func(t *testing.T) {
			f := individual()
			f.share = func() (api.ShareResult, error) { return api.ShareResult{}, c.err }
			r, clock := open(t, f)
			handOver(t, r, clock)
			r.Says(c.want...)
			r.Send(clock.Wait(time.Second), uitest.Key("enter"), uitest.Key("S"))
			r.Says(c.off)
			if len(f.shares) != 1 {
				t.Errorf("the token was presented %d times", len(f.shares))
			}
		})
	}
}

func TestWhatIsNoTokenIsNotAsked(t *testing.T) {
	r, _ := open(t, individual())
	r.Send(uitest.Key("S"), uitest.Paste("two words here"), uitest.Key("enter"))
	r.Says("contains whitespace")
	if strings.Contains(r.View(), "two words") {
		t.Error("it shows")
	}
}

func TestLinkIsCopiedAndLapses(t *testing.T) {
	f := individual()
	f.link = func() (api.Link, error) {
		return api.Link{URL: "https://verify.example.com/kyc/0123456789abcdef", TTL: 900}, nil
	}
	var copies []string
	r, clock := open(t, f, shelltest.Copies(&copies))
	r.Send(uitest.Size(100, 60), uitest.Key("l"))
	r.Says("Create a verification link for", "[ No ]")
	if len(copies) != 0 {
		t.Fatal("a link was made before the answer")
	}
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Says("host  https://verify.example.com", "expires in 15m", "█")
	if len(copies) != 1 {
		t.Errorf("copied %d times", len(copies))
	}
	r.Send(clock.Wait(16 * time.Minute))
	r.Says("has expired; l creates a new one")
}

func TestFinalize(t *testing.T) {
	f := individual()
	f.rec.Applied = true
	n := 0
	f.finalize = func() (api.Result, error) {
		n++
		return api.Result{Success: true, Message: "submitted"}, nil
	}
	r, clock := open(t, f)
	r.Send(uitest.Key("f"), clock.Wait(shelltest.Armed), uitest.Key("enter"))
	if n != 0 {
		t.Fatal("enter is yes")
	}
	r.Send(uitest.Key("f"), clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Says("Finalized.")
	r.Send(uitest.Key("f"))
	r.Says("The application has been submitted.")
	if n != 1 {
		t.Errorf("finalized %d times", n)
	}
}

func TestKeysOffSayWhy(t *testing.T) {
	f := with(func(f *fake) { f.app = api.Application{} })
	r, _ := open(t, f)
	r.Send(uitest.Key("f")) // what the console did not see is for the service to decide
	r.Says("Submit the application of", "none seen", "No application was read")
	r, _ = open(t, with(func(f *fake) { f.rec = journey.Record{Applied: true, FinalizeUnclear: true} }))
	r.Send(uitest.Key("f"))
	r.Says("its outcome is still unknown")
	ro, _ := open(t, individual(), shelltest.ReadOnly)
	for _, k := range []string{"S", "f"} {
		ro.Send(uitest.Key(k))
		ro.Says("read-only")
	}
}

func TestCustomerList(t *testing.T) {
	f := individual()
	f.page = api.Page[api.Customer]{Total: "3", Items: []api.Customer{customer("C1", "Zed", api.Corporate, "ACCEPT"), customer(cuid, "Ana", api.Individual, "NEW"),
		customer("C3", "Odd"+apitest.Hostile, "X", "BANNED")}}
	f.open = []journey.Record{{CUID: cuid, Applied: true, Outstanding: []string{"X"}}}
	clock := uitest.NewClock()
	f.now = clock.Now
	r := shelltest.Open(t, clock, factory(f), ui.Place{Kind: ui.KindCompliance})
	r.Says("3 customers", "1 verification started, not finalized; 1 customer without a result: 1 NEW", "needs a link")
	if strings.Index(r.View(), "Ana") > strings.Index(r.View(), "Zed") {
		t.Errorf("the unfinished one is not first:\n%s", r.View())
	}
	t.Run("80x24", func(t *testing.T) { golden.RequireEqual(t, r.View()) })
	r.Send(uitest.Size(120, 40))
	t.Run("120x40", func(t *testing.T) { golden.RequireEqual(t, r.View()) })
	asked := len(f.asked)
	r.Send(uitest.Key("/"), uitest.Type("ana"))
	if r.Says("1 of 1"); len(f.asked) != asked {
		t.Error("the service is asked while a filter is typed")
	}
	r.Send(uitest.Key("enter"))
	if len(f.asked) != asked {
		t.Errorf("asked for %+v, though every customer is read", f.asked[asked:])
	}
	r.Says("/ ana", "1 customer of 3 read")
	f.page.Total = "9"
	r.Send(uitest.Key("r"), uitest.Key("/"), uitest.Key("enter"))
	if q := f.asked[len(f.asked)-1]; q.Name != "ana" || len(f.asked) != asked+2 {
		t.Errorf("asked for %+v", f.asked[asked:])
	}
	r.Says("searched at the service for “ana”")
	f.page.Total = "3"
	f.page.Items = []api.Customer{}
	r.Send(uitest.Key("r"))
	r.Says("No customer matches the filter.")
	r.Send(uitest.Key("esc"))
	if q := f.asked[len(f.asked)-1]; q.Name != "" {
		t.Errorf("esc asked for %+v", q)
	}
	f.err = &api.Error{Kind: api.Unavailable, Public: "The service did not answer."}
	r.Send(uitest.Key("r"))
	r.Says("The service did not answer.")
	shelltest.Sizes(r)
}

// TestTheListIsWithinReach of a customer's screen.
func TestTheListIsWithinReach(t *testing.T) {
	f := individual()
	f.page = api.Page[api.Customer]{Total: "1", Items: []api.Customer{customer(cuid, "Ana", api.Individual, "NEW")}}
	r, _ := open(t, f)
	r.Send(uitest.Key(":"), uitest.Type("all customers"), uitest.Key("enter"))
	r.Says("› Customers", "1 customer")
}

func TestUpdateAndViewNeverWait(t *testing.T) {
	for _, p := range []ui.Place{{Kind: ui.KindCompliance, ID: cuid}, {Kind: ui.KindCompliance}} {
		f := individual()
		clock := uitest.NewClock()
		f.now = clock.Now
		shelltest.PressAll(clock, factory(f), p, ui.Changed{Kind: ui.KindCompliance, ID: cuid, Object: f.rec})
		if f.calls != 0 {
			t.Errorf("%d requests outside a command", f.calls)
		}
	}
}

func TestEverySize(t *testing.T) {
	f := hostile()
	f.link = func() (api.Link, error) {
		return api.Link{URL: untrusted.Text("https://x.example/" + strings.Repeat("a", 300) + apitest.Hostile), TTL: 60}, nil
	}
	r, clock := open(t, f)
	shelltest.Sizes(r)
	r.Send(uitest.Key("l"))
	shelltest.Sizes(r)
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	shelltest.Sizes(r)
	r.Send(uitest.Key("S"))
	shelltest.Sizes(r)
}

// TestWithoutRecords: share, link and finalize need no more than the customer's id.
func TestWithoutRecords(t *testing.T) {
	f := &fake{customer: api.Customer{CUID: cuid}, app: api.Application{Unread: true}, noRecord: unread("The service did not find it."),
		noApp:    unread("The service failed (500)."),
		share:    func() (api.ShareResult, error) { return api.ShareResult{Applied: true}, nil },
		link:     func() (api.Link, error) { return api.Link{URL: "https://verify.example.com/x", TTL: 900}, nil },
		finalize: func() (api.Result, error) { return api.Result{Success: true}, nil }}
	r, clock := open(t, f)
	r.Says("Customer "+cuid, "type not known", "status not known", "The customer record could not be read", "The application could not be read")
	r.Send(uitest.Key("S"), uitest.Type(token), uitest.Key("enter"), clock.Wait(time.Second), uitest.Key("y"))
	if len(f.shares) != 1 {
		t.Fatalf("the token was presented %d times\n%s", len(f.shares), r.View())
	}
	r.Send(uitest.Key("l"), clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Says("https://verify.example.com/x")
	r.Send(uitest.Key("f"))
	r.Says("Submit the application of Customer "+cuid, "could not be read")
	r.Send(clock.Wait(time.Second), uitest.Key("y"))
	r.Says("Finalized.")
}

// TestTheRecordShows: every field of the record is on screen, and what leads to the
// person is masked until it is revealed.
func TestTheRecordShows(t *testing.T) {
	f := individual()
	var c api.Customer
	if err := json.Unmarshal([]byte(`{"cuid":"`+cuid+`","name":"Ana","company":"Tallinn Tools","email":"ana@example.com","phone":"+37255512345","comment":"vip","puid":"P1",
		"updatedAt":"2026-01-02T03:04:05Z","riskLevel":"low","tags":{"a":1}}`), &c); err != nil {
		t.Fatal(err)
	}
	f.customer = c
	r, _ := open(t, f, func(o *ui.Options) { o.Mask = false })
	r.Send(uitest.Size(100, 60))
	r.Says("Tallinn Tools", "ana@example.com", "+37255512345", "vip", "P1", "2026-01-02", "risk level", "low", `{"a":1}`)
	masked, _ := open(t, f, func(o *ui.Options) { o.Mask = true })
	masked.Send(uitest.Size(100, 60))
	masked.Says("a••••@example.com", "••••45", "Tallinn Tools")
	if v := masked.View(); strings.Contains(v, "ana@") || strings.Contains(v, "555") {
		t.Errorf("not masked:\n%s", v)
	}
}

// TestACustomerByTypedID: without a list a customer is opened by a typed id.
func TestACustomerByTypedID(t *testing.T) {
	f := individual()
	f.err = &api.Error{Kind: api.NotFound, Public: "The service did not find it."}
	clock := uitest.NewClock()
	f.now = clock.Now
	r := shelltest.Open(t, clock, factory(f), ui.Place{Kind: ui.KindCompliance})
	r.Says("opens a customer by id")
	f.err = nil
	r.Send(uitest.Key("enter"), uitest.Type(".."), uitest.Key("enter"))
	r.Says("Not a valid customer id")
	r.Send(uitest.Key("backspace"), uitest.Key("backspace"), uitest.Type(cuid), uitest.Key("enter"))
	r.Says("Verification", cuid)
}

// TestTheHeadGivesTheNameItsRoom: the customer's name is cut only where the line is full.
func TestTheHeadGivesTheNameItsRoom(t *testing.T) {
	f := individual()
	f.customer.Name = "Northern Shipping and Warehousing Company of the Baltic"
	for w := 40; w <= 200; w += 10 {
		r, _ := open(t, f)
		r.Send(uitest.Size(w, 30))
		head := strings.TrimRight(strings.Split(r.View(), "\n")[2+min(w/80, 1)], " ")
		if !strings.Contains(head, string(f.customer.Name)) && draw.Width(head) != w-ui.Margins && draw.Width(head) != w-ui.Margins/2 && draw.Width(head) != w {
			t.Errorf("at %d cells the name is cut in %d: %s", w, draw.Width(head), head)
		}
	}
}

// TestShareWarnsOfAnAcceptedCustomer: the form and the question say what a token does to a customer who is accepted,
// and nothing of the kind for another one.
func TestShareWarnsOfAnAcceptedCustomer(t *testing.T) {
	for status, warns := range map[string]bool{"ACCEPT": true, "accepted": true, "NEW": false, "VERIFY": false, "": false} {
		f := with(func(f *fake) { f.customer.Status = untrusted.Text(status) })
		r, _ := open(t, f)
		for _, keys := range [][]tea.Msg{{uitest.Key("S")}, {uitest.Type("demo-individual-ok-1"), uitest.Key("enter")}} {
			r.Send(keys...)
			if got := strings.Contains(r.View(), " already. A token"); got != warns {
				t.Errorf("%q: warned %v, want %v:\n%s", status, got, warns, r.View())
			}
		}
	}
}

// TestARefusedTokenIsTypedAgain: its form comes back empty, and says so.
func TestARefusedTokenIsTypedAgain(t *testing.T) {
	f := individual()
	f.share = func() (api.ShareResult, error) {
		return api.ShareResult{}, &api.Error{Kind: api.Refused, Public: "The service refused this token."}
	}
	r, clock := open(t, f)
	r.Send(uitest.Size(110, 40), uitest.Key("S"), uitest.Paste(token), uitest.Key("enter"), clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Says("Applying the share token refused.", "The service refused this token.", "Secrets are not kept: type it again.", "› Token")
	if strings.Contains(r.View(), "••") {
		t.Errorf("the token is kept:\n%s", r.View())
	}
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("enter"))
	r.Says("› Token")
	if len(f.shares) != 1 {
		t.Errorf("sent %d times", len(f.shares))
	}
}
