package plain

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Command is a word that can be typed in a menu.
type Command struct {
	Name  string
	Alias []string
	Args  string // what follows it, for the help: "FILTER", "[NUMBER]"
	Help  string // a sentence
	// Why is not nil and returns a sentence when the command cannot be used now.
	Why func() string
	Do  func(ctx context.Context, arg string) error
}

func (c Command) is(word string) bool { return c.Name == word || slices.Contains(c.Alias, word) }

func (c Command) why() string {
	if c.Why == nil {
		return ""
	}
	return c.Why()
}

// Menu is a place in the conversation.
type Menu struct {
	Name string // "Operations"
	// Intro says what is here; it is said at the beginning and by "again".
	Intro func(ctx context.Context) error
	// Numbers says what a number does: "opens that operation"; "" when none counts.
	Numbers string
	Pick    func(ctx context.Context, n int) error
	// Other takes what is no command, an id for example; false: not known.
	Other    func(ctx context.Context, typed string) (bool, error)
	Commands []Command
	Root     bool // "menu" ends here, and "back" asks for quit
}

// Menu stays in a place until the person leaves it: nil for "back", else one of
// the package's errors.
func (t *Talk) Menu(ctx context.Context, m Menu) error {
	err := t.enter(ctx, m)
	for {
		switch {
		case errors.Is(err, ErrLeave):
			return nil
		case errors.Is(err, ErrHome) && m.Root:
			err = t.enter(ctx, m)
			continue
		case errors.Is(err, ErrBack):
			t.Say("Left as it was.")
		case err != nil:
			return err
		}
		line, readErr := t.prompt(ctx, m.prompt())
		if readErr != nil {
			return readErr
		}
		err = t.dispatch(ctx, m, line)
	}
}

func (t *Talk) enter(ctx context.Context, m Menu) error {
	if m.Intro == nil {
		return nil
	}
	return m.Intro(ctx)
}

func (m Menu) prompt() string {
	if m.Numbers != "" {
		return m.Name + ". A number, a command, or ? for help:"
	}
	return m.Name + ". A command, or ? for help:"
}

func (t *Talk) dispatch(ctx context.Context, m Menu, typed string) error {
	word, arg, _ := strings.Cut(typed, " ")
	word, arg = strings.ToLower(word), strings.TrimSpace(arg)
	switch word {
	case "":
		t.Say("Nothing was typed.")
		return nil
	case "?", "help":
		t.help(m)
		return nil
	case "again":
		return t.enter(ctx, m)
	case "back":
		if m.Root {
			t.Say("This is the main menu. quit leaves.")
			return nil
		}
		return ErrLeave
	case "menu", "quit", "exit":
		return way(word)
	}
	if n, err := strconv.Atoi(strings.TrimSuffix(word, ".")); err == nil && arg == "" && m.Pick != nil {
		return m.Pick(ctx, n)
	}
	for _, c := range t.commands(m) {
		if c.is(word) {
			if why := c.why(); why != "" {
				t.Say(c.Name + " cannot be used now. " + why)
				return nil
			}
			return c.Do(ctx, arg)
		}
	}
	if m.Other != nil {
		if known, err := m.Other(ctx, typed); known || err != nil {
			return err
		}
	}
	t.Say("There is no command " + typed + " here." + t.nearest(m, word) + " ? lists what can be typed.")
	return nil
}

func (t *Talk) commands(m Menu) []Command { return append(slices.Clone(m.Commands), t.global...) }

func (t *Talk) nearest(m Menu, word string) string {
	for _, c := range t.commands(m) {
		if len(word) > 1 && strings.HasPrefix(c.Name, word) {
			return " Did you mean " + c.Name + "?"
		}
	}
	return ""
}

func (t *Talk) help(m Menu) {
	t.Say("You are in: " + m.Name + ".")
	if m.Numbers != "" {
		t.Say("A number " + m.Numbers + ".")
	}
	for _, c := range t.commands(m) {
		name := c.Name
		if c.Args != "" {
			name += " " + c.Args
		}
		l := name + ": " + c.Help
		if why := c.why(); why != "" {
			l += " Not now. " + why
		}
		t.Say(l)
	}
	t.Say("again: says this place once more.")
	if !m.Root {
		t.Say("back: goes back. menu: goes to the main menu.")
	}
	t.Say("quit: leaves the console.")
}

// Choose offers numbered choices once; it returns the index of the one taken.
// An empty line takes the last one, which must be harmless.
func (t *Talk) Choose(ctx context.Context, label string, choices ...string) (int, error) {
	for i, c := range choices {
		t.Say(strconv.Itoa(i+1) + ". " + c)
	}
	for {
		s, err := t.prompt(ctx, label+". A number:")
		if err != nil {
			return 0, err
		}
		if s == "" {
			return len(choices) - 1, nil
		}
		if err := way(s); err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(strings.TrimSuffix(s, ".")); err == nil && n >= 1 && n <= len(choices) {
			return n - 1, nil
		}
		t.Say("Type a number from 1 to " + strconv.Itoa(len(choices)) + ". An empty line means " + strconv.Itoa(len(choices)) + ".")
	}
}
