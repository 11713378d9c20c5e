package events

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"opdeck/internal/domain/mask"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
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

func (s *Screen) open(p *page, fill func(w int) []string) {
	s.replays.Stop()
	s.hooks.Stop()
	s.rejects.Stop()
	s.page = p
	s.Open(p.item.Key, fill)
}

// show opens an event and reads where it was sent to.
func (s *Screen) show(it item) tea.Cmd {
	p := &page{item: it}
	s.open(p, func(w int) []string { return s.delivered().eventLines(p, w) })
	return s.replaying().loadReplays(p)
}

func (s replaying) loadReplays(p *page) tea.Cmd {
	inbox, key := s.inbox, p.item.Key
	read := func(ctx context.Context) ([]receiver.Attempt, error) { return inbox.Attempts(ctx, key) }
	return ui.Reading(s.env, s.replays, read, func(attempts []receiver.Attempt, _ time.Time, err error) {
		p.replays, p.err = attempts, api.AsError(err)
	})
}

// typeName is a type by the service's name for it.
func typeName(t hook.Type) string {
	if t == 0 {
		return "Unknown type"
	}
	return t.String()
}

const maxBody = 2000 // lines of a body on its page

// eventLines draws all of an event: how it came, what it says, and its body.
func (s delivered) eventLines(p *page, w int) []string {
	th, it := s.env.Theme, p.item
	b := trust(th, it.Stored)
	text := widget.NewText(th, w)
	text.Add(th.Title.Render(draw.Cut(typeName(it.Type), max(w-16, 1))) + "  " + th.Tone(b.tone).Render(b.sign+" "+b.word))
	text.Say(b.tone, b.long)
	if what, tone := s.codes.change(it); it.good {
		text.Add(th.Dim.Render("change  ") + th.Tone(tone).Render(draw.Cut(what, max(w-8, 1))))
	}
	pairs := s.delivery(it)
	if it.good {
		pairs = append(pairs, s.objectPairs(it)...)
	}
	text.Gap()
	text.Pairs(pairs)
	for i, issue := range it.event.Issues {
		if i == 0 {
			text.Title("Parts that cannot be used")
		}
		text.Add("  " + th.Warn.Render(draw.Cut(th.Signs.Warn+" "+line(issue.Path, 80)+": "+line(issue.Why, 200),
			max(w-2, 1))))
	}
	text.Add(s.replaying().replayLines(p, w)...)
	text.Title("Body as received")
	if it.sensitive() && s.env.Masked() {
		text.Cut(theme.Dim, "It may contain account numbers; M reveals it for 30 s.")
	} else {
		text.JSON(mask.JSONIf(it.Raw, s.env.Masked()), 0, maxBody, "cut here; "+s.env.Keys.Item.Raw.Help().Key+" shows more")
	}
	return text.Lines
}

func (s delivered) delivery(it item) []widget.Pair {
	zone := s.env.Zone()
	p := []widget.Pair{{Value: "Delivery"}}
	p = append(p, said("hook_id", it.HookID)...)
	if it.Key != it.HookID {
		p = append(p, said("kept as", it.Key)...)
	}
	p = append(p, widget.Pair{Label: "received", Value: format.TimeAgo(it.ReceivedAt, s.env.Now(), zone)},
		widget.Pair{Label: "from", Value: line(string(it.Source), 100)})
	times := "once"
	if it.Deliveries > 1 {
		times = format.Count(it.Deliveries) + " times with the same body, last " + format.Time(it.LastAt, zone)
	}
	p = append(p, widget.Pair{Label: "came", Value: times, Long: true},
		widget.Pair{Label: "status", Value: line(string(it.Status), 40)},
		widget.Pair{Label: "verified by", Value: line(it.Verdict.Verifier, 40)},
		widget.Pair{Label: "authentic", Value: format.YesNo(it.Verdict.Authenticated)},
		widget.Pair{Label: "body bound", Value: format.YesNo(it.Verdict.Bound)})
	if it.Verdict.OldSecret {
		p = append(p, widget.Pair{Label: "secret", Value: "the previous one (being replaced)", Tone: theme.Warn})
	}
	if r := it.Retry; r.Waiting() {
		next, _ := format.Ago(r.First, s.env.Now())
		p = append(p, widget.Pair{Label: "not merged", Tone: theme.Warn, Long: true,
			Value: line(fmt.Sprintf("%s, first %s; the next %s: %s", format.Plural(r.Tries, "try", "tries"), next,
				format.Time(r.Next, zone), r.Reason), 500)})
	}
	if it.Reason != "" {
		p = append(p, widget.Pair{Label: "set aside", Value: line(string(it.Reason)+": "+it.Detail, 400), Tone: theme.Warn,
			Long: true})
	}
	return append(p, widget.Pair{Label: "number", Value: format.Count(int(it.Seq))},
		widget.Pair{Label: "SHA-256", Value: hex.EncodeToString(it.Hash[:]), Tone: theme.Dim, Long: true})
}

// objectPairs is what the event says of its object, with codes as far as they
// are known.
func (s delivered) objectPairs(it item) []widget.Pair {
	p := []widget.Pair{{Value: line(string(it.Object), 40)}}
	e := it.event
	switch {
	case e.Operation != nil:
		return append(p, s.operationPairs(it)...)
	case e.Client != nil:
		c := e.Client
		p = append(p, said("cuid", string(e.CUID), "name", string(c.Name), "last name", string(c.Lastname))...)
		return append(p, widget.Pair{Label: "status", Value: hook.StatusText(it.Object, e.Status)},
			s.stamp("created", e.CreatedAt), s.stamp("updated", e.UpdatedAt), s.stamp("onboarded", c.OnboardingAt))
	case e.Account != nil:
		return append(p, s.accountPairs(it)...)
	case e.Counterparty != nil:
		c := e.Counterparty
		p = append(p, said("id", string(e.ObjectID), "cuid", string(e.CUID), "description", string(c.Description))...)
		for i, a := range c.Accounts {
			p = append(p, widget.Pair{Label: "account " + strconv.Itoa(i+1),
				Value: a.SUID.Line(100) + " " + a.CurrencyISO.Line(12) + ", " + hook.StatusText(it.Object, a.Status), Long: true})
		}
	}
	return p
}

func (s delivered) operationPairs(it item) []widget.Pair {
	o := it.event.Operation
	e := it.event.Event
	p := said("opid", string(e.ObjectID), "cuid", string(e.CUID))
	for _, c := range []struct {
		label string
		f     hook.Field
		code  hook.Code
	}{{"status", hook.FieldStatus, e.Status}, {"type", hook.FieldType, e.OperationType},
		{"payment", hook.FieldPaymentType, e.PaymentType}} {
		p = append(p, widget.Pair{Label: c.label, Value: s.learnt(c.f, c.code), Long: true})
	}
	p = append(p, widget.Pair{Label: "visible", Value: flag(e.IsVisible)}, s.stamp("created", e.CreatedAt),
		s.stamp("updated", e.UpdatedAt))
	for _, side := range []struct {
		label string
		s     hook.Side
	}{{"source", o.Source}, {"destination", o.Destination}} {
		p = append(p, said(side.label+" account", string(side.s.Account), side.label+" beneficiary",
			string(side.s.Beneficiar))...)
	}
	for _, a := range []struct {
		label string
		of    func(hook.Event) api.Amount
	}{{"amount", func(e hook.Event) api.Amount { return e.SourceAmount }},
		{"received", func(e hook.Event) api.Amount { return e.DestinationAmount }},
		{"commission", func(e hook.Event) api.Amount { return e.CommissionAmount }},
		{"balance", func(e hook.Event) api.Amount { return e.CurrentBalanceAmount }}} {
		v := money(a.of(e))
		if it.before != nil {
			if b := money(a.of(*it.before)); b != v {
				v = b + " → " + v
			}
		}
		p = append(p, widget.Pair{Label: a.label, Value: v, Long: true})
	}
	return p
}

func (s delivered) accountPairs(it item) []widget.Pair {
	e, a := it.event.Event, it.event.Account
	masked := s.env.Masked()
	p := said("id", string(e.ObjectID), "cuid", string(e.CUID), "name", string(a.Name), "number",
		string(mask.NumberIf(a.Number, masked)))
	p = append(p, widget.Pair{Label: "currency", Value: a.CurrencyISO.Line(12)},
		widget.Pair{Label: "status", Value: hook.StatusText(it.Object, e.Status)},
		widget.Pair{Label: "default", Value: flag(a.IsDefault)},
		widget.Pair{Label: "balance", Value: money(e.CurrentBalanceAmount)}, widget.Pair{Label: "hold", Value: money(a.Hold)})
	for _, q := range a.Requisites {
		p = append(p, widget.Pair{Value: "Requisites: " + q.Title.Line(60)})
		for _, i := range q.Items {
			p = append(p, widget.Pair{Label: i.Key.Line(40), Value: draw.Line(mask.NumberIf(i.Value, masked), 400), Long: true})
		}
	}
	return p
}

// learnt is a code of an operation with the evidence for its meaning.
func (s delivered) learnt(f hook.Field, c hook.Code) string {
	m, ok := s.codes.byCode[code{f, c.Value}]
	if !c.Given || !ok {
		return c.String()
	}
	return line(m.String(), 200)
}

func (s delivered) stamp(label string, t hook.Stamp) widget.Pair {
	at, ok := t.Time()
	switch {
	case ok:
		return widget.Pair{Label: label, Value: format.TimeAgo(at, s.env.Now(), s.env.Zone())}
	case t.Given:
		return widget.Pair{Label: label, Value: "out of range: " + t.String(), Tone: theme.Warn}
	}
	return widget.Pair{Label: label, Value: "not given", Tone: theme.Dim}
}

func (s replaying) replayLines(p *page, w int) []string {
	th := s.env.Theme
	var out []string
	switch {
	case p.err != nil:
		out = append(out, th.Warn.Render(draw.Cut(th.Signs.Warn+" The replays could not be read: "+line(p.err.Public,
			200), w)))
	case len(p.replays) == 0:
		return nil
	}
	out = append([]string{"", th.Title.Render("Replays and forwards")}, out...)
	for _, a := range p.replays {
		style, sign := th.Good, th.Signs.Good
		if !a.OK() {
			style, sign = th.Bad, th.Signs.Bad
		}
		out = append(out, "  "+style.Render(sign+" "+answer(a))+th.Dim.Render(
			draw.Cut("  "+line(a.Act, 20)+" to "+line(a.Target, 200)+", "+format.Time(a.At, s.env.Zone()),
				max(w-6-draw.Width(answer(a)), 0))))
	}
	return out
}

// answer is what came back: status and latency, or why nothing did.
func answer(a receiver.Attempt) string {
	if a.Error != "" {
		return line(a.Error, 200)
	}
	return strconv.Itoa(a.Status) + " after " + format.Duration(a.Latency)
}

// money is an exact amount of a webhook.
func money(a api.Amount) string {
	if a.Sum.Empty() {
		return "–"
	}
	if _, err := a.Sum.Decimal(); err != nil {
		return "? " + line(a.Sum.Raw(), 200)
	}
	return format.Money(a.Sum)
}

func flag(f hook.Flag) string {
	if f == hook.NotGiven {
		return "not given"
	}
	return format.YesNo(f == hook.Yes)
}

// said makes pairs of texts from outside, with what is odd about them.
func said(labelsAndTexts ...string) []widget.Pair { return widget.SaidEach("–", labelsAndTexts...) }
