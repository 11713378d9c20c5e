package ui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// FormModel is a form that a dialog runs: Form, or a model that embeds it.
type FormModel interface {
	Model
	form() *Form
}

// Form is the model of the fields of an Ask: their input, their options, and the results of
// their checks. It requests no Action until it ends, with Cancel or with the result of Submit
// (Handled if that is nil). It keeps all input except secrets, so that it can be opened again.
//
// Update takes the size in cells, keys, and Values from outside the fields.
// View draws at most that many lines.
type Form struct {
	Wanted
	env     *Env
	ask     Ask
	fields  widget.Form
	picks   picks
	seek    Requests // completions
	looking bool     // a Look is running
	sending bool     // enter was pressed; the form is sent after the Look
	problem []string // why it was refused; safe
	again   bool     // it was sent before and opened again
	w, h    int
	k       keymap.Form
	list    keymap.Menu
}

// NewForm makes the form of an Ask for the screen that env belongs to.
func NewForm(env *Env, a Ask) *Form {
	f := &Form{env: env, ask: a, k: env.Keys.Form, list: env.Keys.Menu}
	f.fill()
	return f
}

// fill begins with the values of the fields.
func (f *Form) fill() {
	f.fields, f.looking = widget.NewForm(f.ask.Fields...), false
	f.seek.Stop()
	f.picks = picks{at: -1}
}

func (f *Form) form() *Form { return f }

// Init implements Model.
func (f *Form) Init() tea.Cmd { return nil }

// Update implements Model.
func (f *Form) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return f, f.Keep(f.take(msg)) }

// View implements Model.
func (f *Form) View() string { return strings.Join(f.draw(), "\n") }

func (f *Form) take(msg tea.Msg) (Action, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		f.w, f.h = msg.Width, msg.Height
	case tea.KeyMsg:
		return f.key(keymap.Read(msg))
	case keymap.Press:
		return f.key(msg)
	case Values:
		return f.submitted(msg)
	}
	return nil, nil
}

// Keys returns the keys that have an effect now.
func (f *Form) Keys() []keymap.Key {
	k, next := f.k.Submit, f.k.Next
	switch {
	case f.picks.at >= 0:
		k.SetHelp("enter", "accept")
	case !f.fields.Last():
		k.SetHelp("enter", "next field")
	case f.ask.Verb != "":
		k.SetHelp("enter", strings.ToLower(f.ask.Verb))
	}
	out := []keymap.Key{k, f.k.Cancel}
	d := f.focused()
	if d.Complete != nil {
		next.SetHelp("tab", "complete")
	}
	if f.fields.Len() > 1 || d.Complete != nil {
		out = append(out, next)
	}
	if d.Complete != nil || len(d.Options) > 0 {
		down := f.list.Down
		down.SetHelp(down.Help().Key, "list")
		out = append(out, down)
	}
	return out
}

func (f *Form) key(p keymap.Press) (Action, tea.Cmd) {
	f.sending = false
	switch {
	case f.k.Cancel.Match(p) && f.picks.at >= 0:
		f.picks.at = -1
	case f.k.Cancel.Match(p):
		return Cancel{}, nil
	case f.list.Down.Match(p) && f.mark(1), f.list.Up.Match(p) && f.picks.at >= 0 && f.mark(-1):
	case f.list.Down.Match(p) && f.completes():
		return nil, f.complete(true)
	case f.k.Next.Match(p) && f.completes() && f.fields.Value(f.fields.Focus()) != "" && !f.list.Down.Match(p):
		return nil, f.complete(false)
	case f.k.Next.Match(p):
		return nil, f.move(1)
	case f.k.Prev.Match(p):
		return nil, f.move(-1)
	case f.k.Submit.Match(p) && f.picks.at >= 0:
		return nil, f.accept()
	case f.k.Submit.Match(p) && f.fields.Last():
		return f.submit()
	case f.k.Submit.Match(p):
		return nil, f.move(1)
	default:
		if f.fields.Type(p) {
			f.picks.at = -1
			return nil, f.look()
		}
	}
	return nil, nil
}

// submit submits the values once all checks pass. It waits for a running Look.
func (f *Form) submit() (Action, tea.Cmd) {
	if !f.fields.Ready() {
		return nil, nil
	}
	if _, wait := f.fields.Unlooked(); wait || f.looking {
		f.sending = true
		return nil, f.look()
	}
	n := f.fields.Len()
	v := Values{text: make([]string, n), secrets: make([]secret.Value, n), said: f.fields.Said()}
	for i := range n {
		if f.fields.Field(i).Secret {
			v.secrets[i] = secret.New(f.fields.Value(i))
			continue
		}
		v.text[i] = f.fields.Value(i)
	}
	return f.submitted(v)
}

// submitted erases the secrets, keeps the other values for a later opening, and calls
// Submit with all of them.
func (f *Form) submitted(v Values) (Action, tea.Cmd) {
	f.fields.Clear()
	f.ask.Fields = slices.Clone(f.ask.Fields)
	for i := range f.ask.Fields {
		f.ask.Fields[i].Value = v.text[i] // empty for a secret
	}
	f.fill()
	if f.ask.Submit == nil {
		return Handled{}, nil
	}
	a, cmd := f.ask.Submit(v)
	if a == nil {
		a = Handled{}
	}
	return a, cmd
}

// described returns the Ask, with the refusal if there was one.
func (f *Form) described() Ask {
	a := f.ask
	a.Intro = append(slices.Clone(f.problem), a.Intro...)
	return a
}

// reopen shows the form with its earlier input, and asks before that is lost.
func (f *Form) reopen() { f.again = true }

// refuse shows why the form was refused and puts the focus on the wrong field. The person
// types secrets again.
func (f *Form) refuse(e Explain) {
	f.reopen()
	f.problem = []string{f.env.Theme.Signs.Bad + " " + safe(e.Title) + "."}
	for _, l := range e.Lines {
		f.problem = append(f.problem, safe(l))
	}
	for _, p := range safeFacts(e.Facts) {
		f.problem = append(f.problem, p.Label+" "+p.Value)
	}
	if slices.ContainsFunc(f.ask.Fields, func(d widget.Field) bool { return d.Secret }) {
		f.problem = append(f.problem, "Secrets are not kept: type it again.")
	}
	name := ""
	if e.err != nil {
		name = e.err.Field
	}
	f.fields.SetFocus(wrongField(f.ask.Fields, name))
	f.forget()
}

// unsaved returns the form's name if input would be lost; else "".
func (f *Form) unsaved() string {
	if f.again || f.fields.Dirty() {
		return "the form “" + f.ask.Title + "”"
	}
	return ""
}

// listed is the number of lines of the list of options if there is room, fewest the number
// if there is little.
const (
	listed = 7
	fewest = 4
)

// The lines of the list and of a refusal that remain in a window of a few lines.
const (
	leastListed  = 3
	leastProblem = 2
)

// draw puts the list of the field with the focus below it. Without enough room the text above the fields is cut first,
// then the list down to a few lines, then the other fields.
func (f *Form) draw() []string {
	th := f.env.Theme
	head, bad := f.head()
	kept, reserved := 0, 0 // lines of a refusal, and of a list that opens later: nothing jumps
	if bad > 0 {
		kept = min(len(head), leastProblem)
	}
	if f.offers() {
		reserved = fewest
	}
	fields := f.fields.View(th, f.w, true)
	if len(head)+len(fields.Lines)+reserved > f.h {
		fields = f.fields.View(th, f.w, false)
	}
	all := len(fields.Lines)
	var list []string
	if rows := max(min(max(f.h-all-len(head), fewest), f.h-all), min(leastListed,
		f.h-kept-(fields.Below-fields.Label))); rows > 0 {
		list = f.listLines(min(rows, listed))
	}
	lines, below := slices.Insert(fields.Lines, fields.Below, list...), fields.Below+len(list)
	if room := max(f.h-kept, 1); len(lines) > room { // the field with the focus is in view, with its list
		from := min(max(fields.Label-1, 0), len(lines)-room)
		if below > from+room {
			from = min(fields.Label, len(lines)-room)
		}
		lines = lines[from : from+room]
	}
	n := max(min(len(head), f.h-len(lines)), 0)
	if n > 0 && n < len(head)-1 && head[n-1] != "" {
		head[n-1] = draw.Cut(head[n-1]+" …", f.w)
	}
	for i := range head[:min(bad, n)] {
		head[i] = th.Bad.Render(head[i])
	}
	out := append(head[:n], lines...)
	if reserved > 0 {
		out = append(out, make([]string, max(min(listed-len(list), f.h-len(out)), 0))...)
	}
	return out
}

// head returns the lines above the fields: the refusal, of bad lines, and the introduction.
func (f *Form) head() (out []string, bad int) {
	for _, l := range f.problem {
		out = append(out, draw.Wrap(l, f.w)...)
	}
	bad = len(out)
	if len(out) > 0 && len(f.ask.Intro) > 0 {
		out = append(out, "")
	}
	for _, l := range f.ask.Intro {
		out = append(out, draw.Wrap(l, f.w)...)
	}
	if len(out) > 0 {
		out = append(out, "")
	}
	return out, bad
}

// input is a dialog that runs a form. It asks before typed text is lost, and opens the form
// again if its data is refused.
type input struct {
	dialog
	model FormModel
	size  tea.WindowSizeMsg // that the model has
	below int               // the line behind the row that it is about, or 0
}

func newInput(owner screenID, m FormModel) *input {
	return &input{dialog: dialog{screen: owner}, model: m}
}

func (d *input) keys() []keymap.Key { return d.model.form().Keys() }

func (d *input) key(s *Shell, p keymap.Press) (Action, tea.Cmd, bool) {
	if now := s.win.now(); d.early(now) {
		d.postpone(now)
		return nil, nil, false
	}
	return d.take(s, p)
}

// take passes a message to the model. An Action of the model closes the dialog; a resulting
// question or write keeps the form.
func (d *input) take(s *Shell, msg tea.Msg) (Action, tea.Cmd, bool) {
	a, cmd := Update(d.model, msg)
	return d.wants(s, a, cmd)
}

func (d *input) wants(s *Shell, a Action, cmd tea.Cmd) (Action, tea.Cmd, bool) {
	switch a.(type) {
	case nil:
		return nil, cmd, false
	case Cancel:
		return d.cancel()
	}
	if st := s.asker(d); st != nil && cmd != nil {
		st.sent = d.model
	}
	return remembering(a, d.model), cmd, true
}

// cancel closes the form; it asks first if there is typed text.
func (d *input) cancel() (Action, tea.Cmd, bool) {
	f := d.model.form()
	what := f.unsaved()
	if what == "" {
		return nil, nil, true
	}
	return do(func(s *Shell) tea.Cmd {
		return s.route.askDiscard(what, "", func(s *Shell) tea.Cmd {
			f.fields.Clear()
			s.dialogs.remove(d)
			return nil
		})
	}), nil, false
}

// answered is the answer to a Look or a Complete of a form, which then processes unless the form was closed.
func (f *Form) answered(then func() (Action, tea.Cmd)) tea.Msg {
	return do(func(s *Shell) tea.Cmd {
		for _, o := range s.dialogs.overlays {
			if d, ok := o.(*input); ok && d.model.form() == f {
				a, cmd := then()
				a, cmd, done := d.wants(s, a, cmd)
				if done {
					s.dialogs.remove(d)
				}
				return s.finish(d, a, cmd)
			}
		}
		return nil
	})
}

// remembering returns the action with the form that was filled in before stored in its question
// or menu.
func remembering(a Action, form FormModel) Action {
	switch a := a.(type) {
	case Confirm:
		a.form = form
		return a
	case Choose:
		a.form = form
		return a
	case Many:
		out := slices.Clone(a)
		for i := range out {
			out[i] = remembering(out[i], form)
		}
		return out
	}
	return a
}

// backToForm opens the form from before the menu with its input.
func (m *menu) backToForm() Action {
	return do(func(s *Shell) tea.Cmd {
		m.form.form().reopen()
		s.dialogs.push(newInput(m.screen, m.form))
		return nil
	})
}

// layout passes the size to the model; it is called after each message.
func (d *input) layout(s *Shell) {
	w, h := s.win.area()
	d.below = 0
	for _, at := range s.stack.drawn().Cursors {
		if h-at-1 >= lowForm {
			d.below = at + 1
		}
	}
	if size := formSize(w, h-d.below); size != d.size {
		d.size = size
		d.model.Update(size)
	}
}

// lowForm is the number of lines from which a form is below the row that it is about.
const lowForm = 14

// formSize is the room inside the frame of a form in an area.
func formSize(w, h int) tea.WindowSizeMsg {
	return tea.WindowSizeMsg{Width: max(min(w, dialogWidth)-4, 1), Height: max(h-2, 1)}
}

func (d *input) panel(s *Shell, _, _ int, _ time.Time) panel {
	f := d.model.form()
	p := panel{title: f.ask.Title, tone: theme.Accent, tail: strings.Split(d.model.View(), "\n"), below: d.below}
	if f.sending {
		p.foot = s.win.th.Signs.Wait + " checking first …"
	}
	return p
}

// CheckID says whether s can be an id of the service (api.CheckID).
func CheckID(s string) error {
	switch {
	case s == "":
		return errors.New("an id is needed")
	case api.CheckID("id", s) != nil:
		return fmt.Errorf("an id has only visible characters, at most %d bytes", api.MaxID)
	}
	return nil
}
