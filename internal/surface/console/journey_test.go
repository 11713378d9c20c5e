package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/domain/journey"
	"opdeck/internal/surface/cli"
	"opdeck/internal/surface/console"
	"opdeck/internal/surface/server/roletest"
	"opdeck/ui"
)

// how is what a surface adds to an act in a sentence: a key, a command or a word to type.
var how = regexp.MustCompile(` \([^)]*\)| with (share|link|finalize)\b`)

// plainly is a text without what a surface adds, without frames and breaks of lines.
func plainly(said string) string {
	said = strings.NewReplacer("│", " ", "|", " ").Replace(said)
	return how.ReplaceAllString(strings.Join(strings.Fields(said), " "), "")
}

// TestJourneySaysTheSameEverywhere: each status before and after a share, a link and a finalize: the command, the screen
// and plain mode say the sentence of the domain, which the table there holds true.
func TestJourneySaysTheSameEverywhere(t *testing.T) {
	t.Parallel()
	a, status := world(t, "", false), ""
	var f endpointtest.Fake
	endpointtest.On(&f, endpoint.GetCustomer, func(_ context.Context, cuid string) (api.Customer, error) {
		return api.Customer{CUID: untrusted.Text(cuid), Type: api.Individual, Status: untrusted.Text(status)}, nil
	})
	endpointtest.On(&f, endpoint.GetApplication, func(context.Context, string) (api.Application, error) {
		return api.Application{Individual: []byte("{}"), Status: "DRAFT"}, nil
	})
	endpointtest.On(&f, endpoint.MakeLink, func(context.Context, string) (api.Link, error) { return api.Link{TTL: 900}, nil })
	endpointtest.On(&f, endpoint.Share, func(context.Context, endpoint.ShareToken) (api.ShareResult, error) {
		return api.ShareResult{Applied: true, Outstanding: []api.OutstandingSet{}}, nil
	})
	endpointtest.On(&f, endpoint.Finalize, func(context.Context, string) (api.Result, error) { return api.Result{}, nil })
	a.Journeys = &journey.Service{Store: a.Journeys.Store, Client: &f, Now: a.Now}
	ctx := api.WithActor(t.Context(), ana)
	p, _ := startPlain(t, a, ana, nil)
	said, n := map[string]bool{}, 0
	for _, before := range []string{"NEW", "VERIFY", "ACCEPT", "REJECT", "BANNED"} {
		for _, act := range []string{"", "share", "link", "finalize"} {
			for _, after := range []string{"NEW", "VERIFY", "ACCEPT", "REJECT", "BANNED"} {
				n++
				cuid := fmt.Sprintf("D%07d-0001", n)
				status = before
				if act == "share" || act == "finalize" {
					_, _ = a.Journeys.Share(ctx, cuid, secret.New("t"))
				}
				switch act {
				case "link":
					_, _ = a.Journeys.Link(ctx, cuid)
				case "finalize":
					_, _ = a.Journeys.Finalize(ctx, cuid)
				}
				if _, err := a.Journeys.Read(ctx, cuid); err != nil {
					t.Fatal(err)
				}
				status = after
				j, err := a.Journeys.Read(ctx, cuid)
				if err != nil {
					t.Fatal(err)
				}
				name, want := before+" "+act+" "+after, plainly(j.Next.Text)
				state := want + fmt.Sprint(j.Steps)
				if said[state] {
					continue // it was compared
				}
				said[state] = true
				if got := plainly(commandNext(t, a, cuid)); got != want {
					t.Errorf("%s: the command says %q, not %q", name, got, want)
				}
				run, clock, leave := console.SitDown(t, a, roletest.Known(ana), ui.Place{Kind: ui.KindCompliance, ID: cuid})
				run.Send(clock.Wait(time.Second))
				if got := plainly(ansi.Strip(run.View())); !strings.Contains(got, want) {
					t.Errorf("%s: the screen does not say %q:\n%s", name, want, ansi.Strip(run.View()))
				}
				leave()
				if got := plainly(strings.Join(p.say("compliance "+cuid), " ")); !strings.Contains(got, want) {
					t.Errorf("%s: plain mode does not say %q:\n%s", name, want, got)
				}
			}
		}
	}
	if _ = p.leave(); len(said) < 10 {
		t.Errorf("%d states only", len(said))
	}
}

// commandNext is the sentence of compliance journey, from its JSON, which its table must say, too.
func commandNext(t *testing.T, a *app.App, cuid string) string {
	t.Helper()
	run := func(args ...string) (string, string) {
		var out, errs bytes.Buffer
		if code := cli.Run(t.Context(), cli.Env{Args: append([]string{"compliance", "journey", cuid}, args...),
			In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }, Actor: ana,
			App: a}); code != 0 {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		return out.String(), errs.String()
	}
	var is struct{ Next string }
	out, _ := run("-o", "json")
	if err := json.Unmarshal([]byte(out), &is); err != nil {
		t.Fatal(err)
	}
	if _, errs := run(); !strings.Contains(plainly(errs), plainly(is.Next)) {
		t.Errorf("the table says %q, JSON %q", errs, is.Next)
	}
	return is.Next
}
