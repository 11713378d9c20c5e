package compliance

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/note"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
	"opdeck/views/notes"
	"opdeck/views/records"
)

// Parts are the data sources of the screen.
type Parts struct {
	Journeys *journey.Service // what came of each act is kept
	Notes    *note.Notes
	// Names returns the customer's other names in operations; nil: not known.
	Names func(ctx context.Context, c api.Customer, cuid string) []untrusted.Text
}

// Screen shows one customer's verification; it implements ui.Screen.
type Screen struct {
	ui.Page
	env   *ui.Env
	parts Parts
	id    string
	keys  keymap.Compliance
	notes *notes.Panel
	noted keymap.Notes

	j     *journey.Journey
	named []untrusted.Text // Parts.Names
	stale bool             // something was written; what is shown is from before

	form  *ShareForm // the last one; nil: no token was asked for
	link  *api.Link
	until time.Time // end of the link
	code  []string  // the link as a QR code
}

// New returns the screen of one customer.
func New(env *ui.Env, parts Parts, cuid string) *Screen {
	s := &Screen{env: env, parts: parts, id: cuid, keys: env.Keys.Compliance,
		notes: notes.New(env, parts.Notes, note.Customer, cuid), noted: env.Keys.Notes}
	s.Page = ui.NewPage(env, s, "service", "customer")
	s.Refresh()
	return s
}

// Reload implements ui.PageScreen: two customer calls.
func (s *Screen) Reload() tea.Cmd {
	parts, id, now := s.parts, s.id, s.env.Now
	return s.env.Read(s.Loads, func(ctx context.Context) ui.Then {
		j, err := parts.Journeys.Read(ctx, id)
		var named []untrusted.Text
		if err == nil && parts.Names != nil {
			named = parts.Names(ctx, j.Customer, id)
		}
		at, written := now(), s.notes.Read(ctx)
		return func() (ui.Action, tea.Cmd) {
			_, _ = written()
			s.stale = s.stale && err != nil
			if s.Err = api.AsError(err); err != nil {
				return nil, nil
			}
			s.named = named
			return s.show(j, at), nil
		}
	})
}

// Answer implements ui.PageScreen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	if msg, ok := msg.(ui.Changed); ok {
		if r, ok := msg.Object.(journey.Record); ok && r.CUID == s.id && s.j != nil {
			s.j.Record = r
		}
	}
	return nil, nil
}

// Refresh implements ui.PageScreen: it updates steps and keys to the current state.
func (s *Screen) Refresh() {
	if s.Narrow = s.j != nil && s.scans() && s.fits(); s.j != nil { // a link lapses while one looks
		s.j.Steps, s.j.Next = journey.Steps(s.j.Customer, s.j.Application, s.j.Record, s.env.Now())
		if s.form != nil {
			s.form.customer, s.form.unclear = s.j.Customer, s.j.Record.Unclear
		}
	}
	s.refreshKeys()
}

// start marks a write as under way; the keys of writes are off until its outcome.
func (s *Screen) start(what string) {
	s.Doing = what
	s.Layout()
}

// show takes what was read. A question that is open was asked about what is no
// longer so: it is closed when the customer or the journey moved on.
func (s *Screen) show(now journey.Journey, at time.Time) ui.Action {
	before := s.j
	s.j, s.At = &now, at
	if before == nil || questionBasis(*before) == questionBasis(now) {
		return nil
	}
	return ui.Withdraw{ID: s.id, Why: "The customer or the application changed in the meantime. Check again."}
}

// questionBasis is what the questions of this screen depend on.
func questionBasis(j journey.Journey) string {
	out := string(j.Customer.Status) + " " + string(j.Application.Status)
	for _, st := range j.Steps {
		if st.Key != "link" {
			out += " " + string(st.State)
		}
	}
	return out
}

// OwnKey implements ui.PageScreen.
func (s *Screen) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	switch {
	case s.keys.Share.Match(p):
		return s.askToken(), nil, true
	case s.keys.Link.Match(p):
		return s.askLink(), nil, true
	case s.noted.Add.Match(p):
		return s.notes.Ask(), nil, true
	case s.keys.Finalize.Match(p):
		return s.askFinalize(), nil, true
	case s.keys.Files.Match(p):
		return ui.Open{Place: ui.Place{Kind: records.KindFiles, ID: s.id}}, nil, true
	case s.keys.Operations.Match(p):
		return ui.Open{Place: ui.Place{Kind: ui.KindOperations, Arg: "customer:" + s.id}}, nil, true
	case s.env.Keys.Item.CopyJSON.Match(p) && s.link != nil:
		return ui.Copy{Text: string(s.link.URL), What: "the verification link"}, nil, true
	case s.env.Keys.Item.Raw.Match(p) && s.j != nil && len(s.j.Application.Raw) > 0:
		return ui.Raw{Title: "Application of " + s.id, JSON: s.j.Application.Raw}, nil, true
	}
	return nil, nil, false
}

// Item implements ui.PageScreen: the customer's record.
func (s *Screen) Item() ui.Item {
	out := ui.Item{ID: s.id, IDWhat: "the customer id", JSONWhat: "the customer as JSON", Title: "Customer " + s.id}
	if s.j != nil {
		out.JSON = s.j.Customer.Raw
	}
	return out
}

// refreshKeys switches keys by what the journey allows; a key that is off says why.
func (s *Screen) refreshKeys() {
	why := ""
	switch {
	case s.Doing != "":
		why = "Wait until this ends: " + s.Doing + "."
	case s.j == nil:
		why = "The customer has not been read yet."
	case s.stale && s.Loads.Busy():
		why = "Reading the customer again…"
	case s.stale:
		why = "The customer could not be read since the last write: reload first" + press(s.env, s.env.Keys.Global.Reload) +
			"."
	}
	s.keys.Share.Set(why)
	s.keys.Link.Set(why)
	s.keys.Finalize.Set(why)
	if why != "" {
		return
	}
	s.keys.Finalize.Extra = s.decided() // it is not offered, but may be pressed
	if s.j.Record.Applied {
		s.keys.Share.Set("A token has been applied already, and a customer can be shared only once. Finalize" +
			press(s.env, s.keys.Finalize) + ".")
	}
	for _, st := range s.j.Steps {
		if st.Key == "finalize" && st.State == journey.Done {
			s.keys.Finalize.Set("The application has been submitted.")
		}
		if st.Key == "finalize" && st.State == journey.Unclear {
			s.keys.Finalize.Set("It was sent, but its outcome is still unknown: reload" + press(s.env,
				s.env.Keys.Global.Reload) +
				" to check, or see opdeck audit unsettled.")
		}
	}
}

// keyOf names the key of an act, which has the act's name; in plain mode its word.
func keyOf(env *ui.Env) func(api.ActKind) string {
	keys := env.Keys.Compliance
	return func(act api.ActKind) string {
		for _, k := range []keymap.Key{keys.Share, keys.Link, keys.Finalize} {
			switch {
			case k.Name != string(act):
			case env.Theme.Linear:
				return " with " + k.Help().Desc
			default:
				return press(env, k)
			}
		}
		return ""
	}
}

// reloadAfterWrite reads the customer again; the keys of writes are off until then.
func (s *Screen) reloadAfterWrite() tea.Cmd {
	s.Doing, s.stale = "", true
	return s.Reload()
}

// askToken opens the form for a share token.
func (s *Screen) askToken() ui.Action {
	s.form = newShareForm(s.env, shareOf{id: s.id, customer: s.j.Customer, unclear: s.j.Record.Unclear,
		journeys: s.parts.Journeys, off: func() string { return s.keys.Share.Why() },
		started: func() { s.start("sending the token") }, ended: s.reloadAfterWrite})
	return ui.Fill{Form: s.form}
}

func (s *Screen) askLink() ui.Action {
	return ui.Asking(act.ComplianceLink, subject(s.id, s.j.Customer),
		ui.Confirm{ID: s.id, Facts: asked(s.env, s.id, s.j.Customer),
			Yes: func(ui.Seen) tea.Cmd {
				s.start("creating a link")
				journeys, id, now := s.parts.Journeys, s.id, s.env.Now
				return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
					l, err := journeys.Link(ctx, id)
					at := now()
					return func() (ui.Action, tea.Cmd) { return s.onLink(l, at, err), nil },
						ui.EndedElsewhere("No link was created", "A link was created but not shown: the customer's screen was closed. "+
							"Create another one.", err)
				})
			}})
}

func (s *Screen) onLink(link api.Link, at time.Time, err error) ui.Action {
	s.Doing = ""
	if err != nil {
		return ui.Failure("Creating a verification link", err)
	}
	s.link, s.until = &link, link.Until(at)
	if lines, err := widget.QR(string(link.URL)); err == nil {
		s.code = lines
	}
	s.j.Record.LinkAt, s.j.Record.LinkUntil = at, s.until
	return ui.Copy{Text: string(link.URL), What: "the verification link"}
}

// decided reports whether nothing has to be finalized, because the customer has a result.
func (s *Screen) decided() bool {
	return slices.ContainsFunc(s.j.Steps, func(st journey.Step) bool {
		return st.Key == "finalize" && st.State == journey.Optional
	})
}

func (s *Screen) askFinalize() ui.Action {
	list := s.env.Pairs(present.AskedFinalize(s.id, *s.j), nil)
	risk := present.FinalizeRisk(s.j.Record)
	if s.j.Application.Kind() == "" {
		risk = strings.TrimSpace(risk + " No application was read. The service decides whether there is one.")
	}
	if s.decided() {
		risk = strings.TrimSpace("The service has decided about this customer already: it may refuse this. " + risk)
	}
	return ui.Asking(act.ComplianceFinalize, subject(s.id, s.j.Customer), ui.Confirm{ID: s.id, Facts: list, Risk: risk,
		Yes: func(ui.Seen) tea.Cmd {
			s.start("finalizing")
			journeys, id, env := s.parts.Journeys, s.id, s.env
			return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
				res, err := journeys.Finalize(ctx, id)
				done := env.Proven(id, "", "Finalized. "+res.Message.Line(200))
				rec, recErr := journeys.Store.Journey(ctx, id)
				return func() (ui.Action, tea.Cmd) {
						if recErr == nil && s.j != nil { // the page does not offer it again while it reloads
							s.j.Record = rec
						}
						return ui.Ended("Finalize", done, err), s.reloadAfterWrite()
					},
					ui.EndedElsewhere("Not finalized", done, err)
			})
		}})
}

// NextTick implements ui.Ticker: the remaining times of token and link change.
func (s *Screen) NextTick(now time.Time) time.Time {
	var a, b time.Time
	if end := s.form.lapses(); !end.IsZero() {
		_, a = format.Until(end, now)
	}
	if s.link != nil && !s.until.IsZero() {
		_, b = format.Until(s.until, now)
	}
	return ui.Sooner(a, b)
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	secrets := s.j != nil && slices.ContainsFunc(s.j.Customer.Details(),
		func(d api.Detail) bool { return mask.Detail(d, true) != d.Value })
	return s.PageKeys(secrets, append(keymap.Join(s.keys, s.noted), keymap.Join(s.env.Keys.Item)...)...)
}

// Title implements ui.Screen.
func (s *Screen) Title() string {
	if s.j != nil && s.j.Customer.DisplayName() != "" {
		return s.j.Customer.DisplayName().Line(30)
	}
	return "Customer " + draw.ID(s.id, 13)
}

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindCompliance, ID: s.id} }

// Subject implements ui.SubjectOf.
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
