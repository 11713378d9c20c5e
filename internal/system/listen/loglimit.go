package listen

import (
	"sync"
	"time"
)

// LogLimit allows one line a minute for each source and reason, so that refused clients or a failing store cannot
// fill the disk with the log. The zero value is ready to use and safe for concurrent use.
type LogLimit struct {
	mu    sync.Mutex
	lines map[logKey]*logLine // guarded by mu
}

type logKey struct{ source, reason string }

type logLine struct {
	at     time.Time // of the last line
	missed int64     // since then, not logged
}

// logEvery is the time between lines, maxLines how many sources and reasons are distinguished; all others share one
// line for each reason.
const (
	logEvery = time.Minute
	maxLines = 256
)

// Allow reports whether a line is due, and how many were skipped since the last one. There should be few reasons;
// sources may be many.
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
		k.source = "" // any source
		line = l.lines[k]
	}
	if line == nil {
		l.lines[k] = &logLine{at: at}
		return 0, true
	}
	if d := at.Sub(line.at); d >= 0 && d < logEvery { // a clock set back must not suppress lines
		line.missed++
		return 0, false
	}
	missed = line.missed
	*line = logLine{at: at}
	return missed, true
}

// prune drops expired lines. The caller holds mu.
func (l *LogLimit) prune(at time.Time) {
	for k, line := range l.lines {
		if at.Sub(line.at) >= logEvery {
			delete(l.lines, k)
		}
	}
}
