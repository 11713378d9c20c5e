// Package ui is the shell of the console, a tea.Model. It owns the layout, the
// stack of screens, the dialogs, the notices, the palette, the help and the clock.
// Screens (packages views/...) are tea.Models made through a Factory; each leaves what it wants as
// an Action (Wants), which the shell takes right after Update, and knows nothing of the others.
// Forms are tea.Models too (Form): a dialog runs the one that an Ask describes, or one that the
// screen made and hands over with Fill.
//
// Shell composes parts, each with a state of its own and resting only on those before it:
// window (size, theme, keys), screenStack, dialogStack, sentWrites, topLine (session,
// budgets, calls), statusLine (notices), hintBar, router (which screen gets what), viewMode,
// idleGuard and exit. The router reaches the shell by Actions alone. Driver is what plain
// mode does with a shell that nobody draws.
//
// # How to write a screen
//
// A screen is a struct with the methods of Screen; its constructor gets an Env. One
// that is text embeds Page, one that is rows embeds list.List: they hold keys, reload,
// search, size and drawing, and call what the screen adds (PageScreen, list.Screen).
//
//	type Screen struct {
//		ui.Page
//		env     *ui.Env
//		session Session // what this screen asks beside the service; calls of the service go by endpoint.Do
//		keys    keymap.Session // a copy: switched on and off here
//		st      session.Status
//	}
//
//	func (s *Screen) Reload() tea.Cmd {
//		shared := s.session // a copy: the command runs elsewhere
//		return s.env.Read(s.Loads, func(ctx context.Context) ui.Then { // cancels the read before
//			st, err := shared.Status(ctx)
//			return func() (ui.Action, tea.Cmd) { // in the update loop, unless it is the answer to an older read
//				if s.Err = api.AsError(err); err == nil {
//					s.st = st
//				}
//				return nil, nil
//			}
//		})
//	}
//
//	func (s *Screen) Content() ui.Content // what is shown: Page draws it, plain mode says it
//	func (s *Screen) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool)
//
// Keys lists the keys of the screen: the hint line, the help, the palette and the
// "why off" answers come from it. A key that cannot be used now is switched off
// with its reason, s.keys.Remove.Set("The document is locked."); the shell says it
// when the key is pressed. Keys of read-only mode or of the role stay off whatever
// a screen does.
//
// # Rules
//
//   - Nothing is sent in Init's body, Update or View: only in commands.
//     A command owns copies of what it needs. View changes nothing.
//   - An answer embeds the Ticket of its request. The shell takes it to the screen
//     that asked, wherever that is; when it is closed, to nobody. Env.Ctx ends then,
//     and with it the reads. A write goes through Env.Write: what it tells in a line
//     is shown when the screen was closed.
//   - Every write asks with Confirm; the shell awaits it before it leaves.
//   - Text from outside goes through ui/draw: titles, notices, facts, cells. ID and
//     Copy.Text are taken exactly.
//   - What changes by time alone: Ticker, never a tick of your own.
//   - What a page shows and a person would open or copy has a widget.Link, beside a fact
//     or a line (Section.Links): the cursor reaches it, y copies it, plain mode numbers
//     what opens, and the screen opens Page.Link on enter.
//   - esc and q come to the screen first: answer Handled when there was something
//     to close (a filter, marks), nil to go back. tab, shift+tab and r are the
//     screen's. While Editing is true all keys but ctrl+c are.
//
// Optional interfaces: Ticker, Drawer, UnsavedText, SubjectOf, HelpTopic, Commander.
// Package uitest drives a shell with a fake factory, checks every frame and lets
// time pass only when told; uitest.Pure holds that View changes nothing.
package ui
