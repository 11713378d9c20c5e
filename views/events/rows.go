package events

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/receiver"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// columns of the list in a window of w cells; how far an event can be trusted is
// in view wherever it is drawn at all.
func columns(w int) []widget.Column {
	change, badge := 14, 13
	if w < 34 {
		change, badge = 6, 10
	}
	return []widget.Column{
		{Title: "received", Min: 16, Drop: 4}, {Title: "type", Min: 9, Max: 12, Flex: 1, Drop: 2}, {Title: "object", Min: 11, Max: 36, Flex: 1, Middle: true, Drop: 1},
		{Title: "change", Min: change, Flex: 3}, {Title: "age", Min: 5, Align: widget.Right, Drop: 3}, {Title: "trust", Min: badge},
	}
}

// shortTypes are the words for types in the list.
var shortTypes = map[hook.Type]string{hook.TypeOperation: "OPERATION", hook.TypeDepositAccount: "ACCOUNT", hook.TypeClient: "CLIENT",
	hook.TypeCounterparty: "COUNTERPARTY", hook.TypeDepositAccountRequisite: "REQUISITE"}

func shortType(t hook.Type) string {
	if s, ok := shortTypes[t]; ok {
		return s
	}
	if t == 0 {
		return "unknown" // it was no whole number
	}
	return t.String()
}

// item is a stored event, read.
type item struct {
	receiver.Stored
	env    hook.Envelope
	event  hook.Event
	good   bool        // env and event can be used
	before *hook.Event // the state of the same object that came before; nil: not known
	late   bool        // a newer state of the object came earlier
}

func read(s receiver.Stored) item {
	it := item{Stored: s}
	if s.Status != receiver.Quarantined {
		if e, err := hook.Decode(s.Raw); err == nil {
			it.env, it.event, it.good = e, e.Normalise(), true
		}
	}
	return it
}

// sensitive reports whether the body may hold account numbers.
func (it item) sensitive() bool {
	return it.Object == hook.ObjectAccount || !it.good
}

type code struct {
	field hook.Field
	value int64
}

// rows are the events in the order they came, the newest last.
type rows struct {
	env    *ui.Env
	list   []item
	places map[string]int
	codes  map[code]hook.Meaning
	table  []hook.Meaning
}

func newRows(env *ui.Env) *rows {
	return &rows{env: env, places: map[string]int{}, codes: map[code]hook.Meaning{}}
}

// learn takes the meanings of codes.
func (r *rows) learn(table []hook.Meaning) {
	r.table, r.codes = table, make(map[code]hook.Meaning, len(table))
	for _, m := range table {
		r.codes[code{m.Field, m.Code}] = m
	}
}

// set replaces the rows; list is newest first.
func (r *rows) set(list []receiver.Stored) {
	r.list = make([]item, 0, len(list))
	for _, s := range slices.Backward(list) {
		r.list = append(r.list, read(s))
	}
	r.index()
}

// add appends events, oldest first, that are not there yet, and returns how many
// of the oldest had to go.
func (r *rows) add(list []receiver.Stored) (dropped int) {
	for _, s := range list {
		if _, there := r.places[s.Key]; !there {
			r.list = append(r.list, read(s))
			r.places[s.Key] = len(r.list) - 1
		}
	}
	if dropped = max(len(r.list)-maxRows, 0); dropped > 0 {
		r.list = slices.Clone(r.list[dropped:])
	}
	r.index()
	return dropped
}

// before puts older events, newest first, in front.
func (r *rows) before(list []receiver.Stored) {
	all := make([]item, 0, len(list)+len(r.list))
	for _, s := range slices.Backward(list) {
		if _, there := r.places[s.Key]; !there {
			all = append(all, read(s))
		}
	}
	r.list = append(all, r.list...)
	r.index()
}

// index notes where each event stands and what its object was before it.
func (r *rows) index() {
	r.places = make(map[string]int, len(r.list))
	newest := map[string]*hook.Event{}
	for i := range r.list {
		it := &r.list[i]
		r.places[it.Key] = i
		it.before, it.late = nil, false
		if !it.good || it.Status == receiver.Conflict {
			continue
		}
		id := string(it.Object) + " " + string(it.ObjectID)
		known := newest[id]
		if known != nil && it.event.UpdatedAt.Given && it.event.UpdatedAt.Compare(known.UpdatedAt) < 0 {
			it.late = true
			continue
		}
		it.before, newest[id] = known, &it.event
	}
}

func (r *rows) item(key string) (item, bool) {
	i, ok := r.places[key]
	if !ok {
		return item{}, false
	}
	return r.list[i], true
}

// Len implements widget.Source.
func (r *rows) Len() int { return len(r.list) }

// IndexOf implements widget.Source.
func (r *rows) IndexOf(key string) int {
	if i, ok := r.places[key]; ok {
		return i
	}
	return -1
}

// Row implements widget.Source.
func (r *rows) Row(i int) widget.Row {
	it, th := r.list[i], r.env.Theme
	b := trust(th, it.Stored)
	age, _ := draw.Ago(it.ReceivedAt, r.env.Now())
	what, tone := r.change(it)
	out := widget.Row{ID: it.Key,
		Cells: []string{draw.Minute(it.ReceivedAt, r.env.Zone()), shortType(it.Type), it.ObjectID.Line(128), what, strings.TrimSuffix(age, " ago"), b.sign + " " + b.word},
		Tones: []theme.Tone{theme.Dim, theme.Plain, theme.Dim, tone, theme.Dim, b.tone}}
	switch {
	case it.Retry.Waiting():
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
		out.Cells[5], out.Tones[5] = th.Signs.Warn+" not merged", theme.Warn
	case it.Alarming():
		out.Sign, out.Tone = b.sign, b.tone
	case it.late || len(it.event.Issues) > 0:
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
	}
	return out
}

type badge struct {
	sign, word string
	tone       theme.Tone
	long       string // a sentence
}

// trust says how far an event can be believed, by sign, word and tone.
func trust(th *theme.Theme, s receiver.Stored) badge {
	g := th.Signs
	switch {
	case s.Status == receiver.Conflict:
		return badge{g.Bad, "conflict", theme.Bad, "Its hook_id came before with another body: one of the two is wrong or forged. Neither is a duplicate; look at both."}
	case s.Status == receiver.Quarantined:
		return badge{g.Locked, "quarantined", theme.Bad, "It cannot be used and was set aside as it came."}
	case !s.Verdict.Authenticated:
		return badge{g.Unknown, "unverified", theme.Warn, "Nothing proves where it comes from: it was put in by hand, or verify is \"none\"."}
	case s.Verdict.Bound:
		return badge{g.Good, "bound", theme.Good, "Verified, and the proof is bound to the body: what it says is a fact."}
	}
	return badge{g.Warn, "unbound", theme.Warn, "Verified, but the proof does not cover the body: a hint to read the object again, not a fact."}
}

// change is what the event tells of its object: before → after where both are known.
func (r *rows) change(it item) (string, theme.Tone) {
	if !it.good {
		return line(string(it.Reason)+": "+it.Detail, 200), theme.Warn
	}
	is := r.status(it.event)
	if it.env.Counterparty != nil {
		return draw.Plural(len(it.env.Counterparty.Accounts), "account", "accounts"), theme.Plain
	}
	switch {
	case it.late:
		return is + " (late: newer is known)", theme.Warn
	case it.before != nil && it.before.Status != it.event.Status:
		return r.status(*it.before) + " → " + is, theme.Plain
	case it.before != nil:
		return is + " (as before)", theme.Dim
	}
	return is, theme.Plain
}

func (r *rows) status(e hook.Event) string {
	if e.Object == hook.ObjectOperation {
		return r.code(hook.FieldStatus, e.Status)
	}
	return hook.StatusText(e.Object, e.Status)
}

// code is a code of an operation with its learnt meaning; "?" where something
// speaks against it, "(unlisted)" where nothing is known. Nothing is guessed.
func (r *rows) code(f hook.Field, c hook.Code) string {
	m := r.codes[code{f, c.Value}]
	switch {
	case !c.Given || m.Word == "" && m.Contradictions == 0:
		return c.String()
	case m.Word == "":
		return strconv.FormatInt(c.Value, 10) + " (undecided)"
	}
	doubt := ""
	if m.Contradictions > 0 {
		doubt = "?"
	}
	return fmt.Sprintf("%d %s%s", c.Value, m.Word.Line(64), doubt)
}

func line(s string, max int) string { return untrusted.Text(s).Line(max) }

// above is what stands over the list.
func (s *Screen) above() []string {
	th := s.env.Theme
	if s.bar != nil {
		return s.bar.Lines(th, s.w)
	}
	head := th.Strong.Render(draw.Plural(s.rows.Len(), "event", "events"))
	if s.older != 0 {
		head += th.Dim.Render(", older ones above")
	}
	if s.follow {
		head += th.Good.Render("  " + th.Signs.Down + " following")
	} else {
		head += th.Dim.Render("  " + th.Signs.Off + " not following, " + s.keys.Follow.Help().Key + " does")
	}
	for _, x := range []struct {
		st   receiver.Status
		sign string
	}{{receiver.Quarantined, th.Signs.Locked}, {receiver.Conflict, th.Signs.Bad}} {
		if n := s.counts[x.st]; n > 0 {
			head += th.Bad.Render("  " + x.sign + " " + draw.Count(int(n)) + " " + string(x.st))
		}
	}
	if s.text != "" {
		head += th.Dim.Render("  / ") + th.Accent.Render(line(s.text, 60))
	}
	if s.doing != "" {
		head += th.Info.Render("  " + s.doing + " …")
	}
	return append([]string{head}, s.warnings()...)
}

// unheard says that nothing is received here, and what to do: in a small window
// less of why.
func (s *Screen) unheard() string {
	cure := s.keys.Settings.Help().Key + " shows where the service sends."
	return draw.Fitting(s.w, "No receiver runs here ([webhooks] listen is empty): these came by other processes or by hand. "+cure,
		"No receiver runs here: set [webhooks] listen. "+cure, "No receiver here. "+cure, "No receiver here; "+s.keys.Settings.Help().Key+" tells more.")
}

// warnings say why less may be shown than there is.
func (s *Screen) warnings() []string {
	th := s.env.Theme
	var out []string
	warn := func(tone theme.Tone, l string) {
		out = append(out, th.Tone(tone).Render(draw.Cut(th.Signs.Warn+" "+l, s.w)))
	}
	if r := s.rhythm; r.Known {
		if r.Quiet = s.env.Now().Sub(r.Last); r.Quiet > r.Limit {
			r.Deaf = true
			cure := s.keys.Settings.Help().Key + " shows where the service sends."
			warn(theme.Bad, draw.Fitting(s.w-2, "The feed may be deaf: "+r.String()+"; rows may be out of date. "+cure, "The feed may be deaf: "+r.String()+". "+s.keys.Settings.Help().Key+" tells more.",
				"The feed may be deaf. "+s.keys.Settings.Help().Key+" tells more."))
		}
	}
	if s.mute != nil {
		warn(theme.Warn, "The live feed stopped: "+line(s.mute.Public, 200)+" r starts it again.")
	}
	for _, l := range s.troubles() {
		warn(theme.Warn, l)
	}
	if s.err != nil && s.rows.Len() > 0 {
		warn(theme.Warn, "Not read again: "+line(s.err.Public, 200))
	}
	if s.cfg.Listen == "" && s.rows.Len() > 0 {
		out = append(out, th.Dim.Render(s.unheard()))
	}
	return out
}
