// Package paint draws the frames of a Bubble Tea program when they change, and
// owns the modes of the terminal while the program runs.
//
// Bubble Tea's own renderer draws on a clock: a key waits half a frame on
// average and an idle program is woken hundreds of times a second. [Run] keeps
// Bubble Tea's loop, messages and commands, switches its renderer off and draws
// with a [Painter] instead: at once after a change, never otherwise.
//
// # Effects of the option WithoutRenderer
//
// Without a renderer Bubble Tea 1.3 neither enters raw mode nor learns the size
// of the terminal, and its alternate screen, cursor, paste, mouse, title and
// clear-screen commands do nothing. Its suspension would stop the process
// without restoring anything. Reading and decoding keys, the loop, commands and
// filters work as usual. Run does the rest: raw mode, modes, first size, size
// changes, signals, suspension, panics, the end of input, and restoring the terminal.
//
// # Supported commands
//
// tea.Quit, tea.Suspend, tea.Interrupt, tea.Batch, tea.Sequence, tea.Tick work.
// tea.ClearScreen, tea.SetWindowTitle, tea.Println, the mouse, cursor, paste and
// alternate screen commands have no effect; [Raw] copies to the
// clipboard. tea.Exec is not supported: it would run with the modes set.
//
// # Output
//
// A view is lines of text with SGR sequences, nothing else. Anything else in it
// (controls, C1, format characters, other sequences, broken UTF-8) is drawn as a
// visible mark and never reaches the terminal. The bytes written are exactly:
//
//	text       printable characters, CR, LF
//	CSI n A B C D G       cursor by steps, to a column
//	CSI r ; c H           cursor to a position
//	CSI K, CSI n X        erase to the end of the line, n cells
//	CSI 2 J               erase all (first frame and after a change of size)
//	CSI n L, CSI n M      insert, delete lines
//	CSI t ; b r, CSI r    scroll region, always taken back within the frame
//	CSI … m               0-5 7 9 22-25 27 29 30-39 40-49 90-97 100-107, 38/48;5;n, 38/48;2;r;g;b
//	CSI ? 2026 h/l        around each frame: synchronized output
//	CSI ? 1049 7 25 2004 1002 1006 h/l    on entering and leaving
//	CSI ? 1 6 5 9 1000 1002-1006 1015 1016 2031 2048 9001 l, CSI 4 l, CSI > 4 m, CSI = 0 u, ESC > ( B, SI
//	                      together, on entering: another program may have left them set
//	CSI 22;2 t, CSI 23;2 t, OSC 2 ; title BEL    only with a title
//	OSC 52 ; c ; base64 BEL                      only for a copy
//
// Package painttest reads a byte stream and reports the first thing outside this list.
// Lines move with IL and DL instead of SU and SD because the Linux console knows
// only those; blanks of a coloured background are written as spaces because not
// every terminal erases with the background colour; REP is not used.
package paint
