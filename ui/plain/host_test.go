package plain

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/uitest/shelltest"
	"opdeck/ui/widget"
)

// testScreen is a screen with rows, a write that takes its time, and a stream.
type testScreen struct {
	ui.Wanted
	env   *ui.Env
	keys  keymap.Documents
	table *widget.Table
	list  []string
	doing string
	takes time.Duration // a removal
	sent  *[]string
	comes <-chan string
}

type gone struct {
	ui.Ticket
	id  string
	err error
}

type came struct {
	ui.Ticket
	id string
}

func newTestScreen(env *ui.Env, takes time.Duration, sent *[]string, comes <-chan string) *testScreen {
	p := &testScreen{env: env, keys: env.Keys.Documents, takes: takes, sent: sent, comes: comes, list: []string{"alpha-0001", "beta-0002", "gamma-0003"},
		table: widget.NewTable(env.Theme, env.Keys, true, field.Layout{Title: "name", Min: 10})}
	p.keys.Restore.Off("Nothing was removed.")
	p.table.SetSource(p)
	return p
}

func (p *testScreen) Init() tea.Cmd { return p.wait }

func (p *testScreen) wait() tea.Msg { return came{p.env.Ticket(), <-p.comes} }

func (p *testScreen) Len() int { return len(p.list) }
func (p *testScreen) Row(i int) widget.Row {
	return widget.Row{ID: p.list[i], Cells: []string{p.list[i]}}
}
func (p *testScreen) IndexOf(id string) int {
	for i, x := range p.list {
		if x == id {
			return i
		}
	}
	return -1
}

func (p *testScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return p, p.Keep(p.take(msg)) }

func (p *testScreen) take(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case gone:
		p.doing = ""
		if msg.err != nil {
			return ui.Notify{Level: ui.Error, Text: "Not removed: " + msg.err.Error() + "."}, nil
		}
		p.list = append(p.list[:p.IndexOf(msg.id):p.IndexOf(msg.id)], p.list[p.IndexOf(msg.id)+1:]...)
		p.table.SetSource(p)
		return ui.Notify{Level: ui.Success, Text: "Removed " + msg.id + "."}, nil
	case came:
		p.list = append(p.list, msg.id)
		p.table.SetSource(p)
		return ui.Withdraw{ID: "beta-0002", Why: "It changed meanwhile."}, p.wait
	case keymap.Press:
		switch {
		case p.keys.Remove.Match(msg):
			id := p.table.Cursor.SelectedID()
			return ui.Confirm{ID: id, Title: "Remove", Ask: "Remove " + id + "?", Verb: "Remove", Facts: []widget.Pair{{Label: "name", Value: id}},
				Yes: func(ui.Seen) tea.Cmd {
					p.doing = "removing " + id
					return func() tea.Msg {
						time.Sleep(p.takes)
						*p.sent = append(*p.sent, id)
						return gone{p.env.Ticket(), id, nil}
					}
				}}, nil
		case p.keys.Attach.Match(msg):
			return p.form(), nil
		case p.keys.Upload.Match(msg):
			return ui.Confirm{ID: "a.txt", Title: "Write over", Ask: "Write over a.txt?", No: func() ui.Action { return p.form() }, Yes: func(ui.Seen) tea.Cmd { return nil }}, nil
		case p.env.Keys.List.Sort.Match(msg):
			return ui.Choose{Title: "Sort by", Items: []ui.Choice{{Text: "name"}, {Text: "size", Why: "All are equal."}},
				Pick: func(int) (ui.Action, tea.Cmd) { return ui.Copy{Text: "sorted", What: "the order"}, nil }}, nil
		}
		p.table.Update(msg)
	}
	return nil, nil
}

func (p *testScreen) form() ui.Ask {
	return ui.Ask{Title: "Attach", Fields: []widget.Field{{Label: "Id", Check: ui.CheckID}, {Label: "Note", Optional: true}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			return ui.Explain{Title: "Attached", Lines: []string{v.Text(0) + "/" + v.Text(1)}}, nil
		}}
}

func (p *testScreen) View() string         { return "" }
func (p *testScreen) Editing() bool        { return false }
func (p *testScreen) Title() string        { return "Papers" }
func (p *testScreen) Place() ui.Place      { return ui.Place{Kind: "papers"} }
func (p *testScreen) Source() ui.Source    { return ui.Source{} }
func (p *testScreen) Select(s string) bool { return p.table.Cursor.Select(s) }
func (p *testScreen) Content() ui.Content {
	return ui.Content{Lines: []string{"Papers  of ana"}, Table: p.table, Doing: p.doing}
}
func (p *testScreen) Keys() []keymap.Key {
	return append(keymap.All(p.keys), p.env.Keys.List.Sort, p.env.Keys.List.Mark)
}

// conversation is one over the testScreen below.
type conversation struct {
	in    *io.PipeWriter
	out   *bytes.Buffer
	mu    sync.Mutex
	sent  []string
	comes chan string
	done  chan error
}

func (d *conversation) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.Write(b)
}

// says types a line and returns what was said until nothing moves any more.
func (d *conversation) says(line string) string {
	_, _ = io.WriteString(d.in, line+"\n")
	return d.output()
}

func (d *conversation) output() string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.out.Reset()
	return d.out.String()
}

func converse(t *testing.T, ctx context.Context, takes time.Duration, about ui.About) *conversation {
	t.Helper()
	r, w := io.Pipe()
	d := &conversation{in: w, out: &bytes.Buffer{}, comes: make(chan string), done: make(chan error, 1)}
	talk := New(Options{In: r, Out: d})
	h := NewHost(talk, HostOptions{Ground: "TEST.", Places: []Place{
		{Name: "Papers", Word: "papers", Place: ui.Place{Kind: "papers"}},
		{Name: "Operation", Word: "open", Place: ui.Place{Kind: ui.KindOperation}, ByID: true}}, Now: time.Now,
		News: func(context.Context, bool) []tea.Msg { return nil }})
	sh := ui.New(shelltest.Complete(ui.Options{Context: ctx, About: about, Theme: theme.Words(), Start: ui.Place{Kind: "papers"}, Report: h.Report, Finder: slowFinder{},
		Tick: func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil },
		Make: func(env *ui.Env, _ ui.Place) ui.Screen { return newTestScreen(env, takes, &d.sent, d.comes) }}))
	go func() { d.done <- h.Run(ctx, sh); talk.Close() }()
	time.Sleep(time.Second) // of the bubble: the stream is waited for no longer
	d.output()
	return d
}

// slowFinder finds nothing, in five seconds.
type slowFinder struct{}

func (slowFinder) Find(context.Context, ui.Search) (ui.Finding, error) {
	time.Sleep(5 * time.Second)
	return ui.Finding{}, nil
}
func (slowFinder) Recent(context.Context) ([]ui.Found, error) { return nil, nil }
func (slowFinder) Opened(context.Context, ui.Place) error     { return nil }

// TestASearchIsAnsweredBeforeTheNextPrompt: the answer to a typed text is waited for, however long it takes.
func TestASearchIsAnsweredBeforeTheNextPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := converse(t, t.Context(), 0, ui.About{Environment: ui.Test})
		if said := d.says("open 17"); strings.Contains(said, "Main menu.") {
			t.Errorf("the next prompt comes before the answer:\n%s", said)
		}
		time.Sleep(4 * time.Second)
		wants(t, d.output(), "Still searching the index, 3 seconds so far.")
		time.Sleep(2 * time.Second)
		wants(t, d.output(), "No operation in the local index matches “17”.", "Main menu. A number")
		_ = d.in.Close()
		<-d.done
		close(d.comes)
	})
}

func wants(t *testing.T, said string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(said, w) {
			t.Errorf("nobody said %q:\n%s", w, said)
		}
	}
}

func TestKeysAreCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := converse(t, t.Context(), 0, ui.About{Environment: ui.Test})
		wants(t, d.says("papers"), "Papers, of ana", "1. name alpha-0001.", "Papers. A number, a command, or ? for help:")
		wants(t, d.says("?"), "remove [NUMBER], or x: remove the document (asks).", "restore [NUMBER], or z: ", "Not now. Nothing was removed.")
		wants(t, d.says("z"), "restore cannot be used now. Nothing was removed.")
		wants(t, d.says("attach"), "Id, or back:")
		wants(t, d.says("17"), "Note, or an empty line for none:")
		wants(t, d.says(""), "Attached.", "17/")
		wants(t, d.says("attach 2 x"), "Note, or an empty line for none:") // the row, then what is asked for
		wants(t, d.says("back"), "Unchanged.")
		wants(t, d.says("sort size"), "Not one of these: size.", "2. size. Not now: All are equal.")
		wants(t, d.says("2"), "Not available now. All are equal.")
		wants(t, d.says("na"), "The order:", "sorted")
		wants(t, d.says("mark 3"), "1 row is marked.")
		wants(t, d.says("remove 9"), "Type a number on this page: 1 to 3.")
		wants(t, d.says("rem"), "There is no command rem here. Did you mean remove?")
		_ = d.in.Close()
		if err := <-d.done; !errors.Is(err, ErrEnd) {
			t.Error(err)
		}
		close(d.comes)
	})
}

func TestAWriteIsAskedAwaitedAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := converse(t, t.Context(), 70*time.Second, ui.About{Environment: ui.Production})
		d.says("papers")
		said := d.says("x 2")
		time.Sleep(time.Second)
		wants(t, said+d.output(), "TEST.", "Question. Remove beta-0002?", "name: beta-0002", "Type the last 4 characters of the id to remove")
		d.says("0002")
		time.Sleep(65 * time.Second)
		wants(t, d.output(), "Still waiting for the answer to: Remove, 3 seconds so far.", ", 10 seconds so far.", ", 30 seconds so far.", ", 1 minute so far.")
		time.Sleep(10 * time.Second)
		wants(t, d.output(), "Done. Removed beta-0002.", "2. name gamma-0003.", "Papers. A number")
		d.says("quit")
		if err := <-d.done; !errors.Is(err, ErrQuit) {
			t.Error(err)
		}
		close(d.comes)
	})
}

// TestMenuGivesUpAllThatIsAsked: what a No would ask instead is given up as well.
func TestMenuGivesUpAllThatIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := converse(t, t.Context(), 0, ui.About{Environment: ui.Test})
		d.says("papers")
		asks := func(lines ...string) {
			for _, l := range lines {
				d.says(l)
				time.Sleep(time.Second)
			}
			d.output()
		}
		asks("upload")
		wants(t, d.says("no"), "Attach.", "Id, or back:")
		wants(t, d.says("menu"), "Main menu. A number")
		asks("papers", "upload")
		wants(t, d.says("menu"), "Main menu. A number")
		asks("papers", "upload")
		wants(t, d.says("back"), "Id, or back:") // it is a No there
		wants(t, d.says("back"), "Unchanged.", "Papers. A number")
		asks("upload")
		d.says("quit")
		if err := <-d.done; !errors.Is(err, ErrQuit) {
			t.Error(err)
		}
		close(d.comes)
	})
}

// An answer is about what is so when it is given.
func TestAQuestionThatWasWithdrawnIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := converse(t, t.Context(), 0, ui.About{Environment: ui.Test})
		d.says("papers")
		d.says("x 2")
		time.Sleep(time.Second)
		wants(t, d.output(), "Type yes to remove")
		d.comes <- "delta-0004" // beta changed meanwhile
		d.says("yes")
		time.Sleep(time.Second)
		wants(t, d.output(), "It changed meanwhile.", "4. name delta-0004.")
		if len(d.sent) != 0 {
			t.Errorf("it was sent: %v", d.sent)
		}
		_ = d.in.Close()
		<-d.done
		close(d.comes)
	})
}

// Whoever interrupts drops what was not sent; what was sent is awaited.
func TestInterruptAwaitsWhatWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d := converse(t, ctx, 20*time.Second, ui.About{Environment: ui.Test})
		d.says("papers")
		d.says("x 1")
		time.Sleep(time.Second)
		d.says("yes")
		time.Sleep(time.Second)
		cancel()
		if err := <-d.done; !errors.Is(err, ErrInterrupted) || len(d.sent) != 1 {
			t.Errorf("%v, sent %v", err, d.sent)
		}
		_ = d.in.Close()
		close(d.comes)
	})
}
