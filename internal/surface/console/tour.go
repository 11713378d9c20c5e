package console

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/internal/app"
	"opdeck/internal/domain/followup"
	"opdeck/internal/sandbox"
	"opdeck/ui"
	"opdeck/views/operations"
	"opdeck/views/sessions"
)

// tour guides through eight tasks on the built-in service. Each checks its result by the console's content and news;
// none is timed. It belongs to the update loop.
type tour struct {
	service *sandbox.Service // nil against a real service
	root    context.Context
	off     string // why there is no tour; empty: there is one

	at   int // current task, from 1; 0: not started; after the last: done
	seen tourSights
}

// tourSights is what the current task has seen so far.
type tourSights struct {
	removed bool
	pressed bool           // the task's button was pressed
	early   int64          // revoked pairs before that
	session session.Status // last received; kept from task to task
	lost    bool           // a write was sent and its answer lost
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
	t := &tour{service: a.Sandbox, root: ctx}
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
		done: func(_ *tourSights, s ui.Sight) bool { return s.Screen.Place().Kind == ui.KindOperation }},
	{name: "Filter the list",
		how: "1 goes to Operations. /, then type status:PENDING and enter; the rows " +
			"follow while you type, and esc clears the filter again.",
		done: func(_ *tourSights, s ui.Sight) bool {
			list, is := s.Screen.(*operations.Screen)
			return is && !list.Editing() && !list.Filter.Shown.Empty()
		}},
	{name: "Remove and restore a document",
		how: "On a PENDING row d shows its documents. x removes one that is not locked; the " +
			"question starts on No, y answers it. z restores it.",
		done: func(seen *tourSights, s ui.Sight) bool {
			switch written(s.News) {
			case "remove document":
				seen.removed = true
			case "attach document":
				return seen.removed
			}
			return false
		}},
	{name: "Onboard a customer",
		how: "4 opens the customer of this operation. S asks for a share token and names those that " +
			"work here: type one, such as demo-corporate-ok-1, then enter and y.",
		done: func(_ *tourSights, s ui.Sight) bool { return written(s.News) == "share" }},
	{name: "Who killed my session?",
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
		done: func(seen *tourSights, s ui.Sight) bool {
			if changed, is := s.News.(ui.Changed); is && seen.lost { // a later read found the outcome
				_, settled := changed.Object.(followup.Settled)
				return settled
			}
			c, is := s.News.(ui.CallFacts)
			switch {
			case !is || !seen.pressed:
			case c.Write && c.Phase == ui.CallUnknown:
				seen.lost = true
			case seen.lost && !c.Write && !c.Background && c.Phase == ui.CallDone: // the read that looks up the outcome
				return true
			}
			return false
		}},
	{name: "Who did what",
		how:  "8 opens the audit trail: every write with its outcome, the lost one too. enter shows one.",
		done: func(_ *tourSights, s ui.Sight) bool { return s.Screen.Place().Kind == ui.KindAudit }},
}

// written names the write that a piece of news reports as done; empty for others.
func written(news ui.BroadcastMsg) string {
	if c, is := news.(ui.CallFacts); is && c.Write && c.Phase == ui.CallDone {
		return c.What
	}
	return ""
}

// task is the current one; nil before the first and after the last.
func (t *tour) task() *task {
	if t.at < 1 || t.at > len(tasks) {
		return nil
	}
	return &tasks[t.at-1]
}

// Says implements ui.Guide.
func (t *tour) Says() (heading, how string) {
	switch k := t.task(); {
	case k != nil:
		return fmt.Sprintf("Tour %d of %d: %s", t.at, len(tasks), k.name), k.how
	case t.at > len(tasks):
		return fmt.Sprintf("Tour: all %d tasks are done", len(tasks)),
			":tour closes these lines. ? lists the keys of each screen; opdeck config init connects a real service."
	}
	return "", ""
}

// See implements ui.Guide.
func (t *tour) See(s ui.Sight) {
	if n, is := s.News.(sessions.News); is {
		t.seen.session = n.Status
	}
	if k := t.task(); k != nil && k.done(&t.seen, s) {
		t.begin(t.at + 1)
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
	case k == nil:
		c.Do = t.choose("Close the tour")
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
	if k != nil && k.undo != nil && t.seen.pressed && !t.seen.lost {
		undo = k.undo(t)
	}
	switch {
	case what == "Start the tour":
		t.begin(1)
	case what == "Skip this task" && k != nil:
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
