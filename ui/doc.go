// Package ui is the shell of the console, a tea.Model. It owns the layout, the
// stack of screens, the dialogs, the notices, the palette, the help and the clock.
// Screens (packages views/...) are tea.Models made by a Factory. Each requests an Action (Wants), which
// the shell takes right after Update, and does not know the other screens.
// Forms are tea.Models too (Form): a dialog runs the form that an Ask describes, or a form that the
// screen built and passes with Fill.
//
// Shell consists of parts with separate state; each is given those that it depends on: window (size,
// theme, keys), screenStack, dialogStack, sentWrites, activity, idleLock, topLine (session, budgets),
// statusLine (notices), hintBar, router (which screen gets what) and wakes. The router calls the shell
// only through Actions. Plain mode uses a Driver to operate a shell that is not drawn.
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
//   - Only commands send requests, never Init's body, Update or View.
//     A command owns copies of its data. View changes nothing.
//   - An answer embeds the Ticket of its request. The shell takes it to the screen
//     that asked, wherever it is in the stack, and drops it if the screen is closed: then
//     Env.Ctx ends, and with it the reads. A write goes through Env.Write, whose line
//     the shell shows even after the screen was closed.
//   - Every write asks with Confirm; the shell waits for it before it exits.
//   - Text from outside goes through ui/draw: titles, notices, facts, cells. ID and
//     Copy.Text are taken exactly.
//   - Text that changes with time needs a Ticker, never a tick of its own.
//   - A value of a page that a person would open or copy has a widget.Link, in a fact
//     or a line (Section.Links): the cursor reaches it, y copies it, plain mode numbers
//     those that open something, and the screen opens Page.Link on enter.
//   - The screen gets esc and q first: return Handled if it closed something (a filter,
//     marks), nil to go back. tab, shift+tab and r belong to the
//     screen. While Editing is true, so do all keys except ctrl+c.
//
// Optional interfaces: Ticker, Drawer, UnsavedText, SubjectOf, HelpTopic, Commander.
// Package uitest drives a shell with a fake factory and checks every frame; its time
// passes only in Wait. uitest.Pure checks that View changes nothing.
package ui
