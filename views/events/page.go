package events

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/hook"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

type pageKind int

const (
	eventPage pageKind = iota
	codesPage
	rejectedPage
	settingsPage
)

// page is what the page over the list shows.
type page struct {
	kind pageKind
	at   time.Time  // when it was read
	err  *api.Error // of that read

	item     item
	replays  []receiver.Attempt
	rejected []receiver.Rejection // newest first
	hooks    *api.HookSettings
}

// is reports whether a page of this kind is open.
func (p *page) is(kind pageKind) bool { return p != nil && p.kind == kind }

// pages are the pages above the list, with their reads and writes: an event, the codes, the rejected deliveries and
// the service's settings.
type pages struct {
	list   *list.List[receiver.Stored]
	env    *ui.Env
	inbox  Inbox
	feed   Feed
	caller endpoint.Caller
	cfg    Config
	me     api.Actor

	page  *page // nil: none is open
	codes hook.Meanings
	bad   receiver.Trouble

	replays *ui.Requests // replays of the event on the page
	hooks   *ui.Requests // the service's settings
	rejects *ui.Requests // the rejected deliveries
}

// stop ends the reads of a page.
func (s *pages) stop() {
	s.replays.Stop()
	s.hooks.Stop()
	s.rejects.Stop()
}

func (s *pages) open(p *page, crumb string, fill func(w int) []string) {
	s.stop()
	s.page = p
	s.list.Open(p.item.Key, crumb, fill)
}

// show opens an event and reads when it was processed again.
func (s *pages) show(it item) tea.Cmd {
	p := &page{item: it}
	s.open(p, "Event "+draw.ID(it.Key, 13), func(w int) []string { return s.eventLines(p, w) })
	return s.loadReplays(p)
}

func (s *pages) loadReplays(p *page) tea.Cmd {
	inbox, key := s.inbox, p.item.Key
	read := func(ctx context.Context) ([]receiver.Attempt, error) { return inbox.Attempts(ctx, key) }
	return ui.Reading(s.env, s.replays, read, func(attempts []receiver.Attempt, _ time.Time, err error) {
		p.replays, p.err = attempts, api.AsError(err)
	})
}

const maxBody = 2000 // lines of a body on its page

// eventLines draws all of an event: how it came, what it says, and its body.
func (s *pages) eventLines(p *page, w int) []string {
	th, o, it := s.env.Theme, s.env.Present(), p.item
	trust, says := present.Trust(it.Stored)
	text := widget.NewText(th, w)
	text.Add(th.Title.Render(draw.Cut(present.EventType(it.Type), max(w-16, 1))) + "  " +
		th.Tone(trust.Tone).Render(trust.Cell(o).Text))
	text.Say(trust.Tone, says)
	if what := present.EventChange(it, s.codes); it.Good {
		text.Add(th.Dim.Render("change  ") + th.Tone(what.Tone).Render(draw.Cut(what.Text, max(w-8, 1))))
	}
	text.Gap()
	text.Pairs(s.env.Headed(present.EventFacts(o, it, s.codes)))
	for i, issue := range present.EventIssues(it) {
		if i == 0 {
			text.Section("Parts that cannot be used")
		}
		text.Cut(issue.Tone, issue.Line(o))
	}
	s.replayLines(p, text)
	text.Section("Body as received")
	if it.Sensitive() && s.env.Masked() {
		text.Cut(theme.Dim, "It may contain account numbers; M reveals it for 30 s.")
	} else {
		text.JSON(mask.JSONIf(it.Raw, s.env.Masked()), maxBody, "cut here; "+s.env.Keys.Item.Raw.Help().Key+" shows more")
	}
	return text.Lines
}

// replayLines writes where an event was sent to; nothing for one that was sent nowhere.
func (s *pages) replayLines(p *page, text *widget.Text) {
	th, o := s.env.Theme, s.env.Present()
	if p.err == nil && len(p.replays) == 0 {
		return
	}
	text.Section("Replays and forwards")
	if p.err != nil {
		text.Cut(theme.Warn, th.Signs.Warn+" The replays could not be read: "+line(p.err.Public, 200))
	}
	for _, a := range p.replays {
		answer, to := present.Attempt(o, a)
		text.Add(th.Tone(answer.Tone).Render(answer.Line(o)) + th.Dim.Render(
			draw.Cut("  "+to, max(text.Room()-4-draw.Width(answer.Text), 0))))
	}
}
