package plain

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/keymap"
)

// command is a word that the person can type.
type command struct {
	name  string
	alias string
	key   string // the key that does it on the drawn screen; it can be typed too
	args  string // its arguments
	help  string // a sentence
	why   string // why it cannot be used now; "": it can
	do    func(ctx context.Context, arg string) error
}

func (c command) is(word string) bool { return c.name == word || c.alias == word }

func (c command) opens() bool { return c.name == "open" }

// commands are those of the screen, or of the main menu, and those of every place.
// A name belongs to the first that has it.
func (h *Host) commands() []command {
	var all []command
	if !h.home {
		all = h.moves()
	}
	for _, k := range h.sh.Keys() {
		if k.Typed.None != "" || h.home && !h.everywhere(k) {
			continue
		}
		c := h.keyCommand(k)
		if k.Name == h.sh.Map().Global.OpenID.Name && !slices.ContainsFunc(all, command.opens) {
			c.name, c.args = "open", "[ID]"
		}
		all = append(all, c)
	}
	if s, ok := h.sh.Shell.Top().(ui.Commander); ok && !h.home {
		for _, c := range s.Commands() {
			all = append(all, h.screenCommand(c))
		}
	}
	for _, p := range h.opt.Places {
		c := command{name: p.Word, help: "opens that screen.", do: func(ctx context.Context, arg string) error {
			if arg != "" && p.IDs {
				return h.openID(ctx, p.Kind, arg)
			}
			return h.open(ctx, p)
		}}
		if p.IDs {
			c.args = "[ID]"
		}
		all = append(all, c)
	}
	var out []command
	for _, c := range append(all, h.always()...) {
		if !slices.ContainsFunc(out, func(has command) bool { return has.name == c.name }) {
			out = append(out, c)
		}
	}
	return out
}

// everywhere reports whether a key works without a screen: not what opens a place,
// which the menu has, nor what reads one again.
func (h *reader) everywhere(k keymap.Key) bool {
	g := h.sh.Map().Global
	return k.Name == g.OpenID.Name || k.Name == g.Zone.Name || k.Name == g.Activity.Name
}

func (h *Host) keyCommand(k keymap.Key) command {
	c := command{name: k.Word, alias: k.Name[strings.LastIndexByte(k.Name, '.')+1:], key: k.Binding.Help().Key,
		help: cmp.Or(k.Typed.Help, k.Long+"."), why: k.Why(),
		do: func(ctx context.Context, arg string) error { return h.key(ctx, k, arg) }}
	switch places := h.sh.Map().Global.Places(); {
	case slices.ContainsFunc(places[:], func(p *keymap.Key) bool { return p.Name == k.Name }):
		c.key = "" // numbers are rows
	case strings.Contains(k.Name, ".") && !h.home && h.content().Table != nil && !k.Typed.OfList:
		c.args = "[NUMBER]"
	}
	return c
}

// screenCommand is a command of the screen without a key.
func (h *Host) screenCommand(c ui.Command) command {
	name := strings.ToLower(c.Title)
	return command{name: name, help: cmp.Or(c.About, c.Title) + ".", why: c.Why,
		do: func(ctx context.Context, _ string) error {
			if c.Why != "" {
				h.talk.Say(name + " cannot be used now. " + c.Why)
				return nil
			}
			return h.after(ctx, h.run(ctx, h.sh.Shell.RunCommand(c)), keymap.Key{})
		}}
}

// moves are the commands of a screen without a key.
func (h *Host) moves() []command {
	nav, c := h.sh.Map().Nav, h.content()
	var out []command
	if c.Table != nil && c.Table.Cursor.Len() > pageRows {
		turn := func(name, alias string, k keymap.Key, none string) {
			out = append(out, command{name: name, alias: alias, help: "shows the " + name + " page.",
				do: func(ctx context.Context, _ string) error { return h.page(ctx, k, none) }})
		}
		turn("next", "n", nav.PageDown, "No more pages.")
		turn("previous", "p", nav.PageUp, "This is the first page.")
		turn("first", "", nav.Top, "This is the first page.")
		turn("last", "", nav.Bottom, "This is the last page.")
	}
	if len(c.Sections) > 0 {
		out = append(out, command{name: "all", help: "shows everything. One part by name: " + List(titles(c.Sections)) +
			".", do: func(context.Context, string) error {
			h.talk.Say(slices.Concat(h.parts()...)...)
			h.talk.Say("That is all.")
			return nil
		}})
	}
	return out
}

// page says another page of the rows.
func (h *Host) page(ctx context.Context, k keymap.Key, none string) error {
	t := h.content().Table
	from, to := t.Cursor.Visible()
	n := t.Cursor.Len()
	if err := h.press(ctx, k); err != nil {
		return err
	}
	if f, e := t.Cursor.Visible(); f == from && e == to && t.Cursor.Len() == n {
		h.talk.Say(none)
		return nil
	}
	h.sayScreen()
	return nil
}

// always are the commands of every place.
func (h *Host) always() []command {
	return []command{
		{name: "where", help: "shows the context, the session and the budgets.",
			do: func(context.Context, string) error {
				h.talk.Say(h.opt.Ground)
				h.talk.Say(h.sh.Standing()...)
				return nil
			}},
		{name: "again", help: "prints this screen again.", do: func(context.Context, string) error {
			if h.home {
				h.sayHome()
			} else {
				h.sayScreen()
			}
			return nil
		}},
		{name: "back", alias: "esc", key: "esc", help: "goes back; clears a filter or marks first.",
			do: func(ctx context.Context, _ string) error { return h.back(ctx) }},
		{name: "menu", help: "goes to the main menu.", do: func(context.Context, string) error { return ErrHome }},
		{name: "quit", alias: "exit", help: "leaves the console.",
			do: func(context.Context, string) error { return ErrQuit }},
		{name: "help", alias: "?", key: "?", help: "lists the commands.",
			do: func(context.Context, string) error { h.help(); return nil }},
	}
}

func (h *Host) help() {
	if h.home {
		h.talk.Say("You are in the main menu. A number opens that screen.")
	} else {
		h.talk.Say("You are in: " + strings.Join(ui.Named(h.sh.Shell.Top()), ", ") + ".")
		if h.content().Table != nil {
			h.talk.Say("A number opens that row, or shows it. After a command, it selects the row.")
		} else if len(h.opening()) > 0 {
			h.talk.Say("A number opens the line with that number.")
		}
	}
	for _, c := range h.commands() {
		l := strings.TrimSpace(c.name + " " + c.args)
		if c.key != "" && c.key != c.name {
			l += ", or " + c.key
		}
		if l += ": " + c.help; c.why != "" {
			l += " Not now. " + c.why
		}
		h.talk.Say(l)
	}
}

func (h *Host) back(ctx context.Context) error {
	if h.home {
		h.talk.Say("This is the main menu. quit leaves.")
		return nil
	}
	if cmd, had := h.sh.Escape(); had {
		if err := h.run(ctx, cmd); err != nil {
			return err
		}
		if !h.sayChanges() {
			h.talk.Say("Done.")
		}
		return nil
	}
	if h.sh.Root() || h.sh.Shell.Top() == h.base {
		return ErrHome
	}
	if err := h.run(ctx, h.sh.Shell.Back()); err != nil {
		return err
	}
	h.sayScreen()
	return nil
}

// key performs a key of the drawn screen, for the row whose number was typed after it,
// if any.
func (h *Host) key(ctx context.Context, k keymap.Key, arg string) error {
	word, rest, _ := strings.Cut(arg, " ")
	if n, is := number(word); is && !h.home && !k.Typed.OfList && h.content().Table != nil {
		if !h.selectRow(n) {
			return nil
		}
		arg = strings.TrimSpace(rest)
		for _, now := range h.sh.Keys() { // whether it can be used depends on the row
			if now.Name == k.Name {
				k = now
				break
			}
		}
	}
	if n, is := number(arg); is && k.Name == h.sh.Map().List.Open.Name && h.point(n) {
		arg = ""
	}
	if kind := h.takesID(k); kind != "" && arg != "" {
		return h.openID(ctx, kind, arg)
	}
	if k.Why() != "" {
		h.refused = k.Word
		return h.press(ctx, k) // the shell says why, and notes who was refused
	}
	h.talk.ahead = arg
	return h.after(ctx, h.press(ctx, k), k)
}

// takesID is the kind of place that a key opens by an id that was typed after it; "": it takes none.
func (h *Host) takesID(k keymap.Key) string {
	switch m, at := h.sh.Map(), h.sh.Shell.Top().Place().Kind; k.Name {
	case m.List.Open.Name:
		if slices.ContainsFunc(h.opt.Places, func(p Place) bool { return p.Kind == at && p.IDs && !p.ByID }) {
			return at
		}
		return ui.KindOperation
	case m.Global.OpenID.Name, m.Global.Operation.Name:
		return ui.KindOperation
	case m.Global.Documents.Name, m.Operations.Documents.Name, m.Operation.Documents.Name:
		return ui.KindDocuments
	case m.Global.Compliance.Name:
		return ui.KindCompliance
	}
	return ""
}

// after prints the result of a key.
func (h *Host) after(ctx context.Context, err error, k keymap.Key) error {
	if err == nil && h.content().Filter != nil {
		err = h.filter(ctx)
	}
	if err != nil {
		return err
	}
	l, g, c := h.sh.Map().List, h.sh.Map().Global, h.content()
	switch k.Name {
	case l.Mark.Name, l.MarkAll.Name, l.Range.Name, l.Remark.Name:
		h.said = h.seen()
		h.talk.Say(format.Plural(len(c.Table.Marked()), "row is marked.", "rows are marked."))
	case l.Filter.Name, l.Sort.Name, l.Views.Name:
		if err := h.press(ctx, h.sh.Map().Nav.Top); err != nil { // another list begins at its beginning
			return err
		}
		h.sayScreen()
	case g.Reload.Name:
		h.sayScreen()
	default:
		switch {
		case k.Typed.Quiet:
			h.said = h.seen()
		case !h.home || !h.sh.Root():
			h.home = false
			h.sayChanges()
		}
	}
	return nil
}

// openID opens an operation, its documents or a customer by an id that was typed.
func (h *Host) openID(ctx context.Context, kind, id string) error {
	if kind == ui.KindOperation || kind == ui.KindDocuments {
		before := h.sh.Shell.Top()
		h.loop.start(h.sh.Shell.AskID(kind), false)
		if err := h.run(ctx, h.sh.Submit([]string{id}, nil)); err != nil {
			return err
		}
		if at := h.sh.Shell.Top(); at == before && at.Place().ID != id { // it was said why
			return nil
		}
		return h.open(ctx, Place{Place: h.sh.Shell.Top().Place()})
	}
	id = api.ReadID(id)
	if err := ui.CheckID(id); err != nil {
		h.talk.Say("Not a valid id: " + err.Error() + ".")
		return nil
	}
	return h.open(ctx, Place{Place: ui.Place{Kind: kind, ID: id}})
}
