package events

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict/verdicttest"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

func TestList(t *testing.T) {
	r, _ := open(t, full(), here)
	golden.RequireEqual(t, []byte(r.View()))
}

func TestListWide(t *testing.T) {
	r, _ := open(t, full(), here)
	r.Send(uitest.Size(120, 40))
	golden.RequireEqual(t, []byte(r.View()))
}

func TestEvent(t *testing.T) {
	f := full()
	r, _ := open(t, f, here)
	r.Send(uitest.Size(120, 60), uitest.Keys("k", "enter"))
	golden.RequireEqual(t, []byte(r.View()))
	r.Send(uitest.Key("i"))
	r.Has("operation " + opid)
}

func TestAccountNumbersAreMasked(t *testing.T) {
	r, _ := open(t, full(), here)
	r.Send(uitest.Size(120, 60), uitest.Keys("k", "k", "k", "k", "enter"))
	r.Has("••••9012", "Body as received", "Its origin is not proven")
	r.HasNot("DE00123456789012")
	r.Send(uitest.Key("J"))
	r.Has(`"••••9012"`)
	r.HasNot("DE00123456789012")
	r.Send(uitest.Keys("esc", "M"))
	r.Has("DE00123456789012")
}

func TestNothingConfigured(t *testing.T) {
	f := &fake{hooks: func() (api.HookSettings, error) { return settings(), nil }}
	r, _ := open(t, f, Config{})
	golden.RequireEqual(t, []byte(r.View()))
	for h := 6; h <= 40; h++ { // what is there is whole, or it is one line
		for _, w := range []int{40, 60, 80, 120} {
			r.Send(uitest.Size(w, h))
			if v := strings.Join(strings.Fields(r.View()), " "); strings.Contains(v, "[webhooks]") && (!strings.Contains(v, "secret_env") || !strings.Contains(v, "webhook settings.") || strings.Contains(v, "…")) {
				t.Errorf("%dx%d is not whole:\n%s", w, h, r.View())
			}
		}
	}
	r.Send(uitest.Size(40, 12))
	r.Has("No receiver is configured", "[webhooks]", "listen =", "W shows and changes")
	r.Send(uitest.Size(80, 24), uitest.Key("W"))
	r.Has("https://hooks.example.com/in", "nothing: [webhooks] listen is empty")
	r, _ = open(t, full(), Config{})
	r.Has("No receiver here")
}

func TestCodesPage(t *testing.T) {
	r, _ := open(t, full(), here)
	r.Send(uitest.Size(100, 30), uitest.Key("="))
	golden.RequireEqual(t, []byte(r.View()))
	r, _ = open(t, &fake{}, here)
	r.Send(uitest.Key("="))
	r.Has("No code is known yet")
}

func TestFollow(t *testing.T) {
	f := full()
	r, _ := open(t, f, here)
	r.Send(uitest.Size(120, 30))
	r.Has("following", "9 of 9")
	f.coming = [][]receiver.Stored{{operation(10, 2, 200)}, {operation(11, 1, 300)}}
	r.Send(uitest.Key("r"))
	r.Has("11 of 11", "2 ? FAILED or SUCCESS → 1 ")
	if fmt.Sprint(f.waits) != "[9 9 10 11]" {
		t.Errorf("waited behind %v", f.waits)
	}
	r.Send(uitest.Key("up"))
	r.Has("not following; L follows")
	f.rows = append([]receiver.Stored{operation(11, 1, 300), operation(10, 2, 200)}, f.rows...)
	f.coming = [][]receiver.Stored{{operation(12, 1, 400)}}
	r.Send(uitest.Key("r"))
	r.Has("10 of 12") // the cursor stays on its event
	r.Send(uitest.Key("L"))
	r.Has("12 of 12", "following")
	r.Send(uitest.Key("L"))
	r.Has("not following")
}

func TestStreamThatBreaks(t *testing.T) {
	f := full()
	f.broken = &api.Error{Kind: api.Unavailable, Public: "The inbox does not answer."}
	r, _ := open(t, f, here)
	r.Has("Live updates stopped: The inbox does not answer. r restarts it.")
	f.broken = nil
	f.coming = [][]receiver.Stored{{operation(10, 2, 200)}}
	r.Send(uitest.Key("r"))
	r.HasNot("The live feed stopped")
	r.Has("10 events")
}

// TestWhatIsWrongWithTheFeed: the page prints the findings about it, a port that another program has among them.
func TestWhatIsWrongWithTheFeed(t *testing.T) {
	for name, want := range map[string]string{
		"43 no webhooks":  "No webhook has arrived since 11:00:00 UTC; usually one arrives within 4m.",
		"44 wrong secret": "The receiver rejected 3 deliveries, the last one at 12:00:00 UTC: signed with another secret than",
		"45 port in use":  "opdeck does not listen for webhooks on 127.0.0.1:8788: the address is in use.",
	} {
		r, _ := open(t, full(), here, shelltest.Found(verdicttest.Incidents()[name].Facts))
		r.Says(want)
	}
	r, _ := open(t, &fake{}, Config{}, shelltest.Found(verdicttest.Incidents()["44 wrong secret"].Facts))
	r.Says("The receiver rejected 3 deliveries")
}

func TestFilter(t *testing.T) {
	f := full()
	r, _ := open(t, f, here)
	r.Send(uitest.Size(120, 30), uitest.Key("/"), uitest.Type("type:operation status:conflict"), uitest.Key("enter"))
	r.Has("1 event", "/ type:operation status:conflict")
	r.Send(uitest.Key("/"), uitest.Type(" size:1"))
	r.Has(`There is no field "size".`)
	r.Send(uitest.Keys("esc", "esc"))
	r.Has("9 events")
	r.Send(uitest.Key("/"), uitest.Type("shop"), uitest.Key("enter"))
	r.Has("1 event", "COUNTERPARTY")
	f.coming = [][]receiver.Stored{{operation(10, 2, 200)}}
	r.Send(uitest.Key("r"))
	r.Has("1 event")
	r.Send(uitest.Key("/"), uitest.Type(" nowhere"), uitest.Key("enter"))
	r.Has("No event matches the filter.")
	r.Send(uitest.Key("esc"), uitest.Key("/"), uitest.Type("(type:client OR type:counterparty) -oak received<30d"), uitest.Key("enter"))
	r.Has("CLIENT", "COUNTERPARTY")
	r.HasNot("OPERATION", "ACCOUNT")
}

// TestTheFilterOffersWhatIsOnScreen, without a question to the inbox.
func TestTheFilterOffersWhatIsOnScreen(t *testing.T) {
	f := full()
	r, _ := open(t, f, here)
	before := f.calls
	r.Send(uitest.Key("/"), uitest.Type("type:c"))
	r.Has("enter apply  esc cancel  tab complete")
	r.Has("tab client  counterparty  account", "showing the last valid filter: type") // "type" alone was a word
	r.Send(uitest.Key("tab"))
	r.Has("/ type:client")
	r.Send(uitest.Type(" status:x"))
	r.Has("/ type:client status:x", "\n                      ^", "status:x is not known. Known are verified")
	for field, want := range map[string]string{"status:": "verified  unverified  quarantined  conflict", "received<": "today", "id:": "0f0e6c5", "hook:": "00000"} {
		r.Send(uitest.Key("ctrl+u"), uitest.Type(field))
		r.Has("\n tab " + want)
	}
	if f.calls != before {
		t.Errorf("%d questions while it is typed", f.calls-before)
	}
}

// TestTheHelpHasTheLanguage: every field of the filter, with an example.
func TestTheHelpHasTheLanguage(t *testing.T) {
	r, _ := open(t, full(), here)
	r.Send(uitest.Key("?"), uitest.Key("/"), uitest.Type("-has:bound"), uitest.Key("enter"))
	r.Has("Help · Events", "has, is", "-has:bound")
	r.Send(uitest.Keys("esc", "G"))
	r.Has("contained in any of these")
}

// TestWithoutAReceiverTheHintIsW: where the service sends is what matters then.
func TestWithoutAReceiverTheHintIsW(t *testing.T) {
	r, _ := open(t, &fake{}, Config{})
	r.Has("W where it sends")
	r.HasNot("enter open", "p follow", "/ filter")
	r.Send(uitest.Key("u")) // what is off says why
	r.Has("No event is selected.")
	r.Send(uitest.Key("?"))
	r.Says("– u process the event again", "– enter open the selected row")
	r.Send(uitest.Key("esc"))
	r, _ = open(t, full(), Config{})
	r.Send(uitest.Size(140, 30))
	r.Has("W where it sends", "W shows the webhook settings.")
}

func TestOlderEventsAreReadOnTheWayUp(t *testing.T) {
	f := &fake{}
	for i := int64(700); i > 0; i-- {
		f.rows = append(f.rows, operation(i, 1, int(i)))
	}
	r, _ := open(t, f, here)
	r.Has("300 events, older ones above", "300 of 300")
	r.Send(uitest.Key("g"))
	r.Has("600 events", "301 of 600") // the cursor stays on its event
	r.Send(uitest.Key("g"), uitest.Key("g"))
	r.Has("700 events")
	r.HasNot("older ones above")
}

func TestOldRowsGo(t *testing.T) {
	var list []receiver.Stored
	for i := range int64(maxRows + 5) {
		s := receiver.Stored{Seq: i}
		s.Key, s.Status = fmt.Sprint(i), receiver.Quarantined
		list = append(list, s)
	}
	all, dropped := newer(nil, list)
	if !dropped || len(all) != maxRows || all[0].Key != "5" {
		t.Errorf("dropped %v, %d left, the oldest is %s", dropped, len(all), all[0].Key)
	}
	if all, dropped = newer(all, list[10:20]); dropped || len(all) != maxRows {
		t.Error("the same events twice")
	}
}

func TestReplay(t *testing.T) {
	f := full()
	var got []string
	f.replay = func(key string) error { got = append(got, key); return nil }
	r, clock := open(t, f, here)
	r.Send(uitest.Keys("u"), uitest.Key("y"), clock.Wait(time.Second))
	if len(got) != 0 {
		t.Fatal("replayed before the question took keys")
	}
	r.Send(uitest.Key("y"))
	r.Has("was processed again")
	if fmt.Sprint(got) != "["+hookID(9)+"]" {
		t.Errorf("%q", got)
	}
	f.replay = func(string) error {
		return &api.Error{Kind: api.Refused, Public: "The event still cannot be used: no hook_id."}
	}
	r.Send(uitest.Keys("u"), clock.Wait(time.Second), uitest.Key("y"))
	r.Has("The event still cannot be used: no hook_id.")
	f.replay = func(string) error { return receiver.ErrNotFound }
	r.Send(clock.Wait(time.Second), uitest.Key("esc"), uitest.Keys("u"), clock.Wait(time.Second), uitest.Key("y"))
	r.Has("The replay failed")
}

func TestSettings(t *testing.T) {
	f := full()
	var sent api.HookSettings
	f.hooks = func() (api.HookSettings, error) { return settings(), nil }
	f.set = func(h api.HookSettings) error { sent = h; return nil }
	r, clock := open(t, f, here)
	r.Send(uitest.Key("W"))
	golden.RequireEqual(t, []byte(r.View()))
	r.Send(uitest.Key("enter"), uitest.Key("tab"), uitest.Key("tab"), uitest.Type("short"), uitest.Key("tab"))
	r.Has("This webhook secret cannot be used: it has 5 bytes")
	r.Send(uitest.Key("shift+tab"), uitest.Type("-and-now-it-is-long-enough-for-a-key"), uitest.Keys("tab", "tab", "ctrl+u"), uitest.Type("off"),
		uitest.Keys("tab", "tab", "enter"), clock.Wait(time.Second))
	r.Has("customers", "on → off", "a new one")
	r.HasNot("long-enough")
	r.Send(uitest.Key("y"))
	if !sent.Enabled || sent.HookCustomer || sent.JWTSecret.Reveal() != "short-and-now-it-is-long-enough-for-a-key" || sent.HookURL != "https://hooks.example.com/in" {
		t.Errorf("%+v", sent)
	}
	r.Has("The service has the new webhook settings.")
	f.hooks = func() (api.HookSettings, error) {
		return api.HookSettings{}, &api.Error{Kind: api.Unavailable, Public: "The service was not reached."}
	}
	r.Send(uitest.Key("r"))
	r.Has("The service was not reached.")
}

func TestSettingsKeepTheSecret(t *testing.T) {
	f := full()
	var sent api.HookSettings
	f.hooks = func() (api.HookSettings, error) { return settings(), nil }
	f.set = func(h api.HookSettings) error { sent = h; return nil }
	r, clock := open(t, f, here)
	r.Send(uitest.Keys("W", "enter", "tab", "tab", "tab", "tab", "tab", "tab", "enter"), clock.Wait(time.Second))
	r.Has("stays")
	r.Send(uitest.Key("y"))
	if !sent.JWTSecret.Equal(settings().JWTSecret) {
		t.Error("the secret was lost")
	}
}

func TestWhoMayChangeTheSettings(t *testing.T) {
	f := full()
	f.hooks = func() (api.HookSettings, error) { return settings(), nil }
	r, _ := open(t, f, here, as(api.Operator))
	r.Send(uitest.Keys("W", "enter"))
	r.Has("may not change the webhook settings")
	r, _ = open(t, f, here, shelltest.ReadOnly)
	r.Send(uitest.Keys("W", "enter"))
	r.Has("This context is read-only")
	r.Send(uitest.Keys("esc", "u"))
	r.Has("This context is read-only")
}

func TestStates(t *testing.T) {
	r, _ := open(t, &fake{}, here)
	r.Has("No event has been received yet.")
	f := full()
	f.err = errors.New("disk")
	r, _ = open(t, f, here)
	r.Has("r tries again")
	f.err = nil
	r.Send(uitest.Key("r"))
	r.Has("9 events")
	r.Send(uitest.Keys("k", "k", "k", "i"))
	r.Has("not about an operation")
}

func TestStaleAnswersAreDropped(t *testing.T) {
	var s *Screen
	f := full()
	shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen { s = New(env, f, f, f.caller(), here, ""); return s }, place)
	first, second := s.Reload(), s.Reload()
	late := first()
	f.rows = f.rows[:1]
	s.Update(second())
	s.Update(late)
	if s.rows.Len() != 1 {
		t.Errorf("%d rows after a stale answer", s.rows.Len())
	}
	f.hooks = func() (api.HookSettings, error) { return settings(), nil }
	_, read := s.Update(keymap.Parse("W"))
	s.Update(keymap.Parse("esc"))
	s.Update(keymap.Parse("W"))
	s.Update(read())
	if s.pages.page.hooks != nil {
		t.Error("settings of a page that was closed")
	}
}

func TestHostileText(t *testing.T) {
	bad := "\x1b[2J\x1b]52;c;aGk=\a\u202efdp.exe\n\xff"
	f := full()
	for i := range f.rows {
		s := &f.rows[i]
		s.ObjectID, s.CUID, s.Source, s.Detail, s.HookID = untrusted.Text(bad), untrusted.Text(bad), receiver.Source(bad), bad, bad
		s.Verdict.Verifier = bad
		if s.Status == receiver.Quarantined {
			s.Raw, s.Reason, s.Key = []byte(bad), hook.Reason(bad), bad
		}
	}
	f.rows[5] = stored(4, hook.TypeClient, hook.ObjectClient, `{"cuid":"c-1","status":3,"name":"\u001b[2J\u202e","lastname":"\u0007\n"}`)
	f.codes = hook.Meanings{{Field: hook.Field(bad), Code: 1, Word: untrusted.Text(bad), OPID: untrusted.Text(bad)}}
	f.hooks = func() (api.HookSettings, error) { return api.HookSettings{HookURL: untrusted.Text(bad)}, nil }
	f.replay = func(string) error { return &api.Error{Kind: api.Refused, Public: bad} }
	r, clock := open(t, f, Config{Listen: bad, Verify: bad}, shelltest.Unmasked)
	for range f.rows {
		r.Send(uitest.Size(100, 60), uitest.Keys("enter", "J", "esc", "u"), clock.Wait(time.Second), uitest.Keys("y", "y", "Y", "esc", "up"))
	}
	r.Send(uitest.Keys("="))
	shelltest.Sizes(r)
	r.Send(uitest.Keys("esc", "W", "enter"))
	shelltest.Sizes(r)
	r.Send(uitest.Keys("esc", "esc", "/"), uitest.Paste(bad))
	shelltest.Sizes(r)
}

func TestSizes(t *testing.T) {
	r, _ := open(t, full(), here)
	shelltest.Sizes(r)
	r.Send(uitest.Keys("k", "enter"))
	shelltest.Sizes(r)
	r, _ = open(t, &fake{}, Config{})
	shelltest.Sizes(r)
}

// Nothing is asked of inbox, feed or service but in commands.
func TestUpdateAndViewNeverWait(t *testing.T) {
	f := full()
	shelltest.PressAll(uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen {
		s := New(env, f, f, f.caller(), here, "")
		s.rows.Set(older(nil, sample()))
		s.Loaded, s.older = true, 1
		s.changed()
		return s
	}, place)
	if f.calls != 0 {
		t.Errorf("%d questions outside a command", f.calls)
	}
}

// The same for every key on each page and while a filter is typed.
func TestKeysOnPagesNeverWait(t *testing.T) {
	var s *Screen
	f := full()
	shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen { s = New(env, f, f, f.caller(), here, ""); return s }, place, as(api.Admin))
	before, k, h := f.calls, keymap.New(), settings()
	for _, key := range keymap.Join(k.Nav, k.List, k.Item, k.Events, k.Viewer, k.Global) {
		for _, open := range []func(){
			func() { s.pages.show(s.rows.All()[0]) }, func() { s.pages.open(&page{kind: codesPage}, "Codes", s.pages.codeLines) }, func() { s.pages.open(&page{kind: settingsPage, hooks: &h}, "Settings", s.pages.settingLines) },
			func() { s.Page = nil; s.Update(keymap.Parse("/")) },
		} {
			open()
			s.Update(key.Msg())
			_ = s.View()
			s.Update(keymap.Parse("esc"))
		}
	}
	if f.calls != before {
		t.Errorf("%d questions outside a command", f.calls-before)
	}
}
