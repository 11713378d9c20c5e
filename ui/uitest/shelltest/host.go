package shelltest

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/uitest"
)

// host runs one model without the shell, as another program would: the last line is what the
// model wants, Y says yes to its question, ctrl+c ends.
type host struct {
	model ui.Model
	said  string
	yes   func(ui.Seen) tea.Cmd
}

// Alone starts the model that make makes in a tea.Program of its own, without the shell.
func Alone(p *uitest.Program, o ui.Options, make func(*ui.Env) ui.Model) *uitest.Program {
	h := &host{}
	o.Now = p.Now
	o.Make = func(env *ui.Env, _ ui.Place) ui.Screen { // an Env comes from a shell
		h.model = make(env)
		screen, _ := h.model.(ui.Screen)
		return screen
	}
	ui.New(Complete(o)).Init()
	return p.Run(h)
}

func (h *host) Init() tea.Cmd { return h.model.Init() }

func (h *host) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		msg = tea.WindowSizeMsg{Width: m.Width, Height: m.Height - 1}
	case tea.KeyMsg:
		switch {
		case m.Type == tea.KeyCtrlC:
			return h, tea.Quit
		case m.String() == "Y" && h.yes != nil:
			yes := h.yes
			h.yes = nil
			return h, yes(ui.Seen{})
		}
	}
	if _, screen := h.model.(ui.Screen); !screen { // the screen behind a form takes what it sent
		if a, cmd, ok := ui.Answered(msg); ok {
			h.note(a)
			return h, cmd
		}
	}
	a, cmd := ui.Update(h.model, msg)
	h.note(a)
	return h, cmd
}

// note keeps what the model wants last.
func (h *host) note(a ui.Action) {
	switch a := a.(type) {
	case nil:
	case ui.Many:
		for _, one := range a {
			h.note(one)
		}
	case ui.Confirm:
		h.said, h.yes = a.Ask, a.Yes
	case ui.Notify:
		h.said = a.Text
	case ui.Open:
		h.said = "open " + a.Place.Kind
	default:
		h.said = fmt.Sprintf("%T", a)
	}
}

func (h *host) View() string { return h.model.View() + "\n" + draw.Cut(h.said, 80) }
