package console

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/api/session"
	"opdeck/internal/app"
	"opdeck/internal/domain/followup"
	"opdeck/internal/sandbox"
	"opdeck/ui"
	"opdeck/views/audittrail"
	"opdeck/views/compliance"
	"opdeck/views/operation"
	"opdeck/views/operations"
	"opdeck/views/sessions"
)

// tour guides through eight tasks on the built-in service. A task is done when its outcome was read: what a screen
// shows, an operation as it was read, or the proof of a write. None is timed. It belongs to the update loop.
type tour struct {
	service *sandbox.Service // nil against a real service
	root    context.Context
	off     string // why there is no tour; empty: there is one

	at    int // current task, from 1; 0: not running
	seen  tourSights
	files map[string]int // documents of operations when they were last read
}

// tourSights is what the current task has seen so far.
type tourSights struct {
	removed bool           // a document was removed
	more    bool           // an operation was read with more documents than before
	shared  bool           // a share token was sent
	pressed bool           // the task's button was pressed
	early   int64          // revoked pairs before that
	session session.Status // last received; kept from task to task
	proven  bool           // a write without an answer was proven by a read
}

// task is one step of the tour.
type task struct {
	name, how string
	done      func(*tourSights, ui.Sight) bool
	button    string // entry offered by :tour; empty: none
	press     func(*tour) tea.Cmd
	undo      func(*tour) tea.Cmd // of the button, when the task is left; nil: nothing to undo
}

func newTour(ctx context.Context, a *app.App, who api.Actor) *tour {
	t := &tour{service: a.Sandbox, root: ctx, files: map[string]int{}}
	switch {
	case a.Sandbox == nil:
		t.off = "the tour changes data and ends sessions, so it runs on the built-in service only: opdeck -c sandbox"
	case who.Via == "ssh":
		t.off = "others use this service too; the tour runs in a console of your own"
	case a.ReadOnly || !who.Role.May(api.MayDocuments) || !who.Role.May(api.MayCompliance):
		t.off = "the tour removes and restores a document and onboards a customer, which your role may not do here"
	}
	return t
}

// tasks are in order.
var tasks = []task{
	{name: "Open an operation", how: "up and down move the cursor, enter opens the row, esc goes back.",
		done: func(_ *tourSights, s ui.Sight) bool {
			shown, is := s.Screen.(*operation.Screen)
			return is && shown.Op != nil
		}},
	{name: "Filter the list",
		how: "Press 1, then /. Type status:PENDING, press enter. esc clears the filter.",
		done: func(_ *tourSights, s ui.Sight) bool {
			list, is := s.Screen.(*operations.Screen)
			return is && !list.Editing() && !list.Filter.Applied.Empty() && list.Table.SelectedID() != ""
		}},
	{name: "Remove and restore a document",
		how: "On a PENDING row d shows its documents. x removes one that is not locked; the " +
			"question starts on No, y answers it. z restores it.",
		done: func(seen *tourSights, s ui.Sight) bool {
			seen.removed = seen.removed || written(s.News) == "remove document"
			return seen.removed && seen.more
		}},
	{name: "Onboard a customer",
		how: "Tallinn Tools waits for verification: type : and tallinn, enter. S asks for a share token " +
			"and names those that work here: type the first, then enter and y.",
		done: func(seen *tourSights, s ui.Sight) bool {
			seen.shared = seen.shared || written(s.News) == "share"
			customer, is := s.Screen.(*compliance.Screen)
			return seen.shared && is && customer.Shared()
		}},
	{name: "Who ended my session?",
		how: ":tour has the button: it logs in as another client, which revokes our tokens. 1 and r make a call that " +
			"fails; 6 shows who did it.",
		button: "log in to this account as another client", press: (*tour).foreignLogin,
		done: func(seen *tourSights, s ui.Sight) bool {
			v := seen.session
			return seen.pressed && v.Counts.Premature > seen.early && v.Verdict.Cause == session.ForeignClient &&
				s.Screen.Place().Kind == ui.KindSession
		}},
	{name: "Totals",
		how: "1, then T: exact totals by currency of what the filter shows. T " +
			"again groups them by status, by type and so on.",
		done: func(_ *tourSights, s ui.Sight) bool {
			list, is := s.Screen.(*operations.Screen)
			return is && len(list.Content().Sections) > 0
		}},
	{name: "A lost answer",
		how: ":tour has the button: the next removal is done, but its answer is lost. Then d, x, y: " +
			"opdeck sends nothing twice; it reads the operation to find out.",
		button: "lose the answer to the next removal", press: (*tour).loseAnswer, undo: (*tour).answerAgain,
		done: func(seen *tourSights, _ ui.Sight) bool { return seen.pressed && seen.proven }},
	{name: "Who did what",
		how: "8 opens the audit trail: every write with its outcome, the lost one too. enter on a removal shows " +
			"who, when and what proves it.",
		done: func(_ *tourSights, s ui.Sight) bool {
			trail, is := s.Screen.(*audittrail.Screen)
			if !is {
				return false
			}
			e, open := trail.Opened()
			return open && e.Event == string(api.ActRemoveDocument)
		}},
}

// written names the write that a piece of news reports as done; empty for others.
func written(news ui.BroadcastMsg) string {
	if c, is := news.(ui.CallFacts); is && c.Write && c.Phase == ui.CallDone {
		return c.What
	}
	return ""
}

// task is the current one; nil if the tour is not running.
func (t *tour) task() *task {
	if t.at == 0 {
		return nil
	}
	return &tasks[t.at-1]
}

// Says implements ui.Guide.
func (t *tour) Says() (heading, how string) {
	if k := t.task(); k != nil {
		return fmt.Sprintf("Tour %d of %d: %s", t.at, len(tasks), k.name), k.how
	}
	return "", ""
}

// See implements ui.Guide.
func (t *tour) See(s ui.Sight) *ui.Notify {
	switch n := s.News.(type) {
	case sessions.News:
		t.seen.session = n.Status
	case ui.Changed:
		t.changed(n)
	}
	k := t.task()
	switch {
	case k == nil || !k.done(&t.seen, s):
		return nil
	case t.at < len(tasks):
		t.begin(t.at + 1)
		return nil
	}
	t.begin(0)
	return &ui.Notify{Level: ui.Success, Text: "The tour is done. ? lists the keys of a screen; " +
		"opdeck config init connects a real service."}
}

// changed takes what was read of an operation, or what became of a write.
func (t *tour) changed(n ui.Changed) {
	switch o := n.Object.(type) {
	case api.Operation:
		before, known := t.files[string(o.OPID)]
		t.seen.more = t.seen.more || t.seen.removed && known && len(o.Documents) > before
		t.files[string(o.OPID)] = len(o.Documents)
		t.seen.proven = t.seen.proven || evidence.Of(t.root).LostAnswer(string(o.OPID))
	case followup.Settled:
		t.seen.proven = t.seen.proven || o.Outcome.Verdict == api.Done
	}
}

// begin starts a task, or ends the tour with 0.
func (t *tour) begin(n int) {
	t.at, t.seen = n, tourSights{session: t.seen.session}
}

// command is the tour's entry in the palette.
func (t *tour) command() ui.Command {
	c := ui.Command{Title: "tour", About: "eight tasks in five minutes, each with its keys", Why: t.off}
	switch k := t.task(); {
	case t.off != "":
	case t.at == 0:
		c.Do = t.choose("Start the tour")
	case k.button != "" && !t.seen.pressed:
		c.Do = t.choose("Button: "+k.button, "Skip this task", "End the tour", explained)
	default:
		c.Do = t.choose("Skip this task", "End the tour", explained)
	}
	return c
}

func (t *tour) choose(offers ...string) ui.Action {
	items := make([]ui.Choice, len(offers))
	for i, text := range offers {
		items[i].Text = text
	}
	return ui.Choose{Title: "Tour", Items: items, Pick: func(i int) (ui.Action, tea.Cmd) {
		if offers[i] == explained {
			heading, how := t.Says()
			return ui.Explain{Title: heading, Lines: []string{how}}, nil
		}
		return nil, t.pick(offers[i])
	}}
}

// explained is the heading of a task's explanation: a low window has room for its name only.
const explained = "How this task is done"

func (t *tour) pick(what string) tea.Cmd {
	k := t.task()
	var undo tea.Cmd
	if k != nil && k.undo != nil && t.seen.pressed && !t.seen.proven {
		undo = k.undo(t)
	}
	switch {
	case what == "Start the tour":
		t.begin(1)
	case what == "Skip this task" && t.at < len(tasks):
		t.begin(t.at + 1)
	case k != nil && what == "Button: "+k.button:
		t.seen.pressed, t.seen.early = true, t.seen.session.Counts.Premature
		return k.press(t)
	default:
		t.begin(0)
	}
	return undo
}

// foreignLogin simulates a login by another client of the account.
func (t *tour) foreignLogin() tea.Cmd {
	service, ctx := t.service, t.root
	return func() tea.Msg {
		if err := service.ForeignLogin(ctx); err != nil {
			return ui.Toast{Level: ui.Error, Text: "The other client could not log in: the built-in service is busy."}
		}
		return ui.Toast{Level: ui.Info, Text: "Another client has logged in. opdeck has not noticed yet."}
	}
}

// loseAnswer makes the service do the next removal without an answer.
func (t *tour) loseAnswer() tea.Cmd {
	return t.faults("drop=remove#1", "The answer to the next removal will be lost.")
}

// answerAgain ends loseAnswer.
func (t *tour) answerAgain() tea.Cmd { return t.faults("", "The service answers every removal again.") }

func (t *tour) faults(spec, said string) tea.Cmd {
	service, ctx := t.service, t.root
	return func() tea.Msg {
		faults, err := sandbox.ParseFaults(spec)
		if err == nil {
			err = service.SetFaults(ctx, faults)
		}
		if err != nil {
			return ui.Toast{Level: ui.Error, Text: "The built-in service is busy, so nothing changed there."}
		}
		return ui.Toast{Level: ui.Info, Text: said}
	}
}
