package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/approval"
	"opdeck/ui"
)

// TestWhoseRequest: a request is of the user id that made it, as at a terminal that
// lets no one approve their own; keys are those of the keymap.
func TestWhoseRequest(t *testing.T) {
	p := &people{who: api.Actor{Name: "ana", Role: api.Operator, UID: "1001", Host: "here"}}
	open := approval.Request{State: approval.Open, Requester: approval.Person{Name: "ana", UID: "1001", Host: "here"}}
	if toast, reported := p.toast(open, false); reported {
		t.Errorf("ana is asked about her own request: %v", toast)
	}
	open.Requester = approval.Person{Name: "bo", UID: "1002", Host: "here"}
	if toast, reported := p.toast(open, false); !reported || toast.Hint.Text != "8 then Q shows it." {
		t.Errorf("%v %v", toast, reported)
	}
	mine := approval.Request{State: approval.Approved, Requester: approval.Person{Name: "Ana ", UID: "1001", Host: "here"},
		Decider: &approval.Person{Name: "bo"}}
	if toast, reported := p.toast(mine, false); !reported || toast.Level != ui.Success {
		t.Errorf("%v %v", toast, reported)
	}
}

// TestWaitingRequests: a request for a person counts until it is decided or expired, and is reported only on a
// change.
func TestWaitingRequests(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := &people{who: api.Actor{Name: "ana", Role: api.Operator, UID: "1001", Host: "here"},
		app: &app.App{Now: func() time.Time { return now }}}
	asked := func(want int) {
		t.Helper()
		news := p.waiting()
		if want < 0 {
			if len(news) > 0 {
				t.Errorf("reported %v, want nothing", news)
			}
			return
		}
		if len(news) != 1 || news[0].(ui.Approvals).Waiting != want {
			t.Errorf("reported %v, want %d", news, want)
		}
	}
	asked(-1)
	for _, r := range []approval.Request{
		{State: approval.Open, Requester: approval.Person{Name: "bo", UID: "1002", Host: "here"},
			Expires: now.Add(time.Minute)},
		{State: approval.Open, Requester: approval.Person{Name: "Ana", UID: "1001", Host: "here"},
			Expires: now.Add(time.Minute)},
		{State: approval.Denied, Requester: approval.Person{Name: "bo", UID: "1002", Host: "here"},
			Expires: now.Add(time.Minute)},
	} {
		if approval.Decides(p.who, r) {
			p.open = append(p.open, r.Expires)
		}
	}
	asked(1)
	asked(-1)
	now = now.Add(time.Minute)
	asked(0)
	if p.who.Role = api.Viewer; approval.Decides(p.who, approval.Request{State: approval.Open,
		Requester: approval.Person{Name: "bo"}}) {
		t.Error("a viewer is asked to approve")
	}
}

// TestPresenceIsSeenAtOnce: who comes to an operation, asks, or leaves is seen by
// a console of another process within about a second, with no one else writing.
func TestPresenceIsSeenAtOnce(t *testing.T) {
	dir := t.TempDir()
	join := func(name string) (*feed, <-chan ui.Presence) {
		env := map[string]string{"HOME": dir, "OPDECK_STATE": dir}
		a, err := app.Open(t.Context(), app.Options{Getenv: func(k string) string { return env[k] }})
		if err != nil {
			t.Fatal(err)
		}
		who := api.Actor{Name: name, Role: api.Operator, Via: "console"}
		f := newFeed(api.WithActor(t.Context(), who), a, newPeople(a, who), nil)
		seen := make(chan ui.Presence, 64)
		go func() {
			defer close(seen)
			for {
				fed, is := f.next().(ui.StreamMsg)
				if !is {
					return
				}
				for _, m := range fed.Msg.(ui.BatchMsg) {
					if p, is := m.(ui.Presence); is {
						seen <- p
					}
				}
			}
		}()
		t.Cleanup(func() { f.close(); f.people.leave(); _ = a.Close() })
		return f, seen
	}
	ana, _ := join("ana")
	bo, seen := join("bo")
	at := ui.At{Place: ui.Place{Kind: ui.KindOperation, ID: "op-1"}}
	bo.people.moved(at)
	asking := at
	asking.Asking = true
	if p := <-seen; p.At != at.Place || len(p.Others) > 0 { // bo has looked around
		t.Fatalf("bo is alone and sees %+v", p)
	}
	for _, step := range []struct {
		does string
		to   ui.At
		want string
	}{{"comes", at, "ana"}, {"asks", asking, "ana?"}, {"goes", ui.At{Place: ui.Place{Kind: ui.KindOperations}}, ""}} {
		began := time.Now()
		ana.people.moved(step.to)
		for late := time.After(15 * time.Second); ; { // a console at rest looks once a minute
			var p ui.Presence
			select {
			case p = <-seen:
			case <-late:
				t.Fatalf("nobody saw that ana %s", step.does)
			}
			if strings.Trim(fmt.Sprint(p.Others), "[]") == step.want {
				break
			}
		}
		t.Logf("ana %s: seen after %s", step.does, time.Since(began).Round(time.Millisecond))
	}
}
