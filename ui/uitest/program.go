package uitest

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// Program is a model that runs in a tea.Program of its own, with the framework's
// own renderer, in a window of 80x24.
type Program struct {
	t       testing.TB
	keys    *io.PipeWriter
	program *tea.Program
	changed chan struct{}
	done    chan error

	mu  sync.Mutex // guards what follows
	out bytes.Buffer
	now time.Time
}

// patience bounds the wait for something on screen.
const patience = 30 * time.Second

// NewProgram makes the place for a program; its Now is the model's clock.
func NewProgram(t testing.TB) *Program {
	return &Program{t: t, changed: make(chan struct{}, 1), done: make(chan error, 1), now: NewClock().Now()}
}

// Now is a clock that moves when a key is sent, a second each time: questions do
// not take keys at once.
func (p *Program) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Run starts the model.
func (p *Program) Run(m tea.Model) *Program {
	in, keys := io.Pipe()
	p.keys = keys
	p.program = tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(p), tea.WithoutSignalHandler())
	go func() {
		_, err := p.program.Run()
		p.done <- err
	}()
	p.program.Send(tea.WindowSizeMsg{Width: 80, Height: 24})
	p.t.Cleanup(func() { _ = keys.Close(); p.program.Kill() })
	return p
}

// Write takes what the program draws.
func (p *Program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Write(b)
	select {
	case p.changed <- struct{}{}:
	default:
	}
	return len(b), nil
}

// Type sends characters as a terminal does, each in a read of its own.
func (p *Program) Type(s string) *Program {
	p.t.Helper()
	for _, r := range s {
		p.mu.Lock()
		p.now = p.now.Add(time.Second)
		p.mu.Unlock()
		if _, err := io.WriteString(p.keys, string(r)); err != nil {
			p.t.Fatal(err)
		}
	}
	return p
}

// See waits until text was drawn since the last See.
func (p *Program) See(text string) *Program {
	p.t.Helper()
	late := time.After(patience)
	for {
		p.mu.Lock()
		drawn := ansi.Strip(p.out.String())
		found := strings.Contains(drawn, text)
		if found {
			p.out.Reset()
		}
		p.mu.Unlock()
		if found {
			return p
		}
		select {
		case <-p.changed:
		case err := <-p.done:
			p.t.Fatalf("it ended (%v) before %q was drawn", err, text)
		case <-late:
			p.t.Fatalf("%q is not drawn:\n%s", text, drawn)
		}
	}
}

// Ended waits until the program has ended by itself.
func (p *Program) Ended() {
	p.t.Helper()
	select {
	case err := <-p.done:
		if err != nil && !errors.Is(err, tea.ErrProgramKilled) {
			p.t.Error(err)
		}
	case <-time.After(patience):
		p.t.Fatal("it does not end")
	}
}
