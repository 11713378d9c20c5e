// Package ui is the shell of the console: the only tea.Model. It owns the
// layout, the stack of screens, the dialogs, the notices, the palette, the help
// and the clock. Screens (packages views/...) are made through a Factory, return
// what they want as an Action and know nothing of each other.
//
// # How to write a screen
//
// A screen is a struct with the methods of Screen; its constructor gets an Env.
//
//	type Screen struct {
//		env    *ui.Env
//		place  ui.Place
//		client Client // declared here: the methods this screen needs
//		keys   keymap.Documents // a copy: switched on and off here
//		table  *widget.Table
//		loads  *ui.Loads
//		op     api.Operation
//		at     time.Time
//	}
//
//	func (s *Screen) Init() tea.Cmd { return s.load() }
//
//	func (s *Screen) load() tea.Cmd {
//		t, ctx := s.loads.Next(s.env.Ctx) // cancels the read before
//		client, id := s.client, s.place.ID // copies: the command runs elsewhere
//		return func() tea.Msg { op, err := client.Operation(ctx, id); return loadedMsg{t, op, err} }
//	}
//
//	func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
//		switch msg := msg.(type) {
//		case loadedMsg:
//			if !s.loads.Current(msg.Ticket) { return nil, nil } // an older question
//			s.op, s.at = msg.op, s.env.Now()
//			s.table.SetSource(rows(s.op))
//		case ui.Changed: // news: every open screen hears it
//		case keymap.Press:
//			switch {
//			case s.keys.Remove.Match(msg): return s.askRemove(), nil // ui.Confirm or ui.Explain
//			case s.env.Keys.Global.Reload.Match(msg): return nil, s.load()
//			default: s.table.Update(msg)
//			}
//		}
//		return nil, nil
//	}
//
// Help returns keymap.Help{Title, List: keymap.Join(s.keys, s.env.Keys.List,
// s.env.Keys.Item)}: the hint line, the help, the palette and the "why off"
// answers come from it. A key that cannot be used now is switched off with its
// reason, s.keys.Remove.Set("The document is locked."); the shell says it when
// the key is pressed. Keys of read-only mode or of the role stay off whatever a
// screen does.
//
// # Rules
//
//   - Nothing is sent in Init's body, Update, View or SetSize: only in commands.
//     A command owns copies of what it needs.
//   - An answer embeds the Ticket of its question. The shell takes it to the
//     screen that asked, wherever that is; when it is closed, to nobody. Env.Ctx
//     ends then, and with it the reads. A write uses Env.Root and Env.Ticket; it
//     returns Msgs{its answer, Changed{...}} so that everybody hears of it. Give
//     the answer of a write the method Outcome() ui.Notify: it is told when the
//     screen was closed meanwhile.
//   - A write is asked for with Confirm (awaited before leaving) or, where no
//     question is needed, with Write.
//   - Text from outside goes through ui/draw (Line, File, Block, Mask): titles,
//     notices, facts, cells. ID and Copy.Text are taken exactly.
//   - View draws exactly the size of SetSize. Reading Env.Now there is fine; for
//     what changes by time alone implement Counter, never a tick of your own.
//   - esc and q come to the screen first: answer Handled when there was something
//     to close (a filter, marks), nil to go back. While Editing is true all keys
//     but ctrl+c are the screen's.
//   - tab, shift+tab and r are the screen's too (Env.Keys.Global.Pane, PaneBack,
//     Reload).
//   - Typed text that would be lost: implement Keeper.
//
// Optional interfaces: Counter, Keeper, Subjecter, Commander. Messages for every
// screen embed Broadcast (News); Shown tells a screen that it is on top again.
// Streams are commands that return Fed{Msg, Next}.
//
// Tests: package uitest drives a shell with a fake factory, checks every frame
// and lets time pass only when told.
package ui
