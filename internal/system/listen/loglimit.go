package listen

import (
	"sync"
	"time"
)

// LogLimit lets one line a minute through for each source and reason, so that those
// who are turned away, and a store that fails, cannot fill the disk with the log. The
// zero value is ready; it is safe for many goroutines.
type LogLimit struct {
	mu    sync.Mutex
	lines map[logKey]*logLine // guarded by mu
}

type logKey struct{ source, reason string }

type logLine struct {
	at     time.Time // of the last line
	missed int64     // since then
}

// logEvery is the time from one line to the next, maxLines how many sources and
// reasons are told apart; all beyond share one line for each reason.
const (
	logEvery = time.Minute
	maxLines = 256
)

// Allow reports whether a line is due at that time, and how many were not written
// since the last one. There must be few reasons; sources may be many.
func (l *LogLimit) Allow(source, reason string, at time.Time) (missed int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[logKey]*logLine{}
	}
	k := logKey{source, reason}
	line := l.lines[k]
	if line == nil && len(l.lines) >= maxLines {
		l.prune(at)
	}
	if line == nil && len(l.lines) >= maxLines {
		k.source = "" // some source
		line = l.lines[k]
	}
	if line == nil {
		l.lines[k] = &logLine{at: at}
		return 0, true
	}
	if d := at.Sub(line.at); d >= 0 && d < logEvery { // a clock that was set back hides nothing
		line.missed++
		return 0, false
	}
	missed = line.missed
	*line = logLine{at: at}
	return missed, true
}

// prune forgets lines that have expired. mu is held.
func (l *LogLimit) prune(at time.Time) {
	for k, line := range l.lines {
		if at.Sub(line.at) >= logEvery {
			delete(l.lines, k)
		}
	}
}
