package ui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/internal/act"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// key takes the keys of one read. If there are several, it presses each of them marked as a
// burst: a burst moves the cursor and types text, but answers no question
// (docs/decisions/0006).
func (s *Shell) key(p keymap.Press) tea.Cmd {
	s.route.afterRead, s.clicked = waitingKey{}, clicked{}
	switch now := s.win.now(); {
	case s.lock.on:
		s.unlock(now)
		return nil
	case s.lock.drops(now):
		return nil
	}
	if p.Pasted || len(p.Runes) < 2 {
		return s.press(p)
	}
	var cmds []tea.Cmd
	for i, one := range p.Each() {
		if s.sent.gone {
			break
		}
		if s.route.editing() { // the rest is text: a filter need not run for each character
			return tea.Batch(append(cmds, s.press(keymap.Press{Runes: p.Runes[i:], Burst: true}))...)
		}
		cmds = append(cmds, s.press(one))
	}
	return tea.Batch(cmds...)
}

// editing reports whether the screen on top takes text.
func (s *router) editing() bool {
	top := s.stack.top()
	return len(s.dialogs.overlays) == 0 && top != nil && top.screen.Editing()
}

// press passes one key to the top dialog, else to the global keys unless the screen takes text,
// else to the top screen.
func (s *Shell) press(p keymap.Press) tea.Cmd {
	if s.win.keys.Global.Leave.Match(p) {
		return s.interrupt()
	}
	if s.sent.leaving || !s.win.fits() { // the person does not see the screen
		return nil
	}
	if o := s.dialogs.top(); o != nil {
		return s.overlayKey(o, p)
	}
	top := s.stack.top()
	if top == nil { // the first screen could not be made
		if s.win.keys.Global.Quit.Match(p) {
			return s.Back()
		}
		cmd, _ := s.route.jump(p)
		return cmd
	}
	if top.screen.Editing() {
		return s.route.deliver(top, p)
	}
	if p.IsText() {
		return s.status.hint(Denied, "Pasted text does nothing here.")
	}
	p = p.Placed()
	if cmd, ok := s.globalKey(top, p); ok {
		return cmd
	}
	k, known := s.win.known(top, p)
	if k.Why() != "" {
		return s.refuse(k)
	}
	a, cmd := Update(top.screen, p)
	if a == nil && cmd == nil && !known {
		return s.status.hint(Info, p.Label()+" does nothing here; ? shows the keys.")
	}
	return tea.Batch(s.act(top, a), cmd)
}

// held is the longest interval between two events of a key that is held down.
const held = 500 * time.Millisecond

// refuse shows why a key is off. If read-only mode or the role bars it, refuse calls OnBarred,
// once for a key that is held down.
func (s *Shell) refuse(k keymap.Key) tea.Cmd {
	if !k.Barred() || k.Act == nil {
		return s.status.hint(Denied, k.Why())
	}
	again := s.barred.name == k.Name && s.win.now().Sub(s.barred.at) < held
	s.barred = barred{k.Name, s.win.now()}
	if again {
		return s.status.hint(Denied, k.Why())
	}
	at := s.win.opt.Start
	if top := s.stack.top(); top != nil {
		at = top.screen.Place()
	}
	return tea.Batch(s.status.notify(Denied, k.Why()), s.win.opt.OnBarred(k.Act, at))
}

// barred is the last key that read-only mode or the role refused.
type barred struct {
	name string
	at   time.Time
}

// known finds a key among those of the screen, then among the global ones.
// The key says whether it is off; one that is on in a list is not off.
func (s *window) known(top *openScreen, p keymap.Press) (off keymap.Key, known bool) {
	if slices.ContainsFunc(keymap.All(s.keys.Nav), func(k keymap.Key) bool { return k.Match(p) }) {
		return keymap.Key{}, true
	}
	for _, keys := range [][]keymap.Key{top.screen.Keys(), keymap.All(s.keys.Global)} {
		for _, k := range keys {
			switch {
			case !k.Pressed(p):
			case k.Enabled():
				return keymap.Key{}, true
			case !known:
				off, known = k, true
			}
		}
		if known {
			break
		}
	}
	return off, known
}

// globalKey handles the keys that are the same on every screen.
func (s *Shell) globalKey(top *openScreen, p keymap.Press) (tea.Cmd, bool) {
	g := &s.win.keys.Global
	switch {
	case g.Back.Match(p), g.Quit.Match(p):
		// The screen gets the key first: it may have a filter or page to close.
		a, cmd := Update(top.screen, p)
		if a != nil || cmd != nil {
			return tea.Batch(s.act(top, a), cmd), true
		}
		if s.stack.root() && g.Back.Match(p) {
			return s.status.hint(Info, "Nothing to go back to; "+g.Quit.Help().Key+" leaves."), true
		}
		return s.Back(), true
	case g.Help.Match(p):
		s.dialogs.push(newHelp(s, top))
	case g.Palette.Match(p):
		return s.openPalette(top), true
	case g.OpenID.Match(p):
		return s.AskID(KindOperation), true
	case g.Activity.Match(p):
		s.dialogs.push(newActivity(s))
	case g.Why.Match(p):
		return s.act(top, s.why(top.screen.Place())), true
	case g.Zone.Match(p):
		return s.showUTC(s.win.shown.zone != time.UTC), true
	case g.Reveal.Match(p):
		return s.reveal(), true
	case g.Before.Match(p):
		return s.route.travel(-1), true
	case g.After.Match(p):
		return s.route.travel(1), true
	case g.OnCall.Match(p):
		return s.route.visit(Place{Kind: KindOnCall}), true
	case g.Previous.Match(p):
		return s.route.step(top, g.Previous, -1), true
	case g.Next.Match(p):
		return s.route.step(top, g.Next, 1), true
	default:
		return s.route.jump(p)
	}
	return nil, true
}

// placeKinds are the places of the first global keys, in their order.
var placeKinds = []string{KindOperations, KindOperation, KindDocuments, KindCompliance, KindLimits, KindSession,
	KindEvents, KindAudit}

// places is the number of global keys that open a place.
var places = len(placeKinds)

// jump opens the place of a number key.
func (s *router) jump(p keymap.Press) (tea.Cmd, bool) {
	all := s.win.keys.Global.Places()
	i := slices.IndexFunc(all[:], func(k *keymap.Key) bool { return k.Match(p) })
	if i < 0 {
		return nil, false
	}
	to := Place{Kind: placeKinds[i]}
	switch to.Kind {
	case KindOperation, KindDocuments:
		if to.ID = s.stack.about(KindOperation); to.ID == "" {
			return s.perform(nil, do(func(s *Shell) tea.Cmd { return s.AskID(to.Kind) })), true
		}
	case KindCompliance: // the customer, and with a second press all customers
		if top := s.stack.top(); top == nil || top.screen.Place().Kind != KindCompliance || top.screen.Place().ID == "" {
			to.ID = s.stack.about(KindCompliance)
		}
	}
	return s.visit(to), true
}

// visit opens a place by its number. Side screens opened by number replace each
// other instead of stacking.
func (s *router) visit(p Place) tea.Cmd {
	top := s.stack.top()
	if top != nil && top.visited && !s.stack.root() && isSide(top.screen.Place().Kind) && s.stack.indexOf(p) < 0 {
		cmd := s.replace(p)
		s.stack.top().visited = true
		return cmd
	}
	n := s.stack.lastID
	cmd := s.open(p)
	if top = s.stack.top(); top != nil && top.id > n {
		top.visited = true
	}
	return cmd
}

// isSide reports whether a place is a side screen.
func isSide(kind string) bool { return kind == KindOnCall || slices.Contains(placeKinds[4:], kind) }

// act performs the action that the screen st requested; st is nil while no screen is open. It
// ignores Open, Confirm and Ask of a screen that is not on top, so that no question is about
// a screen that the person left.
func (s *Shell) act(st *openScreen, a Action) tea.Cmd {
	switch a := a.(type) {
	case nil, Handled:
		return nil
	case do:
		return a(s)
	case Many:
		var cmds []tea.Cmd
		for _, one := range a {
			cmds = append(cmds, s.act(st, one))
		}
		return tea.Batch(cmds...)
	case Notify:
		return s.status.tell(a)
	case Copy:
		return s.status.copy(a)
	case Write:
		return s.sent.track(a.What, a.Cmd)
	}
	if st == nil {
		return nil
	}
	switch a := a.(type) {
	case Withdraw:
		return s.withdraw(st.id, a)
	case Explain:
		s.explain(st, a)
		return nil
	}
	if st != s.stack.top() {
		return nil
	}
	switch a := a.(type) {
	case Open:
		cmd := s.route.open(a.Place)
		if rows, ok := s.Top().(Selecter); ok && a.Row != "" {
			rows.Select(a.Row)
		}
		return cmd
	case Confirm:
		s.confirm(st, a)
	case Ask:
		s.dialogs.push(newInput(st.id, NewForm(st.env, a)))
	case Fill:
		s.dialogs.push(newInput(st.id, a.Form))
	case Choose:
		s.dialogs.push(newMenu(s.win, st.id, a))
	case Raw:
		s.dialogs.push(newRaw(s.win, st.id, a))
	}
	return nil
}

// explain opens a page of sentences. If a form was refused and its screen is on top, explain
// opens that form again.
func (s *Shell) explain(st *openScreen, e Explain) {
	if e.err != nil {
		e.Lines = append(slices.Clone(e.Lines), s.win.whereNext(e.err)...)
	}
	if e.failed() {
		s.activity.note(s.win.now(), Error, strings.Join(append([]string{e.Title + "."}, e.Lines...), " "))
	}
	form := st.sent
	if e.failed() {
		st.sent = nil
	}
	if e.err == nil || e.final || !canResend(e.err) || form == nil || st != s.stack.top() {
		s.dialogs.push(newExplain(s.win, st.id, e))
		return
	}
	s.dialogs.push(newRefused(s, st.id, form, e))
}

const maxRawLines = 50_000

// withdraw closes the question of a screen about an id.
func (s *Shell) withdraw(owner screenID, w Withdraw) tea.Cmd {
	for _, q := range s.dialogs.questions() {
		if q.screen == owner && q.c.ID == w.ID {
			s.dialogs.remove(q)
			return s.status.notify(Warning, w.Why)
		}
	}
	return nil
}

// Action is a request of a screen to the shell. The shell performs it before it
// reads the next key.
type Action interface{ isAction() }

// Open puts a screen on top. If the place is already open, the shell goes back to it.
type Open struct {
	Place Place
	Row   string // of a list: the id of the row that the cursor goes to; empty: it stays
}

// Handled reports that esc or q had an effect on the screen (it cleared a filter or
// marks), so that the shell does not go back.
type Handled struct{}

// Level is the importance of a notice.
type Level uint8

// The levels of notices.
const (
	Info    Level = iota // neutral
	Success              // an act succeeded
	Warning              // needs attention
	Error                // an error; kept in the activity list
	Denied               // a key is off, or a rule forbids the act
)

// Notify shows one line at the bottom for some seconds and keeps it in the
// activity list. Text is one safe line (ui/draw.Line for anything from outside).
type Notify struct {
	Level Level
	Text  string
	Hint  Hint
}

// Hint is a sentence about a key, apart from what its notice says: it is shown only where it
// helps, and is not kept in the activity list.
type Hint struct {
	Text  string // one safe line
	Works Place  // the only screen on which the key works; zero: it works everywhere
	Opens Place  // the screen that the key opens, on which it says nothing new; zero: none
}

// helps reports whether a person at a place can use the hint.
func (h Hint) helps(at Place) bool {
	return h.Text != "" && (h.Works == Place{} || h.Works == at) && (h.Opens == Place{} || h.Opens != at)
}

// Copy copies text to the terminal's clipboard by OSC 52. What is its name in the
// notice ("the operation id"). Text is copied unchanged, including control characters.
type Copy struct{ Text, What string }

// Raw opens the viewer on JSON exactly as the service sent it, with its numbers and
// unknown fields.
type Raw struct {
	Title string
	JSON  []byte
}

// Explain opens a page of sentences with no question: a locked document, a
// refusal, a conflict.
type Explain struct {
	Title string
	Lines []string      // safe text, wrapped by the dialog
	Facts []widget.Pair // drawn below
	Copy  Copy          // what y copies; Text empty: nothing
	Tone  theme.Tone    // of the frame; Plain: that of a warning

	err   *api.Error // that it reports; nil: none
	final bool       // its form must not be sent again
}

// failed reports whether it reports that something failed: what waits for a second person did not.
func (e Explain) failed() bool { return e.err != nil && e.err.Rule != api.RuleApproval }

// Final is a failure after which the same form must not be sent again, because
// a part of it was done.
func (e Explain) Final() Explain {
	e.final = true
	return e
}

// Seen is what the question showed when the person answered yes.
type Seen struct {
	ID     string // Confirm.ID
	Digest string // SHA-256 (hex) of everything the question showed
}

// Confirm opens the question dialog. The dialog keeps a copy of all fields, so later
// changes of the row under the cursor have no effect on it.
type Confirm struct {
	ID                    string        // the object's id, exactly; shown, and typed (last four) in production
	IDLabel               string        // whose id it is: "document id"; empty: "id"
	Title                 string        // "Remove document"
	Ask                   string        // "Remove invoice.pdf from operation 7f3a…?"
	Facts                 []widget.Pair // the content to confirm; part of the digest
	Risk                  string        // what cannot be undone; "" for nothing
	Destroys              bool          // Risk comes first, in red: what is lost does not come back
	Verb                  string        // the word on the Yes button: "Remove"
	SkipTypedConfirmation bool          // y is enough even in production, because nothing changes at the service
	// Yes returns the write. The shell waits for it before it exits. It is called
	// at most once, in the update loop; the command must not read the model.
	Yes func(Seen) tea.Cmd
	// No is called when the answer is no; may be nil.
	No func() Action

	form    FormModel            // what was typed for it
	not     string               // what is said after a no
	act     *act.Act             // whose calls are counted against the budgets; nil: none
	sends   []api.ActKind        // the writes it makes, which a second person approves where the context asks for one
	consent api.Consent          // what those writes carry
	then    func(*Shell) tea.Cmd // the shell's own questions
	yields  bool                 // a key that is no answer closes the question and does what it does
}

// Withdraw closes the open question about ID and says why.
type Withdraw struct{ ID, Why string }

// Ask opens an input dialog.
type Ask struct {
	Title  string
	Intro  []string // sentences above the fields
	Fields []widget.Field
	Verb   string // the word on the button: "Attach"
	// Submit gets the values in the order of Fields after every check passed.
	// Values of secret fields are empty strings there; Secret returns them.
	// If the result is a Failure, the form opens again with all input except secrets.
	Submit func(Values) (Action, tea.Cmd)
}

// Fill opens an input dialog that runs a model of its own.
type Fill struct{ Form FormModel }

// Cancel closes a form that the person cancelled.
type Cancel struct{}

// Values are the answers of an input dialog.
type Values struct {
	text    []string
	secrets []secret.Value
	said    []string // results of Look by field; nil: no Look ran
}

// Said returns what the Look of field i found; "" if it found nothing.
func (v Values) Said(i int) string {
	if i < len(v.said) {
		return v.said[i]
	}
	return ""
}

// Text returns the value of field i, as typed. Empty for a secret field.
func (v Values) Text(i int) string { return v.text[i] }

// Secret returns the value of secret field i, which the dialog has already erased.
func (v Values) Secret(i int) secret.Value { return v.secrets[i] }

// Choose opens a menu with a typed filter (views, sort, columns).
type Choose struct {
	Title string
	Items []Choice
	At    int                           // the item that the menu begins on
	Pick  func(i int) (Action, tea.Cmd) // index into Items
	// Typed handles enter on a text that matches no item; false: no effect. May be nil.
	Typed func(text string) (Action, bool)
	// More reads further items, in a command, when the cursor moves below the last one. Its
	// result builds the new menu in the update loop. nil: there are no further items.
	More    func(ctx context.Context) func() Choose
	Further string // the item that reads more: "20 of 45 files were read; …"
	Foot    string // a line below the items: "All 45 files were read."

	form FormModel // as Confirm.form
}

// Choice is one line of a menu. All its texts are safe.
type Choice struct {
	Text, Note string   // Note is drawn dim at the right edge
	About      string   // a sentence, drawn dim after Text; the filter also searches its words
	Cells      []Cell   // in the place of About: columns that are aligned over all choices of the menu
	Words      []string // other names that the filter finds: "rm"
	Why        string   // the reason why it cannot be chosen; "": it can

	do do // of an entry of the palette
}

// Write runs a command that sends a write without a question; the
// shell waits for it before it exits. What is its name in the activity list.
type Write struct {
	What string
	Cmd  tea.Cmd
}

// Many is several actions, done in order.
type Many []Action

func (Open) isAction()     {}
func (Handled) isAction()  {}
func (Notify) isAction()   {}
func (Copy) isAction()     {}
func (Raw) isAction()      {}
func (Explain) isAction()  {}
func (Confirm) isAction()  {}
func (Withdraw) isAction() {}
func (Ask) isAction()      {}
func (Fill) isAction()     {}
func (Cancel) isAction()   {}
func (Choose) isAction()   {}
func (Write) isAction()    {}
func (Many) isAction()     {}

// Asking completes the question of an act from the table of acts: title, question,
// button, risk, and whether a production context needs typed confirmation. Ask of c
// replaces the act's question, and Risk of c precedes the act's risk, unless the act destroys something.
func Asking(a *act.Act, o act.Object, c Confirm) Confirm {
	q, before := a.Words.Fill(o), c.Risk
	c.act = a
	c.Title, c.Verb, c.SkipTypedConfirmation = q.Title, q.Verb, a.Ask != act.Typed
	c.IDLabel, c.Destroys = cmp.Or(c.IDLabel, q.Of), q.Destroys
	if c.Ask == "" {
		c.Ask = q.Ask
	}
	if c.Risk = strings.TrimSpace(c.Risk + " " + q.Risk); q.Destroys {
		c.Risk = strings.TrimSpace(q.Risk + " " + before)
	}
	if c.not = cmp.Or(a.Words.Declined, "Nothing was sent."); a.Effect == act.Write {
		c.sends = a.Sends
	}
	return c
}

// Pointer is implemented by screens that handle the mouse.
type Pointer interface {
	// Click handles a click at a cell of the screen: it puts the cursor on that row and
	// returns its id, or performs another function of the cell; ok is false if there is none.
	Click(x, y int) (row string, a Action, cmd tea.Cmd, ok bool)
	// Wheel scrolls the pane at a cell by lines; false if there is none beside the rows.
	Wheel(x, y, by int) bool
}

// clicked is the row of the last click; a key clears it.
type clicked struct {
	screen screenID
	row    string // its id
}

// wheelLines is the number of lines for one notch of the wheel.
const wheelLines = 3

// mouse scrolls by the wheel, and selects and opens rows by clicks. It ignores events while a
// question, form or explanation is open: the mouse never answers one.
func (s *Shell) mouse(m tea.MouseMsg) tea.Cmd {
	if !s.visible() || s.sent.leaving {
		return nil
	}
	s.lock.lastKey = s.win.now()
	e := tea.MouseEvent(m)
	switch {
	case e.Button == tea.MouseButtonWheelUp:
		return s.wheel(e, -wheelLines, s.win.keys.Nav.Up, s.win.keys.Menu.Up)
	case e.Button == tea.MouseButtonWheelDown:
		return s.wheel(e, wheelLines, s.win.keys.Nav.Down, s.win.keys.Menu.Down)
	case e.Button == tea.MouseButtonLeft && e.Action == tea.MouseActionPress:
		return s.click(e)
	}
	return nil
}

// pointed returns the screen that handles the mouse and its line at a line of the
// window; nil for none.
func (s *router) pointed(y int) (p Pointer, line int) {
	top := s.stack.top()
	if top == nil || len(s.dialogs.overlays) > 0 || top.screen.Editing() {
		return nil, 0
	}
	line = y - s.win.headed()
	if _, h := s.win.body(); line < 0 || line >= h {
		return nil, 0
	}
	p, _ = top.screen.(Pointer)
	return p, line
}

// wheel scrolls the text or menu on top, the pane under the pointer, or the screen.
func (s *Shell) wheel(e tea.MouseEvent, by int, line, choice keymap.Key) tea.Cmd {
	s.clicked = clicked{}
	if p, y := s.route.pointed(e.Y); p != nil && p.Wheel(e.X-s.win.margin(), y, by) {
		return nil
	}
	var cmds []tea.Cmd
	for range wheelLines {
		switch o := s.dialogs.top().(type) {
		case nil:
			if top := s.stack.top(); top != nil && !top.screen.Editing() {
				cmds = append(cmds, s.route.deliver(top, line.Msg()))
			}
		case *pager:
			cmds = append(cmds, s.overlayKey(o, line.Msg()))
		case *menu:
			cmds = append(cmds, s.overlayKey(o, choice.Msg()))
		}
	}
	return tea.Batch(cmds...)
}

// click selects the row at a cell of the window, and a second click opens it; or it
// performs another function of the screen at that cell.
func (s *Shell) click(e tea.MouseEvent) tea.Cmd {
	p, y := s.route.pointed(e.Y)
	if p == nil {
		return nil
	}
	top, before := s.stack.top(), s.clicked
	row, a, cmd, ok := p.Click(e.X-s.win.margin(), y)
	if !ok {
		return nil
	}
	cmd = tea.Batch(cmd, s.act(top, a))
	if s.clicked = (clicked{top.id, row}); s.clicked == before && row != "" {
		s.clicked = clicked{}
		return tea.Batch(cmd, s.press(s.win.keys.List.Open.Msg()))
	}
	return cmd
}
