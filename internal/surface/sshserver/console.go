package sshserver

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
)

// Messages for a client without a usable terminal.
const (
	needsTerminal = "The console needs a terminal: ssh -t HOST. Commands work without one: ssh HOST operation get " +
		"OPID, ssh HOST help."
	dumbTerminal = "This terminal cannot show the console: it moves no cursor (TERM is dumb or unknown). Commands " +
		"work: ssh HOST operation get OPID, ssh HOST help."
)

// runConsole runs the console on the terminal of the session.
func (r *run) runConsole() (code int, message string) {
	x := r.x
	switch {
	case !x.pty:
		return 2, needsTerminal
	case x.term == "dumb":
		return 2, dumbTerminal
	}
	return exit(x.srv.opt.Console(r.ctx, Terminal{In: &cancelAtEOF{x.ch, r.cancel},
		Out: newPacedWriter(r.ctx, r.out, x.processed), Getenv: x.getenv,
		Size: x.size.get, Resizes: x.size.resizes, Filter: r.watch.filter}))
}

// watch measures a session's idle and total time. Only keys, the mouse, and lines typed in plain mode count: a
// ticking view is no sign of a person.
type watch struct {
	r       *run
	last    atomic.Int64 // ns from began to the last key
	warning atomic.Pointer[string]
}

func (w *watch) init(r *run) { w.r = r }

// filter gets every message of the program first.
func (w *watch) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	switch msg.(type) {
	case tea.KeyMsg, tea.MouseMsg:
		if w.r.ending.Load() {
			return nil
		}
		w.last.Store(int64(time.Since(w.r.began)))
	case tea.WindowSizeMsg:
		if line := w.warning.Swap(nil); line != nil {
			toast := ui.Toast{Level: ui.Warning, Text: *line}
			return tea.BatchMsg{func() tea.Msg { return toast }, func() tea.Msg { return msg }}
		}
	case tea.SuspendMsg:
		return nil
	}
	return msg
}

// typed records input in plain mode.
func (w *watch) typed() { w.last.Store(int64(time.Since(w.r.began))) }

// warn shows a line in the console. A drawn console gets a window size, which brings a message to the filter even if
// nothing else happens.
func (w *watch) warn(line string) {
	if w.r.plain {
		_, _ = io.WriteString(w.r.out, line+w.r.x.lineEnd())
		return
	}
	w.warning.Store(&line)
	w.r.x.size.notify()
}

// run warns and ends the session in time, by the monotonic clock.
func (w *watch) run() {
	l := w.r.x.srv.opt.Limits
	idle := !w.r.exec // a command has no keys
	warnedAt, warnedAll := int64(-1), false
	for {
		now := time.Since(w.r.began)
		last := w.last.Load()
		wait := l.Session - now
		if !warnedAll {
			wait -= l.Warn
		}
		quiet := now - time.Duration(last)
		switch {
		case now >= l.Session:
			w.r.end(errTooLong)
			return
		case idle && quiet >= l.Idle:
			w.r.end(errIdle)
			return
		case !warnedAll && now >= l.Session-l.Warn:
			warnedAll, wait = true, l.Session-now
			w.warn(fmt.Sprintf("This session has lasted %s and ends in %s. Connect again to continue.", short(now),
				short(l.Warn)))
		case idle && warnedAt != last && quiet >= l.Idle-l.IdleWarn:
			warnedAt = last
			w.warn(w.idleWarning(short(quiet), short(l.IdleWarn)))
		}
		if idle {
			next := l.Idle - quiet
			if warnedAt != last {
				next -= l.IdleWarn
			}
			wait = min(wait, next)
		}
		t := time.NewTimer(max(wait, time.Millisecond))
		select {
		case <-t.C:
		case <-w.r.ctx.Done():
			t.Stop()
			return
		}
	}
}

// idleWarning is the warning before an idle session ends.
func (w *watch) idleWarning(since, left string) string {
	if w.r.plain {
		return "No input for " + since + ": this session ends in " + left + " unless you type something."
	}
	return "No key pressed for " + since + ": this session ends in " + left + " unless you press one."
}

// short formats a duration for people.
func short(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute && d < time.Hour && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return d.String()
}

// processed returns when the client has processed all output before it: it replies to requests of a channel in order
// (RFC 4254, section 5.4), and refuses one that it does not know. OpenSSH's server asks in the same way whether its
// client is alive.
func (x *session) processed() { _, _ = x.ch.SendRequest("keepalive@openssh.com", true, nil) }
