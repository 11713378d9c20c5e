package console

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/mask"
	"opdeck/internal/e2e/racedetector"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/plain"
)

// TestEveryKeyCanBeTyped walks through all screens in the plain mode: each key of
// each has a command that can be typed, or a reason why not.
func TestEveryKeyCanBeTyped(t *testing.T) {
	racedetector.Skip(t)
	a, _ := open(t)
	ctx, cancel := context.WithCancel(api.WithTrail(mask.ByCaller(api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin, Via: "console"})), a.Audit))
	defer cancel()
	who := api.ActorOf(ctx)
	page, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	opid, cuid := string(page.Items[0].OPID), string(page.Items[0].Customer.CUID)
	feed := newFeed(ctx, a, newPeople(a, who), nil)
	defer feed.close()
	in, typed := io.Pipe()
	said, out := io.Pipe()
	talk := plain.New(plain.Options{In: in, Out: out, Pause: time.Millisecond})
	host := plain.NewHost(talk, plain.HostOptions{Ground: ground(a, who), Places: plainPlaces, Now: a.Now,
		News: func(context.Context, bool) []tea.Msg { feed.poll(); return feed.take() }})
	shell := ui.New(plainShell(ctx, a, who, PlainOptions{Getenv: func(string) string { return "" }}, feed, host))
	done := make(chan error, 1)
	go func() { done <- host.Run(ctx, shell); _ = out.Close(); talk.Close() }()
	lines := bufio.NewScanner(said)
	say := func(line string) (all []string) {
		if line != "" {
			_, _ = io.WriteString(typed, line+"\n")
		}
		for lines.Scan() {
			if all = append(all, lines.Text()); strings.HasSuffix(lines.Text(), "for help:") {
				return all
			}
		}
		t.Fatalf("it ended after %q", line)
		return nil
	}
	say("")
	met := map[string]bool{}
	for _, way := range [][]string{{"operations"}, {"operations", "totals"}, {"operation " + opid}, {"operation " + opid, "history"}, {"operation " + opid, "history", "1"}, {"documents " + opid},
		{"compliance"}, {"compliance " + cuid}, {"limits"}, {"limits", "commissions"}, {"session"}, {"events"}, {"events", "settings"}, {"events", "codes"}, {"events", "rejected"},
		{"audit"}, {"audit", "1"}, {"approvals"},
		{"on-call"},
		{"accounts"}, {"accounts", "1"}, {"counterparties"}, {"counterparties", "1"}} {
		say("menu")
		for _, step := range way {
			say(step)
		}
		commands := say("?")
		for _, k := range (ui.Driver{Shell: shell}).Keys() {
			if met[k.Name] = true; k.Typed.None == "" && !listed(commands, k.Word) {
				t.Errorf("%v: no command for %s (%s):\n%s", way, k.Name, k.Binding.Help().Key, strings.Join(commands, "\n"))
			}
		}
	}
	m := keymap.New()
	for _, k := range keymap.Join(m.Global, m.List, m.Item, m.Operations, m.Totals, m.Operation, m.Related, m.Documents, m.Compliance, m.Session) {
		if !met[k.Name] && k.Typed.None == "" {
			t.Errorf("no screen had %s", k.Name)
		}
	}
	_ = typed.Close()
	<-done
}

// listed reports whether the help lists a command, or the one that includes it.
func listed(help []string, word string) bool {
	for _, l := range help {
		name, _, _ := strings.Cut(l, ":")
		name, _, _ = strings.Cut(name, ",")
		name, _, _ = strings.Cut(name, " [")
		if name == word || word == "open-id" && name == "open" {
			return true
		}
	}
	return false
}
