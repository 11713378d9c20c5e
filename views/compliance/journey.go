package compliance

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/journey"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Client does the acts of a journey and keeps what came of them.
type Client interface {
	Journey(ctx context.Context, cuid string) (journey.Journey, error)
	Share(ctx context.Context, cuid string, token secret.Value) (api.ShareResult, error)
	Link(ctx context.Context, cuid string) (api.Link, error)
	Finalize(ctx context.Context, cuid string) (api.Result, error)
}

// Screen is one customer's journey; it implements ui.Screen.
type Screen struct {
	env    *ui.Env
	client Client
	id     string
	loads  *ui.Loads
	keys   keymap.Compliance

	j     *journey.Journey
	at    time.Time
	err   *api.Error
	doing string
	stale bool // something was written; what is shown is from before

	asked time.Time // when the token form was opened: a token issued then lives 20 minutes
	link  *api.Link
	until time.Time // end of the link
	code  []string  // the link as a QR code

	view *widget.Viewer
	w, h int
}

// New makes the screen of one customer.
func New(env *ui.Env, client Client, cuid string) *Screen {
	s := &Screen{env: env, client: client, id: cuid, loads: env.Loads(), keys: env.Keys.Compliance,
		view: widget.NewViewer(env.Theme, env.Keys).Footed()}
	s.settle()
	return s
}

type journeyMsg struct {
	ui.Ticket
	j   journey.Journey
	at  time.Time
	err error
}

type sharedMsg struct {
	ui.Ticket
	res api.ShareResult
	err error
}

type linkMsg struct {
	ui.Ticket
	link api.Link
	at   time.Time
	err  error
}

type finalizedMsg struct {
	ui.Ticket
	res api.Result
	err error
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd { return s.load() }

func (s *Screen) load() tea.Cmd {
	t, ctx := s.loads.Next(s.env.Ctx)
	client, id, now := s.client, s.id, s.env.Now
	return func() tea.Msg {
		j, err := client.Journey(ctx, id)
		return journeyMsg{t, j, now(), err}
	}
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case journeyMsg:
		if !s.loads.Current(msg.Ticket) {
			return nil, nil
		}
		s.stale = s.stale && msg.err != nil
		var act ui.Action
		if s.err = api.AsError(msg.err); msg.err == nil {
			act = s.took(msg)
		}
		s.settle()
		return act, nil
	case sharedMsg:
		return s.shared(msg)
	case linkMsg:
		return s.linked(msg)
	case finalizedMsg:
		return s.finalized(msg)
	case ui.Changed:
		if r, ok := msg.Object.(journey.Record); ok && r.CUID == s.id && s.j != nil {
			s.j.Record = r
			s.settle()
		}
	case keymap.Press:
		return s.key(msg)
	}
	return nil, nil
}

// took shows what was read. A question that is open was asked about what is no
// longer so: it is closed when the customer or the journey moved on.
func (s *Screen) took(msg journeyMsg) ui.Action {
	before := s.j
	s.j, s.at = &msg.j, msg.at
	if before == nil || standing(*before) == standing(msg.j) {
		return nil
	}
	return ui.Withdraw{ID: s.id, Why: "The customer or the application changed meanwhile; look again."}
}

// standing is what the questions of this screen depend on.
func standing(j journey.Journey) string {
	out := string(j.Customer.Status) + " " + string(j.Application.Status)
	for _, st := range j.Steps {
		if st.Key != "link" {
			out += " " + string(st.State)
		}
	}
	return out
}

func (s *Screen) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	k := s.env.Keys
	switch {
	case s.view.Searching(): // every key is text
		s.view.Update(msg)
		return nil, nil
	case (k.Global.Back.Match(msg) || k.Global.Quit.Match(msg)) && s.view.Clear():
		return ui.Handled{}, nil
	case k.Global.Reload.Match(msg):
		return nil, s.load()
	case s.keys.Share.Match(msg):
		return s.askShare(), nil
	case s.keys.Link.Match(msg):
		return s.makeLink(), nil
	case s.keys.Finalize.Match(msg):
		return s.askFinalize(), nil
	case s.keys.Operations.Match(msg):
		return ui.Open{Place: ui.Place{Kind: ui.KindOperations, Arg: "customer:" + s.id}}, nil
	case k.Item.CopyID.Match(msg):
		return ui.Copy{Text: s.id, What: "the customer id"}, nil
	case k.Item.CopyJSON.Match(msg) && s.link != nil:
		return ui.Copy{Text: string(s.link.URL), What: "the link"}, nil
	case k.Item.CopyJSON.Match(msg) && s.j != nil && len(s.j.Customer.Raw) > 0:
		return ui.Copy{Text: string(s.j.Customer.Raw), What: "the customer as JSON"}, nil
	case k.Item.Raw.Match(msg) && s.j != nil && len(s.j.Application.Raw) > 0:
		return ui.Raw{Title: "Application of " + s.id, JSON: s.j.Application.Raw}, nil
	}
	s.view.Update(msg)
	return nil, nil
}

// settle switches keys by what the journey allows; a key that is off says why.
func (s *Screen) settle() {
	why := ""
	switch {
	case s.doing != "":
		why = "Wait for what is under way: " + s.doing + "."
	case s.j == nil:
		why = "The customer is not read yet."
	case s.stale && s.loads.Busy():
		why = "Wait: the customer is read again after what was done."
	case s.stale:
		why = "Something was sent and the customer could not be read since: reload first" + journey.Press(s.env.Keys.Global.Reload) + "."
	}
	s.keys.Share.Set(why)
	s.keys.Link.Set(why)
	s.keys.Finalize.Set(why)
	if why != "" {
		return
	}
	switch r := s.j.Record; {
	case r.Applied:
		s.keys.Share.Set("A token was applied already: a customer is shared once. Finalize" + journey.Press(s.keys.Finalize) + ".")
	}
	for _, st := range s.j.Steps {
		if st.Key == "finalize" && st.State == journey.Done {
			s.keys.Finalize.Set("The application was submitted already.")
		}
		if st.Key == "finalize" && st.State == journey.Unclear {
			s.keys.Finalize.Set("It was sent, and its outcome is not known yet: reload" + journey.Press(s.env.Keys.Global.Reload) + " to look, or see opdeck audit unsettled.")
		}
	}
}

func known(u untrusted.Text) string {
	if u == "" {
		return "not known"
	}
	return u.Line(30)
}

// facts are what a question shows below the customer's id.
func (s *Screen) facts() []widget.Pair {
	c := s.j.Customer
	return []widget.Pair{{Label: "customer", Value: s.name(), Long: true},
		{Label: "kind", Value: known(c.Type)}, {Label: "status", Value: known(c.Status)}}
}

// again reads the customer after a write; its keys are off until then.
func (s *Screen) again() tea.Cmd {
	s.doing, s.stale = "", true
	cmd := s.load()
	s.settle()
	return cmd
}

func (s *Screen) makeLink() ui.Action {
	s.doing = "making a link"
	s.settle()
	t, ctx, client, id, now := s.env.Ticket(), s.env.Root, s.client, s.id, s.env.Now
	return ui.Write{What: "verification link", Cmd: func() tea.Msg {
		l, err := client.Link(ctx, id)
		return linkMsg{t, l, now(), err}
	}}
}

func (s *Screen) linked(msg linkMsg) (ui.Action, tea.Cmd) {
	s.doing = ""
	s.settle()
	if msg.err != nil {
		return ui.Failure("Link", msg.err), nil
	}
	s.link, s.until = &msg.link, msg.at.Add(time.Duration(msg.link.TTL)*time.Second)
	if lines, err := widget.QR(string(msg.link.URL)); err == nil {
		s.code = lines
	}
	s.j.Record.LinkAt, s.j.Record.LinkUntil = msg.at, s.until
	return ui.Copy{Text: string(msg.link.URL), What: "the link"}, nil
}

func (s *Screen) askFinalize() ui.Action {
	facts := s.facts()
	switch k := s.j.Application.Kind(); {
	case k != "":
		facts = append(facts, widget.Pair{Label: "application", Value: strings.ToLower(k) + ", " + dash(s.j.Application.Status.Line(30))})
	case s.j.Application.Unread:
		facts = append(facts, widget.Pair{Label: "application", Value: "could not be read"})
	default:
		facts = append(facts, widget.Pair{Label: "application", Value: "none seen"})
	}
	switch r := s.j.Record; {
	case len(r.Outstanding) > 0:
		facts = append(facts, widget.Pair{Label: "outstanding", Value: strings.Join(r.Outstanding, ", "), Long: true})
	case r.Applied && r.Outstanding == nil:
		facts = append(facts, widget.Pair{Label: "outstanding", Value: "not known: the answer to the share was not seen", Long: true})
	}
	risk := "A submitted application cannot be taken back from here."
	if s.j.Application.Kind() == "" {
		risk = "No application was read: the service decides whether there is one. " + risk
	}
	return ui.Confirm{ID: s.id, Title: "Finalize application", Verb: "Finalize", Facts: facts,
		Ask:  "Submit the application of " + draw.Cut(s.name(), 60) + " for review?",
		Risk: risk,
		Yes: func(ui.Seen) tea.Cmd {
			s.doing = "finalizing"
			s.settle()
			t, ctx, client, id := s.env.Ticket(), s.env.Root, s.client, s.id
			return func() tea.Msg {
				res, err := client.Finalize(ctx, id)
				return finalizedMsg{t, res, err}
			}
		}}
}

func (s *Screen) finalized(msg finalizedMsg) (ui.Action, tea.Cmd) {
	again := s.again()
	if msg.err != nil {
		return ui.Failure("Finalize", msg.err), again
	}
	return ui.Notify{Kind: ui.Done, Text: "Finalized. " + msg.res.Message.Line(200)}, again
}

// Counts implements ui.Counter: the lives of token and link run down.
func (s *Screen) Counts(now time.Time) time.Time {
	var a, b time.Time
	if !s.asked.IsZero() {
		_, a = draw.Until(s.asked.Add(api.ShareTokenLife), now)
	}
	if s.link != nil {
		_, b = draw.Until(s.until, now)
	}
	return ui.Sooner(a, b)
}

// View implements ui.Screen.
func (s *Screen) View() string {
	s.view.SetLines(s.lines())
	return strings.Join(draw.Lay(s.view.Lines(), s.w, s.h), "\n")
}

// SetSize implements ui.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.view.SetSize(w, h)
}

// Help implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	hits, k := s.view.Hints(), s.env.Keys
	if s.view.Searching() {
		return hits
	}
	list := append(hits, keymap.Join(s.keys, k.Item, k.Nav)...)
	if s.j != nil && s.env.Masked() && slices.ContainsFunc(s.j.Customer.Details(), func(d api.Detail) bool { return d.Personal }) {
		show := k.Global.Reveal
		show.Extra = false
		list = append(list, show)
	}
	return append(list, k.Global.Reload, k.Viewer.Search)
}

// Editing implements ui.Screen.
func (s *Screen) Editing() bool { return s.view.Searching() }

// Title implements ui.Screen.
func (s *Screen) Title() string {
	if s.j != nil && s.j.Customer.FullName() != "" {
		return s.j.Customer.FullName().Line(30)
	}
	return "Customer " + draw.ID(s.id, 13)
}

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindCompliance, ID: s.id} }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := ui.Source{Origin: "service", At: s.at, Class: "customer", Loading: s.loads.Busy()}
	if s.err != nil {
		src.Problem = s.err.Public
	}
	return src
}

// Subject implements ui.Subjecter.
func (s *Screen) Subject(kind string) string {
	if kind == ui.KindCompliance {
		return s.id
	}
	return ""
}

// Commands implements ui.Commander: 4 leads to the customer at hand.
func (s *Screen) Commands() []ui.Command {
	return []ui.Command{{Title: "all customers", Do: ui.Open{Place: ui.Place{Kind: ui.KindCompliance}}}}
}
